"""Modules of Triton as something to call: on a GPU on its current stream, or in Triton's interpreter on the CPU.

Tensors of a call are PyTorch's, which share memory with what is given: Triton takes no others. Nothing waits for the GPU, but a
result that is to lie in memory of the CPU.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count, pairwise
from time import perf_counter
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tilewright.artifact import Artifact
from tilewright.backends.triton_gpu import interpreter
from tilewright.dtypes import dtype_named
from tilewright.entry_point import Signature, TensorSlot
from tilewright.errors import TilewrightError, ToolchainError, needs_packages
from tilewright.records import record
from tilewright.runtime.arrays import as_array, is_on_device, is_torch_tensor
from tilewright.runtime.binding import bind, check_counts
from tilewright.runtime.pool import MemoryStats

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Launch: TypeAlias = tuple[str, int, tuple[str, ...], int, int]
"""As `render/triton/module.py` writes it: kernel, programs, tensors, warps, stages."""
EXTRA = "gpu"
PACKAGES = ("torch", "triton")
SWITCH = "TRITON_INTERPRET"
OLDEST = (3, 6)
"""Of Triton whose text is known to be the same."""
CPU, CUDA = "cpu", "cuda"
_numbers = count()
_turn = threading.RLock()
"""Of calls in the interpreter."""


@record
class Resources:
    """What a compiled kernel takes, as the driver tells when it loads the code."""

    kernel: str
    registers: int
    """Of a thread, 32 bits each."""
    spills: int
    """Of registers into local memory."""
    shared_bytes: int
    """Of a block."""


@dataclass(eq=False)
class Loaded:
    """A module, and how its kernels are launched. Calls are safe from several threads at once."""

    takes_tensors: ClassVar[bool] = True

    artifact: Artifact
    device: str
    namespace: Mapping[str, Any]
    torch: Any
    watching: Callable[[Mapping[str, Any]], Any] | None = None
    """For tests: a context of every launch, given its tensors by name."""

    @property
    def signature(self) -> Signature:
        """The arguments, in order."""
        return self.artifact.signature

    @property
    def source(self) -> str:
        """The module."""
        return self.artifact.text

    @property
    def launches(self) -> Sequence[Launch]:
        """What a call launches, in order."""
        launches: Sequence[Launch] = self.namespace["LAUNCHES"]
        return launches

    def new_outputs(self, inputs: Sequence[object]) -> list[Any]:
        """Uninitialised arrays, or tensors of the device for a call that is given such."""
        if self.device == CUDA and any(map(is_on_device, inputs)):
            slots, place = self.signature.outputs, self._place(inputs)
            return [self.torch.empty(slot.shape, dtype=self._dtype(slot.dtype), device=place) for slot in slots]
        return [np.empty(slot.shape, dtype_named(slot.dtype)) for slot in self.signature.outputs]

    def run(self, inputs: Sequence[object], outputs: Sequence[Any]) -> None:
        """Compute the outputs from the inputs: arrays, or tensors of the device, which are not copied.

        Raises `ShapeError` and `DTypeError` for arguments that do not fit, and `ToolchainError` where Triton's compiler fails.
        """
        self._run(inputs, outputs, lambda kernel: None)

    def compute(self, inputs: tuple[object, ...]) -> list[Any]:
        """New outputs for the inputs. Raises as `run`."""
        outputs = self.new_outputs(inputs)
        self.run(inputs, outputs)
        return outputs

    def run_repeatedly(self, count: int, inputs: Sequence[object], outputs: Sequence[Any]) -> None:
        """The same run `count` times."""
        for _ in range(count):
            self.run(inputs, outputs)

    def profile(self, inputs: Sequence[object], outputs: Sequence[Any]) -> tuple[tuple[str, float], ...]:
        """One call: every chain, and the seconds until it was done."""
        times = [perf_counter()]

        def done(kernel: str) -> None:
            self._synchronise()
            times.append(perf_counter())

        self._run(inputs, outputs, done)
        seconds = (after - before for before, after in pairwise(times))
        return tuple(zip(self.artifact.chains, seconds, strict=True))

    def memory_stats(self) -> MemoryStats:
        """Nothing is kept between calls: PyTorch's allocator has what tensors between kernels take."""
        return MemoryStats(0, 0)

    def resources(self, inputs: Sequence[object]) -> tuple[Resources, ...]:
        """Compile every kernel that a call with these inputs launches, without running it. Raises as `run`, and on the CPU."""
        place = self._place(inputs)
        tensors = self._tensors(inputs, self.new_outputs(inputs), place)
        with self._on(place):
            return tuple(self._resources(launch, tensors) for launch in self.launches if launch[1])

    def _resources(self, launch: Launch, tensors: Mapping[str, Any]) -> Resources:
        kernel, blocks, names, warps, stages = launch
        given = [tensors[name] for name in names]
        with compiler_errors(kernel):
            return compiled_resources(kernel, self.namespace[kernel], given, (blocks,), {}, warps, stages)

    def _run(self, inputs: Sequence[object], outputs: Sequence[Any], done: Callable[[str], None]) -> None:
        place = self._place((*inputs, *outputs))
        tensors = self._tensors(inputs, outputs, place)
        with self._on(place):
            for launch in self.launches:
                self._launch(launch, tensors)
                done(launch[0])
        for slot, output in zip(self.signature.outputs, outputs, strict=True):
            self._give(output, tensors[slot.name])

    def _tensors(self, inputs: Sequence[object], outputs: Sequence[Any], place: Any) -> dict[str, Any]:
        """By name: arguments as tensors of a device, and new ones between kernels."""
        check_counts(self.signature, len(inputs), len(outputs))
        slots = (*self.signature.inputs, *self.signature.outputs)
        tensors = {slot.name: self._tensor(slot, x, place) for slot, x in zip(slots, (*inputs, *outputs), strict=True)}
        for name, (shape, dtype) in self.namespace["BETWEEN"].items():
            tensors[name] = self.torch.empty(shape, dtype=self._dtype(dtype), device=place)
        return tensors

    def _place(self, given: Sequence[object]) -> Any:
        """The device of a call: that of the first tensor on a GPU, the current one where there is none."""
        if self.device == CPU:
            return CPU
        return next((x.device for x in given if is_torch_tensor(x) and is_on_device(x)), CUDA)  # type: ignore[attr-defined]

    @contextmanager
    def _on(self, place: Any) -> Iterator[None]:
        """Inside, kernels run on a device; in the interpreter, which replaces functions of Triton, one call at a time."""
        if self.device == CUDA:
            with self.torch.cuda.device(place):
                yield
        else:
            with _turn, np.errstate(all="ignore"):
                yield

    def _launch(self, launch: Launch, tensors: Mapping[str, Any]) -> None:
        kernel, blocks, names, warps, stages = launch
        if not blocks:
            return
        used = {name: tensors[name] for name in names}
        with self.watching(used) if self.watching is not None else _nothing(), compiler_errors(kernel):
            self.namespace[kernel][(blocks,)](*used.values(), num_warps=warps, num_stages=stages)

    def _tensor(self, slot: TensorSlot, x: Any, place: Any) -> Any:
        """A contiguous tensor on the device, of the same memory where `x` has such."""
        if is_torch_tensor(x) or (self.device == CUDA and not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__")):
            tensor = x if is_torch_tensor(x) else self.torch.from_dlpack(x)
            self._check(slot, tensor)
            return tensor.to(place).contiguous()
        array = as_array(x)
        bind(Signature((), (slot,), ()), [array])
        return self._of_array(array).to(place)

    def _check(self, slot: TensorSlot, tensor: Any) -> None:
        """The checks of arrays, of something with the tensor's shape and type."""
        dtype = dtype_named(str(tensor.dtype).removeprefix("torch."))
        bind(Signature((), (slot,), ()), [np.broadcast_to(np.zeros((), dtype), tuple(tensor.shape))])

    def _of_array(self, array: Array) -> Any:
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        array = array if array.flags.writeable else array.copy()
        if array.dtype.name == "bfloat16":
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(array)

    def _give(self, output: Any, tensor: Any) -> None:
        """Copy results to where they are wanted, unless they are there."""
        if is_torch_tensor(output):
            if output.data_ptr() != tensor.data_ptr():
                output.copy_(tensor)
            return
        array = as_array(output)
        if tensor.device.type == CPU and array.ctypes.data == tensor.data_ptr():
            return
        here = tensor.cpu()
        values = here.view(self.torch.int16).numpy().view(array.dtype) if array.dtype.name == "bfloat16" else here.numpy()
        np.copyto(array, values)

    def _dtype(self, name: str) -> Any:
        return getattr(self.torch, name)

    def _synchronise(self) -> None:
        if self.device == CUDA:
            self.torch.cuda.synchronize()


def compiled_resources(
    kernel: str,
    function: Any,
    tensors: Sequence[Any],
    grid: tuple[int, ...],
    constants: Mapping[str, int],
    warps: int,
    stages: int,
) -> Resources:
    """Compile a kernel of Triton for these arguments, and load it. Raises `TilewrightError` where Triton interprets."""
    if _is_interpreted():
        raise TilewrightError(f"{kernel} is interpreted", why="interpreted kernels have no registers")
    compiled = function.warmup(*tensors, grid=grid, **constants, num_warps=warps, num_stages=stages)
    compiled._init_handles()  # no public name loads the code before a launch
    return Resources(kernel, int(compiled.n_regs), int(compiled.n_spills), int(compiled.metadata.shared))


def lacking(architecture: str) -> tuple[str, ...]:
    """What this host lacks to run kernels for an architecture: packages, a GPU, or one of that architecture."""
    missing = tuple(f"the package {name}" for name in PACKAGES if not _is_there(name))
    if missing:
        return missing
    import torch

    if not torch.cuda.is_available():  # known without Triton, whose import here would rule out its interpreter
        return (f"a GPU of {architecture}",)
    try:
        _packages(is_interpreted=False)
    except _OtherWay:
        return ("a Triton that compiles: in this process it was imported to interpret",)
    major, minor = torch.cuda.get_device_capability()
    return () if f"sm_{major}{minor}" == architecture else (f"a GPU of {architecture}: the one here is sm_{major}{minor}",)


def _is_there(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return find_spec(package) is not None
    except ValueError:  # of modules in the place of packages, which have no spec
        return False


def load(artifact: Artifact, *, is_interpreted: bool) -> Loaded:
    """The module of an artifact. Raises `TilewrightError` where Triton or PyTorch are missing, or imported for the other way."""
    torch, _ = _packages(is_interpreted=is_interpreted)
    namespace = names_of(artifact.text, is_interpreted=is_interpreted)
    return Loaded(artifact, CPU if is_interpreted else CUDA, namespace, torch)


def names_of(text: str, *, is_interpreted: bool) -> dict[str, Any]:
    """The names of a module of kernels, which Triton compiles or interprets. Raises as `load`."""
    _packages(is_interpreted=is_interpreted)
    if is_interpreted:
        interpreter.mend()
    with _switched(is_interpreted):
        return _executed(text)


class _OtherWay(TilewrightError):
    """Triton was imported for the other way of running kernels, which holds for the rest of the process."""


def _executed(text: str) -> dict[str, Any]:
    """The names of a module. Triton asks for the lines of its functions, which are kept for it as those of a file."""
    name = f"<tilewright kernels {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, name, "exec"), namespace)  # the text is our own
    return namespace


def _packages(*, is_interpreted: bool) -> tuple[ModuleType, ModuleType]:
    """PyTorch and Triton, imported for the interpreter or for a GPU."""
    with needs_packages("a kernel of Triton", EXTRA), _switched(is_interpreted):
        import torch
        import triton
        import triton.language  # the functions of the language are made by this import

        if is_interpreted:
            import triton.experimental.gluon  # the interpreter's first call imports it, and it wants the switch
    check_version(triton.__version__)
    if is_interpreted != _is_interpreted():
        how, other = ("interpreted", "to compile") if is_interpreted else ("compiled", "to interpret")
        raise _OtherWay(
            f"kernels cannot be {how} in this process",
            why=f"Triton was imported {other} before",
            hint=f"import triton with {SWITCH}={int(is_interpreted)} in the environment, or in a process of its own",
        )
    return torch, triton


def check_version(version: str) -> None:
    """Raise `ToolchainError` for a Triton that is too old."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST:
        raise ToolchainError(
            f"Triton {version} is too old", why=f"kernels need {'.'.join(map(str, OLDEST))}", hint="pip install triton==3.9.0"
        )


def _is_interpreted() -> bool:
    """Whether Triton's own functions were made for its interpreter."""
    return type(sys.modules["triton.language"].sum).__name__ == "InterpretedFunction"


@contextmanager
def _switched(is_interpreted: bool) -> Iterator[None]:
    """Inside, kernels are made for the interpreter, or for a GPU: Triton reads the environment when a function is made."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = str(int(is_interpreted))
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before


@contextmanager
def compiler_errors(kernel: str) -> Iterator[None]:
    """Inside, what Triton's compiler or interpreter raises becomes one error that names the kernel."""
    try:
        yield
    except (TilewrightError, MemoryError, AssertionError):
        raise
    except Exception as problem:
        cause = problem.__cause__ or problem
        raise ToolchainError(
            f"Triton failed on the kernel {kernel}",
            why=f"{type(cause).__name__}: {str(cause).strip().splitlines()[-1] if str(cause).strip() else 'no message'}",
            hint="please report it with the kernel's .source",
        ) from problem


@contextmanager
def _nothing() -> Iterator[None]:
    yield
