"""Change of shape in row-major order: an index change whose maps divide where dimensions merge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import Index, axis, constant, floordiv, mod
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import Shape, shape_text, symbols_of
from tilewright.graph.types import Access, Axis, Extent, Operator, SymbolicExtent, Tensor


def reshape(x: Tensor, shape: Sequence[Extent], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The elements of `x` in row-major order in a new shape; one extent may be -1 and is then computed.

    A symbolic extent must stay a dimension of its own. Raises `ShapeError` if the number of elements differs.

    >>> operator, _ = reshape(Tensor("x", (6, 4)), (2, 3, 4), name="reshape", result="y")
    >>> [str(index) for index in operator.reads[0].indices]
    ['3*d0 + d1', 'd2']
    """
    target = _complete(x.shape, tuple(shape))
    indices: list[Index] = []
    for source, new in _groups(x.shape, target):
        indices += _group_indices([x.shape[d] for d in source], [(f"d{d}", target[d]) for d in new])
    axes = tuple(Axis(f"d{position}", extent) for position, extent in enumerate(target))
    write = Access(result, tuple(axis(a.name) for a in axes))
    operator = Operator(
        name, "reshape", axes, (Access(x.name, tuple(indices)),), write, Load(0), accumulator=accumulator_of(x.dtype)
    )
    return operator, Tensor(result, target, x.dtype)


def numpy_reference(x: Any, shape: Sequence[int]) -> Any:
    """The same by `numpy.reshape`."""
    return np.reshape(x, tuple(shape))


def _complete(source: Shape, target: Shape) -> Shape:
    """The target without -1; refuses a different number of elements."""
    unknown = [position for position, extent in enumerate(target) if extent == -1]
    known = tuple(extent for extent in target if extent != -1)
    numbers, known_numbers = _product(source), _product(known)
    missing = list(symbols_of(source))
    for symbol in symbols_of(known):
        if symbol not in missing:
            raise _mismatch(source, target, f"{symbol} is no extent of the array")
        missing.remove(symbol)
    if not unknown:
        if missing or numbers != known_numbers:
            raise _mismatch(source, target, "the numbers of elements differ")
        return target
    if len(unknown) > 1 or any(isinstance(e, int) and e < -1 for e in target):
        raise _mismatch(source, target, "only one extent may be -1")
    if known_numbers == 0 or numbers % known_numbers or len(missing) > 1 or (missing and numbers != known_numbers):
        raise _mismatch(source, target, "no extent in place of -1 fits")
    extent: Extent = missing[0] if missing else numbers // known_numbers
    return (*target[: unknown[0]], extent, *target[unknown[0] + 1 :])


def _product(shape: Shape) -> int:
    return math.prod(extent for extent in shape if isinstance(extent, int))


def _mismatch(source: Shape, target: Shape, why: str) -> ShapeError:
    return ShapeError(f"cannot reshape {shape_text(source)} into {shape_text(target)}", where="reshape", why=why)


def _groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """The finest split of both shapes into runs of dimensions with equal numbers of elements."""
    if 0 in source:
        return [(list(range(len(source))), list(range(len(target))))]
    groups: list[tuple[list[int], list[int]]] = []
    left, right = 0, 0
    while left < len(source) or right < len(target):
        old, new = [left] if left < len(source) else [], [right] if right < len(target) else []
        left, right = left + len(old), right + len(new)
        while not _balanced([source[d] for d in old], [target[d] for d in new]):
            if right < len(target) and (left == len(source) or _behind(source, old, target, new)):
                new.append(right)
                right += 1
            elif left < len(source):
                old.append(left)
                left += 1
            else:
                raise _mismatch(source, target, "a symbolic extent must stay a dimension of its own")
        groups.append((old, new))
    return groups


def _behind(source: Shape, old: list[int], target: Shape, new: list[int]) -> bool:
    """Whether the target's run has fewer elements so far than the source's."""
    before, after = [source[d] for d in old], [target[d] for d in new]
    if len(symbols_of(before)) != len(symbols_of(after)):
        return len(symbols_of(after)) < len(symbols_of(before))
    return _product(tuple(after)) < _product(tuple(before))


def _balanced(old: Sequence[Extent], new: Sequence[Extent]) -> bool:
    if symbols_of(old) or symbols_of(new):
        mine = [extent for extent in old if extent != 1]
        return len(mine) == 1 and mine == [extent for extent in new if extent != 1]
    return _product(tuple(old)) == _product(tuple(new))


def _group_indices(old: Sequence[Extent], new: Sequence[tuple[str, Extent]]) -> list[Index]:
    """The index of every old dimension of one group as a map of the new axes."""
    if any(isinstance(extent, SymbolicExtent) for extent in old):
        name = next(name for name, extent in new if extent != 1)
        return [constant(0) if extent == 1 else axis(name) for extent in old]
    extents = {name: extent for name, extent in new if isinstance(extent, int)}
    linear, stride = constant(0), 1
    for name, extent in reversed(list(extents.items())):
        linear, stride = linear + (axis(name) * stride if extent != 1 else constant(0)), stride * extent
    indices: list[Index] = []
    inner = 1
    for extent in reversed([extent for extent in old if isinstance(extent, int)]):
        indices.append(mod(floordiv(linear, inner, extents), extent, extents) if extent > 0 else constant(0))
        inner *= max(extent, 1)
    return indices[::-1]
