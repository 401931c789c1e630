"""Roles of a chain in one kernel: its products, and what every axis and every operator is to them.

A kernel has none, one or two products (a sum of products of two operands with rows and columns). Of two, the first makes blocks
of the left operand of the second: its columns are the second one's depth, the `fused` axis. All other operators work on tiles
that are there: on operands of the first product, between the products, or behind the last one. Everything
follows from index maps; what no such kernel can compute is refused with a typed reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum

from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Access, AxisKind, Chain, Operator, SymbolicExtent
from tilewright.plan.chains import tensor_axes
from tilewright.plan.reasons import Barrier, CannotFuse, NotExecutable, Unplannable
from tilewright.plan.regions.aligned_producers import is_aligned
from tilewright.plan.regions.online_reductions import adds_up, softmax_weights
from tilewright.records import record

MOST_PRODUCTS = 2


class Place(Enum):
    """Where an operator that is no product runs in a kernel."""

    OPERAND = "operand"
    """Where the first product reads what it makes, or ahead of the loops where that stays."""
    BETWEEN = "between"
    """In every block of the fused axis, before the second product."""
    BEHIND = "behind"
    """On the tile of the last product."""


@record
class Product:
    """A sum of products as C[row, column] += A[row, depth] * B[depth, column]; `taps` are its other reduction axes."""

    operator: Operator
    left: int
    right: int
    row: str
    column: str
    depth: str
    taps: tuple[str, ...]

    @property
    def reads(self) -> tuple[Access, Access]:
        """The left and the right operand."""
        return self.operator.reads[self.left], self.operator.reads[self.right]


@record
class Roles:
    """A chain, with aligned producers, as one kernel."""

    chain: Chain
    products: tuple[Product, ...]
    row: str
    """Of the tile of the last product, or of the tile that everything works on; "" without one."""
    column: str
    fused: str
    """The axis between two products; "" elsewhere."""
    places: tuple[tuple[str, Place], ...]
    """By operator that is no product."""
    whole: frozenset[str]
    """Axes of which a tile has all: rows that are reduced at once."""
    summed: str = ""
    """Of a kernel without products the operator whose sums go on from block to block."""

    def place(self, operator: str) -> Place | None:
        """Where an operator runs; None for products."""
        return dict(self.places).get(operator)

    def at(self, place: Place) -> tuple[Operator, ...]:
        """The operators of a place, in order."""
        return tuple(operator for operator in self.chain.operators if self.place(operator.name) is place)

    @property
    def grid(self) -> tuple[str, ...]:
        """The axes whose blocks are distributed, outermost first: those of one point a block, then columns, then rows.

        Blocks that share an operand follow each other: rows are innermost.
        """
        parallel = dict.fromkeys(a.name for op in self.chain.operators for a in op.axes if a.kind is AxisKind.PARALLEL)
        reduced = {axis.name for op in self.chain.operators for axis in op.reduction_axes()}
        tiled = (self.column, self.row)
        batch = [name for name in parallel if name not in (*tiled, self.fused) and name not in reduced]
        return (*batch, *(axis for axis in tiled if axis and axis not in reduced))


def roles_of(chain: Chain) -> Roles:
    """The roles of a chain with aligned producers. Raises `Unplannable` where it is no kernel."""
    _check(chain)
    products = [operator for operator in chain.operators if operator.is_product_sum() and _product(operator) is not None]
    if len(products) > MOST_PRODUCTS:
        raise refused(chain, f"it has {len(products)} products, and a kernel has {MOST_PRODUCTS} at most")
    if not products:
        return _without_products(chain)
    found = _two(chain, *products) if len(products) == 2 else _one(chain, products[0])
    _check_tiles(found)
    return found


def refused(chain: Chain, why: str, reason: CannotFuse | NotExecutable | None = None, hint: str = "") -> Unplannable:
    """The error of a chain that is no kernel; operators of a longer one are planned apart."""
    names = tuple(operator.name for operator in chain.operators)
    hint = "the operators are planned apart" if len(names) > 1 else hint
    reason = NotExecutable(names) if reason is None else reason
    return Unplannable(f"{chain.name or 'a chain'} is no kernel", reason=reason, where=", ".join(names), why=why, hint=hint)


def _check(chain: Chain) -> None:
    """What is refused whatever the roles are."""
    symbolic = [name for name, extent in chain.extents.items() if isinstance(extent, SymbolicExtent)]
    if symbolic:
        raise refused(
            chain, f"the extents of {', '.join(symbolic)} are known at run time only", hint="give numbers in place of dimensions"
        )
    empty = next((name for name, extent in chain.extents.items() if extent == 0), None)
    if empty is not None:
        why = f"{empty} is empty, and a tile has at least one element"
        raise refused(chain, why, hint="leave out the call where an array is empty")
    for operator in chain.operators:
        if operator.looked_up():
            why = f"{operator.name} looks up positions in data"
            raise refused(chain, why, CannotFuse(Barrier.DATA_POSITIONS, (operator.name,)))
        is_plain = all(index.is_axis() or not index.terms for index in operator.write.indices)
        if not (is_plain or (operator is chain.operators[-1] and operator.write.is_affine())):
            why = f"{operator.name} writes several axes into one dimension"
            raise refused(chain, why, CannotFuse(Barrier.MERGED_DIMENSION, (operator.name,)))
        for read in operator.reads:
            if read.tensor in chain.intermediates and not is_aligned(chain, operator, read):
                raise refused(chain, f"{operator.name} reads {read.tensor} at other positions than it was written at")


def _product(operator: Operator) -> Product | None:
    """A sum of products as one of matrices; None where it has no rows or no columns."""
    order = [axis.name for axis in operator.axes]

    def plain(access: Access) -> Access:
        names = access.axes() | (access.guard.axes() if access.guard is not None else frozenset())
        return Access(access.tensor, tuple(axis_index(name) for name in order if name in names))

    roles = contraction_roles(replace(operator, reads=tuple(map(plain, operator.reads)), write=_in_order(operator)))
    if roles.row is None or roles.column is None or roles.depth is None:
        return None
    reduced = {axis.name for axis in operator.reduction_axes()}
    taps = tuple(name for name in roles.outer if name in reduced)
    return Product(operator, roles.left, roles.right, roles.row, roles.column, roles.depth, taps)


def _in_order(operator: Operator) -> Access:
    """The write by its axes alone, in the order of its dimensions."""
    return Access(operator.write.tensor, tuple(axis_index(axis) for axis in tensor_axes(operator.write)))


def _turned(product: Product) -> Product:
    """The transposed product."""
    return replace(product, left=product.right, right=product.left, row=product.column, column=product.row)


def _one(chain: Chain, operator: Operator) -> Roles:
    product = _known(operator)
    before, behind = _ancestors(chain, operator), _rest(chain, (operator,))
    left = {product.row, product.depth}
    places: dict[str, Place] = {}
    whole: set[str] = set()
    for one in before:
        rows = _reduced(one)
        whole |= rows
        is_left = rows <= {product.depth} and {axis.name for axis in one.axes}.isdisjoint({product.column} - left)
        if rows and not (is_left and product.depth in rows):
            raise refused(chain, f"{one.name} reduces {', '.join(sorted(rows))}, which is no row of an operand")
        places[one.name] = Place.OPERAND
    for one in behind:
        whole |= _reduced(one)
        places[one.name] = Place.BEHIND
    return Roles(chain, (product,), product.row, product.column, "", _placed(chain, places), frozenset(whole))


def _known(operator: Operator) -> Product:
    product = _product(operator)
    assert product is not None
    return product


def _two(chain: Chain, first: Operator, second: Operator) -> Roles:
    """The roles of two products, of which the second reads what becomes of the first."""
    fed = _ancestors(chain, second)
    if first not in fed:
        raise refused(chain, f"{second.name} does not read what becomes of {first.name}")
    of_first = _ancestors(chain, first)
    descends = [op for op in fed if op is first or first in _ancestors(chain, op)]
    outer = _outer_product(chain, second, {op.write.tensor for op in descends})
    inner = _inner_product(chain, first, outer)
    places: dict[str, Place] = {}
    whole: set[str] = set()
    for one in of_first:
        _check_rows(chain, one, inner, outer)
        places[one.name] = Place.OPERAND
        whole |= _reduced(one)
    for one in (op for op in fed if op is not first and op not in of_first):
        places[one.name] = Place.BETWEEN
        if _reduced(one) and not _runs_online(chain, one, outer):
            whole |= _reduced(one)
    for one in _rest(chain, (first, second)):
        places[one.name] = Place.BEHIND
        whole |= _reduced(one)
    return Roles(chain, (inner, outer), outer.row, outer.column, outer.depth, _placed(chain, places), frozenset(whole))


def _outer_product(chain: Chain, second: Operator, made: set[str]) -> Product:
    """The second product with what becomes of the first as its left operand."""
    product = _known(second)
    if product.reads[0].tensor not in made:
        product = _turned(product)
    if product.reads[0].tensor not in made or product.reads[1].tensor in made:
        raise refused(chain, f"one operand of {second.name}, and no more, is made of another product")
    depths = [product.depth, *product.taps]
    return product if product.row in product.reads[0].axes() else _with_depth(product, depths)


def _with_depth(product: Product, depths: list[str]) -> Product:
    return replace(product, depth=depths[0], taps=tuple(depths[1:]))


def _inner_product(chain: Chain, first: Operator, outer: Product) -> Product:
    """The first product with the rows of the second, and its depth for columns."""
    for product in (_known(first), _turned(_known(first))):
        parallel = {axis.name for axis in first.axes if axis.kind is AxisKind.PARALLEL}
        if {outer.row, outer.depth} <= parallel and outer.column not in parallel:
            left, right = product.reads
            if outer.row in _axes(left) and outer.depth in _axes(right) and outer.depth not in _axes(left):
                return replace(product, row=outer.row, column=outer.depth)
    raise refused(chain, f"rows and columns of {first.name} are not rows and depth of {outer.operator.name}")


def _check_rows(chain: Chain, operator: Operator, inner: Product, outer: Product) -> None:
    """What makes an operand of the first product reduces nothing, or whole rows of the left one."""
    names, reduced = {axis.name for axis in operator.axes}, _reduced(operator)
    if reduced and (reduced != {inner.depth} or inner.taps or outer.depth in names):
        raise refused(chain, f"{operator.name} reduces {', '.join(sorted(reduced))}, which is no row of an operand")


def _runs_online(chain: Chain, operator: Operator, outer: Product) -> bool:
    """Whether a row-wise reduction between products may run in blocks of the fused axis: its readers sum its weights."""
    reads_weights = outer.reads[0].tensor == operator.write.tensor and outer.operator.is_contraction()
    return softmax_weights(operator) is not None and reads_weights and _reduced(operator) == {outer.depth} and not outer.taps


def _without_products(chain: Chain) -> Roles:
    """Rows and elements: everything works on tiles of rows, of which a reduction has all, but for one that only sums."""
    reducing = [operator for operator in chain.operators if operator.reduction is not None]
    axes = dict.fromkeys(axis.name for operator in chain.operators for axis in operator.axes)
    reduced = set().union(*map(_reduced, reducing))
    extents = {axis: _extent(chain, axis) for axis in axes}
    summed = ""
    if len(reducing) == 1 and adds_up(reducing[0]):
        summed = reducing[0].name
    written = chain.operators[-1].write.innermost()
    column = max(sorted(reduced), key=lambda axis: extents[axis], default="") or written or next(iter(axes), "")
    others = [axis for axis in axes if axis != column and axis not in reduced]
    near = [axis for axis in _innermost_of_reads(chain) if axis in others]
    row = max(others, key=lambda axis: (extents[axis] > 1, axis in near, extents[axis]), default="")
    places = {operator.name: Place.BEHIND for operator in chain.operators}
    if summed:
        places |= {operator.name: Place.OPERAND for operator in (*_ancestors(chain, reducing[0]), reducing[0])}
    whole = frozenset() if summed else frozenset(reduced)
    return Roles(chain, (), row, column, "", _placed(chain, places), whole, summed)


def _innermost_of_reads(chain: Chain) -> list[str]:
    """The axes along which inputs lie side by side."""
    reads = [read for operator in chain.operators for read in operator.reads if read.tensor in chain.inputs]
    return [axis for read in reads if (axis := read.innermost()) is not None]


def _check_tiles(roles: Roles) -> None:
    """Every operator works on the tiles of its place."""
    last = roles.products[-1]
    tiled = {axis for product in roles.products for axis in (product.row, product.column, product.depth, *product.taps)}
    for operator in roles.chain.operators:
        place = roles.place(operator.name)
        names = {axis.name for axis in operator.axes} & tiled
        allowed = _allowed(roles, place, last)
        if place is not None and not names <= allowed:
            why = f"{operator.name} works along {', '.join(sorted(names - allowed))}, of which a kernel has no tile there"
            raise refused(roles.chain, why)
        if place is Place.BEHIND and _reduced(operator) - {last.row, last.column}:
            raise refused(roles.chain, f"{operator.name} reduces an axis of which a block has one point")


def _allowed(roles: Roles, place: Place | None, last: Product) -> set[str]:
    first = roles.products[0]
    match place:
        case Place.BETWEEN:
            return {last.row, last.depth, last.column, *last.taps}
        case Place.OPERAND:
            return {first.row, first.column, first.depth, *first.taps, *last.taps}
        case _:
            return {last.row, last.column}


def _ancestors(chain: Chain, operator: Operator) -> list[Operator]:
    """What an operator depends on, in order."""
    needed = {access.tensor for access in operator.reads}
    found: list[Operator] = []
    for one in reversed(chain.operators):
        if one.write.tensor in needed and one is not operator:
            found.append(one)
            needed |= {access.tensor for access in one.reads}
    return found[::-1]


def _rest(chain: Chain, products: Iterable[Operator]) -> Iterator[Operator]:
    """What runs behind the products."""
    known = [op for product in products for op in (product, *_ancestors(chain, product))]
    return (operator for operator in chain.operators if operator not in known)


def _reduced(operator: Operator) -> set[str]:
    return {axis.name for axis in operator.reduction_axes()}


def _axes(access: Access) -> frozenset[str]:
    return access.axes() | access.guard.axes() if access.guard is not None else access.axes()


def _placed(chain: Chain, places: dict[str, Place]) -> tuple[tuple[str, Place], ...]:
    return tuple((operator.name, places[operator.name]) for operator in chain.operators if operator.name in places)


def _extent(chain: Chain, axis: str) -> int:
    extent = chain.extents[axis]
    assert isinstance(extent, int)
    return extent
