"""Epilogues of contractions: maps applied in registers at the end of a micro tile, so that they cost no pass.

A map is fused where the element that it makes lies where the sum was, or where it puts sums of groups into channels of the
result, and all else that it reads is there before the sum: inputs and earlier results, addressed by the axes of the tile, with
unit stride along its columns or the same for all of them. Maps that follow it are fused as well. Nothing depends on names: it
follows from the accesses.

Sums of float64 have maps of float64 behind them, which no vector loop computes: they are all in micro tiles, or none is.

Sums of integers pass through maps of whole numbers (zero points, biases), then through maps of floats (scales, activations,
rounding), and are stored as the last one says. Nowhere in memory is there a place for such sums before they are complete, so that
the whole reduction is one call of the micro kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.exactness import has_integer_lanes
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, subexpressions, with_loads
from tilewright.graph.expressions.scalar_functions import COMPARISONS, ROUNDED
from tilewright.graph.rewrites.exactness.mark_exact import rounded_alone
from tilewright.graph.types import Access, Chain, Operator
from tilewright.graph.verifier import covers
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.element_types import ELEMENT_TYPES, NARROW_STORES
from tilewright.plan.chains import derived_once, tensor_axes
from tilewright.plan.regions.live_blocks import lies_over, overwritten
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import Schedule, Trip
from tilewright.records import record

IN_REGISTERS = COMPARISONS | frozenset(
    ("add", "subtract", "multiply", "negative", "square", "maximum", "minimum", "abs", "where", ROUNDED)
)
"""Functions of few instructions. Others are left to vector loops over the hot block, which take several rows at a time."""
OF_QUANTISED = IN_REGISTERS | {"round", "divide"}
"""The same of sums of integers, which are rounded to multiples of a scale."""
SUMS = "int32"
"""What integers are summed in."""
DOUBLES = "float64"
IN_TILES_ALONE = frozenset((SUMS, DOUBLES))
"""Sums whose maps micro tiles alone can apply."""
OF_DOUBLES = frozenset(("add", "subtract", "multiply", "negative", "square", "maximum", "minimum", "abs"))
"""`IN_REGISTERS` of sums of float64."""
STORED = (NARROW_STORES | {"float32"}) - {SUMS}
"""What floats behind sums of integers are stored as."""


@record
class Epilogue:
    """The maps that follow a contraction in its micro tiles, by name, in their order."""

    contraction: str
    maps: tuple[str, ...]

    def reads(self, chain: Chain) -> tuple[Access, ...]:
        """What the maps read beside the sum and each other's results, each once."""
        return tuple(dict.fromkeys(access for access, _ in self.operands(chain)))

    def operands(self, chain: Chain) -> tuple[tuple[Access, bool], ...]:
        """These, and whether maps of whole numbers read them; what both kinds of maps read is there twice."""
        made = {chain.operator(name).write.tensor for name in (self.contraction, *self.maps)}
        reads = ((access, _is_whole(operator)) for operator in map(chain.operator, self.maps) for access in operator.reads)
        return tuple(dict.fromkeys((access, is_whole) for access, is_whole in reads if access.tensor not in made))

    def body(self, chain: Chain) -> Scalar:
        """What becomes of the sum, or of the whole number made of it, which is `Load(0)`; others are `operands`, from 1 on."""
        return self._composed(chain, is_whole=False)

    def whole(self, chain: Chain) -> Scalar | None:
        """The whole number that is made of a sum of integers, which is `Load(0)`; None for other sums."""
        return self._composed(chain, is_whole=True) if _is_whole(chain.operator(self.contraction)) else None

    def element_type(self, chain: Chain) -> str:
        """What is stored where that is not what sums of integers are; "" for all else."""
        dtype = chain.tensor(self.write(chain).tensor).dtype
        return dtype if _is_whole(chain.operator(self.contraction)) and dtype != SUMS else ""

    def _composed(self, chain: Chain, *, is_whole: bool) -> Scalar:
        numbers = {operand: Load(number) for number, operand in enumerate(self.operands(chain), 1)}
        value: Scalar = Load(0)
        for operator in map(chain.operator, self.maps):
            if _is_whole(operator) is is_whole:
                values = {read: numbers.get((access, is_whole), value) for read, access in enumerate(operator.reads)}
                value = with_loads(operator.body, values)
                value = rounded_alone(value) if chain.tensor(operator.write.tensor).needs_exact else value
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
        if epilogue.write(chain).tensor == chain.output and not epilogue.element_type(chain):
            return _passed(chain, epilogue)
    return ()


