"""Constants that kernels read packed: packed once, when the first kernel that needs them is loaded.

What is packed belongs to all kernels of the process that want the same constant packed in the same way, as long as one of them
lives. Nothing is written there afterwards, so that threads, and children of a fork, read it without a lock.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from tilewright import progress
from tilewright.dtypes import dtype_named
from tilewright.entry_point import EntryPoint, Signature
from tilewright.errors import ShapeError
from tilewright.graph.constant_values import can_change, same_values, sample
from tilewright.runtime import loader, workers
from tilewright.runtime.arrays import Array, as_array
from tilewright.runtime.binding import bind
from tilewright.runtime.memory import allocate
from tilewright.runtime.packed import Packed

PIECE_BYTES = 8 << 20
LINE_BYTES = 64
LEAST_PARALLEL_BYTES = 8 << 20
"""Less is packed in a few milliseconds."""

Pack: TypeAlias = Callable[[int, int, int], None]
"""`NAME_prepare`: the number, and the addresses of the source and of the target."""


@dataclass(slots=True)
class _Shared:
    """The packed constants of this process: found by a source that nobody can write to, else by their bytes."""

    sources: weakref.WeakValueDictionary[int, Array] = field(default_factory=weakref.WeakValueDictionary)
    by_source: weakref.WeakValueDictionary[tuple[int, str], Array] = field(default_factory=weakref.WeakValueDictionary)
    by_bytes: weakref.WeakValueDictionary[tuple[str, bytes], Array] = field(default_factory=weakref.WeakValueDictionary)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, source: Array, layout: str) -> Array | None:
        """The same array, packed in the same way before."""
        with self.lock:
            is_same = self.sources.get(id(source)) is source
            return self.by_source.get((id(source), layout)) if is_same else None

    def keep(self, source: Array, layout: str, packed: Array) -> Array:
        """What is to be used in the place of `packed`: the same bytes, if somebody has them already."""
        key = layout, sample(packed).tobytes()
        with self.lock:
            known = self.by_bytes.setdefault(key, packed)
        if known is not packed and not same_values(known, packed):
            return packed
        if not can_change(source):
            with self.lock:
                self.sources[id(source)] = source
                self.by_source[id(source), layout] = known
        return known


_shared = _Shared()
os.register_at_fork(after_in_child=lambda: setattr(_shared, "lock", threading.Lock()))


def prepare(entry: EntryPoint, library: ctypes.CDLL, constants: Sequence[object], threads: int = 1) -> Packed:
    """The packed constants of a loaded entry point, each on a cache line of its own, packed by so many threads.

    Every constant is asked for when its turn comes and let go afterwards, pages of mapped files included: a sequence that reads
    its elements when they are asked for never holds more of them than there are threads. Raises `ShapeError` or `DTypeError` for
    constants that are not those of the signature.
    """
    slots = entry.signature.constants
    if len(constants) != len(slots):
        expected = ", ".join(slot.name for slot in slots) or "none"
        raise ShapeError(f"got {len(constants)} constants, expected {len(slots)}: {expected}")
    packed = progress.counted(_packed(entry, library, constants, threads), "packing constants", len(constants))
    together = {number: array for of_constant in packed for number, array in of_constant.items()}
    return Packed.of([together[number] for number in range(len(together))])


def _packed(entry: EntryPoint, library: ctypes.CDLL, constants: Sequence[object], threads: int) -> Iterator[dict[int, Array]]:
    """What is packed of one constant after the other, by its number."""
    signature = entry.signature
    if not signature.packed:
        return
    address = loader.address(library, f"{entry.name}_prepare")
    pack = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(address)

    def pack_constant(number: int) -> dict[int, Array]:
        source = as_array(constants[number])
        bind(Signature((), (signature.constants[number],), ()), [source])
        return dict(_of_constant(pack, signature, number, source))

    if threads == 1 or sum(slot.size_bytes for slot in signature.packed) < LEAST_PARALLEL_BYTES:
        yield from map(pack_constant, range(len(constants)))
        return
    with workers.pool(threads) as pool:
        yield from pool.map(pack_constant, range(len(constants)))


def _of_constant(pack: Pack, signature: Signature, constant: int, source: Array) -> Iterator[tuple[int, Array]]:
    """All that is packed of one constant; the pages of a file that it was read from are let go."""
    wanted = [(number, slot) for number, slot in enumerate(signature.packed) if slot.constant == constant]
    found = {number: _shared.find(source, slot.layout) for number, slot in wanted}
    if all(array is not None for array in found.values()):
        yield from ((number, array) for number, array in found.items() if array is not None)
        return
    dense = np.require(source, dtype_named(signature.constants[constant].dtype), ("C", "A"))
    if dense is not source:
        release_pages(source)
    for number, slot in wanted:
        packed = allocate(slot.size_bytes)
        pack(number, dense.ctypes.data, packed.ctypes.data)
        packed.flags.writeable = False
        yield number, _shared.keep(source, slot.layout, packed)
    release_pages(source)


def release_pages(source: Array) -> None:
    """Take the pages of an array in a mapped file out of memory; who reads it again finds them in the system's cache."""
    owner = _mapped_file(source)
    if owner is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    start = np.frombuffer(owner, np.uint8).ctypes.data
    first = -(-(source.ctypes.data - start) // mmap.PAGESIZE) * mmap.PAGESIZE
    last = (source.ctypes.data + source.nbytes - start) // mmap.PAGESIZE * mmap.PAGESIZE
    is_one_piece = source.flags.c_contiguous or source.flags.f_contiguous
    if is_one_piece and last > first:
        owner.madvise(mmap.MADV_DONTNEED, first, last - first)


def _mapped_file(source: object) -> mmap.mmap | None:
    """The mapping that a read-only array lies in, if it lies in a file."""
    owner = source
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    is_file = isinstance(owner, mmap.mmap) and isinstance(source, np.ndarray) and not can_change(source)
    return owner if is_file else None  # type: ignore[return-value]


def held(arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The same elements where nobody writes to them: those of mapped files are copied, and the pages of these let go."""
    lying = [array for array in arrays if _mapped_file(array) is not None]
    copies = iter(map(_fixed, residents(lying)))
    return tuple(array if _mapped_file(array) is None else next(copies) for array in arrays)


def _fixed(array: Array) -> Array:
    """An array that nobody can make writeable."""
    return np.frombuffer(array.reshape(-1).view(np.uint8).data.toreadonly(), array.dtype).reshape(array.shape)


def residents(arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The same elements as calls read them fastest: aligned, side by side in `allocate`d memory, on huge pages but for its end.

    A mapped file has small pages, and begins tensors anywhere. It is read piece by piece, and what was read is let go: a large
    tensor is never in memory twice.

    >>> first, second = residents([np.ones((3, 5), np.float32), np.zeros((1024, 1024), np.float32)])
    >>> first.sum(), second.shape, (second.ctypes.data - first.ctypes.data) % LINE_BYTES
    (np.float32(15.0), (1024, 1024), 0)
    """
    starts = list(accumulate((-(-array.nbytes // LINE_BYTES) * LINE_BYTES for array in arrays), initial=0))
    memory = allocate(starts[-1])
    return tuple(_copied(array, memory[start : start + array.nbytes]) for array, start in zip(arrays, starts, strict=False))


def _copied(array: Array, place: Array) -> Array:
    copy = place.view(array.dtype).reshape(array.shape)
    if array.nbytes < PIECE_BYTES:
        copy[...] = array
        release_pages(array)
        return copy
    rows = max(1, PIECE_BYTES * len(array) // array.nbytes)
    for begin in range(0, len(array), rows):
        piece = array[begin : begin + rows]
        copy[begin : begin + rows] = piece
        release_pages(piece)
    return copy
