"""An extent known at run time, as a number: a map of nothing, which readers take into their bodies."""

from __future__ import annotations

from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.scalar import scalar_of
from tilewright.graph.types import Access, Operator, SymbolicExtent, Tensor


def extent(symbol: SymbolicExtent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The value of a symbol, of shape ().

    >>> extent(SymbolicExtent("s", 1, 64, 32), name="extent", result="y")[0].body
    Parameter(name='s')
    """
    write, accumulator = Access(result, ()), accumulator_of("int64")
    operator = Operator(name, "extent", (), (), write, scalar_of(symbol), accumulator=accumulator)
    return operator, Tensor(result, (), "int64")
