"""The example of docs/planning.md: every line of the plan that the page quotes is printed by `explain`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_quoted_plan_is_the_golden_one() -> None:
    page = (ROOT / "docs/planning.md").read_text().splitlines()
    quoted = {line[4:] for line in page if line.startswith("    ")}
    explained = set((ROOT / "tests/golden/explain_g2_softmax.txt").read_text().splitlines())
    assert len(quoted) > 40
    assert quoted - explained == set()
