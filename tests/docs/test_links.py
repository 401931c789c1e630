"""Links between pages lead to files and to headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/results/README.md"])


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, with the anchor; links into the web apart."""
    found = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8"))
    return [(page.parent / link if link else page, anchor) for link, anchor in found if "://" not in link]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower())) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    found = links(page)
    assert [str(target) for target, _ in found if not target.exists()] == []
    of_pages = [(target, anchor) for target, anchor in found if anchor and target.suffix == ".md"]
    assert [f"{target}#{anchor}" for target, anchor in of_pages if anchor not in anchors(target)] == []


def test_the_index_leads_to_every_page() -> None:
    index, decisions = ROOT / "docs/README.md", ROOT / "docs/decisions/README.md"
    linked = {target.resolve() for page in (index, decisions) for target, _ in links(page)}
    pages = {page.resolve() for page in ROOT.glob("docs/**/*.md")} - {index.resolve()}
    assert pages - linked == set()
