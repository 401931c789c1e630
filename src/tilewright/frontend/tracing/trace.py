"""Tracing of a NumPy-style function: it runs once on stand-ins that record a graph.

NumPy asks for the value of an extent that slices one of its arrays, and there is none while a function is traced for all values.
Arrays that a function names are constants of its graph in any case; as traced ones they are sliced in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from tilewright.errors import TilewrightError, UnsupportedOperation, bug, is_bug
from tilewright.frontend.tracing.recorder import Recorder, current_recorder, recording
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.printer import to_text
from tilewright.graph.types import Extent, Graph, SymbolicExtent, Tensor
from tilewright.graph.verifier import verify_stage
from tilewright.records import record

NEVER_MEANT = (AssertionError, LookupError, NameError, StopIteration)
"""Exceptions that lines of this package do not raise for arguments of a wrong type or value."""


@record
class TensorSpec:
    """What a traced argument is: extents (integers or symbols), element type by NumPy name, the name of the graph's input."""

    shape: tuple[Extent, ...]
    dtype: str = "float32"
    name: str = ""
    is_number: bool = False
    """Whether it stands for a number, of which the caller's language chose no element type."""


def trace(
    function: Callable[..., Any], arguments: Sequence[TensorSpec], *, name: str = "", element_types: Collection[str] | None = None
) -> Graph:
    """The graph of `function(*arguments)`, which must return one traced array or a sequence of them.

    Inputs have the names of the specs (or x0, x1, ...), outputs are `out`, or `out_0`, `out_1`, ... Arrays that the function
    closes over become constants. `element_types` are those that tensors may have; None accepts any. Raises
    `UnsupportedOperation`, `ShapeError` and `DTypeError` with the place in the user's source.

    >>> graph = trace(lambda x, y: x @ y, [TensorSpec((2, 3), name="x"), TensorSpec((3, 4), name="y")])
    >>> graph.inputs, graph.outputs, [operator.kind for operator in graph.operators]
    (('x', 'y'), ('out',), ['matmul'])
    """
    from tilewright.frontend.tracing import functions  # noqa: F401  # fills the namespace; kernel calls need none

    recorder = Recorder(name or getattr(function, "__name__", "function"), element_types)
    _check_symbols(arguments)
    names = [spec.name or f"x{position}" for position, spec in enumerate(arguments)]
    given = zip(names, arguments, strict=True)
    inputs = [_argument(recorder, name, spec) for name, spec in given]
    with recording(recorder):
        try:
            returned = function(*inputs)
        except NEVER_MEANT as problem:
            if not is_bug(problem):
                raise
            raise bug(f"tracing {recorder.name}", problem, to_text(recorder.graph(()))) from problem
    results = list(returned) if isinstance(returned, list | tuple) else [returned]
    outputs = tuple(_output(recorder, result, results[:position]) for position, result in enumerate(results))
    graph = _with_output_names(recorder.graph(outputs))
    verify_stage(graph)
    return graph


def record_into(builder: Builder, function: Callable[..., Any], operands: Sequence[tuple[Tensor, bool]]) -> tuple[Tensor, ...]:
    """The tensors of the arrays that a function returns, whose operators a graph under construction gets.

    `operands` are tensors of that graph, and whether each stands for a number. Raises what `trace` does.
    """
    from tilewright.frontend.tracing import functions  # noqa: F401  # fills the namespace

    recorder = Recorder(builder.name)
    vars(recorder).update(vars(builder))
    traced = [Traced(recorder, x, is_rounded=is_number and x.dtype == "float32") for x, is_number in operands]
    with recording(recorder):
        results = list(function(*traced))
    return tuple(recorder.tensors[_output(recorder, one, results[:place])] for place, one in enumerate(results))


def _argument(recorder: Recorder, name: str, spec: TensorSpec) -> Traced:
    tensor = recorder.input(name, spec.shape, spec.dtype)
    return Traced(recorder, tensor, is_rounded=spec.is_number and spec.dtype == "float32")


def _output(recorder: Recorder, result: Any, earlier: Sequence[Any]) -> str:
    """The tensor of a returned value; arguments, constants and repeated values are copied: each output is written once."""
    if isinstance(result, np.ndarray):
        result = Traced(recorder, recorder.constant(result))
    if not isinstance(result, Traced):
        raise UnsupportedOperation(f"a traced function returned a {type(result).__name__}", hint="return arrays")
    if result.recorder is not recorder:
        raise UnsupportedOperation("a traced function returned an array of an earlier call", hint="return arrays of this call")
    written = {operator.write.tensor for operator in recorder.operators}
    before = [value.tensor for value in earlier if isinstance(value, Traced)]
    if result.tensor.name in written and result.tensor not in before:
        return result.tensor.name
    return recorder.body(Load(0), result.tensor, dtype=result.tensor.dtype, kind="copy").name


def _with_output_names(graph: Graph) -> Graph:
    numbered = {output: f"out_{position}" for position, output in enumerate(graph.outputs)}
    names = {graph.outputs[0]: "out"} if len(graph.outputs) == 1 else numbered
    taken = {tensor.name for tensor in graph.tensors}
    from tilewright.graph.rewrites.rebuild import rename_tensors

    return rename_tensors(graph, {old: new for old, new in names.items() if new not in taken})


def _check_symbols(arguments: Sequence[TensorSpec]) -> None:
    known: dict[str, SymbolicExtent] = {}
    for spec in arguments:
        for extent in spec.shape:
            if isinstance(extent, SymbolicExtent) and known.setdefault(extent.name, extent) != extent:
                why = f"{known[extent.name].low}..{known[extent.name].high} and {extent.low}..{extent.high}"
                text, hint = f"the symbol {extent.name!r} has two ranges", "use the same Dim object everywhere"
                raise TilewrightError(text, why=why, hint=hint)


def with_traced_arrays(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function with traced constants in the place of arrays of its closure and its module; None where it names none.

    Assumption: it computes with them by operators and functions of traced arrays. Where it does not, tracing raises.

    >>> table = np.ones(4)
    >>> with_traced_arrays(lambda x: x + table) is None, with_traced_arrays(lambda x: x) is None
    (False, True)
    """
    if not isinstance(function, FunctionType):
        return None
    names = _names(function.__code__)
    of_module = {name: value for name, value in function.__globals__.items() if name in names and isinstance(value, np.ndarray)}
    closure = function.__closure__ or ()
    if not of_module and not any(isinstance(_contents(cell), np.ndarray) for cell in closure):
        return None

    def traced(*arguments: Any, **keywords: Any) -> Any:
        cells = tuple(CellType(_traced(_contents(cell))) if isinstance(_contents(cell), np.ndarray) else cell for cell in closure)
        globals_ = {**function.__globals__, **{name: _traced(value) for name, value in of_module.items()}}
        same = FunctionType(function.__code__, globals_, function.__name__, function.__defaults__, cells)
        same.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
        return same(*arguments, **keywords)

    traced.__name__ = function.__name__
    return traced


def _names(code: CodeType) -> frozenset[str]:
    """The global names that a function and the functions inside it read."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _traced(array: Any) -> Traced:
    recorder = current_recorder()
    assert recorder is not None
    return Traced(recorder, recorder.constant(array))
