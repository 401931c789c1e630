"""`Lowered`: a planned function. `Kernel`: a compiled one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from sys import modules
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from tilewright.api import dynamo
from tilewright.api.building import Options
from tilewright.api.calls import pytree
from tilewright.api.calls.calling import Array, Binder, Called, TracedCall, is_array
from tilewright.api.dynamo import opaque, unmarked
from tilewright.api.tracebacks import Shortened, shorten
from tilewright.artifact import Artifact
from tilewright.errors import NotPicklable, ShapeError, TilewrightError
from tilewright.graph.data_format import Unreadable, decode, encode
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.runtime.arrays import as_array, is_on_device, like, views
from tilewright.runtime.pool import MemoryStats

if TYPE_CHECKING:
    from tilewright.api.calls.saved_calls import SavedCall
    from tilewright.backends.backend import Runnable
    from tilewright.entry_point import TensorSlot
    from tilewright.plan.types import ModelPlan, Plan
    from tilewright.runtime.packages.writing import PackageWriter


@dataclass(frozen=True, eq=False)
class Lowered:
    """A function traced for one signature and planned for a machine; no compiler has run. Can be pickled."""

    traced: TracedCall
    options: Options
    binder: Binder

    @cached_property
    def model_plan(self) -> ModelPlan:
        """The graph cut into chains, the plan of each, and the reasons for the cuts. Planned when first asked for."""
        return self.options.planned(self.graph)

    @property
    def machine(self) -> Machine:
        """What it is planned for."""
        return self.options.machine

    @property
    def graph(self) -> Graph:
        """What the function means, as it was traced."""
        return self.traced.graph

    @property
    def plan(self) -> Plan:
        """The plan of the only chain. Raises `TilewrightError` if there is not exactly one: then see `model_plan`."""
        plans = self.model_plan.plans
        if len(plans) != 1:
            from tilewright.report.reasons import cut_text

            raise TilewrightError(
                f"{self.graph.name} was planned as {len(plans)} chains, so there is no single plan",
                why="; ".join(f"{cut.tensor}: {cut_text(cut)}" for cut in self.model_plan.cuts),
                hint="see .model_plan.plans and .explain()",
            )
        return plans[0]

    def explain(self, *, full: bool = False) -> str:
        """The plan and its reasons, for a person; `full` leaves out nothing, however long it is."""
        from tilewright.report.explain import explain

        return explain(self.model_plan, full=full)

    @cached_property
    def source(self) -> str:
        """The generated text."""
        return self.options.generated(self.graph, self._artifact)[1].source

    @opaque
    def compile(self, *, runner: str = "") -> Kernel:
        """Generate code, compile it (or find it in the cache) and load it. Raises `ToolchainError` without a working compiler.

        Where the target is no machine at hand, `runner` names what runs the kernel here, if its backend has such.
        """
        called = Called(self.graph.name, self.binder, self.traced.call, self.traced.result)
        options = replace(self.options, runner=runner)
        is_built_only = options.is_built_only
        loaded = options.built(self.graph) if is_built_only else options.loaded(*options.generated(self.graph, self._artifact))
        return Kernel(called, *loaded, Explained(_encoded(self.graph), self.options))

    def _artifact(self, graph: Graph) -> Artifact:
        """The text of the function's graph, or of one with other facts about its constants: of the plan, if there is one."""
        if "model_plan" not in self.__dict__ or graph is not self.graph:
            return self.options.artifact(graph)
        from tilewright import compiler

        return compiler.generate(self.model_plan)


class Explanation(Protocol):
    """What tells the plan of a kernel."""

    def __call__(self, *, full: bool) -> str:
        """The plan and its reasons, for a person."""


@record
class Explained:
    """What a kernel computes, by which its plan is explained."""

    graph: bytes | Graph
    """As text, since Python's collector visits every object of a graph; without the values of constants."""
    options: Options

    def __call__(self, *, full: bool) -> str:
        """The plan and its reasons."""
        from tilewright.report.explain import explain

        graph = decode(self.graph, Graph) if isinstance(self.graph, bytes) else self.graph
        return explain(self.options.planned(graph), full=full)


@record(eq=False)
class FixedResult:
    """In the place of a kernel, for a function that returns no array."""

    called: Called

    def run(self, inputs: tuple[Array, ...], first: object, out: Any) -> Any:
        """What the function returned when it was traced."""
        if out is not None:
            output_arrays(self.called.result, out)
        return pytree.unflatten(self.called.result, ())

    def _saved(self, writer: PackageWriter) -> SavedCall:
        """As that of a kernel."""
        from tilewright.api.calls.saved_calls import saved_call

        return saved_call(self.called, None)


