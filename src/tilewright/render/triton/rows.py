"""Row-wise reductions: of whole rows, and online, with states that go on from block to block and the factors that correct them.

Online softmax: M. Milakov, N. Gimelshein, arXiv:1805.02867 (2018), algorithm 3; the rules are those of the graph's `Reduction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from tilewright.block.statements import Fill, Leaf, RunningStates
from tilewright.graph.exactness import HALVES
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import StateVariable
from tilewright.render.triton.functions import REDUCED
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.scalars import Values, is_float, number, scalar_text
from tilewright.render.triton.tiles import Dim, Tile, shape_text, spread, type_text
from tilewright.render.triton.values import Writer, dims_of, operands, values_of

NEUTRAL = {"add": 0.0, "maximum": float("-inf"), "minimum": float("inf")}
"""By function that combines states: what changes no float."""


def write_rows(writer: Writer, leaf: Leaf) -> None:
    """A row-wise reduction on its box."""
    rows = _Rows(writer, leaf)
    if leaf.running is not None:
        rows.continued(leaf.running)
    else:
        rows.whole()


def write_fill(writer: Writer, fill: Fill, order: Sequence[str]) -> None:
    """The value from which sums or states start, for all points of a box, axes of `order` first."""
    dims = writer.registers.dims(fill.target, fill.box)
    dtype = "float32" if fill.target.dtype in HALVES else fill.target.dtype
    dims = tuple(sorted(dims, key=lambda dim: order.index(dim.axis) if dim.axis in order else len(order)))
    text = f"tl.full({shape_text(dims)}, {number(fill.value, is_whole=not is_float(dtype))}, {type_text(dtype)})"
    writer.write(fill.target, fill.box, Tile(text, dims, dtype))


def neutral_text(combine: str, dtype: str) -> str:
    """What changes nothing, as text: of integers the ends of their range.

    >>> neutral_text("maximum", "float32"), neutral_text("minimum", "int8")
    ("float('-inf')", '127')
    """
    if combine not in NEUTRAL:
        raise refused(f"a reduction by {combine}", f"it has {', '.join(NEUTRAL)}")
    if is_float(dtype) or combine == "add":
        return number(NEUTRAL[combine], is_whole=not is_float(dtype))
    limits = np.iinfo(dtype)
    return str(limits.min if combine == "maximum" else limits.max)


def reduced_dims(leaf: Leaf, dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """Those along which a leaf combines points."""
    reduced = {axis.name for axis in leaf.operator.reduction_axes()}
    return tuple(dim for dim in dims if dim.axis in reduced)


def masked(writer: Writer, leaf: Leaf, text: str, dims: Sequence[Dim], axes: Sequence[str], otherwise: str) -> str:
    """A value, or what is said behind the last point along some axes."""
    ranges = dict(leaf.box)
    masks = [writer.memory.positions.of(axis, ranges[axis]).mask for axis in axes]
    tests = [spread(mask, dims) for mask in masks if mask is not None]
    return f"tl.where({' & '.join(tests)}, {text}, {otherwise})" if tests else text


def summed(tile: Tile, along: Sequence[Dim], combine: str) -> Tile:
    """A tile with the points along some dimensions combined."""
    if combine not in REDUCED:
        raise refused(f"a reduction by {combine}", f"it has {', '.join(REDUCED)}")
    text, dims = tile.text, list(tile.dims)
    for dim in along:
        text = REDUCED[combine][0].format(text, dims.index(dim))
        dims.remove(dim)
    return Tile(text, tuple(dims), tile.dtype, tile.zero.intersection(dim.axis for dim in dims))


class _Rows:
    """The points of a box of rows, and the states that are known of them."""

    def __init__(self, writer: Writer, leaf: Leaf) -> None:
        self.writer, self.leaf = writer, leaf
        tiles = operands(writer, leaf)
        self.dims = dims_of(writer, leaf, tiles)
        self.along = reduced_dims(leaf, self.dims)
        self.kept = tuple(dim for dim in self.dims if dim not in self.along)
        self.values = values_of(writer, leaf, tiles, self.dims)
        self.dtype = self.values.dtype
        self.values.point = self._assigned("x", scalar_text(leaf.operator.body, self.values), self.dims).text
        self.states: dict[str, Tile] = {}
        self._points = Tile("")
        """What the last state has taken in, point by point."""

    def _assigned(self, stem: str, text: str, dims: Sequence[Dim]) -> Tile:
        return self.writer.assign(stem, text, dims, self.dtype)

    def whole(self) -> None:
        """Rows as a whole: states, then what is written."""
        for state in self.leaf.reduction.states:
            gained, is_whole = self._gained(state), self.values.is_whole and isfinite(state.identity)
            is_neutral = state.identity == NEUTRAL[state.combine]
            text = gained if is_neutral else REDUCED[state.combine][1].format(gained, number(state.identity, is_whole=is_whole))
            text = self._with_nan(state, text)
            self._know(state.name, self._assigned(state.name, text, self.kept))
        self._write(self.leaf.reduction.finish)

    def _with_nan(self, state: StateVariable, text: str) -> str:
        """The extreme of a row, or NaN where one of its points is: `tl.max` drops it. Sums of shares hand it on anyway."""
        if state.combine == "add" or self.leaf.reduction.rescales or self.values.is_whole or not self.along:
            return text
        points = self._points.text
        tests = summed(Tile(f"({points} != {points}).to(tl.int32)", self.dims, "int32"), self.along, "maximum")
        return f"tl.where({tests.text} > 0, float('nan'), {text})"

    def continued(self, running: RunningStates) -> None:
        """A block of rows: states go on from what they were, and the factor of older weights is kept."""
        factor = Tile("1.0")
        for state, (name, place, rule) in zip(self.leaf.reduction.states, running.states, strict=True):
            old = self.writer.registers.read(place, self.leaf.box)
            before = self._assigned(f"old_{name}", old.text, self.kept)
            self.values.previous = {**self.values.previous, name: spread(before, self.kept)}
            gained, kept = self._gained(state), before.text
            if rule is not None:
                factor = self._assigned("factor", self._of_rows(rule), self.kept)
                kept = rescaled(before.text, factor.text)
            self.writer.write(place, self.leaf.box, Tile(REDUCED[state.combine][1].format(kept, gained), self.kept, self.dtype))
            self._know(name, self.writer.registers.read(place, self.leaf.box))
        self.writer.write(running.factor, self.leaf.box, Tile(factor.text, self.kept, self.dtype))
        zero = frozenset(dim.axis for dim in self.along)
        self.writer.write(self.leaf.write, self.leaf.box, Tile(self._points.text, self.dims, self.dtype, zero))

    def _gained(self, state: StateVariable) -> str:
        """What a state takes in of the points of the box; the last state's contributions are 0 behind the end of rows."""
        axes = [dim.axis for dim in self.along]
        identity = neutral_text(state.combine, self.dtype)
        contribution = masked(self.writer, self.leaf, scalar_text(state.contribution, self.values), self.dims, axes, identity)
        points = self._assigned(f"{state.name}_of", contribution, self.dims)
        self._points = points
        return summed(points, self.along, state.combine).text

    def _know(self, name: str, tile: Tile) -> None:
        self.states[name] = tile
        self.values.states = {**self.values.states, name: spread(tile, self.dims)}

    def _of_rows(self, rule: Scalar) -> str:
        """A rescaling rule, of states alone."""
        states = {name: spread(tile, self.kept) for name, tile in self.states.items()}
        return scalar_text(rule, Values((), self.values.positions, states=states, previous=self.values.previous))

    def _write(self, result: Scalar) -> None:
        """A value of every point, or of every row."""
        written = self.leaf.operator.write.axes()
        dims = self.dims if any(dim.axis in written for dim in self.along) else self.kept
        if dims == self.kept:
            self.values.states = {name: spread(tile, self.kept) for name, tile in self.states.items()}
        self.writer.write(self.leaf.write, self.leaf.box, Tile(scalar_text(result, self.values), dims, self.dtype))


def rescaled(old: str, factor: str) -> str:
    """What is left of an old state when earlier states have changed."""
    return f"({old} * {factor})"
