"""Chimera's Table IV (Zheng et al., HPCA 2023): chains of two batched products, plain and with a softmax in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilewright as tw
from tests.replay.planning import Planned, traced

SHAPES = {
    "G1": (8, 512, 64, 64, 512),
    "G2": (12, 512, 64, 64, 512),
    "G3": (16, 512, 64, 64, 512),
    "G4": (12, 256, 64, 64, 256),
    "G5": (16, 256, 64, 64, 256),
    "G6": (16, 256, 80, 80, 256),
    "G7": (12, 208, 64, 64, 208),
    "G8": (16, 208, 64, 64, 208),
    "G9": (16, 208, 80, 80, 208),
    "G10": (1, 512, 64, 64, 256),
    "G11": (1, 768, 64, 64, 384),
    "G12": (1, 1024, 64, 64, 512),
}
"""batch, m, n, k, l."""


def graphs() -> Mapping[str, Planned]:
    found: dict[str, Planned] = {}
    for name, (batch, m, n, k, length) in SHAPES.items():
        operands = (batch, m, k), (batch, k, length), (batch, length, n)
        found[name] = traced(_chain, *operands)
        found[f"{name}-softmax"] = traced(_attention, *operands)
    return found


def _chain(a: Any, b: Any, d: Any) -> Any:
    return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", a, b), d)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,bkl->bml", q, k)), v)
