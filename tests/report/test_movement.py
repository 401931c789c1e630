"""Movement by block order: the reuse of Chimera's Figure 2, its Table III, and the slowest level of Equation 3."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.plan.cases import gemm_chain
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.report.movement import explain_movement, loops_of, order_movements, reuse
from tilewright.tune import chain_functions
from tilewright.tune.shapes import conv_chain_shape

MACHINE = Machine.named("cascadelake-6240")


@pytest.mark.parametrize(
    ("order", "a", "b", "d", "e"),
    [("mnkl", "l", "", "k", "kl"), ("mknl", "nl", "", "k", "kl"), ("mnlk", "", "", "k", "lk"), ("mlkn", "n", "n", "k", "k")],
)
def test_reuse_is_that_of_figure_2(order: str, a: str, b: str, d: str, e: str) -> None:
    chain = gemm_chain(512, 64, 64, 512)
    first, second = chain.operators
    accesses = [(first, access) for access in first.reads] + [(second, second.reads[1]), (second, second.write)]
    assert ["".join(reuse(chain, operator, access, order)) for operator, access in accesses] == [a, b, d, e]


def test_an_order_moves_what_table_3_says() -> None:
    m, n, k, length = 512, 64, 64, 512
    (found,) = order_movements(gemm_chain(m, n, k, length), [tuple("mlkn")], MACHINE.level("L1"))
    blocks = {axis: -(-size // found.tiles[axis]) for axis, size in {"m": m, "l": length}.items()}
    assert found.moved_bytes["A"] == 4 * m * k * (blocks["l"] if found.tiles["k"] < k else 1)
    assert found.moved_bytes["B"] == 4 * k * length * blocks["m"]
    assert found.moved_bytes["D"] == 4 * n * length * blocks["m"]
    assert found.used_bytes <= MACHINE.level("L1").usable_bytes


def test_the_slowest_level_ends_the_report() -> None:
    specs = [tw.spec(shape) for shape in ((2, 96, 32), (2, 32, 64), (2, 64, 24))]
    text = explain_movement(tw.jit(chain_functions.gemm_chain, target=MACHINE).lower(*specs).graph, MACHINE)
    assert "blocks of m 96, k 32, l 64, n 24" in text
    assert "one after the other, or whole: b 2" in text
    assert text.splitlines()[-1].startswith("Equation 3: into L1 ")
    assert text.splitlines()[-1].endswith("; the slowest is L3")


def chain_of(name: str) -> Chain:
    shape = conv_chain_shape(name)
    graph = tw.jit(chain_functions.conv_chain(shape, with_relu=False), target=MACHINE).lower(tw.spec((1, *shape.image))).graph
    return make_chain(graph, graph.operators)


def test_windows_of_an_intermediate_are_refused() -> None:
    assert loops_of(chain_of("C3")) == ("m", "o0", "o1", "m2")  # sums over windows are not cut
    with pytest.raises(PlanningError, match="windows of an intermediate"):
        loops_of(chain_of("C6"))