class Kernel:
    """A compiled function: call it like the function, with arrays that fit its signature. Safe from several threads at once.

    A copy is the same object, and pickling raises `NotPicklable`.
    """

    def __init__(
        self, called: Called, executable: Runnable, constants: tuple[Array, ...] = (), explained: Explanation | None = None
    ) -> None:
        """`constants` are those that calls read as they are, in the order of the executable's inputs."""
        self._called, self._explained = called, explained
        self._binder, self._name = called.binder, called.name
        self._executable = executable
        self._structure, self._result = called.call, called.result
        self._constants = constants
        self._is_single = isinstance(self._result, pytree.Leaf)
        self._parameter_count = _plain_parameters(self._structure)

    def __copy__(self, memo: object = None) -> Kernel:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            "a kernel cannot be pickled",
            where=self._name,
            why="it is a library that this process has loaded, and keeps no constants that it has packed",
            hint="pickle the jitted function, or what its lower() gives; compile() there finds the library in the cache",
        )

    @opaque
    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        """The result, of the kind of the first array argument; `out` (an array, or containers like the result's) is written to.

        Raises `ShapeError` and `DTypeError` for arguments that do not fit the signature.
        """
        if unmarked and "torch" in modules:
            dynamo.mark()
            return self(*args, out=out, **options)
        try:
            inputs = views(args) if not options and len(args) == self._parameter_count else None
            return self._call(args, out, options) if inputs is None else self.run(inputs, args[0] if args else None, out)
        except Exception as problem:
            shorten(problem)
            raise

    def _call(self, args: tuple[Any, ...], out: Any, options: dict[str, Any]) -> Any:
        call = self._binder.flatten(args, options)
        if call.structure != self._structure:
            raise ShapeError(
                "the arguments do not have the structure that this kernel was compiled for",
                where=self._name,
                why="containers and static values are part of the signature",
                hint="call the jitted function itself, which compiles what it needs",
            )
        inputs = call.given() if getattr(self._executable, "takes_tensors", False) else call.arrays()
        return self.run(inputs, call.first_array(), out)

    def run(self, inputs: tuple[Array, ...], first: object, out: Any) -> Any:
        """The result for arrays in the order of the graph's inputs: in the kind of `first` (None: NumPy), or in `out`."""
        arrays = inputs + self._constants if self._constants else inputs
        if out is None:
            outputs = self._executable.compute(arrays)
            results = outputs if type(first) is np.ndarray else [like(first, output) for output in outputs]
            return results[0] if self._is_single else pytree.unflatten(self._result, results)
        is_plain = self._is_single and type(out) is np.ndarray and out.flags.c_contiguous
        self._executable.run(arrays, (out,) if is_plain else output_arrays(self._result, out))
        return out

    @property
    def source(self) -> str:
        """The generated text."""
        return self._executable.source

    @property
    def inputs(self) -> tuple[TensorSlot, ...]:
        """The arrays of a call in their order: names, element types, and shapes of integers and of dimensions' names."""
        slots = self._executable.signature.inputs
        return slots[: len(slots) - len(self._constants)]

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The least and the largest value of the dimensions of its inputs."""
        return {one.name: (one.low, one.high) for one in self._executable.signature.symbols if one.extent is None}

    @property
    def result_names(self) -> tuple[str, ...]:
        """The places of arrays in a result, as Python would write them: `result['loss']`."""
        return tuple(pytree.paths(self._result, "result"))

    def save(self, path: str | Path) -> None:
        """Write a package, which `tw.load` reads. Raises `TilewrightError` where it cannot be written or hold the arguments."""
        from tilewright.runtime.packages.layout import Content
        from tilewright.runtime.packages.writing import PackageWriter

        with Shortened():
            writer = PackageWriter(Content.KERNEL)
            self.write_target(writer)
            writer.write(path)

    def write_target(self, writer: PackageWriter, name: str = "") -> None:
        """Add the kernel to a package that has it for several machines, for a machine of this name. Raises `TilewrightError`."""
        from tilewright.api.calls.saved_calls import SavedCall

        text = None if self._explained is None else writer.section(self._explained(full=False).encode())
        writer.target(encode(replace(self._saved(writer), explanation=text), SavedCall), name)

    def _saved(self, writer: PackageWriter) -> SavedCall:
        """The record of the kernel, whose sections are written. Raises `TilewrightError` for what no package holds."""
        from tilewright.api.calls.saved_calls import saved_call
        from tilewright.backends.saving import save_kernel

        return saved_call(self._called, save_kernel((self._executable, self._constants), writer))

    def explain(self, *, full: bool = False) -> str:
        """The plan and its reasons, for a person; `full` leaves out nothing, however long it is.

        A kernel of a package has what was known when it was saved, whatever `full` is; one of a saved function has nothing, and
        raises `TilewrightError`.
        """
        if self._explained is None:
            hint = "explain it before it is saved"
            raise TilewrightError("a kernel of a saved function has no plan", where=self._name, hint=hint)
        return self._explained(full=full)

    def memory_stats(self) -> MemoryStats:
        """Bytes of scratch, workspace and packed constants so far."""
        return self._executable.memory_stats()

    def report(self) -> Any:
        """What a simulated device counted.

        Of the last call: bytes by way, buffers, instructions, predicted cycles and seconds. Raises `TilewrightError` before the
        first call, and for kernels that no simulator runs.
        """
        counted = getattr(self._executable, "report", None)
        if counted is None:
            raise TilewrightError("nothing counts what this kernel does", where=self._name, why="no simulator runs it")
        return counted()


def _encoded(graph: Graph) -> bytes | Graph:
    """What a kernel computes, for whoever asks for its plan.

    Without the values of constants: a kernel keeps no array that it has packed. A graph that `data_format` has no place for stays
    as it is.
    """
    graph = replace(graph, constants=tuple((name, constant.without_values()) for name, constant in graph.constants))
    try:
        return encode(graph, Graph)
    except Unreadable:
        return graph


def output_arrays(result: pytree.Structure, out: Any) -> list[Array]:
    """The arrays of `out`, which must be nested like the result, with memory of its own for every element.

    Raises `ShapeError` if it is nested otherwise, and `TilewrightError` for shared memory. Strides that interleave
    dimensions count as shared. Tensors of a device stay as they are, and nothing is known of their memory.
    """
    arrays = [leaf if is_on_device(leaf) else as_array(leaf) for leaf in _aligned(result, out, "out")]
    if any(map(is_on_device, arrays)):
        return arrays
    for number, array in enumerate(arrays):
        if _overlaps_itself(array) or any(np.shares_memory(array, earlier) for earlier in arrays[:number]):
            hint = "pass arrays that do not overlap"
            raise TilewrightError("elements of out= share memory", where=f"array {number} of out=", hint=hint)
    return arrays


def _aligned(result: pytree.Structure, out: Any, place: str) -> Iterator[Any]:
    """The arrays of `out` in the order of the result's: dicts by their keys."""
    match result:
        case pytree.Leaf():
            if not is_array(out):
                raise _misfit(place, "an array", out)
            yield out
        case pytree.Static(value):
            if is_array(out):
                raise _misfit(place, repr(value), out)
        case pytree.Node(kind, keys, children):
            parts = _parts(kind, keys, out, place)
            for key, part, child in zip(keys, parts, children, strict=True):
                yield from _aligned(child, part, f"{place}[{key!r}]")


