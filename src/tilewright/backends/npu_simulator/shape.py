"""What a chain is to the device: at most two matrix products, and the vector operators behind each.

A block of the first product's result goes through the vector unit and becomes the left operand of the second one. A chain without
a product is vector operators alone. What has no such shape is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.backends.npu_simulator.figures import OPERAND
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles
from tilewright.graph.exactness import exact_element_type
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, AxisKind, Chain, Operator
from tilewright.plan.chains import derived_once
from tilewright.plan.reasons import NoMicroKernel, NotExecutable, Unplannable
from tilewright.plan.regions.live_blocks import lies_over
from tilewright.records import record

FLOATS = ("float16", "float32")
LOADED = (*FLOATS, "bfloat16", "bool", "int8", "uint8", "int16", "uint16")
"""What vector operators may read from memory: all values are float32 values."""


@record
class Product:
    """A matrix product C[row, column] += A[row, depth] B[depth, column], for every position of the outer axes."""

    operator: Operator
    roles: ContractionRoles

    @property
    def left(self) -> Access:
        """A."""
        return self.operator.reads[self.roles.left]

    @property
    def right(self) -> Access:
        """B."""
        return self.operator.reads[self.roles.right]


@record
class Stage:
    """A product, or none, with the vector operators that work on a block of its result."""

    product: Product | None
    vectors: tuple[Operator, ...]
    row: str | None
    column: str | None
    result_type: str
    """What the stage leaves: operands of the next product, or elements of the output."""

    @property
    def has_rows(self) -> bool:
        """Whether an operator needs whole rows."""
        return any(operator.reduction is not None for operator in self.vectors)

    @property
    def reduces_rows(self) -> bool:
        """Whether an operator combines rows, so that a block has all of them."""
        return any(axis.name == self.row for operator in self.vectors for axis in operator.reduction_axes())

    @property
    def last(self) -> Operator:
        """The operator that makes the stage's result."""
        if self.vectors:
            return self.vectors[-1]
        assert self.product is not None
        return self.product.operator

    @property
    def converts(self) -> bool:
        """Whether sums become operands, or short elements, without a vector operator that does so."""
        return not self.vectors and self.result_type == OPERAND


@record
class ChainShape:
    """One or two stages, and the axes around them, of which every position is computed alone."""

    outer: tuple[str, ...]
    stages: tuple[Stage, ...]

    @property
    def first(self) -> Stage:
        """The stage that reads the inputs."""
        return self.stages[0]

    @property
    def last(self) -> Stage:
        """The stage that makes the output."""
        return self.stages[-1]

    @property
    def products(self) -> tuple[Product, ...]:
        """All products."""
        return tuple(stage.product for stage in self.stages if stage.product is not None)


@derived_once
def shape_of(chain: Chain) -> ChainShape:
    """The shape of a chain. Raises `Unplannable` for a chain that is not one kernel of the device."""
    for operator in chain.operators:
        _check_operator(chain, operator)
    groups = _groups(chain)
    if not groups[0][0].is_contraction():
        return _vectors_alone(chain)
    if len(groups) > 2:
        raise refused(chain, f"it has {len(groups)} products, and a kernel has buffers for two")
    shape = _of_products(chain, groups)
    for stage in shape.stages:
        _check_stage(chain, shape, stage)
    if len(shape.stages) == 2:
        _check_link(chain, *shape.stages)
    return shape


def refused(chain: Chain, why: str) -> Unplannable:
    """The error of a chain that is no kernel."""
    names = tuple(operator.name for operator in chain.operators)
    return Unplannable(f"{chain.name} is no kernel of this device", reason=NotExecutable(names), where=chain.name, why=why)


def in_place(chain: Chain, operator: Operator) -> str | None:
    """The tensor in whose buffer of the unified buffer a vector operator may leave its result."""
    able = (access.tensor for access in operator.reads if lies_over(chain, operator, access))
    return next(able, None)


def converted(stage: Stage) -> Operator:
    """The map that makes operands of the sums of a stage without vector operators."""
    operator = stage.last
    axes = tuple(replace(axis, kind=AxisKind.PARALLEL) for axis in operator.axes if axis.name in operator.write.axes())
    return Operator(f"{operator.name}_{OPERAND}", "astype", axes, (operator.write,), operator.write, Load(0))


def _groups(chain: Chain) -> list[list[Operator]]:
    """Operators from product to product."""
    groups: list[list[Operator]] = []
    for operator in chain.operators:
        if operator.is_contraction() or not groups:
            groups.append([])
        groups[-1].append(operator)
    return groups


def _of_products(chain: Chain, groups: Sequence[Sequence[Operator]]) -> ChainShape:
    stages = []
    for number, (product, *vectors) in enumerate(groups):
        roles = contraction_roles(product)
        result_type = OPERAND if number + 1 < len(groups) else chain.tensor(chain.output).dtype
        stages.append(Stage(Product(product, roles), tuple(vectors), roles.row, roles.column, result_type))
    return ChainShape(contraction_roles(groups[0][0]).outer, tuple(stages))


