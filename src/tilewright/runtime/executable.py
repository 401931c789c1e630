"""A compiled kernel that can be called: the library behind an artifact, and the care for arrays it cannot take as they are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from tilewright import settings
from tilewright.dtypes import dtype_named
from tilewright.entry_point import EntryPoint, Signature, TensorSlot
from tilewright.errors import InternalError, NotFiniteError, TilewrightError
from tilewright.graph.expressions.extents import value_of
from tilewright.records import record
from tilewright.runtime import loader, native
from tilewright.runtime import pool as thread_pool
from tilewright.runtime.arrays import Array, as_array
from tilewright.runtime.binding import bind, check_counts
from tilewright.runtime.launcher import Fault, Reason, Record, make_record, needs_view, split_answer
from tilewright.runtime.memory import new_result
from tilewright.runtime.packed import Packed
from tilewright.runtime.pool import MemoryStats, Pool

if TYPE_CHECKING:
    from pathlib import Path

    from tilewright.artifact import Artifact
    from tilewright.runtime.store.cache import KernelCache


class Origin(Protocol):
    """What a library was loaded from."""

    @property
    def path(self) -> str | Path:
        """The file that it was in, when it was loaded."""

    @property
    def source(self) -> str:
        """The C text, file by file. Raises `TilewrightError` where it is not there."""

    def content(self) -> bytes:
        """The file of the library."""


@record(eq=False)
class Executable:
    """A loaded entry point. Calls are safe from several Python threads at once; the GIL is released meanwhile.

    The library is unloaded with it. Nothing else keeps an address in the library: threads of the pool have left it when a call
    returns, and a call holds on to its executable.
    """

    entry: EntryPoint
    origin: Origin
    pool: Pool
    _library: ctypes.CDLL
    _record: Record
    _record_address: int
    _launch: Callable[[tuple[object, ...]], int]
    """Computes outputs from inputs, which are before them in the tuple; an answer of the launcher."""
    _compute: Callable[[tuple[object, ...]], list[Array] | int]
    """New outputs for inputs, or an answer of the launcher."""
    packed: Packed
    """The constants that were packed for it."""

    @property
    def path(self) -> str | Path:
        """The file that the library was in, when it was loaded."""
        return self.origin.path

    @property
    def signature(self) -> Signature:
        """The arguments, in order."""
        return self.entry.signature

    @property
    def source(self) -> str:
        """The C text, file by file."""
        return self.origin.source

    def run(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """Compute the outputs, which may overlap inputs, from the inputs.

        Arrays may have any strides and alignment; what the kernel cannot take is copied. Raises `ShapeError` or `DTypeError`
        naming the argument, what was got and what was expected, `PositionError` for a position that data gives outside of its
        dimension, and `NotFiniteError` where NaN or infinities may have spread to other results (the outputs are written then,
        and mean nothing), and `MemoryError` when there is no room for scratch.
        """
        if answer := self._launch((*inputs, *outputs)):
            self._check_finite(answer)
            self._run_with_care(inputs, outputs)

    def compute(self, inputs: tuple[object, ...]) -> list[Array]:
        """New outputs for the inputs. Raises as `run`."""
        outputs = self._compute(inputs)
        if isinstance(outputs, int):
            self._check_finite(outputs)
            outputs = self.new_outputs(inputs)
            self._run_with_care(inputs, outputs)
        return outputs

    def run_repeatedly(self, count: int, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """The same run `count` times in C: for measurements, where the way from Python takes longer than the work.

        Raises `TilewrightError` for arrays that `run` would refuse or copy, and `NotFiniteError` as `run` does.
        """
        if answer := native.library().tw_launch_repeatedly(self._record_address, (*inputs, *outputs), count):
            self._refuse(answer, inputs, outputs, "run_repeatedly")

    def profile(self, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[tuple[str, float], ...]:
        """One call with a clock: the name of every chain, in order, and the seconds that it took.

        Raises `TilewrightError` for arrays that `run` would refuse or copy, and `NotFiniteError` as `run` does.
        """
        times = (ctypes.c_long * len(self.entry.chains))()
        if answer := native.library().tw_launch_timed(self._record_address, (*inputs, *outputs), times):
            self._refuse(answer, inputs, outputs, "profile")
        return tuple((chain, time / 1e9) for chain, time in zip(self.entry.chains, times, strict=True))

    def new_outputs(self, inputs: Sequence[object]) -> list[Array]:
        """Uninitialised arrays of the outputs' shapes and types. The inputs are only looked at as far as that needs."""
        slots = self.signature.outputs
        values: dict[str, int] = {}
        if any(isinstance(extent, str) for slot in slots for extent in slot.shape):
            check_counts(self.signature, len(inputs), len(slots))
            values = bind(self.signature, [as_array(x) for x in inputs])
        symbols = {symbol.name: symbol.extent for symbol in self.signature.symbols}

        def extent_of(extent: int | str) -> int:
            if isinstance(extent, int):
                return extent
            formula = symbols[extent]
            return values[extent] if formula is None else value_of(formula, values)

        return [new_result(tuple(map(extent_of, slot.shape)), dtype_named(slot.dtype)) for slot in slots]

    def on(self, pool: Pool) -> Executable:
        """The same code and constants, for calls on the threads of another pool."""
        return self if pool is self.pool else executable(self.entry, self.origin, self._library, pool, self.packed)

    def memory_stats(self) -> MemoryStats:
        """Scratch and workspace that the pool holds, for all kernels that use it, and this one's packed constants."""
        return replace(self.pool.stats(), constant_bytes=self.packed.nbytes)

    def _refuse(self, answer: int, inputs: Sequence[object], outputs: Sequence[Array], where: str) -> NoReturn:
        reason, number = split_answer(answer)
        if reason is Reason.POSITION:
            self._run_with_care(inputs, outputs)
        self._check_finite(answer)
        raise TilewrightError(f"the launcher refuses argument {number}", why=reason.name, where=where)

    def _check_finite(self, answer: int) -> None:
        """Raise `NotFiniteError` where the kernel has reported NaN or infinities."""
        if split_answer(answer)[0] is not Reason.NOT_FINITE:
            return
        raise NotFiniteError(
            "NaN or infinities may have spread to other results",
            where=self.entry.name,
            why="an algorithm that adds points of a tile before it multiplies has met them (Winograd)",
            hint='plan with precision="strict"',
        )

    def _run_with_care(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """Say what is wrong with the arguments, or copy those that the launcher refuses for their layout."""
        check_counts(self.signature, len(inputs), len(outputs))
        slots = (*self.signature.inputs, *self.signature.outputs)
        arrays = [as_array(x) for x in (*inputs, *outputs)]
        bind(self.signature, arrays)
        pairs = zip(slots, arrays, strict=True)
        used = [array.view(f"u{array.itemsize}") if needs_view(slot) else array for slot, array in pairs]
        replaced: set[int] = set()
        fault = Fault()
        while answer := native.library().tw_launch_with_care(self._record_address, tuple(used), ctypes.byref(fault)):
            reason, number = split_answer(answer)
            if reason is Reason.POSITION:
                raise self.entry.lookups[number].error(fault.position, fault.extent)
            self._check_finite(answer)
            if reason is Reason.MEMORY:
                raise MemoryError(f"no memory for {fault.missing_bytes} bytes of scratch of {self.entry.name}")
            is_output = number >= len(inputs)
            if number in replaced:
                raise InternalError(f"the launcher refuses a copy of {slots[number].name}: {reason.name}", dump=self.source)
            if is_output and not arrays[number].flags.writeable:
                raise TilewrightError(f"the output {slots[number].name} is read-only", where=slots[number].name)
            used[number] = _dense(slots[number], used[number], with_values=not is_output)
            replaced.add(number)
        for number in sorted(replaced):
            if number >= len(inputs):
                np.copyto(arrays[number], used[number].view(dtype_named(slots[number].dtype)))


@record
class Compiled:
    """The library of an artifact, in the cache or elsewhere."""

    artifact: Artifact
    path: Path

    @property
    def source(self) -> str:
        """The C text, file by file."""
        return self.artifact.source

    def content(self) -> bytes:
        """The file of the library; it is made again where the cache has let go of it. Raises `ToolchainError` or `CacheError`."""
        from tilewright.runtime.compilation import libraries
        from tilewright.runtime.store import cache as kernel_cache

        try:
            content = self.path.read_bytes()
        except OSError:
            content = libraries.available(self.artifact, kernel_cache.default()).read_bytes()
        return kernel_cache.without_trailer(content)


def load(
    artifact: Artifact, *, threads: int | None = None, cache: KernelCache | None = None, constants: Sequence[object] = ()
) -> Executable:
    """Find an artifact's library in the cache, or compile it, load it, and pack its constants (the signature's).

    `threads` defaults to `TILEWRIGHT_NUM_THREADS`, else the CPUs that this process may use. Raises `ToolchainError` or
    `CacheError`, and `ShapeError` or `DTypeError` for constants that are not those of the signature.
    """
    from tilewright.runtime.compilation import libraries
    from tilewright.runtime.store import cache as kernel_cache

    kept = kernel_cache.default() if cache is None else cache
    path, library = libraries.opened(artifact, kept, artifact.entry.exported, ctypes.CDLL)
    return _prepared(artifact, path, library, threads, constants)


@record
class Built:
    """A compiled entry point and its packed constants, to be saved: this CPU may lack what its code needs."""

    entry: EntryPoint
    origin: Compiled
    packed: Packed


def build(artifact: Artifact, packing: Artifact, *, constants: Sequence[object]) -> Built:
    """What `load` would load; `packing` has the preparation of its constants, for any CPU. Raises as `load`."""
    from tilewright.runtime.compilation import libraries
    from tilewright.runtime.store import cache as kernel_cache

    cache, packed = kernel_cache.default(), Packed.of([])
    if artifact.signature.packed:
        _, library = libraries.opened(packing, cache, packing.entry.preparation, ctypes.CDLL)
        from tilewright.runtime.constants import prepare

        packed = prepare(packing.entry, library, constants)
        loader.unload_when_unused(library)
    path = libraries.available(artifact, cache, artifact.entry.exported)
    return Built(artifact.entry, Compiled(artifact, path), packed)


def load_from(path: Path, artifact: Artifact, *, threads: int | None = None, constants: Sequence[object] = ()) -> Executable:
    """An artifact whose entry points a library has that the caller made. Raises `CacheError` where it cannot be loaded."""
    return _prepared(artifact, path, loader.load(path, ctypes.CDLL), threads, constants)


def _prepared(
    artifact: Artifact, path: Path, library: ctypes.CDLL, threads: int | None, constants: Sequence[object]
) -> Executable:
    from tilewright.runtime.constants import prepare

    loader.unload_when_unused(library)
    pool = pool_of(threads)
    packed = prepare(artifact.entry, library, constants, pool.threads)
    return executable(artifact.entry, Compiled(artifact, path), library, pool, packed)


def pool_of(threads: int | None) -> Pool:
    """Of so many threads; None: of `TILEWRIGHT_NUM_THREADS`, else of the CPUs that this process may use."""
    if threads is None:
        threads = settings.value("num_threads")
    if threads is None:
        from tilewright.machine.cores import usable_cores

        threads = usable_cores()
    return thread_pool.get(threads)


def executable(entry: EntryPoint, origin: Origin, library: ctypes.CDLL, pool: Pool, packed: Packed) -> Executable:
    """An entry point of a library, which somebody has seen to being unloaded."""
    run, workspace_bytes = (loader.address(library, function) for function in entry.exported[:2])
    record = make_record(entry.signature, run, workspace_bytes, pool.address, packed.address)
    address, library_of_calls = ctypes.addressof(record), native.library()
    for slot in (*entry.signature.inputs, *entry.signature.outputs):
        library_of_calls.tw_know_type(dtype_named(slot.dtype))
    launch, compute = (library_of_calls.tw_function(number, address) for number in (native.LAUNCH, native.COMPUTE))
    return Executable(entry, origin, pool, library, record, address, launch, compute, packed)


def _dense(slot: TensorSlot, array: Array, *, with_values: bool) -> Array:
    """An aligned array in this machine's byte order, with the slot's unit-stride dimension innermost."""
    unit = len(slot.shape) - 1 if slot.unit_stride_dim is None else slot.unit_stride_dim
    order = [dim for dim in range(array.ndim) if dim != unit] + ([unit] if array.ndim else [])
    dense = np.empty([array.shape[dim] for dim in order], array.dtype.newbyteorder("="))
    result = dense.transpose([order.index(dim) for dim in range(array.ndim)])
    if with_values:
        np.copyto(result, array)
    return result