@derived_once
def in_registers(chain: Chain) -> tuple[str, ...]:
    """Intermediates that are never in memory: sums of integers, and what is made of them before it is stored as another type."""
    return tuple(tensor for one in epilogues(chain) if one.element_type(chain) for tensor in _passed(chain, one))


def uncut_axes(chain: Chain, operator: Operator) -> frozenset[str]:
    """The axes of a sum that no loop may cut: all, where it is in registers until it is complete."""
    is_in_registers = operator.write.tensor in in_registers(chain)
    return frozenset(axis.name for axis in operator.reduction_axes()) if is_in_registers else frozenset()


def _passed(chain: Chain, epilogue: Epilogue) -> tuple[str, ...]:
    """The sums and what the maps make of them, but for the last one."""
    return tuple(chain.operator(name).write.tensor for name in (epilogue.contraction, *epilogue.maps[:-1]))


def passed_in_tiles(chain: Chain) -> tuple[str, ...]:
    """Intermediates between contractions and maps that their micro tiles alone can apply."""
    alone = (one for one in epilogues(chain) if _is_in_tiles_alone(chain.operator(one.contraction)))
    return tuple(tensor for one in alone for tensor in _passed(chain, one))


def integers_in_memory(chain: Chain) -> tuple[str, ...]:
    """Intermediates of integers, and of float64, that no micro tile takes on: maps that are chains of their own read them."""
    passed = passed_in_tiles(chain)
    return tuple(
        tensor for tensor in chain.intermediates if chain.tensor(tensor).dtype in IN_TILES_ALONE and tensor not in passed
    )


def needs_epilogue(chain: Chain, contraction: Operator) -> bool:
    """Whether only micro tiles can apply the maps behind a contraction."""
    return _is_in_tiles_alone(contraction) and any(epilogue.contraction == contraction.name for epilogue in epilogues(chain))


def why_not_in_tiles(chain: Chain, schedule: Schedule, operator: Operator) -> str:
    """Why micro tiles cannot apply a map that they alone can, or end its sums, under a schedule; empty if they can."""
    found = next((one for one in epilogues(chain) if operator.name in (one.contraction, *one.maps)), None)
    if found is None or not _is_in_tiles_alone(chain.operator(found.contraction)):
        return ""
    if not _run_together(chain, schedule, found):
        return f"{', '.join(found.maps)} do not run where the sums of {found.contraction} are complete"
    summed = {axis.name: axis.extent for axis in operator.reduction_axes()} if found.element_type(chain) else {}
    loops = (loop for loop in schedule.path(operator.name) if loop.axis in summed)
    cut = [loop.axis for loop in loops if not isinstance(extent := summed[loop.axis], int) or loop.tile < extent]
    return f"blocks of {', '.join(cut)} leave sums of {operator.name} that no memory holds" if cut else ""


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
    at_last = (conditions | sums).items()
    return all(conditions.items() <= of_map.items() <= at_last for of_map in map(schedule.conditions, epilogue.maps))


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
    if len(consumers) != 1 or not consumers[0].is_map():
        return None
    is_of_integers = _is_whole(contraction)
    if is_of_integers:
        fits = _goes_on(chain, contraction, consumers[0], tensor)
    else:
        fits = overwritten(chain, consumers[0]) == tensor or _ends_in_numbers(chain, contraction, consumers[0], tensor)
    operands = [access for access in consumers[0].reads if access.tensor != tensor]
    is_of_doubles = contraction.accumulator == DOUBLES
    functions = OF_QUANTISED if is_of_integers else OF_DOUBLES if is_of_doubles else IN_REGISTERS
    is_light = _is_light(consumers[0].body, functions) and (not is_of_doubles or _has_doubles(chain, consumers[0]))
    is_fused = fits and is_light and all(_is_at_hand(chain, contraction, access, column) for access in operands)
    return consumers[0] if is_fused else None


