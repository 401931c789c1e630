"""Trees of loops, compiled and run: fused groups of operators under shared loops, against the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.codegen.test_online_rows import KERNEL, MACHINE, interpreted
from tests.support.chains import artifact_of, chain, hand_plan, random_inputs
from tests.support.operators import contraction, mapping, softmax
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import Chain, Operator
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.model.operands.packing_cost import may_pack
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.schedule import FusedGroup, fused_schedule
from tilewright.plan.search.inner_loops import with_packs
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load

EXTENTS = {"b": 2, "m": 13, "k": 5, "h": 37, "n": 18, "g": 21, "p": 19}
RAGGED = [{"m": 4, "h": 16, "n": 8, "g": 16, "p": 8, "k": 2}, {"m": 13, "h": 36, "n": 18, "g": 20, "p": 1, "k": 5}]
RAGGED += [{"m": 1, "h": 38, "n": 17, "g": 5, "p": 19, "k": 4}, {"m": 6, "h": 1, "n": 3, "g": 22, "p": 20, "k": 3}]


def layers(suffix: str) -> tuple[Chain, tuple[FusedGroup, ...]]:
    """Two pairs of products, a map in the first."""
    relu = apply("maximum", Load(0), apply("subtract", Load(0), Load(0)))
    operators = [
        contraction("up", "X:mk", "A:kh", f"U{suffix}:mh", EXTENTS),
        mapping("relu", relu, [f"U{suffix}:mh"], f"R{suffix}:mh", EXTENTS),
        contraction("down", f"R{suffix}:mh", "B:hn", f"V{suffix}:mn", EXTENTS),
        contraction("up2", f"V{suffix}:mn", "C:ng", f"W{suffix}:mg", EXTENTS),
        contraction("down2", f"W{suffix}:mg", "D:gp", f"Y{suffix}:mp", EXTENTS),
    ]
    fused_groups = FusedGroup(("up", "relu", "down"), ("h",)), FusedGroup(("up2", "down2"), ("g",))
    return chain(f"layers{suffix}", operators), fused_groups


def attention(suffix: str) -> tuple[Chain, tuple[FusedGroup, ...]]:
    """Attention over h keys, and a product behind it."""
    operators: list[Operator] = [
        contraction("scores", "Q:mk", "K:kh", f"S{suffix}:mh", EXTENTS),
        softmax("weights", f"S{suffix}:mh", f"P{suffix}:mh", "h", EXTENTS),
        contraction("out", f"P{suffix}:mh", "V:hn", f"O{suffix}:mn", EXTENTS),
        contraction("project", f"O{suffix}:mn", "W:np", f"Z{suffix}:mp", EXTENTS),
    ]
    return chain(f"attention{suffix}", operators), (FusedGroup(("scores", "weights", "out"), ("h",)),)


Build = Callable[[str], tuple[Chain, tuple[FusedGroup, ...]]]
OWN = [{}, {"up": "k", "down": "nm", "down2": "p", "scores": "km", "out": "n", "project": "pn"}]


def plans_of(build: Build, packed: bool) -> list[Plan]:
    """Trees of one chain under several orders of outer loops, with ragged tiles; right operands in place, or packed in the fused
    group's loop.

    Columns of packed operands are cut into whole panels.
    """
    plans = []
    for number, (tiles, outer_loops, own) in enumerate(product(RAGGED, ("", "m"), OWN)):
        one, fused_groups = build(f"_{number}")
        if packed:
            tiles = {axis: tile if axis in "mk" else -(-tile // KERNEL.columns) * KERNEL.columns for axis, tile in tiles.items()}
        below = {name: [axis for axis in order if axis not in outer_loops] for name, order in own.items()}
        schedule = fused_schedule(
            one, outer_loops, {op.name: below.get(op.name, []) for op in one.operators}, tiles, fused_groups=fused_groups
        )
        assert not why_not_executable(one, schedule)
        if packed:
            products = [op for op in one.operators if op.is_contraction()]
            roles = {op.name: contraction_roles(op) for op in products}
            context = context_of(one, MACHINE, dict.fromkeys(roles, KERNEL), roles, DEFAULT)
            depths = {op.name: len(outer_loops) + (number % 2) for op in products if may_pack(context, op)}
            inside = {name: min(depth, len(schedule.path(name))) for name, depth in depths.items()}
            schedule = with_packs(context, schedule, inside)
        plans.append(hand_plan(one, schedule, MACHINE, KERNEL, parallel_axes(one, schedule)))
    return plans


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("build", [layers, attention])
def test_every_tree_computes_the_chain_on_any_number_of_threads(build: Build, packed: bool) -> None:
    plans = plans_of(build, packed)
    assert any(plan.parallel_axes == ("m",) for plan in plans)
    inputs = random_inputs(plans[0].chain)
    artifact = artifact_of(plans)
    together, alone = ([np.full((13, 19), np.nan, np.float32) for _ in plans] for _ in range(2))
    for threads, outputs in ((2, together), (1, alone)):
        load(artifact, threads=threads).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    expected = interpreted(plans[0].chain, inputs)
    wrong = [plan.schedule for plan, out in zip(plans, together, strict=True) if not np.allclose(out, expected, 1e-4, 1e-3)]
    assert not wrong, f"{len(wrong)} of {len(plans)} schedules are wrong, the first: {wrong[0]}"
    assert [out.tobytes() for out in together] == [out.tobytes() for out in alone]
