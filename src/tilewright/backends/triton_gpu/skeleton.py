"""The loops of a kernel, before tiles are chosen: grid, blocks of the fused axis, depth.

    grid > [what stays] > taps of the second product > fused axis > (taps, depth > first product), maps, second product > maps

Where a tile holds the whole depth of the first product, its left operand stays: it is loaded once, ahead of the fused axis, by
a `Pack`. Rows of that operand are then reduced there. Otherwise the depth is cut, and both operands are loaded at every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.backends.triton_gpu.roles import Place, Product, Roles
from tilewright.graph.types import Chain, Operator
from tilewright.plan.layout import row_major
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, Storage, cutting, nest
from tilewright.records import record


@record
class Skeleton:
    """Loops without tiles: a tree of `Loop`s of tile 1. `tiled` are the axes whose tiles are to be chosen."""

    roles: Roles
    body: tuple[Node, ...]
    tiled: tuple[str, ...]
    is_whole: bool
    """Whether a tile holds the whole depth of the first product."""

    def with_tiles(self, tiles: Mapping[str, int]) -> Schedule:
        """The schedule with these tiles, and what becomes of every intermediate: made anew inside loops that only others have."""
        schedule = Schedule(_tiled(self.body, tiles))
        return Schedule(schedule.body, tuple(_storage(self.roles.chain, schedule)))


def skeletons(roles: Roles) -> tuple[Skeleton, ...]:
    """The possible loops: with the depth whole, which taps forbid, and cut, which rows of an operand forbid."""
    if not roles.products:
        tiled = tuple(dict.fromkeys(filter(None, (roles.row, roles.column, *sorted(roles.whole)))))
        return (Skeleton(roles, _loops(roles, _without_products(roles)), tiled, False),)
    first = roles.products[0]
    found = []
    for is_whole in (True, False):
        if (is_whole and first.taps) or (not is_whole and first.depth in roles.whole):
            continue
        body = _one(roles, is_whole) if len(roles.products) == 1 else _two(roles, is_whole)
        tiled = tuple(dict.fromkeys(filter(None, (roles.row, roles.fused, roles.column, first.depth))))
        found.append(Skeleton(roles, _loops(roles, body), tiled, is_whole))
    return tuple(found)


def _loops(roles: Roles, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The grid around a body."""
    return _nest(roles.grid, body)


def _nest(axes: tuple[str, ...], body: tuple[Node, ...]) -> tuple[Node, ...]:
    return nest([(axis, 1) for axis in axes], body)


def _computed(operators: Iterator[Operator] | tuple[Operator, ...]) -> tuple[Node, ...]:
    return tuple(Compute(operator.name) for operator in operators)


def _without_products(roles: Roles) -> tuple[Node, ...]:
    if not roles.summed:
        return _computed(roles.chain.operators)
    summing = roles.chain.operator(roles.summed)
    inside = _nest(tuple(_by_extent(roles, summing)), _computed(roles.at(Place.OPERAND)))
    return (*inside, *_computed(roles.at(Place.BEHIND)))


def _by_extent(roles: Roles, operator: Operator) -> Iterator[str]:
    """The reduction axes of an operator, that of the tile innermost."""
    reduced = [axis.name for axis in operator.reduction_axes()]
    yield from (axis for axis in reduced if axis != roles.column)
    yield from (axis for axis in reduced if axis == roles.column)


def _one(roles: Roles, is_whole: bool) -> tuple[Node, ...]:
    (product,) = roles.products
    inside = _in_order(roles, Place.OPERAND, product)
    around = () if is_whole else (*product.taps, product.depth)
    return (*_nest(around, inside), *_computed(roles.at(Place.BEHIND)))


def _two(roles: Roles, is_whole: bool) -> tuple[Node, ...]:
    first, second = roles.products
    operands = roles.at(Place.OPERAND)
    ahead = tuple(op for op in operands if is_whole and roles.fused not in op.axis_names)
    ahead = tuple(op for op in ahead if not set(second.taps) & op.axis_names)
    inside = tuple(op for op in operands if op not in ahead)
    stays = is_whole and first.reads[0].tensor in roles.chain.inputs and not set(second.taps) & _guard_axes(first)
    pack = (Pack(first.operator.name, first.left, row_major(2)),) if stays else ()
    made = (*_computed(inside), Compute(first.operator.name))
    made = made if is_whole else _nest((*first.taps, first.depth), made)
    block = (*made, *_computed(roles.at(Place.BETWEEN)), Compute(second.operator.name))
    return (*_computed(ahead), *pack, *_nest((*second.taps, roles.fused), block), *_computed(roles.at(Place.BEHIND)))


def _guard_axes(product: Product) -> frozenset[str]:
    """What the left operand depends on."""
    left = product.reads[0]
    return left.axes() | left.guard.axes() if left.guard is not None else left.axes()


def _in_order(roles: Roles, place: Place, product: Product) -> tuple[Node, ...]:
    return (*_computed(roles.at(place)), Compute(product.operator.name))


def _tiled(body: tuple[Node, ...], tiles: Mapping[str, int]) -> tuple[Node, ...]:
    """Loops with their tiles: one point where none is chosen."""
    return tuple(
        Loop(node.axis, tiles.get(node.axis, 1), _tiled(node.body, tiles)) if isinstance(node, Loop) else node for node in body
    )


def _storage(chain: Chain, schedule: Schedule) -> Iterator[tuple[str, Storage]]:
    for tensor in chain.intermediates:
        maker = chain.maker(tensor)
        foreign = [loop for loop in cutting(chain, schedule.path(maker.name)) if loop.axis not in maker.axis_names]
        yield tensor, Storage.RECOMPUTE if foreign else Storage.KEEP
