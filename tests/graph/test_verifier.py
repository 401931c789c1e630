"""The verifier names every rule that is broken, and the printer shows the graph in which it happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import InternalError, TilewrightError
from tilewright.graph.builders.einsum import einsum
from tilewright.graph.builders.norms import ROW_SOFTMAX, softmax
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import AxisValue, Load, Point, Previous, State, apply
from tilewright.graph.printer import to_text
from tilewright.graph.types import Access, Axis, Constant, Graph, Guard, Operator, Rescale, SymbolicExtent, Tensor
from tilewright.graph.verifier import verify

X, Y = Tensor("x", (2, 3)), Tensor("y", (3, 4))
PRODUCT, SCORES = einsum("ik,kj->ij", [X, Y], name="product", result="s")
ROWS, OUT = softmax(SCORES, name="rows", result="out")
GRAPH = Graph("good", (X, Y, SCORES, OUT), (PRODUCT, ROWS), ("x", "y"), ("out",))


def with_product(**changes: object) -> Graph:
    return replace(GRAPH, operators=(replace(PRODUCT, **changes), ROWS))  # type: ignore[arg-type]


def with_rows(**changes: object) -> Graph:
    return replace(GRAPH, operators=(PRODUCT, replace(ROWS, **changes)))  # type: ignore[arg-type]


def test_a_good_graph_passes() -> None:
    verify(GRAPH)


BROKEN = {
    "tensor 'x' occurs 2 times": replace(GRAPH, tensors=(*GRAPH.tensors, X)),
    "operator 'product' occurs 2 times": replace(GRAPH, operators=(PRODUCT, replace(PRODUCT, write=ROWS.write))),
    "reads 's' before it is defined": replace(GRAPH, operators=(ROWS, PRODUCT)),
    "definition of 'x' occurs 2 times": replace(GRAPH, constants=(("x", Constant(np.zeros((2, 3), "f4"))),)),
    "'out' has no declaration": replace(GRAPH, tensors=(X, Y, SCORES)),
    "output 'z' is never defined": replace(GRAPH, outputs=("z",)),
    "unknown element type 'float33'": replace(GRAPH, tensors=(replace(X, dtype="float33"), Y, SCORES, OUT)),
    "1 indices into 'x' with 2 dimensions": with_product(reads=(Access("x", (axis("i"),)), PRODUCT.reads[1])),
    "unknown axes ['q']": with_product(reads=(Access("x", (axis("i"), axis("q"))), PRODUCT.reads[1])),
    "runs over 1..3 of 3": with_product(reads=(Access("x", (axis("i"), axis("k") + 1)), PRODUCT.reads[1])),
    "the write has a guard": with_product(write=replace(PRODUCT.write, guard=Guard((axis("i"),), 0.0))),
    "does not cover a dimension": with_product(write=Access("s", (axis("i"), constant(0)))),
    "parallel axes ['j'] are not written": with_product(write=Access("s", (axis("i"), constant(0)))),
    "are reduced without a reduction": with_product(reduction=None),
    "a reduction without reduction axes": with_rows(axes=(Axis("d0", 2), Axis("d1", 4))),
    "reduction axes ['d1'] are written": with_rows(reduction=replace(ROW_SOFTMAX, finish=State("row_sum"))),
    "unknown function 'bessel'": with_product(body=apply("bessel", Load(0))),
    "add takes 2 operands, not 1": with_product(body=apply("add", Load(0))),
    "read 2 does not exist": with_product(body=Load(2)),
    "product: state 'row_max' is not known here": with_product(body=State("row_max")),
    "the previous value of 'row_max' is not known here": with_rows(
        reduction=replace(ROW_SOFTMAX, finish=apply("add", Point(), Previous("row_max")))
    ),
    "a point outside a reduction": with_product(body=Point()),
    "the position along an unknown axis 'q'": with_product(body=AxisValue("q")),
    "rescaling of 'row_max'": with_rows(reduction=replace(ROW_SOFTMAX, rescales=(Rescale("row_max", State("row_sum")),))),
    "rows: state 'row_max' is not known here": with_rows(reduction=replace(ROW_SOFTMAX, states=ROW_SOFTMAX.states[::-1])),
}


@pytest.mark.parametrize("problem", BROKEN, ids=list(BROKEN))
def test_a_broken_rule_is_named_and_the_graph_is_dumped(problem: str) -> None:
    with pytest.raises(InternalError) as caught:
        verify(BROKEN[problem])
    assert problem in str(caught.value)
    assert "graph good" in caught.value.dump
    assert "report" in str(caught.value)
    assert not isinstance(caught.value, TilewrightError)


def test_guarded_accesses_may_point_outside() -> None:
    reads = (Access("x", (axis("i"), axis("k") + 1), Guard((constant(1) - axis("k"),), 0.0)), PRODUCT.reads[1])
    verify(with_product(reads=reads))


def test_symbolic_bounds_are_checked_at_both_ends() -> None:
    s = SymbolicExtent("s", 2, 9, 4)
    x = Tensor("x", (s,))
    shifted = Operator("f", "f", (Axis("i", s),), (Access("x", (axis("i") + 1,)),), Access("out", (axis("i"),)), Load(0))
    with pytest.raises(InternalError, match=r"runs over 1\.\.2 of s"):
        verify(Graph("g", (x, Tensor("out", (s,))), (shifted,), ("x",), ("out",)))


def test_the_printed_graph() -> None:
    masked = Access("x", (axis("d0"),), Guard((axis("d0") - 1,), float("-inf")))
    s = SymbolicExtent("s", 1, 64, 16)
    operator = Operator("mask", "mask", (Axis("d0", s),), (masked,), Access("out", (axis("d0"),)), apply("exp", Load(0)))
    tensors = (Tensor("x", (s,)), Tensor("out", (s,)))
    assert to_text(Graph("g", tensors, (operator,), ("x",), ("out",))).splitlines() == [
        "graph g",
        "  input x: float32(s in 1..64 (as 16))",
        "  output out: float32(s in 1..64 (as 16))",
        "  mask = mask[d0=s in 1..64 (as 16)]",
        "    out[d0] <- x[d0] where d0 + -1 >= 0 else -inf",
        "    body: exp(#0)",
    ]
    assert to_text(GRAPH) == to_text(GRAPH)
    assert "rescale row_sum by exp(old row_max - row_max)" in to_text(GRAPH)


def test_what_was_found_well_formed_is_not_looked_at_again() -> None:
    """Operators taken over from another graph are skipped, unless their tensors changed."""
    (operator, *others) = GRAPH.operators
    broken = replace(operator, body=Load(99))
    whole = replace(GRAPH, operators=(broken, *others))
    verify(whole, whole)
    with pytest.raises(InternalError, match="read 99 does not exist"):
        verify(whole, GRAPH)
    wide = tuple(replace(tensor, shape=tuple(2 for _ in tensor.shape)) for tensor in GRAPH.tensors)
    with pytest.raises(InternalError, match=r"runs over|does not cover"):
        verify(replace(GRAPH, tensors=wide), GRAPH)
