"""Equal layers: operators of one chain that are the same but for names, so that what holds for one holds for all of them.

A deep network is one chain of many layers alike. Under equal loops their work is equal: nothing else in the chain has a say in it
where no row-wise reduction, no mask and no window is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.types import Chain, Operator
from tilewright.plan.regions.epilogues import Epilogue

FEWEST_OPERATORS = 4
"""Of a chain in which layers may repeat: two products, and a map behind each."""


def kinds(chain: Chain, roles: Mapping[str, ContractionRoles], epilogues: Mapping[str, Epilogue]) -> dict[str, int]:
    """A number for every operator that is like others of its chain, the same for all of a kind.

    Roles and epilogues are those of contractions, by name.
    """
    if len(chain.operators) < FEWEST_OPERATORS or not all(map(_is_plain, chain.operators)):
        return {}
    forms = {operator.name: _form(chain, operator, roles.get(operator.name), epilogues) for operator in chain.operators}
    times = Counter(forms.values())
    numbers = {form: number for number, form in enumerate(times) if form is not None and times[form] > 1}
    return {name: numbers[form] for name, form in forms.items() if form in numbers}


def _is_plain(operator: Operator) -> bool:
    """Whether it is a contraction or a map, of plain dimensions."""
    accesses = (*operator.reads, operator.write)
    is_plain = all(access.is_affine() and all(index.is_axis() for index in access.indices) for access in accesses)
    return is_plain and not operator.is_row_reduction()


def _form(chain: Chain, operator: Operator, roles: ContractionRoles | None, epilogues: Mapping[str, Epilogue]) -> Hashable | None:
    """Everything that work depends on, with numbers for names; None where an epilogue has axes that the operator has not."""
    places = {axis.name: place for place, axis in enumerate(operator.axes)}
    maps = [chain.operator(name) for name in epilogues[operator.name].maps] if operator.name in epilogues else []
    members = (operator, *maps)
    accesses = [access for member in members for access in (*member.reads, member.write)]
    if any(not access.axes() <= places.keys() for access in accesses):
        return None
    tensors = {access.tensor: None for access in accesses}
    numbers = {tensor: number for number, tensor in enumerate(tensors)}
    return (
        tuple((axis.extent, axis.kind) for axis in operator.axes),
        tuple((numbers[access.tensor], tuple(places[str(index)] for index in access.indices)) for access in accesses),
        tuple(_tensor_form(chain, tensor) for tensor in tensors),
        tuple((member.body, member.reduction, member.accumulator) for member in members),
        roles and (roles.left, roles.right, *(places.get(axis or "") for axis in (roles.row, roles.column, roles.depth))),
        roles and tuple(places[axis] for axis in roles.outer),
    )


def _tensor_form(chain: Chain, name: str) -> Hashable:
    tensor = chain.tensor(name)
    return tensor.shape, tensor.dtype, name in chain.constants, chain.producer(name) is None, name == chain.output
