"""What a call of a compiled graph does beside running kernels, as functions that are generated once: memory for outputs, views.

Extents that torch knows as expressions of symbols are computed from the arguments of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch.fx import Graph, Node

from tilewright.api import torch_internals as internals
from tilewright.api.torch.memory import Borrow, borrowed_like
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.extents import dimension_named, extent_of
from tilewright.frontend.torch.program import Computed, Given, ProgramResult
from tilewright.graph.expressions.extents import Operation, Sum
from tilewright.records import record

Allocate: TypeAlias = Callable[[Sequence[Any]], list[torch.Tensor]]
"""Gives tensors to write to, for the arguments of a call."""
Arrange: TypeAlias = Callable[[Sequence[Any], list[torch.Tensor]], list[Any]]
"""Gives the outputs, for the arguments of a call and what kernels wrote."""


@record(eq=False)
class Outputs:
    """The outputs of a graph: what kernels have to compute for them, and what they are.

    Outputs that share memory in torch do so here: kernels compute the tensor that owns the memory, whose views they are.
    """

    owners: tuple[Node, ...]
    """The nodes that have to be computed; no placeholders."""
    texts: tuple[str, ...]
    """Of every output, as an expression of `given`, `made` (a tensor for each owner) and `values`."""
    values: tuple[Any, ...]
    """What outputs are that nothing computes."""
    dimensions: dict[str, str]
    """Where a call tells the value of a dimension, as an expression of `given`."""


@record(eq=False)
class Generated:
    """What runs before the kernels of a call and what runs behind them."""

    allocate: Allocate
    """In the order of the graph's outputs."""
    borrow: tuple[Borrow, ...]
    """What makes arrays of these."""
    arrange: Arrange | None
    """None where outputs are what kernels wrote."""


def outputs_of(graph: Graph) -> Outputs:
    """The outputs of a graph of ATen calls. Raises `UnsupportedOperation` for what no call could give."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    dimensions = _dimensions(placeholders)
    describe = _Describer(_owners(graph), {node: place for place, node in enumerate(placeholders)}, dimensions)
    texts = tuple(describe.output(output) for output in graph.output_node().args[0])
    return Outputs(tuple(describe.numbers), texts, tuple(describe.values), dimensions)


def generated(outputs: Outputs, results: Sequence[ProgramResult], graph_outputs: int) -> Generated:
    """What a call does, where a program has these results for the owners, and its graph so many outputs.

    Raises `UnsupportedOperation` for layouts that no call could compute.
    """
    by_number = {r.number: node for node, r in zip(outputs.owners, results, strict=True) if isinstance(r, Computed)}
    examples = [by_number[number].meta["val"] for number in range(graph_outputs)]
    layouts = [_Layout.of(example, outputs.dimensions) for example in examples]
    borrow = tuple(map(borrowed_like, examples))
    values = [*outputs.values]
    made = []
    for node, result in zip(outputs.owners, results, strict=True):
        if isinstance(result, Computed):
            made.append(f"written[{result.number}]")
        else:
            made.append(f"{_Layout.of(node.meta['val'], outputs.dimensions).memory()}.copy_({_held(result, values)})")
    allocate = _function("given", f"return [{', '.join(layout.memory() for layout in layouts)}]", values)
    is_plain = made == [f"written[{n}]" for n in range(len(outputs.texts))] and outputs.texts == _numbered(len(made))
    if is_plain:
        return Generated(allocate, borrow, None)
    body = f"made = [{', '.join(made)}]\n    return [{', '.join(outputs.texts)}]"
    return Generated(allocate, borrow, _function("given, written", body, values))


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"made[{number}]" for number in range(count))


def _held(result: Given, values: list[Any]) -> str:
    """A value as an expression; tensors are kept without what torch's compiler knows of them."""
    if not isinstance(result.value, torch.Tensor):
        raise UnsupportedOperation(f"an output of type {type(result.value).__name__} in the place of a tensor")
    values.append(result.value.detach())
    return f"values[{len(values) - 1}]"


def _function(parameters: str, body: str, values: Sequence[Any]) -> Any:
    """A function of our own text: extents, places and layouts, nothing that a user wrote."""
    names: dict[str, Any] = {"empty": torch.empty_strided, "cpu": _CPU, "types": _TYPES, "values": tuple(values)}
    exec(f"def generated({parameters}):\n    {body}\n", names)
    return names["generated"]


_CPU = torch.device("cpu")
_TYPES = tuple(dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype))


@record
class _Layout:
    """How a tensor lies in memory, as expressions."""

    shape: str
    strides: str
    offset: str
    dtype: torch.dtype

    @staticmethod
    def of(example: Any, dimensions: dict[str, str]) -> _Layout:
        """Of an example. Raises `UnsupportedOperation` for extents that a call does not tell."""
        shape, strides = (_tuple(part, dimensions) for part in (example.shape, example.stride()))
        return _Layout(shape, strides, text_of(extent_of(example.storage_offset()), dimensions), example.dtype)

    def memory(self) -> str:
        """New memory of this layout."""
        return f"empty({self.shape}, {self.strides}, dtype=types[{_TYPES.index(self.dtype)}], device=cpu)"

    def view(self, base: str, before: str = "") -> str:
        """The view of a base that has this layout."""
        return f"{base}.as_strided({self.shape}, {self.strides}, {before}{self.offset})"


