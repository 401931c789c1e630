"""Graphs with calls that stay in eager mode: what lies around these is compiled, in few parts, without breaking the graph."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from tilewright.api import torch_internals as internals
from tilewright.api.torch import counting
from tilewright.api.torch.counting import EagerNode
from tilewright.api.torch.library import Weights
from tilewright.api.torch.options import BackendOptions
from tilewright.api.torch.units import Unit, unit_of
from tilewright.errors import ToolchainError, UnsupportedOperation
from tilewright.frontend.torch.extents import dimension_named, dimensions_in, extent_of, number_of, shape_of
from tilewright.frontend.torch.program import Recording, reason_of
from tilewright.graph.expressions.extents import dimensions_of, planned_extent
from tilewright.records import record

PREFIX = "compiled_part_"
TOO_SMALL = "a kernel would take as long"
"""Why calls that could be compiled are not."""
LEAST_CALLS = 2
"""Of a part, whatever it computes: a call of a part takes as long as two of torch's (9 and 4.5 us, Zen 4)."""
LEAST_ELEMENTS = 4096
"""That an operator reads or writes with which a part of one call pays. Kernels' time counts from there on."""
SLOWER = frozenset(("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "topk", "lgamma", "erfinv"))
"""Operators that torch computes faster than kernels do: one alone never pays."""


@record(eq=False)
class Part:
    """A part of a graph, and where its weights come from."""

    unit: Unit
    names: Mapping[str, str]
    """The frozen placeholder of the whole graph, by the part's placeholder."""
    fixed: Weights
    """Tensors that the graph itself holds."""

    def bound(self, weights: Weights) -> Callable[..., Any]:
        """What is called with the part's arguments."""
        own = {inner: weights[outer] for inner, outer in self.names.items() if outer in weights}
        return partial(_called, self.unit.bound({**self.fixed, **own}))


def _called(run: Callable[[list[Any]], Any], *arguments: Any) -> Any:
    return run([*arguments])


class Parts:
    """A graph, some calls of which are compiled. It holds no weight, and nothing of torch's compiler."""

    def __init__(self, module: GraphModule, parts: Mapping[str, Part]) -> None:
        """`module` calls submodules of these names, whose arguments are those of the parts."""
        self._module, self.parts = module, parts

    @property
    def weights(self) -> tuple[str, ...]:
        """The placeholders that parts read as constants."""
        return tuple(dict.fromkeys(name for part in self.parts.values() for name in part.names.values()))

    @property
    def operators(self) -> int:
        """Of all parts."""
        return sum(part.unit.operators for part in self.parts.values())

    def bound(self, weights: Weights) -> Callable[[list[Any]], Any]:
        """What calls run, with these weights packed."""
        return _InParts(self._module, {name: part.bound(weights) for name, part in self.parts.items()})


class _InParts:
    """Runs the generated code of a module, in which the parts stand for submodules."""

    _boxed_call = True

    def __init__(self, module: GraphModule, parts: Mapping[str, Callable[..., Any]]) -> None:
        self._module, self._forward = module, type(module).forward
        vars(self).update(parts)

    def __getattr__(self, name: str) -> Any:
        """Constants, and submodules that are not compiled."""
        return getattr(vars(self)["_module"], name)

    def __call__(self, arguments: list[Any]) -> Any:
        """The outputs; the list is cleared."""
        given = arguments[:]
        arguments.clear()
        return self._forward(self, *given)


def in_parts(
    module: GraphModule, refused: Collection[str], weights: Weights, options: BackendOptions, name: str
) -> tuple[Parts, tuple[EagerNode, ...]]:
    """Compile a module around the nodes of these names; what else stays in eager mode: small parts, and those that failed.

    Raises `UnsupportedOperation` where no part is left.
    """
    copy = _copied(module)
    found = internals.parts_of(copy, _supported(copy, refused))
    chosen = [part for part in found if _gains(part)]
    small = counting.eager_nodes({node: TOO_SMALL for part in found if part not in chosen for node in _computing(part)})
    if not chosen:
        raise UnsupportedOperation("a graph without parts that gain")
    drawn = _drawn(copy)
    fused = internals.with_modules(copy, chosen, PREFIX)
    if _drawn(fused) != drawn:
        raise UnsupportedOperation("a graph in parts", why="random numbers would be drawn in another order")
    parts, problems = {}, {}
    for call in [node for node in fused.graph.nodes if node.op == "call_module"]:
        try:
            parts[call.target] = _part(fused, call, weights, options, name)
        except ToolchainError:
            raise
        except Exception as problem:
            problems[call.target] = reason_of(problem)
    if not parts:
        raise UnsupportedOperation("a graph without parts", why="; ".join(problems.values()))
    failed = (EagerNode(part, "a part", reason, "") for part, reason in problems.items())
    return Parts(_freed(fused, parts), parts), (*small, *failed)


def _copied(module: GraphModule) -> GraphModule:
    graph = Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    copied = GraphModule(module, graph)
    outputs = graph.output_node()
    outputs.meta = {**module.graph.output_node().meta}
    return copied


def without_examples(module: GraphModule) -> GraphModule:
    """A copy that runs, and holds nothing of torch's compiler."""
    copied = _copied(module)
    _forget_examples(copied)
    return copied


def _forget_examples(module: GraphModule) -> None:
    for part in module.modules():
        if isinstance(part, GraphModule):
            part.meta.clear()
            for node in part.graph.nodes:
                node.meta.clear()


def _supported(module: GraphModule, refused: Collection[str]) -> set[Node]:
    """What may become parts: no arithmetic of extents, and no piece of a result that was refused, nor a view of it: torch makes
    these, of the strides that the result has, whatever its operator has told."""
    supported = {node for node in module.graph.nodes if node.op == "call_function" and _is_supported(node, refused)}
    owners: dict[int, Node] = {}
    for node in module.graph.nodes:
        for example in _tensors(node.meta.get("val")):
            owner = owners.setdefault(internals.storage_of(example), node)
            if owner.op == "call_function" and owner not in supported:
                supported.discard(node)
    return supported


def _tensors(example: Any) -> list[torch.Tensor]:
    """Those that a node gives."""
    examples = example if isinstance(example, list | tuple) else [example]
    return [one for one in examples if isinstance(one, torch.Tensor) and one.layout is torch.strided]


def _is_supported(node: Node, refused: Collection[str]) -> bool:
    if node.name in refused or not isinstance(node.meta.get("val"), torch.Tensor | list | tuple):
        return False
    return node.target is not python_operator.getitem or node.args[0].name not in refused


def _drawn(module: GraphModule) -> list[str]:
    """The calls that draw random numbers, in their order."""
    return [node.name for node in module.graph.nodes if internals.is_random(node.target)]


def _gains(part: Sequence[Node]) -> bool:
    """Whether a part may be faster than its calls in eager mode.

    No price decides. Plans have one for kernels alone, and torch's take 0.1 to 50 times as long (docs/decisions/torch.md); nor
    should a part be planned, for seconds perhaps, to be dropped.
    """
    calls = _computing(part)
    return len(calls) >= LEAST_CALLS or any(_operator(node) not in SLOWER and _elements(node) >= LEAST_ELEMENTS for node in calls)


def _computing(part: Sequence[Node]) -> list[Node]:
    """The calls that are more than views."""
    return [node for node in part if internals.computes(node.target)]


def _elements(node: Node) -> int:
    """Of the largest tensor that a call reads or writes, as far as examples tell; at the hints of extents of run time."""
    examples = [one.meta.get("val") for one in (node, *node.all_input_nodes)]
    flat = [tensor for one in examples for tensor in (one if isinstance(one, list | tuple) else (one,))]
    return max((prod(map(planned_extent, shape_of(one))) for one in flat if isinstance(one, torch.Tensor)), default=0)


def _operator(node: Node) -> str:
    return str(node.target).split(".")[1]


def _part(module: GraphModule, call: Node, weights: Weights, options: BackendOptions, name: str) -> Part:
    inner = _numbered(getattr(module, call.target))
    _give_dimensions(module.graph, call, inner)
    pairs = [*zip([node for node in inner.graph.nodes if node.op == "placeholder"], call.args, strict=True)]
    names = {own.name: outer.name for own, outer in pairs if outer.op == "placeholder" and outer.name in weights}
    fixed = {own.name: getattr(module, outer.target).detach() for own, outer in pairs if outer.op == "get_attr"}
    known = {**fixed, **{own: weights[outer] for own, outer in names.items()}}
    recording = Recording.of(inner, known, name)
    if recording.refused:
        raise UnsupportedOperation(next(iter(recording.refused.values())))
    return Part(unit_of(inner, recording, known, options), names, fixed)


def _numbered(module: GraphModule) -> GraphModule:
    """The same part with placeholders that are called by their places: parts of equal layers are equal."""
    graph, same = Graph(), {}
    for place, node in enumerate(node for node in module.graph.nodes if node.op == "placeholder"):
        same[node] = graph.placeholder(f"input_{place}")
        same[node].meta = {**node.meta}
    graph.output(graph.graph_copy(module.graph, same))
    return GraphModule(module, graph)


def _give_dimensions(graph: Graph, call: Node, inner: GraphModule) -> None:
    """Dimensions that a part's shapes are made of, and that none of its arguments tells, become arguments."""
    told = {name for node in inner.graph.nodes if node.op == "placeholder" for name in _told(node.meta.get("val"))}
    needed = {name for node in inner.graph.nodes for name in _needed(node.meta.get("val"))}
    first = next(node for node in inner.graph.nodes if node.op != "placeholder")
    for outer in [node for node in graph.nodes if node.op == "placeholder"]:
        example = outer.meta.get("val")
        names = [*_told(example)] if isinstance(example, torch.SymInt) else []
        if names and names[0] in needed - told:
            with inner.graph.inserting_before(first):
                inner.graph.placeholder(f"input_{len(call.args)}").meta["val"] = example
            call.args = (*call.args, outer)
    inner.recompile()


def _told(example: Any) -> Iterator[str]:
    """Dimensions that an argument tells."""
    extents = [example] if isinstance(example, torch.SymInt) else getattr(example, "shape", ())
    return filter(None, map(dimension_named, extents))


def _needed(example: Any) -> Iterator[str]:
    """Dimensions that the extents of a value are made of."""
    values = example if isinstance(example, list | tuple) else [example]
    for value in values:
        if isinstance(value, torch.SymFloat):
            yield from dimensions_in(number_of(value))
        extents = [value] if isinstance(value, torch.SymInt) else getattr(value, "shape", ())
        yield from dimensions_of(extent_of(extent) for extent in extents if isinstance(extent, torch.SymInt))


def _freed(module: GraphModule, parts: Mapping[str, Part]) -> GraphModule:
    """The module without the submodules that are compiled, and without what torch's compiler knew."""
    for name in parts:
        delattr(module, name)
    module.recompile()
    _forget_examples(module)
    return module
