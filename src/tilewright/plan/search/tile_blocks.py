"""Blocks of operators with all tiles of a space: evaluated once, and taken from there for every order of outer loops.

Along axes with required regions blocks depend on the loops: those of such operators are not taken from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.graph.types import Operator
from tilewright.plan.arrays import Condition, Count, Value, either
from tilewright.plan.model.cost import Block, measure
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import Footprints
from tilewright.plan.model.operands.read_once import has_all_rows, operand_read_once
from tilewright.plan.space.schedule_space import Choices, Space
from tilewright.plan.space.tile_sizes import broadcast, places_in


@dataclass(frozen=True, slots=True)
class Tiles:
    """Blocks of an operator, and the bytes of their tiles."""

    block: Block
    used_bytes: Count


class TileBlocks:
    """The blocks of a space's operators, once they were asked for."""

    def __init__(self, space: Space) -> None:
        self.space, self.context = space, space.context
        operators = self.context.chain.operators
        self.axes = {op.name: tuple(a for a in self.context.sizes if a in space.tiles and a in op.axis_names) for op in operators}
        self.found: dict[str, Tiles] = {}

    def of(self, operator: Operator) -> Tiles:
        """Those with all tiles of all axes, each along a dimension of its own in the order of the chain's axes."""
        if operator.name not in self.found:
            context, axes = self.context, self.axes[operator.name]
            choices = {axis: (1,) if axis in self.space.batch else self.space.tiles[axis] for axis in axes}
            tiles = broadcast(axes, choices)
            box = {axis: np.minimum(tiles[axis], size) if axis in tiles else size for axis, size in context.sizes.items()}
            block = measure(context, operator, box)
            self.found[operator.name] = Tiles(block, tile_bytes(context, operator, block))
        return self.found[operator.name]

    def below(self, operator: Operator, choices: Choices, inner: Sequence[str], tiles: Mapping[str, Count]) -> Tiles:
        """Those with the tiles of some outer loops and, in dimensions behind, all tiles of these inner loops.

        `tiles` are those of all axes; what no loop cuts is whole.
        """
        every = self.of(operator)
        block = every.block
        places = Places(self.axes[operator.name], choices, inner, self.space)
        tile, swept = (tuple(places.taken(size) for size in sizes) for sizes in (block.footprints.tile, block.footprints.swept))
        work = (places.taken(figure) for figure in (block.arithmetic_s, block.functions_s, block.calls))
        return Tiles(Block(tiles, Footprints(tile, swept), *work), places.taken(every.used_bytes))


class Places:
    """Where the tiles of some loops stand among all tiles of an operator's axes."""

    def __init__(self, axes: Sequence[str], choices: Choices, inner: Sequence[str], space: Space) -> None:
        self.rank = len(axes)
        self.picks: list[tuple[int, slice | list[int]]] = []
        for place, axis in enumerate(axes):
            if axis in choices:
                every = (1,) if axis in space.batch else space.tiles[axis]
                if choices[axis] != every:
                    self.picks.append((place, places_in(every, choices[axis])))
            elif axis not in inner:
                self.picks.append((place, slice(-1, None)))
        self.order = [place for place, axis in enumerate(axes) if axis not in inner]
        self.order += [place for place, axis in enumerate(axes) if axis in inner]
        self.behind = sum(axis in inner for axis in axes)
        self.outer = [axes.index(axis) if axis in axes else None for axis in choices]

    def taken(self, figure: Value) -> Value:
        """A figure of all tiles for those of the loops: outer ones first, then inner ones. Plain values stay plain."""
        if not isinstance(figure, np.ndarray) or not figure.ndim:
            return figure
        some: npt.NDArray[Any] = figure
        for place, pick in self.picks:
            if some.shape[place] > 1:
                some = some[(slice(None),) * place + (pick,)]
        outer: tuple[int, ...] = tuple(1 if place is None else some.shape[place] for place in self.outer)
        inner: tuple[int, ...] = tuple(some.shape[place] for place in self.order[self.rank - self.behind :])
        return some.transpose(self.order).reshape((*outer, *inner))


def tile_bytes(context: CostContext, operator: Operator, block: Block) -> Count:
    """What an operator's tiles of inputs and outputs take, but for what passes by once."""
    operands, read_once = context.operands[operator.name], operand_read_once(context, operator)
    passes: Condition = read_once is not None and has_all_rows(context, operator, block.tiles)
    kept = [True if operand.is_write or operand.access != read_once else np.logical_not(passes) for operand in operands]
    tiles = zip(operands, block.footprints.tile, kept, strict=True)
    return sum(
        operand.element_bytes * either(is_kept, tile, 0) for operand, tile, is_kept in tiles if not operand.is_intermediate
    )