class _Describer:
    """Says in expressions what outputs are."""

    def __init__(self, owners: dict[int, Node], places: dict[Node, int], dimensions: dict[str, str]) -> None:
        self._owners, self._places, self._dimensions = owners, places, dimensions
        self.numbers: dict[Node, int] = {}
        """Of the owners that outputs need."""
        self.values: list[Any] = []

    def output(self, output: Any) -> str:
        if not isinstance(output, Node):
            return self._value(output)
        example = output.meta.get("val")
        if isinstance(example, torch.Tensor):
            return self._tensor(output, example)
        if isinstance(example, torch.SymInt | int) and not isinstance(example, bool):
            return text_of(extent_of(example), self._dimensions)
        raise UnsupportedOperation(f"an output of type {type(example).__name__}")

    def _value(self, value: Any) -> str:
        if value is not None and not isinstance(value, bool | int | float):
            raise UnsupportedOperation(f"an output of type {type(value).__name__}")
        self.values.append(value)
        return f"values[{len(self.values) - 1}]"

    def _tensor(self, output: Node, example: Any) -> str:
        _check(example)
        owner = self._owners[internals.storage_of(example)]
        if owner in self._places:
            base, before = f"given[{self._places[owner]}]", self._offset_before(owner)
        else:
            base, before = f"made[{self.numbers.setdefault(owner, len(self.numbers))}]", ""
        return base if owner is output else _Layout.of(example, self._dimensions).view(self._typed(base, owner, example), before)

    def _typed(self, base: str, owner: Node, example: Any) -> str:
        """The owner's elements as those of the view's type. Raises `UnsupportedOperation` for elements of another size."""
        dtype = owner.meta["val"].dtype
        if dtype == example.dtype:
            return base
        if dtype.itemsize != example.dtype.itemsize:
            raise UnsupportedOperation(
                f"an output that is a view of {dtype} as {example.dtype}", why="elements have another size"
            )
        return f"{base}.view(types[{_TYPES.index(example.dtype)}])"

    def _offset_before(self, owner: Node) -> str:
        """Of an argument in its storage: torch's compiler promises its strides, and not where it begins."""
        begin = extent_of(owner.meta["val"].storage_offset())
        base = f"given[{self._places[owner]}]"
        return f"{base}.storage_offset() - {text_of(begin, self._dimensions)} + "


def _check(example: Any) -> None:
    """Raise `UnsupportedOperation` for what is no plain tensor in the CPU's memory."""
    if example.layout is not torch.strided or example.device.type != "cpu":
        raise UnsupportedOperation(f"an output of {example.layout} on {example.device.type}")
    if example.is_conj() or example.is_neg():
        raise UnsupportedOperation("an output that is a conjugate or negative view")


def _owners(graph: Graph) -> dict[int, Node]:
    """By storage, the first node whose value has it: all others are its views.

    Where a pass of torch has put another call in the place of one, examples of views still have the storage of the old one.
    """
    owners: dict[int, Node] = {}
    for node in graph.nodes:
        example = node.meta.get("val")
        if isinstance(example, torch.Tensor) and example.layout is torch.strided:
            base = _base(node)
            owner = node if base is None else owners.get(internals.storage_of(base), node)
            owners.setdefault(internals.storage_of(example), owner)
    return owners


def _base(node: Node) -> Any:
    """The example of the tensor that a call of a view operator views."""
    is_view = isinstance(node.target, torch._ops.OpOverload) and node.target.is_view
    example = node.all_input_nodes[0].meta.get("val") if is_view and node.all_input_nodes else None
    return example if isinstance(example, torch.Tensor) and example.layout is torch.strided else None


def _dimensions(placeholders: Sequence[Node]) -> dict[str, str]:
    """Where arguments tell the value of a dimension: as a number of its own, or as an extent."""
    numbers: dict[str, str] = {}
    extents: dict[str, str] = {}
    for place, node in enumerate(placeholders):
        example = node.meta.get("val")
        if name := dimension_named(example):
            numbers[name] = f"given[{place}]"
        for dim, extent in enumerate(example.shape if isinstance(example, torch.Tensor) else ()):
            if name := dimension_named(extent):
                extents[name] = f"given[{place}].shape[{dim}]"
    return {**extents, **numbers}


def _tuple(extents: Sequence[Any], dimensions: dict[str, str]) -> str:
    texts = [text_of(extent_of(extent), dimensions) for extent in extents]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def text_of(extent: Any, dimensions: dict[str, str]) -> str:
    """An extent as an expression of Python. Raises `UnsupportedOperation` for a dimension that no argument tells.

    >>> from tilewright.graph.expressions.extents import SymbolicExtent, plus, quotient, times
    >>> s = SymbolicExtent("s0", 1, 16, 16)
    >>> text_of(plus(times(quotient(s, 2), 3), -1), {"s0": "given[1]"})
    '(3 * (given[1] // 2) + -1)'
    """
    if isinstance(extent, int):
        return str(extent)
    match extent.formula:
        case None:
            if extent.name not in dimensions:
                raise UnsupportedOperation(f"an extent of {extent.name}", why="no argument tells it")
            return dimensions[extent.name]
        case Sum(terms):
            products = (" * ".join([str(c), *(text_of(factor, dimensions) for factor in fs)]) for c, fs in terms)
            return f"({' + '.join(products)})"
        case Operation(function, first, second):
            one, other = text_of(first, dimensions), text_of(second, dimensions)
            return f"({one} // {other})" if function == "//" else f"{function}({one}, {other})"
    raise UnsupportedOperation(f"an extent of {extent}")