def _ends_in_numbers(chain: Chain, contraction: Operator, follower: Operator, tensor: str) -> bool:
    """Whether a map puts each sum, or what was made of it, where it belongs in the chain's result, of which a dimension numbers
    several axes: sums need no other place."""
    made, write = chain.maker(tensor).write.indices, follower.write
    reads = [access for operator in chain.operators for access in operator.reads if access.tensor == tensor]
    is_alike = [(access.indices, access.guard) for access in reads] == [(made, None)] and all(index.is_axis() for index in made)
    if not is_alike or write.tensor != chain.output or not write.is_affine():
        return False
    types = {chain.tensor(name).dtype for name in (tensor, write.tensor)}
    in_order = tensor_axes(write) == tuple(map(str, made)) and (not made or write.indices[-1].coefficient(str(made[-1])) == 1)
    places = zip(write.indices, chain.tensor(write.tensor).shape, strict=True)
    return types == {contraction.accumulator} and in_order and all(covers(index, size, chain.extents) for index, size in places)


def _is_whole(operator: Operator) -> bool:
    """Whether it computes in whole numbers."""
    return operator.accumulator == SUMS


def _is_in_tiles_alone(operator: Operator) -> bool:
    """Whether only micro tiles can apply what follows its sums."""
    return operator.accumulator in IN_TILES_ALONE


def _has_doubles(chain: Chain, map_: Operator) -> bool:
    """Whether a map computes in float64, and reads and writes nothing else."""
    types = {chain.tensor(access.tensor).dtype for access in (*map_.reads, map_.write)}
    return map_.accumulator == DOUBLES and types == {DOUBLES}


def _goes_on(chain: Chain, contraction: Operator, follower: Operator, tensor: str) -> bool:
    """Whether a map takes sums of integers, or what was made of them, in registers: whole numbers or floats, and then floats."""
    access = next(access for access in follower.reads if access.tensor == tensor)
    types = [chain.tensor(read.tensor).dtype for read in follower.reads]
    dtype, stored = chain.tensor(tensor).dtype, chain.tensor(follower.write.tensor).dtype
    if not lies_over(chain, follower, access):
        return False
    if _is_whole(follower):
        return dtype == stored == SUMS and has_integer_lanes(follower, types, stored)
    is_float = follower.accumulator == "float32" and dtype in (SUMS, "float32") and stored in STORED
    return is_float and _is_summed_at_once(contraction)


def _is_summed_at_once(contraction: Operator) -> bool:
    """Whether a micro kernel may pass the whole reduction in one call: it has one axis."""
    extents = [axis.extent for axis in contraction.reduction_axes()]
    return all(isinstance(extent, int) for extent in extents) and sum(extent != 1 for extent in extents) <= 1


def _is_light(body: Scalar, functions: Collection[str]) -> bool:
    """Whether it is made of literals, elements and functions of few instructions."""
    nodes = subexpressions(body)
    return all(node.function in functions if isinstance(node, Apply) else isinstance(node, Literal | Load) for node in nodes)


def _is_at_hand(chain: Chain, contraction: Operator, access: Access, column: str | None) -> bool:
    """Whether a micro tile can load what a map reads: known before the sum, of a readable type, side by side along columns."""
    names = [operator.name for operator in chain.operators]
    producer = chain.producer(access.tensor)
    is_early = producer is None or names.index(producer.name) < names.index(contraction.name)
    is_readable = chain.tensor(access.tensor).dtype in ELEMENT_TYPES
    return is_early and is_readable and access.is_affine() and _has_unit_columns(access, column)


def _has_unit_columns(access: Access, column: str | None) -> bool:
    if column is None or column not in access.axes():
        return True
    return access.indices[-1].is_axis() and not any(column in index.axes() for index in access.indices[:-1])
