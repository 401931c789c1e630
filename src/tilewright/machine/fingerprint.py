"""Fingerprint of a CPU, to which a calibration belongs: the CPU's family, model, stepping, usable features and cache sizes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything that makes two CPUs differ in speed as far as a virtual machine lets it be seen; no clock, no name.

    `caches` are (level, size_bytes). Features are those left by TILEWRIGHT_MAX_ISA, since the peak depends on them.
    """

    architecture: str
    vendor: str
    family: str
    model: str
    stepping: str
    features: tuple[str, ...]
    caches: tuple[tuple[int, int], ...]

    @property
    def key(self) -> str:
        """A short digest, fit for a file name.

        >>> len(Fingerprint("x86_64", "", "6", "85", "7", ("avx2",), ((1, 32768),)).key)
        32
        """
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]
