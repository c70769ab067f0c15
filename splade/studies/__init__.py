"""Experiments of several runs: what is compared (``kinds``), how it is run (``study``) and what is left of it."""
