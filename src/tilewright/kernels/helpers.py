"""Helper functions of generated C: each names the helpers that it calls, so that a prelude is the closure of what is declared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from tilewright.records import record

DEFINED = re.compile(r"^(?:TW_INLINE|static __attribute__\(\(unused\)\)) [^(]*?(\w+)\(", re.MULTILINE)
"""A function that a text defines."""


@record
class Helper:
    """A piece of C with one or several functions; helpers of the same name have the same text."""

    name: str
    text: str = field(compare=False, repr=False)
    uses: tuple[Helper, ...] = field(default=(), compare=False, repr=False)
    """The helpers that its text calls."""


def closure(helpers: Iterable[Helper]) -> tuple[Helper, ...]:
    """The helpers and all that they use, in the order of their names, but each behind those that it uses.

    >>> first = Helper("tw_first", "...")
    >>> [helper.name for helper in closure([Helper("tw_and", "...", uses=(first,)), first])]
    ['tw_first', 'tw_and']
    """
    found: dict[Helper, None] = {}
    for helper in sorted(helpers, key=lambda helper: helper.name):
        _collect(helper, found)
    return tuple(found)


def texts(helpers: Iterable[Helper]) -> list[str]:
    """The C of the closure."""
    return [helper.text for helper in closure(helpers)]


def filled(text: str, values: Mapping[str, object]) -> str:
    """A template with values in the places of their names; a place alone on its line takes whole lines, or none.

    >>> filled("@T@ tw_@NAME@(@T@ x);", {"T": "double", "NAME": "exp"})
    'double tw_exp(double x);'
    >>> filled("{\\n@BODY@\\n}", {"BODY": "x = 1;\\n"}), filled("{\\n@BODY@\\n}", {"BODY": ""})
    ('{\\nx = 1;\\n}', '{\\n}')
    """
    text = f"\n{text}"
    for name, value in values.items():
        content = str(value)
        if not content or content.endswith("\n"):
            text = text.replace(f"\n@{name}@\n", f"\n{content}")
        text = text.replace(f"@{name}@", content)
    return text[1:]


def paragraphs(text: str) -> tuple[Helper, ...]:
    """The helpers of a text, one a paragraph, by the name of its last function; each uses those before it that it calls.

    >>> text = "TW_INLINE int f(int x) { return x; }\\n\\nTW_INLINE int g(int x) { return f(x); }\\n"
    >>> [(one.name, [used.name for used in one.uses]) for one in paragraphs(text)]
    [('f', []), ('g', ['f'])]
    """
    found: dict[str, Helper] = {}
    for paragraph in text.split("\n\n"):
        uses = tuple(dict.fromkeys(found[word] for word in re.findall(r"\w+", paragraph) if word in found))
        names = DEFINED.findall(paragraph)
        helper = Helper(names[-1], paragraph.rstrip("\n") + "\n", uses)
        found |= dict.fromkeys(names, helper)
    return tuple(dict.fromkeys(found.values()))


def _collect(helper: Helper, found: dict[Helper, None]) -> None:
    if helper not in found:
        for used in helper.uses:
            _collect(used, found)
        found[helper] = None
