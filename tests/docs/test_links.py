from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/results/README.md"])


def targets(page: Path) -> list[Path]:
    """The files that a page links to, links into the web apart."""
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    return [page.parent / link for link in links if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert [str(target) for target in targets(page) if not target.exists()] == []


def test_the_index_leads_to_every_page() -> None:
    index, decisions = ROOT / "docs/README.md", ROOT / "docs/decisions/README.md"
    linked = {target.resolve() for page in (index, decisions) for target in targets(page)}
    pages = {page.resolve() for page in ROOT.glob("docs/**/*.md")} - {index.resolve()}
    assert pages - linked == set()
