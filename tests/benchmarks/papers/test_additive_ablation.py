"""Parts of the system added to a baseline alone."""

from benchmarks.papers.additive_ablation import SYSTEMS, best_of_random, measure_case, table
from tilewright.tune.chain_functions import gemm_chain
from tilewright.tune.schedules.cases import Case

SMALL = Case("small", gemm_chain, ((1, 24, 16), (1, 16, 40), (1, 40, 16)))


def test_every_system_is_measured_and_tabled() -> None:
    found = measure_case(SMALL, 1, 0)
    assert tuple(found["speedups"]) == SYSTEMS
    assert all(speedup > 0 for speedup in found["speedups"].values())
    heading, row, mean, paper = table([found])
    assert heading.split()[-1] == "all"
    assert row.startswith("small")
    assert len(mean.split()) == 6
    assert "2.37" in paper


def test_chains_keep_their_places_and_have_random_tilings() -> None:
    model = SMALL.model_plan(fuse=False)
    drawn = best_of_random(SMALL, model, 1, 0)
    assert [plan.chain for plan in drawn.plans] == [plan.chain for plan in model.plans]
    assert any(mine.schedule != own.schedule for mine, own in zip(drawn.plans, model.plans, strict=True))
