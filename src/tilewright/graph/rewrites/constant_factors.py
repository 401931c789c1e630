"""Factors that constants take: computed once, when a kernel is loaded.

Moves what multiplies a product with constant weights into these weights: batch norm, layer scale, gains of channels.

(x @ w) * s + t is x @ (w * s) + t where s belongs to columns alone. Nothing is computed here: w * s and t are operators on
constants, evaluated when a kernel is loaded.

Divisions by constants as products with their reciprocals, where last bits are free: a product takes a tenth of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.polynomials import ONE, Monomial, Polynomial, polynomial
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, apply, fold, rewrite, subexpressions
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import moderate_constants
from tilewright.graph.rewrites.exactness.mark_exact import exact_parts_of
from tilewright.graph.rewrites.rebuild import Expansion, read_once, unused, with_operators, with_used_reads
from tilewright.graph.types import Access, Axis, Extent, Graph, Operator, Tensor


class FoldAffineIntoWeights(Rewrite):
    """A map that alone reads a product is left with an addition; factors that are numbers stay, since they cost nothing there.

    Results are those of exact arithmetic, rounded elsewhere. Sums that the product is no part of stay as they are: multiplied
    out, what they add up may cancel, and (y - 1000) * (y - 1000) would lose all its digits near 1000.
    """

    licence = Licence.RANGE

    def run(self, graph: Graph) -> Graph:
        """The graph whose products have their factors in their weights."""
        folding = _Folding(graph)
        for operator in graph.operators:
            folding.add(operator)
        if not folding.is_changed:
            return graph
        return with_operators(replace(graph, tensors=tuple(folding.tensors.values())), folding.operators.values())


class _Folding:
    def __init__(self, graph: Graph) -> None:
        self.constants = moderate_constants(graph)
        """Tensors that do not change between calls."""
        self.operators: dict[str, Operator] = {}
        self.tensors = dict(graph.by_name)
        self.alone = read_once(graph)
        self.is_changed = False

    def add(self, operator: Operator) -> None:
        """Take over the next operator, with its factors in the weights of a product if that can be."""
        while (changed := self._changed(operator)) is not None:
            operator = changed
        self.operators[operator.write.tensor] = operator

    def _changed(self, operator: Operator) -> Operator | None:
        """A map without the factors of one of its reads; the numbers of the others may have changed."""
        for number, access in enumerate(operator.reads if operator.is_map() else ()):
            product = self.operators.get(access.tensor)
            if product is None or access.tensor not in self.alone or not product.is_product_sum() or access.guard is not None:
                continue
            if operator.accumulator != "float32" or product.accumulator != "float32":
                continue
            if not FoldAffineIntoWeights.licence.permits_operators((product, operator), self.tensors):
                continue
            changed = self._folded(operator, number, product)
            if changed is not None:
                return changed
        return None

    def _folded(self, operator: Operator, number: int, product: Operator) -> Operator | None:
        found = next(self._affine_parts(operator, number), None)
        positions = _positions(product, operator, operator.reads[number], self.tensors)
        if found is None or positions is None:
            return None
        part, factor, rest = found
        for weight in (1, 0):
            scaled = self._scaled(operator, product, weight, factor, positions)
            if scaled is not None:
                reads = tuple(Access(scaled.write.tensor, a.indices) if n == weight else a for n, a in enumerate(product.reads))
                del self.operators[product.write.tensor]  # both go to the end, since only the next operator reads the product
                self.operators |= {scaled.write.tensor: scaled, product.write.tensor: replace(product, reads=reads)}
                self.is_changed = True
                return self._with_rest(operator, number, part, rest)
        return None

    def _with_rest(self, operator: Operator, number: int, part: Scalar, rest: Polynomial) -> Operator:
        """A map in which a part is a read and what is added to it; what is made of constants is an operator of its own."""
        fixed = {monomial: value for monomial, value in rest.items() if self._is_constant(operator, monomial)}
        varying = {monomial: value for monomial, value in rest.items() if monomial not in fixed}
        reads = operator.reads
        if not isinstance(_sum_of(fixed), Load | Literal):
            shift = self._shift(operator, fixed)
            reads, fixed = (*reads, shift.write), {frozenset({(Load(len(reads)), 1)}): 1.0}
        parts = [Load(number), *(_sum_of(terms) for terms in (fixed, varying) if terms)]
        whole = fold("add", parts)
        body = rewrite(operator.body, lambda node: whole if node == part else None)
        return with_used_reads(replace(operator, reads=reads, body=body))

    def _shift(self, operator: Operator, terms: Polynomial) -> Operator:
        """The operator that adds up constants along those axes of a map on which they depend."""
        body = _sum_of(terms)
        used = {operator.reads[node.read] for node in subexpressions(body) if isinstance(node, Load)}
        axes = tuple(axis for axis in operator.axes if any(axis.name in access.axes() for access in used))
        name = unused(f"{operator.write.tensor}_shift", self.tensors)
        self.tensors[name] = Tensor(name, tuple(axis.extent for axis in axes))
        self.constants.add(name)
        write = Access(name, tuple(axis_index(axis.name) for axis in axes))
        shift = with_used_reads(Operator(name, "shift", axes, operator.reads, write, body))
        self.operators[name] = shift
        return shift

    def _affine_parts(self, operator: Operator, number: int) -> Iterator[tuple[Scalar, Scalar, Polynomial]]:
        """(part of the body, factor, rest), the largest first: factor * Load(number) + rest with a constant factor."""
        count = Counter(subexpressions(operator.body))
        for part in sorted(count, key=lambda node: -len(subexpressions(node))):
            inside = subexpressions(part).count(Load(number))
            if not inside or part == Load(number) or inside * count[part] != count[Load(number)]:
                continue
            terms = polynomial(part, _sums_beside(part, Load(number)))
            if terms is not None and (factor := self._factor(operator, number, terms)) is not None:
                yield part, factor, {monomial: value for monomial, value in terms.items() if (Load(number), 1) not in monomial}

    def _factor(self, operator: Operator, number: int, terms: Polynomial) -> Scalar | None:
        """What a read is multiplied by in a polynomial, if that is made of constants; None for numbers, which may stay."""
        read = (Load(number), 1)
        concerned = [monomial for monomial in terms if any(read[0] in subexpressions(atom) for atom, _ in monomial)]
        factors = {monomial - {read}: terms[monomial] for monomial in concerned if read in monomial}
        is_factor = 0 < len(factors) == len(concerned) and set(factors) != {ONE}
        return _sum_of(factors) if is_factor and all(self._is_constant(operator, monomial) for monomial in factors) else None

    def _is_constant(self, operator: Operator, monomial: Monomial) -> bool:
        """Whether a product in the body of a map is made of constants alone."""
        leaves = [node for atom, _ in monomial for node in subexpressions(atom) if not isinstance(node, Apply | Literal)]
        return all(isinstance(node, Load) and self._is_plain_constant(operator.reads[node.read]) for node in leaves)

    def _is_plain_constant(self, access: Access) -> bool:
        return access.tensor in self.constants and access.guard is None and not access.lookups

    def _scaled(
        self, operator: Operator, product: Operator, weight: int, factor: Scalar, positions: Mapping[str, Index]
    ) -> Operator | None:
        """The operator that multiplies weights by a factor; None where the factor has other axes than the weights' own, and for
        weights of a shorter type, which would be rounded again.

        It is as wide as the weights: an axis that walks a part of a dimension is no axis of it.
        """
        access = product.reads[weight]
        tensor = self.tensors[access.tensor]
        if not self._is_plain_constant(access) or tensor.dtype != "float32":
            return None
        whole = [(n, str(index)) for n, index in enumerate(access.indices) if _is_whole(product, index, tensor.shape[n])]
        axis_positions = {axis: axis_index(f"d{n}") for n, axis in whole}
        reads = [Access(tensor.name, tuple(axis_index(f"d{n}") for n in range(len(tensor.shape))))]
        numbers: dict[Scalar, Scalar] = {}
        for load in dict.fromkeys(node for node in subexpressions(factor) if isinstance(node, Load)):
            read = operator.reads[load.read]
            moved = read.mapped(lambda index: index.substitute(positions))
            if not read.axes() <= positions.keys() or not moved.axes() <= axis_positions.keys():
                return None
            numbers[load] = Load(len(reads))
            reads.append(moved.mapped(lambda index: index.substitute(axis_positions)))
        result = replace(tensor, name=unused(f"{tensor.name}_scaled", self.tensors), magnitudes=None, entries=None)
        self.tensors[result.name] = result
        self.constants.add(result.name)
        axes = tuple(Axis(f"d{n}", extent) for n, extent in enumerate(tensor.shape))
        body = apply("multiply", Load(0), rewrite(factor, numbers.get))
        return Operator(result.name, "scale", axes, tuple(reads), Access(result.name, reads[0].indices), body)


def _is_whole(operator: Operator, index: Index, extent: Extent) -> bool:
    """Whether an index is an axis that walks all of a dimension."""
    return index.is_axis() and operator.axis(str(index)).extent == extent


def _positions(product: Operator, reader: Operator, read: Access, tensors: Mapping[str, Tensor]) -> dict[str, Index] | None:
    """Where axes of a reader stand in terms of the product's axes; None where it reads something else than elements.

    An axis that walks a part of a dimension stands nowhere: there would be no factor for the rest.
    """
    positions: dict[str, Index] = {}
    for written, index, extent in zip(product.write.indices, read.indices, tensors[read.tensor].shape, strict=True):
        if index.is_axis() and str(index) not in positions:
            positions |= {str(index): written} if _is_whole(reader, index, extent) else {}
        elif index.terms:
            return None
    return positions


def _sums_beside(scalar: Scalar, load: Load) -> frozenset[Scalar]:
    """The largest parts of an expression that do not have a load in them, if they are sums."""
    if load not in subexpressions(scalar):
        return frozenset() if len(polynomial(scalar) or ()) == 1 else frozenset((scalar,))
    operands = scalar.operands if isinstance(scalar, Apply) else ()
    return frozenset().union(*(_sums_beside(operand, load) for operand in operands))


def _sum_of(terms: Polynomial) -> Scalar:
    """A polynomial written out."""
    parts = [_product_of(monomial, coefficient) for monomial, coefficient in terms.items()]
    return fold("add", parts) if parts else Literal(0.0)


def _product_of(monomial: Monomial, coefficient: float) -> Scalar:
    factors = [atom for atom, power in sorted(monomial, key=str) for _ in range(power)]
    if coefficient != 1 or monomial == ONE:
        factors.append(Literal(coefficient))
    return fold("multiply", factors)


LEAST, MOST = 1e-30, 1e30
"""Divisors of which float32 holds the reciprocal as a normal number: products with it leave the range where quotients do."""


class Reciprocals(Rewrite):
    """Maps in float32 that divide by a number, or by elements of a constant, whose reciprocals are made when kernels are loaded.

    Single numbers (scales of quantised tensors) keep their divisions, since nothing is gained for them.
    """

    licence = Licence.RANGE

    def run(self, graph: Graph) -> Graph:
        """The graph with products in the place of such divisions."""
        return _Multiplying(graph).expanded()


class _Multiplying(Expansion):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.constants = moderate_constants(graph)
        self.inverses: dict[str, str] = {}
        """By constant the tensor that holds the reciprocals of its elements."""

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """A map with products in it, behind what makes the reciprocals that it is the first to read."""
        is_able = operator.is_map() and operator.accumulator == "float32" and operator.axes
        if not is_able or "divide" not in operator.functions() or operator.write.tensor in self.constants:
            yield operator
            return
        exact = exact_parts_of(operator, self.tensors)
        divisors = dict.fromkeys(self.divisors(operator, exact))
        reads = list(operator.reads)
        products: dict[Scalar, Scalar] = {}
        for divisor in divisors:
            constant = operator.reads[divisor.read].tensor
            if constant not in self.inverses:
                yield self.inverse(constant)
            products[divisor] = Load(len(reads))
            reads.append(replace(operator.reads[divisor.read], tensor=self.inverses[constant]))
        yield with_used_reads(replace(operator, reads=tuple(reads), body=_multiplying(operator.body, exact, products)))

    def divisors(self, operator: Operator, exact: frozenset[Scalar]) -> Iterator[Load]:
        """The reads of constants that last bits allow to be reciprocals."""
        for part in subexpressions(operator.body):
            match part:
                case Apply("divide", (_, Load(number) as divisor)) if part not in exact and number not in operator.looked_up():
                    read = operator.reads[number]
                    is_float = self.tensors[read.tensor].dtype == "float32"
                    if is_float and read.tensor in self.constants and read.guard is None and not read.lookups:
                        yield divisor

    def inverse(self, constant: str) -> Operator:
        """The operator that makes the reciprocals of a constant."""
        tensor = self.tensors[constant]
        name = unused(f"{constant}_inverse", self.tensors)
        self.tensors[name], self.inverses[constant] = replace(tensor, name=name, magnitudes=None, entries=None), name
        read, body = Access(constant, points(len(tensor.shape))), apply("reciprocal", Load(0))
        return map_of("inverse", tensor.shape, [read], body, tensor.dtype, name, name)[0]


def _multiplying(scalar: Scalar, exact: frozenset[Scalar], products: dict[Scalar, Scalar]) -> Scalar:
    """An expression with products in the place of quotients by numbers and by these divisors."""
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_multiplying(operand, exact, products) for operand in scalar.operands)
    if scalar.function == "divide" and scalar not in exact:
        match operands:
            case (dividend, Literal(value)) if LEAST < abs(value) < MOST:
                return apply("multiply", dividend, Literal(float(np.float32(1 / value))))
            case (dividend, divisor) if divisor in products:
                return apply("multiply", dividend, products[divisor])
    return Apply(scalar.function, operands)
