"""Plans that pages quote: every quoted line is printed by `explain`."""

from __future__ import annotations

from pathlib import Path

import tilewright as tw
from tests.docs.test_code_blocks import FUNCTIONS, ROOT, blocks


def quoted(page: Path) -> list[str]:
    """The lines of `text` blocks that are the first three of an explanation, or indented as its parts are."""
    begins = ("  ", "bottleneck", "largest loss", "to change")
    return [line for text in blocks(page, "text") for line in text.splitlines() if line.startswith(begins)]


def test_the_plan_that_the_planning_page_quotes_is_the_golden_one() -> None:
    lines = quoted(ROOT / "docs/planning.md")
    explained = set((ROOT / "tests/golden/explain_g2_softmax.txt").read_text().splitlines())
    assert len(lines) > 30
    assert set(lines) - explained == set()


def test_the_plan_that_the_tutorial_quotes_is_explained() -> None:
    space: dict[str, object] = {}
    exec(FUNCTIONS, space)
    shapes = [tw.spec(shape) for shape in ((256, 512), (512, 2048), (2048,), (2048, 512))]
    explained = tw.jit(space["block"], target="cascadelake-6240").lower(*shapes).explain().splitlines()
    assert set(quoted(ROOT / "docs/tutorial-explain.md")) - set(explained) == set()
