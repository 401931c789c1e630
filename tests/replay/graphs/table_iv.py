"""Chimera's Table IV (Zheng et al., HPCA 2023): chains of two batched products, plain and with a softmax in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tilewright as tw
from tests.replay.planning import Planned, traced
from tests.support.table_iv import TABLE_IV


def graphs() -> Mapping[str, Planned]:
    found: dict[str, Planned] = {}
    for name, (batch, m, n, k, length) in TABLE_IV.items():
        operands = (batch, m, k), (batch, k, length), (batch, length, n)
        found[name] = traced(_chain, *operands)
        found[f"{name}-softmax"] = traced(_attention, *operands)
    return found


def _chain(a: Any, b: Any, d: Any) -> Any:
    return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", a, b), d)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,bkl->bml", q, k)), v)