def _parts(kind: type, keys: tuple[Any, ...], out: Any, place: str) -> list[Any]:
    if issubclass(kind, dict) and isinstance(out, dict) and set(out) == set(keys):
        return [out[key] for key in keys]
    if issubclass(kind, (tuple, list)) and isinstance(out, (tuple, list)) and len(out) == len(keys):
        return list(out)
    if dataclasses.is_dataclass(kind) and isinstance(out, kind):
        return [getattr(out, key) for key in keys]
    raise _misfit(place, f"a {kind.__name__} of {len(keys)}", out)


def _misfit(place: str, wanted: str, out: Any) -> ShapeError:
    hint = "pass one array, or containers nested like the result"
    return ShapeError(f"{place} is a {type(out).__name__}, where the function returns {wanted}", where=place, hint=hint)


def _overlaps_itself(array: Array) -> bool:
    """Whether a dimension's stride is smaller than what the dimensions of smaller strides span."""
    if array.flags.c_contiguous or array.size == 0:
        return False
    span = array.itemsize
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(array.strides, array.shape, strict=True)):
        if extent > 1 and stride < span:
            return True
        span += stride * (extent - 1)
    return False


def _plain_parameters(call: pytree.Node) -> int:
    """How many positional arrays a call consists of, -1 if there is anything else in it."""
    plain = all(isinstance(key, int) for key in call.keys) and all(isinstance(child, pytree.Leaf) for child in call.children)
    return len(call.children) if plain else -1
