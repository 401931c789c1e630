"""Seeds of random tensors. ONNX leaves the generator open: a seed gives the same numbers at every call, none gives new ones."""

from __future__ import annotations

import numpy as np


def generator_of(seed: float | None) -> np.random.Generator:
    """A generator for a seed, which may be any float32, or for none."""
    return np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))
