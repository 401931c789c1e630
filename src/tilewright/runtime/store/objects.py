"""Object files that the cache keeps: of micro kernels, which all libraries of a machine link, and of libraries that are not done.

Their key has all that decides what a compiler makes of a source: its text, the ABI of the contract, the compiler, and its flags,
which name the features of the CPU and whatever TILEWRIGHT_CC asks for (sanitizers).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from tilewright.kernel_source import KernelSource
from tilewright.records import record
from tilewright.runtime.store.cache import MAGIC, KernelCache

SUFFIX = ".o"


@record
class Objects:
    """The objects of a cache that a compiler made for the features of a CPU."""

    cache: KernelCache
    compiler: tuple[str, ...]
    """`Toolchain.identity`."""

    def key(self, source: KernelSource) -> str:
        """A digest of what the object of a source depends on."""
        from tilewright.kernels.contract import matrix_abi  # who compiles has imported it

        parts = (source.kind.value, matrix_abi("kernel"), *self.compiler)
        return hashlib.sha256(MAGIC + "\0".join(parts).encode() + b"\0" + source.octets).hexdigest()

    def find(self, source: KernelSource) -> bytes | None:
        """The object of a source; None where it is missing or damaged."""
        return self.cache.find(self.key(source) + SUFFIX)

    def keep(self, source: KernelSource, content: bytes) -> None:
        """Store the object of a source. Raises `CacheError` where nothing can be stored anywhere."""
        self.cache.keep(self.key(source) + SUFFIX, content)

    def drop(self, sources: Iterable[KernelSource]) -> None:
        """Forget the objects of sources that are not wanted any more."""
        for source in sources:
            self.cache.drop(self.key(source) + SUFFIX)
