"""Which chains share a routine: by their structure, as their texts without names say."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.replay.planning import graphs_of
from tilewright.block.statements import MatrixTiles
from tilewright.c_text.statements import COMMENT, without_names
from tilewright.errors import InternalError
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.chains import Names, names_of, renamed_graph
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model.partition import partition
from tilewright.render.c.c_file import Routine, shared
from tilewright.render.c.library import _routines
from tilewright.render.c.nest import routine_of
from tilewright.render.c.program import c_file, lower_program

MODELS = ("bert", "gpt2_cached", "mobilenet_v2", "mixer")


def routines(model_plan: ModelPlan) -> list[Routine]:
    """Each with its text. What is passed is the same where a library has one text for several."""
    file = c_file(lower_program(model_plan))
    found = [routine_of(file, source) for source in file.nests]
    passed = [[(one.name, one.pointers, one.sizes) for one in of] for of in (found, _routines(file)[0])]
    assert passed[0] == passed[1]
    return found


def nameless(routine: Routine) -> str:
    """The text without comments and names: the oracle of structures."""
    return without_names(COMMENT.sub("", routine.text), [f"{routine.name}_task", f"{routine.name}_run"])


def first_by(keys: list[object]) -> list[int]:
    return [keys.index(key) for key in keys]


@pytest.mark.parametrize("model", MODELS)
def test_chains_share_a_routine_if_and_only_if_their_texts_differ_in_names_only(model: str) -> None:
    for model_plan in graphs_of("models")[model]("zen4"):
        found = routines(model_plan)
        assert first_by([one.structure for one in found]) == first_by([nameless(one) for one in found])


@pytest.mark.parametrize(("subject", "name"), [("attention", "causal"), ("layers", "gated"), ("rows", "softmax")])
def test_code_does_not_depend_on_names(subject: str, name: str) -> None:
    """But for the order of the terms of sums of indices: it follows from the names of axes, and the sums are the same."""
    machine = Machine.named("zen4")
    (model_plan,) = graphs_of(subject)[name]("zen4")
    graph = model_plan.graph
    names = names_of(Chain(graph.name, graph.tensors, graph.operators))
    backwards = [
        {name: f"{kind}_{len(old) - number:03}" for number, name in enumerate(old.values())}
        for kind, old in (("axis", names.axes), ("tensor", names.tensors), ("operator", names.operators))
    ]
    other = routines(partition(renamed_graph(graph, Names(*backwards)), machine))
    assert [*map(nameless, other)] == [*map(nameless, routines(partition(graph, machine)))]


def test_layers_that_lie_in_another_way_do_not_share() -> None:
    """The first layer reads an argument, whose strides are known at run time; the others read the workspace of a call."""
    weights = [np.full((40, 40), 0.1 * number, np.float32) for number in range(1, 4)]

    def layers(x: object) -> object:
        for weight in weights:
            x = tw.softmax(x @ weight, axis=-1)
        return x

    found = routines(tw.jit(layers, fuse=False).lower(tw.spec((24, 40))).model_plan)
    products = [one for one in found if any(isinstance(leaf, MatrixTiles) for leaf in one.leaves)]
    assert [products.index(called) for called in shared(products)] == [0, 1, 1]


def test_a_routine_is_not_called_with_other_arguments() -> None:
    one, other = (Routine(name, "", pointers, (), (), structure=(0, 0)) for name, pointers in (("f", ("a",)), ("g", ("a", "b"))))
    with pytest.raises(InternalError, match="f cannot be called for g"):
        shared([one, other])
