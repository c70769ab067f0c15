"""Codes as arrays that a file may hold, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from splade.surgery.codes import Codes


def codes_to_arrays(codes: Codes) -> dict[str, np.ndarray]:
    """Codes as arrays that a file may hold."""
    unmet = np.array([piece for word in codes.unmet for piece in word], dtype=np.int32)
    lengths = np.array([len(word) for word in codes.unmet], dtype=np.int32)
    size = np.array([codes.texts, codes.vocab_size])
    words = np.frombuffer("\n".join(codes.words).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    own = {name: getattr(codes, name) for name in ("row", "token", "word", "value")}
    return {**own, "words": words, "unmet": unmet, "lengths": lengths, "size": size}


def codes_from_arrays(arrays: Mapping[str, np.ndarray]) -> Codes:
    """What `codes_to_arrays` gave."""
    ends = arrays["lengths"].cumsum().tolist()
    flat: Sequence[int] = arrays["unmet"].tolist()
    unmet = [tuple(flat[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=False)]
    texts, size = arrays["size"].tolist()
    words = arrays["words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
    row, token, word, value = (arrays[name] for name in ("row", "token", "word", "value"))
    return Codes(row, token, word, value, words, unmet, texts, size)
