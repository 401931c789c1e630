"""Packages that are damaged or forged: every one is refused with one error, or computes what the whole one does."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.packages import WRONG, Parts, behind_header, changed, forged_plans, joined, parts, paths_in, with_header
from tilewright.runtime.packages import reading
from tilewright.runtime.packages.layout import PREAMBLE

WEIGHTS = np.random.default_rng(0).standard_normal((24, 40), np.float32)
X = np.random.default_rng(1).standard_normal((3, 24), np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of a product with weights that are packed, for any number of rows."""
    path = tmp_path_factory.mktemp("packages") / "product.tw"
    tw.jit(lambda x: x @ WEIGHTS, threads=1).lower(tw.spec((tw.Dim("rows", 1, 9), 24))).compile().save(path)
    return path


def expected() -> Any:
    return tw.jit(lambda x: x @ WEIGHTS, threads=1)(X)


def forged(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Packages that differ in one thing."""
    chance = random.Random(0)
    for _ in range(30):
        size = chance.randrange(len(content))
        yield f"the first {size} bytes", content[:size]
    for _ in range(60):
        place, bit = (
            chance.randrange(len(content)) if chance.random() < 0.5 else chance.randrange(PREAMBLE.size + 400),
            chance.randrange(8),
        )
        yield f"bit {bit} of byte {place}", content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
    yield "a byte more", content + b"\0"
    whole = parts(content)
    for path in chance.choices([*paths_in(whole.header)], k=40):
        by = chance.choice(WRONG)
        text = json.dumps(changed(whole.header, path, by)).encode()
        yield f"{path} of the header is {by!r:.20}", with_header(text, content[4096:])
    yield from forged_plans(content, 70)
    for number in range(len(whole.sections)):
        others = [*whole.sections]
        others[number], others[number - 1] = others[number - 1], others[number]
        yield f"sections {number} and {number - 1} are exchanged", joined(Parts(whole.header, others))
    deep = b"[" * 100_000 + b"]" * 100_000
    yield "a plan nested deeply", joined(whole.with_plan(deep))
    yield "a header nested deeply", with_header(deep, b"")
    yield "a plan of nothing", joined(whole.with_plan(b""))


def test_two_hundred_of_them(saved: Path, tmp_path: Path) -> None:
    wanted, path, count = expected(), tmp_path / "forged.tw", 0
    for what, content in forged(saved.read_bytes()):
        path.write_bytes(content)
        count += 1
        try:
            found = tw.load(path, threads=1, verify=True)
        except tw.InvalidModel as problem:
            told = str(problem)
        else:  # a plan may also be that of another kernel, for all that can be told
            told = "the saved package cannot be used" if "plan" in what or (found(X) == wanted).all() else "it computes something"
        assert "the saved package cannot be used" in told, what
    assert count >= 200


def test_sections_that_overlap_or_lie_outside(saved: Path, tmp_path: Path) -> None:
    whole, content, path = parts(saved.read_bytes()), behind_header(saved), tmp_path / "forged.tw"
    places = whole.fields[4]
    for number, offset, size in [(1, 0, None), (0, 1 << 60, None), (-1, None, 1 << 62), (0, -4096, None), (2, 3, None)]:
        header = copy.deepcopy(whole.header)
        section = header["Header"][4][number]["Section"]
        section[:2] = [section[0] if offset is None else offset, section[1] if size is None else size]
        path.write_bytes(with_header(json.dumps(header).encode(), content))
        with pytest.raises(tw.InvalidModel, match=r"overlaps|truncated"):
            tw.load(path)
    assert len(places) == len(whole.sections)


def header_with(whole: Parts, **fields: Any) -> Parts:
    """With other features or another architecture."""
    header = copy.deepcopy(whole.header)
    target = header["Header"][3][0]["Target"]
    target[1], target[2] = fields.get("architecture", target[1]), fields.get("features", target[2])
    return Parts(header, whole.sections)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda whole, content: with_header(json.dumps(whole.header).encode(), content, version="9.9"),
            "Tilewright '9.9' wrote it",
        ),
        (lambda whole, content: with_header(json.dumps(whole.header).encode(), content, number=77), "in format 77"),
        (lambda whole, content: joined(header_with(whole, features=["avx4096"])), "needs avx4096"),
        (lambda whole, content: joined(header_with(whole, architecture="vax")), "needs vax"),
        (lambda whole, content: b"", "it is empty"),
        (lambda whole, content: b"\x08\x0a" + bytes(200), "it is no package"),
    ],
)
def test_the_reason_is_told(saved: Path, tmp_path: Path, change: Callable[[Parts, bytes], bytes], told: str) -> None:
    path = tmp_path / "other.tw"
    path.write_bytes(change(parts(saved.read_bytes()), behind_header(saved)))
    with pytest.raises(tw.InvalidModel, match=told):
        tw.load(path)


def test_the_best_of_several_targets_is_chosen(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, path = parts(saved.read_bytes()), tmp_path / "several.tw"
    features = [["avx2", "fma"], ["avx512dq", "avx512f"], ["avx512f", "avx512_vnni"], []]
    header = copy.deepcopy(whole.header)
    name, architecture, _, plan = header["Header"][3][0]["Target"]
    header["Header"][3] = [
        {"Target": [f"{name}{number}", architecture, sorted(one), plan]} for number, one in enumerate(features)
    ]
    path.write_bytes(joined(Parts(header, whole.sections)))
    for usable, best in ((["avx2", "fma", "avx512f", "avx512dq"], 1), (["avx2", "fma"], 0), (["avx512f", "avx512_vnni"], 2)):
        monkeypatch.setattr(reading, "usable_features", lambda usable=usable: frozenset(usable))
        assert sorted(reading.open_package(path).target.features) == sorted(features[best])


def test_weights_are_compared_when_asked(saved: Path, tmp_path: Path) -> None:
    content, path = bytearray(saved.read_bytes()), tmp_path / "weights.tw"
    weights = max(parts(bytes(content)).sections[:2], key=lambda section: WEIGHTS[0, 0].tobytes() in section)
    place = bytes(content).index(weights) + weights.index(WEIGHTS[0, 0].tobytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert (tw.load(path, threads=1)(X) != expected()).any()
    with pytest.raises(tw.InvalidModel, match="its digest differs"):
        tw.load(path, verify=True)
    assert (tw.load(saved, threads=1, verify=True, mmap=False)(X) == expected()).all()


def test_nothing_else_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(tw.InvalidModel, match="cannot be used"):
            tw.load(path)
