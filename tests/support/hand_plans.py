"""Plans built by hand, for tests of what prints them: round figures, no planner involved."""

from __future__ import annotations

from tests.support.chains import chain
from tests.support.operators import contraction, softmax
from tilewright.block.leaf_binding import LeafBinding, MatrixTile
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.expressions.scalar import Point, State, apply
from tilewright.graph.types import Chain, Graph, Reduction, StateVariable
from tilewright.kernels.contract import FLOAT32, MATRIX_TILES
from tilewright.machine.description import MemoryLevel, Source
from tilewright.machine.machine import Machine
from tilewright.plan.layout import panels, row_major
from tilewright.plan.reasons import BeyondShare, Defeat, Loops, LossReason, OtherLoops
from tilewright.plan.schedule import Compute, Loop, Pack, Schedule, Storage
from tilewright.plan.types import (
    Cut,
    Floor,
    LevelPlan,
    ModelPlan,
    Movement,
    OperatorPlan,
    Plan,
    Price,
    PriceTerm,
    Rejected,
    TermKind,
)
from tilewright.plan.whole_model.partition import with_layouts

MACHINE = Machine(
    name="paper-machine",
    architecture="x86_64",
    features=frozenset({"avx2", "fma", "avx512f", "avx512dq", "sse2"}),
    cores=18,
    vector_bits=512,
    vector_registers=32,
    fma_per_cycle=2,
    frequency_hz=2.6e9,
    peak_flops_per_s=(("float32", 1.0e11),),
    parallel_region_s=2e-6,
    levels=(
        MemoryLevel("L1", 32 << 10, 64, 4e11, 1, 8, Source.DATASHEET, usable_share=0.65),
        MemoryLevel("L2", 1 << 20, 64, 1e11, 1, 16, Source.DATASHEET),
        MemoryLevel("memory", 0, 64, 1e10, 18, 0, Source.DATASHEET),
    ),
    peak_source=Source.DATASHEET,
)
EXTENTS = {"b": 12, "m": 512, "l": 512, "k": 64, "n": 64}


def attention_plan(rejected: tuple[Rejected, ...] = ()) -> Plan:
    """G2 with softmax, its figures rounded."""
    return Plan(
        chain=attention_chain(),
        machine=MACHINE,
        schedule=_schedule(),
        operators=(
            OperatorPlan("scores", _tile(ContractionRoles(0, 1, "m", "l", "k", ("b",))), 0.98),
            OperatorPlan("weights", leaf=LeafBinding("row-wise reductions")),
            OperatorPlan("out", _tile(ContractionRoles(0, 1, "m", "n", "l", ("b",))), 0.98),
        ),
        levels=(
            LevelPlan("L1", ("l", "k"), (("m", 24), ("l", 64), ("k", 64)), 20480, 32 << 10),
            LevelPlan("L2", ("b", "m"), (("m", 24), ("l", 512), ("k", 64), ("n", 64)), 327680, 1 << 20),
        ),
        parallel_axes=("b", "m"),
        movements=tuple(
            Movement(tensor, level, size)
            for level, factor in (("L1", 4), ("L2", 1))
            for tensor, size in (("q", 1572864 * factor), ("k", 1572864 * factor), ("v", 1572864 * factor), ("out", 1572864))
        ),
        scratch_bytes=311296,
        price=Price(
            (
                PriceTerm(TermKind.ARITHMETIC, 4.1e-3, "out", note=BeyondShare(4096, "L2")),
                PriceTerm(TermKind.TRAFFIC, 2.0e-4, "out", "L2"),
                PriceTerm(TermKind.PACKING, 3.0e-4),
            )
        ),
        unfused_price=Price((PriceTerm(TermKind.ARITHMETIC, 4.1e-3, "out"), PriceTerm(TermKind.VISIBLE_TRAFFIC, 2.5e-3))),
        floor=Floor(402653184, 402653184 / 1e11, 6291456, 6291456 / 1e10),
        rejected=rejected,
    )


def _tile(roles: ContractionRoles) -> LeafBinding:
    tile = MatrixTile("x86_avx512_f32_6x64", roles, 6, 64, 1, FLOAT32, "float32")
    return LeafBinding(MATRIX_TILES, tile=tile)


def attention_chain() -> Chain:
    """softmax(q k) v, as the builders would make it."""
    maximum = StateVariable("maximum", float("-inf"), Point(), "maximum")
    exponential = apply("exp", apply("subtract", Point(), State("maximum")))
    total = StateVariable("total", 0.0, exponential, "add")
    how = Reduction((maximum, total), apply("divide", exponential, State("total")))
    scores = contraction("scores", "q:bmk", "k:bkl", "scores:bml", EXTENTS)
    weights = softmax("weights", "scores:bml", "weights:bml", "l", EXTENTS, how)
    out = contraction("out", "weights:bml", "v:bln", "out:bmn", EXTENTS)
    return chain("attention", [scores, weights, out])


def model_plan(*plans: Plan, cuts: tuple[Cut, ...] = ()) -> ModelPlan:
    """The chains as one model."""
    chain = plans[0].chain
    graph = Graph("attention", chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return with_layouts(ModelPlan(graph, plans, cuts))


def many_rejected(count: int) -> tuple[Rejected, ...]:
    """Alternatives that lost, each a little worse than the one before."""
    return tuple(_slower(n) for n in range(count))


def _slower(number: int) -> Rejected:
    loops = OtherLoops(Storage.KEEP, Loops((("m", 8 + number),)))
    return Rejected(loops, 5e-3 + number * 1e-4, 4.4e-3, "s", LossReason(Defeat.SLOWER))


def _schedule() -> Schedule:
    rows = Loop("m", 24, (Compute("scores"), Compute("weights"), Compute("out")))
    packs = (Pack("scores", 1, panels(64)), Pack("out", 1, row_major(2)))
    return Schedule((Loop("b", 1, (*packs, rows)),))
