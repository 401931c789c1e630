"""Quasi-affine indices as text of a kernel, and the linear address that indices and strides make."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import FloorDiv, Index, Mod, constant
from tilewright.render.triton.refusals import refused


def linear(indices: Iterable[Index], strides: Iterable[int]) -> Index:
    """The sum of the products of indices and strides, with what divisions took apart joined again.

    >>> from tilewright.graph.expressions.index import axis, floordiv, mod
    >>> p = axis("p")
    >>> str(linear((axis("c"), floordiv(p, 7), mod(p, 7)), (49, 7, 1)))
    '49*c + p'
    """
    total = constant(0)
    for index, stride in zip(indices, strides, strict=True):
        total = total + index * stride
    return _joined(total)


def _joined(index: Index) -> Index:
    """c m (x // m) + c (x % m) = c x."""
    terms = dict(index.terms)
    for atom, coefficient in index.terms:
        if not isinstance(atom, FloorDiv):
            continue
        rest = Mod(atom.dividend, atom.divisor)
        factor = terms.get(rest, 0)
        if factor and coefficient == factor * atom.divisor:
            del terms[atom], terms[rest]
            return _joined(Index(tuple(terms.items()), index.constant) + atom.dividend * factor)
    return index


def index_text(index: Index, position: Callable[[str], str]) -> str:
    """An index, given the text of the position along every axis. Raises `UnsupportedOperation` for extents of a call.

    >>> from tilewright.graph.expressions.index import axis, mod
    >>> index_text(mod(axis("p"), 7) * 2 + axis("k") + 1, lambda axis: f"{axis}_at")
    '(p_at % 7) * 2 + k_at + 1'
    """
    parts = [_term(atom, coefficient, position) for atom, coefficient in index.terms]
    if index.constant or not parts:
        parts.append(str(index.constant))
    return " + ".join(parts)


def _term(atom: str | FloorDiv | Mod | SymbolicExtent, coefficient: int, position: Callable[[str], str]) -> str:
    match atom:
        case str():
            text = position(atom)
        case FloorDiv(dividend, divisor):
            text = f"(({index_text(dividend, position)}) // {divisor})"
        case Mod(Index(((str(name), 1),), 0), divisor):
            text = f"({position(name)} % {divisor})"
        case Mod(dividend, divisor):
            text = f"(({index_text(dividend, position)}) % {divisor})"
        case SymbolicExtent():
            raise refused(f"the extent {atom.name}", "its kernels have literals for sizes")
    return text if coefficient == 1 else f"{text} * {coefficient}"
