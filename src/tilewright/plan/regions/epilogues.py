"""Epilogues of contractions: maps applied in registers at the end of a micro tile, so that they cost no pass.

A map is fused where the element that it makes lies where the sum was, and all else that it reads is there before the sum: inputs
and earlier results, addressed by the axes of the tile, with unit stride along its columns or the same for all of them. Maps that
follow it are fused as well. Nothing depends on names: it follows from the accesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.graph.scalar import Apply, Literal, Load, Scalar, subexpressions, with_loads
from tilewright.graph.types import Access, Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.element_access import C_TYPES
from tilewright.plan.chain_analysis import derived_once
from tilewright.plan.contraction_roles import contraction_roles
from tilewright.plan.regions.live_blocks import overwritten
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import Schedule, Trip

COMPARISONS = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))
IN_REGISTERS = COMPARISONS | frozenset(
    ("add", "subtract", "multiply", "negative", "square", "maximum", "minimum", "abs", "where")
)
"""Functions of few instructions. Others are left to vector loops over the hot block, which take several rows at a time."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """The maps that follow a contraction in its micro tiles, by name, in their order."""

    contraction: str
    maps: tuple[str, ...]

    def reads(self, chain: Chain) -> tuple[Access, ...]:
        """What the maps read beside the sum and each other's results, each once."""
        made = {chain.operator(name).write.tensor for name in (self.contraction, *self.maps)}
        reads = (access for name in self.maps for access in chain.operator(name).reads)
        return tuple(dict.fromkeys(access for access in reads if access.tensor not in made))

    def body(self, chain: Chain) -> Scalar:
        """What becomes of the sum, which is `Load(0)`; the others are `reads`, from 1 on."""
        numbers = {access: Load(number) for number, access in enumerate(self.reads(chain), 1)}
        value: Scalar = Load(0)
        for name in self.maps:
            operator = chain.operator(name)
            values = {read: numbers.get(access, value) for read, access in enumerate(operator.reads)}
            value = with_loads(operator.body, values)
        return value

    def write(self, chain: Chain) -> Access:
        """Where the last map leaves its result."""
        return chain.operator(self.maps[-1]).write


@derived_once
def epilogues(chain: Chain) -> tuple[Epilogue, ...]:
    """The epilogue of every contraction that has one, if its micro kernel takes it."""
    contractions = [op for op in chain.operators if op.is_contraction() and weights_read(chain, op) is None]
    found = (Epilogue(operator.name, _maps_behind(chain, operator)) for operator in contractions)
    return tuple(epilogue for epilogue in found if epilogue.maps)


@derived_once
def in_output_place(chain: Chain) -> tuple[str, ...]:
    """Intermediates that need no buffer: unfinished sums, and what the maps behind them make, lie where the output does."""
    for epilogue in epilogues(chain):
        if epilogue.write(chain).tensor == chain.output:
            return tuple(chain.operator(name).write.tensor for name in (epilogue.contraction, *epilogue.maps[:-1]))
    return ()


def taken(chain: Chain, kernels: Mapping[str, MicroKernel]) -> dict[str, Epilogue]:
    """The epilogues of those contractions, by name, whose kernels take one."""
    able = {name for name, kernel in kernels.items() if kernel.emit_with is not None}
    return {epilogue.contraction: epilogue for epilogue in epilogues(chain) if epilogue.contraction in able}


def maps_in_tiles(chain: Chain, schedule: Schedule, kernels: Mapping[str, MicroKernel]) -> dict[str, str]:
    """By map, the contraction whose micro tiles apply it under a schedule."""
    found = (epilogue for epilogue in taken(chain, kernels).values() if _run_together(chain, schedule, epilogue))
    return {name: epilogue.contraction for epilogue in found for name in epilogue.maps}


def _run_together(chain: Chain, schedule: Schedule, epilogue: Epilogue) -> bool:
    """Whether all maps run at just those blocks at which the sum is complete."""
    sums = {axis.name: Trip.LAST for axis in chain.operator(epilogue.contraction).reduction_axes()}
    conditions = schedule.conditions(epilogue.contraction)
    return all(
        conditions.items() <= map_conditions.items() <= (conditions | sums).items()
        for map_conditions in map(schedule.conditions, epilogue.maps)
    )


def _maps_behind(chain: Chain, contraction: Operator) -> tuple[str, ...]:
    column = contraction_roles(contraction).column
    last = contraction.write.indices[-1:]
    if column is not None and not (last and last[0].is_axis() and column in last[0].axes()):
        return ()
    maps: list[str] = []
    tensor = contraction.write.tensor
    while (following := _follower(chain, contraction, tensor, column)) is not None:
        maps.append(following.name)
        tensor = following.write.tensor
    return tuple(maps)


def _follower(chain: Chain, contraction: Operator, tensor: str, column: str | None) -> Operator | None:
    """The map that is all that reads a tensor, if it can be fused."""
    consumers = chain.consumers(tensor)
    if len(consumers) != 1 or not consumers[0].is_map() or overwritten(chain, consumers[0]) != tensor:
        return None
    operands = [access for access in consumers[0].reads if access.tensor != tensor]
    is_fused = _is_light(consumers[0].body) and all(_is_at_hand(chain, contraction, access, column) for access in operands)
    return consumers[0] if is_fused else None


def _is_light(body: Scalar) -> bool:
    """Whether it is made of literals, elements and functions of few instructions."""
    nodes = subexpressions(body)
    return all(node.function in IN_REGISTERS if isinstance(node, Apply) else isinstance(node, Literal | Load) for node in nodes)


def _is_at_hand(chain: Chain, contraction: Operator, access: Access, column: str | None) -> bool:
    """Whether a micro tile can load what a map reads: known before the sum, of a readable type, side by side along columns."""
    names = [operator.name for operator in chain.operators]
    producer = chain.producer(access.tensor)
    is_early = producer is None or names.index(producer.name) < names.index(contraction.name)
    is_readable = chain.tensor(access.tensor).dtype in C_TYPES
    return is_early and is_readable and access.is_affine() and _has_unit_columns(access, column)


def _has_unit_columns(access: Access, column: str | None) -> bool:
    if column is None or column not in access.axes():
        return True
    return access.indices[-1].is_axis() and not any(column in index.axes() for index in access.indices[:-1])