def _vectors_alone(chain: Chain) -> ChainShape:
    """Rows along one axis, columns along another: those that are reduced, or else the largest and the innermost of the output."""
    if any(operator.is_contraction() for operator in chain.operators):
        raise refused(chain, f"{chain.operators[0].name} comes before a product, whose operands are loaded into L1")
    reduced = list(dict.fromkeys(axis.name for operator in chain.operators for axis in operator.reduction_axes()))
    if len(reduced) > 2:
        raise refused(chain, f"it reduces along {', '.join(reduced)}, and a block of the vector unit has rows and columns alone")
    column = reduced[-1] if reduced else chain.operators[-1].write.innermost()
    names = [name for name in chain.extents if name != column]
    row = reduced[0] if len(reduced) == 2 else max(names, key=lambda name: _size(chain, name), default=None)
    outer = tuple(name for name in names if name != row)
    stage = Stage(None, chain.operators, row, column, chain.tensor(chain.output).dtype)
    shape = ChainShape(outer, (stage,))
    _check_stage(chain, shape, stage)
    return shape


def _size(chain: Chain, axis: str) -> int:
    extent = chain.extents[axis]
    if not isinstance(extent, int):
        raise refused(chain, f"{axis} is known at run time alone, and buffers are laid out for known extents")
    if extent < 1:
        raise refused(chain, f"{axis} is empty, and an instruction has at least one element")
    return extent


def _check_operator(chain: Chain, operator: Operator) -> None:
    """Known extents, affine accesses, floating-point numbers; what the chain makes is read as it is written."""
    for axis in operator.axes:
        _size(chain, axis.name)
    for access in operator.accesses():
        if not access.is_affine():
            raise refused(chain, f"{operator.name} addresses {access.tensor} by computed positions, and a DMA moves boxes")
    for access in operator.reads:
        maker = chain.producer(access.tensor)
        if maker is not None and access.indices != maker.write.indices:
            raise refused(chain, f"{operator.name} reads {access.tensor} in another order than {maker.name} writes it")
    if exact_element_type(operator, {tensor.name: tensor for tensor in chain.tensors}):
        raise refused(chain, f"{operator.name} is computed in {operator.accumulator}, and sums are float32")
    if (written := chain.tensor(operator.write.tensor).dtype) not in FLOATS:
        raise refused(chain, f"{operator.name} writes {written}, and results are {' or '.join(FLOATS)}")


def _check_stage(chain: Chain, shape: ChainShape, stage: Stage) -> None:
    if stage.product is not None:
        _check_product(chain, shape, stage.product)
    made = {operator.write.tensor for operator in (*([stage.product.operator] if stage.product else []), *stage.vectors)}
    kept = {*shape.outer, stage.row, stage.column}
    for operator in stage.vectors:
        if not operator.axis_names <= kept:
            raise refused(chain, f"{operator.name} has axes that the blocks of its stage do not have")
        if any(axis.name != stage.column for axis in operator.reduction_axes()) and stage.product is not None:
            raise refused(chain, f"{operator.name} reduces along another axis than the columns of its blocks")
        for access in operator.reads:
            if access.tensor not in made and access.tensor not in chain.inputs:
                raise refused(chain, f"{operator.name} reads {access.tensor} of an earlier product, which no buffer holds")
            if access.tensor in chain.inputs and chain.tensor(access.tensor).dtype not in LOADED:
                raise refused(
                    chain, f"{access.tensor} is {chain.tensor(access.tensor).dtype}, which the vector unit does not load"
                )
    for tensor in made - {stage.last.write.tensor}:
        if any(consumer.name not in {one.name for one in stage.vectors} for consumer in chain.consumers(tensor)):
            raise refused(chain, f"{tensor} is read behind another product, and no buffer holds it")


def _check_product(chain: Chain, shape: ChainShape, product: Product) -> None:
    operator, roles = product.operator, product.roles
    for access in operator.reads:
        dtype = chain.tensor(access.tensor).dtype
        if access.tensor in chain.inputs and dtype != OPERAND:
            raise Unplannable(
                f"{operator.name} multiplies {dtype}",
                reason=NoMicroKernel(operator.name),
                where=chain.name,
                why=f"the cube multiplies {OPERAND}, and {access.tensor} is an input",
                hint=f"convert it: {access.tensor}.astype({OPERAND!r})",
            )
    if any(axis.name in roles.outer for axis in operator.reduction_axes()):
        raise refused(chain, f"{operator.name} sums along several axes, and `mad` along one")
    if roles.outer != shape.outer:
        raise refused(chain, f"{operator.name} has other axes around its matrices than the first product")
    if len({access.tensor for access in operator.reads}) < len(operator.reads) and operator.reads[0].tensor not in chain.inputs:
        raise refused(chain, f"{operator.name} multiplies an intermediate by itself")


def _check_link(chain: Chain, first: Stage, second: Stage) -> None:
    """The first stage's result is the left operand of the second product: rows are rows, and columns the depth."""
    assert first.product is not None
    assert second.product is not None
    made = first.last.write.tensor
    product, roles = second.product, second.product.roles
    if product.left.tensor != made or product.right.tensor not in chain.inputs:
        raise refused(chain, f"{made} is not the left operand of {product.operator.name}, and L0A is fed with rows alone")
    if (roles.row, roles.depth) != (first.row, first.column) or roles.row is None or roles.depth is None:
        raise refused(chain, f"{product.operator.name} does not sum along the columns of {made}")
    if first.column not in first.last.write.axes() or len(chain.consumers(made)) > 1:
        raise refused(chain, f"{made} is not read by {product.operator.name} alone, block by block")
