"""Documentation that is read: an upper limit of words. Generated pages and decisions, which have a limit of their own, apart."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = ("reference.md", "onnx-conformance.md")


def test_pages_have_at_most_27000_words() -> None:
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")]
    words = {page.name: len(page.read_text("utf-8").split()) for page in pages if page.name not in GENERATED}
    assert sum(words.values()) <= 27_000, words


def test_the_readme_has_at_most_700_words_beside_code_and_tables() -> None:
    text = re.sub(r"```.*?```|^\|.*?$", "", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(text.split()) <= 700
