"""Divisions that are known while a model is planned: of equal groups, and of groups of one form whose numbers are near.

Of a group of a form that was divided before, with numbers near those of the nearest such group, the division is taken over, and
the loops of every chain with it (`plan/taken_over.py`), if each chain stays within the limit of loss. Else the group is searched,
and may be what later groups are compared with: nothing that was taken over is taken over again.

What is taken over depends on the groups of the same model and on their order alone, never on what a process planned before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilewright.graph.types import Chain, Graph
from tilewright.plan.binding import bound_cut, bound_price
from tilewright.plan.canonical import Names, canonical_form, names_of
from tilewright.plan.chains import sub_chain
from tilewright.plan.counts import Counted, count
from tilewright.plan.reasons import TakenOver
from tilewright.plan.taken_over import efficiency, taken_over
from tilewright.plan.whole_model.division import Division, Part, PlanningOptions, division_of
from tilewright.plan.whole_model.forms import Near, form_of

SMALL_MODEL = 32
"""Operators up to which a model is planned exactly: no loops are taken over."""


def is_small(graph: Graph) -> bool:
    """Whether a graph has few operators. What reads nothing does not count: it is a constant, as a stored one is."""
    return sum(bool(operator.reads) for operator in graph.operators) <= SMALL_MODEL


def known_divisions(graph: Graph, options: PlanningOptions) -> KnownDivisions:
    """No division yet. Divisions are taken over in large models whose fusion the prices decide."""
    return KnownDivisions(options, options.fuse is None and not is_small(graph))


@dataclass(frozen=True, slots=True)
class _Searched:
    division: Division
    names: Names
    """Of the first group that the division was found for."""


@dataclass(slots=True)
class KnownDivisions:
    """The divisions of one planning of a model; all are exact unless `takes_over`."""

    options: PlanningOptions
    takes_over: bool = False
    divisions: dict[Chain, Division] = field(default_factory=dict)
    """By canonical chain."""
    searched: Near[_Searched] = field(default_factory=Near)

    def division(self, chain: Chain) -> Division:
        """The division of a group, as a chain of the graph. Raises `Unplannable` where an operator has no plan."""
        canonical = canonical_form(chain)
        if canonical not in self.divisions:
            self.divisions[canonical] = self._found(canonical, names_of(chain))
        return self.divisions[canonical]

    def _found(self, chain: Chain, names: Names) -> Division:
        if not self.takes_over:
            return division_of(chain, self.options)
        form = form_of(chain)
        near = self.searched.nearest(form)
        if near is not None and (found := self._taken_over(chain, near.known)):
            return found
        division = division_of(chain, self.options)
        self.searched.add(form, _Searched(division, names))
        return division

    def _taken_over(self, chain: Chain, near: _Searched) -> Division | None:
        """The division of a near group for a chain of its form; None where it loses too much."""
        parts = tuple(self._parts(chain, near))
        if len(parts) < len(near.division.parts):
            return None
        count(Counted.TAKEN_OVER)
        names = _written_names(near.division.chain, chain)
        cuts = (replace(bound_cut(cut, names), source=near.names.tensors[cut.tensor]) for cut in near.division.cuts)
        return Division(chain, parts, tuple(cuts))

    def _parts(self, chain: Chain, near: _Searched) -> Iterator[Part]:
        """The parts of a known division for another chain, as long as each can be taken over."""
        for source in near.division.parts:
            operators = tuple(chain.operator(operator.name) for operator in source.operators)
            part = sub_chain(chain, operators)
            priced = taken_over(canonical_form(part), source.priced)
            if priced is None:
                return
            name = "_".join(near.names.operators[operator.name] for operator in source.operators)
            reason = TakenOver(name, efficiency(priced), efficiency(source.priced))
            yield Part(operators, part, bound_price(priced.price, names_of(part)), priced, reason)


def _written_names(source: Chain, chain: Chain) -> Names:
    """The operators of a chain, and the tensors that they write, by those of another chain of its form."""
    pairs = list(zip(source.operators, chain.operators, strict=True))
    tensors = {old.write.tensor: new.write.tensor for old, new in pairs}
    return Names({}, tensors, {old.name: new.name for old, new in pairs})
