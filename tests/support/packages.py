"""Packages taken apart and put together again, with right digests: as whoever forges them does."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.runtime.packages.layout import FORMAT, MAGIC, PAGE_BYTES, PREAMBLE, aligned
from tilewright.version import VERSION


@dataclass
class Parts:
    """The header as JSON, and the bytes of every section."""

    header: Any
    sections: list[bytes]

    @property
    def fields(self) -> list[Any]:
        """Of the header: ABI, content, section of the runtime, targets, sections."""
        fields: list[Any] = self.header["Header"]
        return fields

    @property
    def text(self) -> bytes:
        """The header."""
        return json.dumps(self.header).encode()

    def plan(self) -> Any:
        """The JSON of the first plan."""
        return json.loads(self.sections[self.fields[3][0]["Target"][3]])

    def with_plan(self, plan: Any) -> Parts:
        """With another first plan."""
        sections = [*self.sections]
        sections[self.fields[3][0]["Target"][3]] = plan if isinstance(plan, bytes) else json.dumps(plan).encode()
        return Parts(self.header, sections)


def parts(content: bytes) -> Parts:
    """A package, taken apart."""
    size = PREAMBLE.unpack(content[: PREAMBLE.size])[4]
    header = json.loads(content[PREAMBLE.size : PREAMBLE.size + size])
    begin = aligned(PREAMBLE.size + size, PAGE_BYTES)
    places = [one["Section"] for one in header["Header"][4]]
    return Parts(header, [content[begin + offset : begin + offset + length] for offset, length, _ in places])


def joined(found: Parts) -> bytes:
    """A package of these parts, with right places and digests."""
    content, places = b"", []
    for section in found.sections:
        content += bytes(-len(content) % PAGE_BYTES)
        places.append({"Section": [len(content), len(section), hashlib.sha256(section).hexdigest()]})
        content += section
    return with_header(json.dumps({"Header": [*found.fields[:4], places]}).encode(), content)


def with_header(text: bytes, content: bytes, version: str = VERSION, number: int = FORMAT) -> bytes:
    """A package of a header and what is behind it; only the digest of the header is made."""
    start = PREAMBLE.pack(MAGIC, version.encode(), number, 0, len(text), bytes(32))[:-32]
    before = start + hashlib.sha256(start + text).digest() + text
    return before + bytes(-len(before) % PAGE_BYTES) + content


def behind_header(path: Path) -> bytes:
    """The sections of a package, with what is between them."""
    content = path.read_bytes()
    return content[aligned(PREAMBLE.size + PREAMBLE.unpack(content[: PREAMBLE.size])[4], PAGE_BYTES) :]


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in JSON."""
    yield path
    if isinstance(value, (list, dict)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_in(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """The same JSON with another value at a place."""
    if not path:
        return by
    found = copy.copy(value)
    found[path[0]] = changed(value[path[0]], path[1:], by)
    return found


WRONG: tuple[Any, ...] = (None, -1, 1 << 70, "", "x", [], {}, 1.5, True, [[]], {"x": 1})


def forged_plans(content: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Packages whose plan has something else at one place, with what it is."""
    whole, chance = parts(content), random.Random(0)
    plan = whole.plan()
    for path in chance.choices([*paths_in(plan)], k=count):
        by = chance.choice(WRONG)
        yield f"{path} of the plan is {by!r:.20}", joined(whole.with_plan(changed(plan, path, by)))
