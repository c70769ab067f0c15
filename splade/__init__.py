"""Lexical-SAE: a classifier that can only speak through words."""

from __future__ import annotations

__version__ = "0.1.0"
