"""Names that a model's file gives to operators and tensors: bound to a plan when it is printed.

A graph has names of its own, which are identifiers. So code of models that differ in names only is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count

from tilewright.plan.binding import bound_model
from tilewright.plan.chains import Names
from tilewright.plan.types import ModelPlan


def with_given_names(model_plan: ModelPlan, operators: Mapping[str, str], tensors: Mapping[str, str]) -> ModelPlan:
    """The plan in given names, by those of the graph; what has no given name, such as what rewrites made, keeps its name."""
    graph, plans = model_plan.graph, model_plan.plans
    known_tensors = [*graph.tensors, *(tensor for plan in plans for tensor in plan.chain.tensors)]
    known_operators = [*graph.operators, *(operator for plan in plans for operator in plan.chain.operators)]
    return bound_model(
        model_plan,
        Names(
            _OrSame(),
            _unique((tensor.name for tensor in known_tensors), tensors),
            _unique((operator.name for operator in known_operators), operators),
        ),
    )


class _OrSame(dict[str, str]):
    """Other names; what is not in it has none."""

    def __missing__(self, name: str) -> str:
        return name


def _unique(names: Iterable[str], given: Mapping[str, str]) -> Mapping[str, str]:
    """The given names, with a number behind those that are taken: files may give a name twice.

    >>> _unique(["matmul", "add", "t_1"], {"matmul": "layer", "add": "layer"})
    {'matmul': 'layer', 'add': 'layer@2'}
    """
    every = dict.fromkeys(names)
    taken = every.keys() - given.keys()
    found = _OrSame()
    for name in every:
        if name in given:
            candidates = chain((given[name],), (f"{given[name]}@{number}" for number in count(2)))
            found[name] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(found[name])
    return found
