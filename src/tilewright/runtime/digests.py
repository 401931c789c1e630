"""SHA-256: of small contents by Python's own C, since `hashlib` loads OpenSSL, 0.5 MB of memory that no processes share."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from tilewright.runtime.arrays import Array

LARGE_BYTES = 4 << 20
"""From here on OpenSSL, five times faster, is worth its memory: 16 ms for so much."""


def sha256(content: bytes | memoryview | Array) -> bytes:
    """The digest of a content.

    >>> sha256(b"").hex()[:8]
    'e3b0c442'
    """
    found: bytes = _implementation(len(content) if isinstance(content, bytes) else content.nbytes)(content).digest()
    return found


def _implementation(size_bytes: int) -> Any:
    if size_bytes < LARGE_BYTES:
        try:
            return import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
        except ImportError:  # another Python than CPython
            pass
    import hashlib

    return hashlib.sha256
