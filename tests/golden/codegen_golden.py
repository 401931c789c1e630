"""The generated C of G2, plain and with softmax, by hand-made plans: in whole rows, online, and in parts of the keys."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.support.chains import artifact_of, attention_plan, chain_text
from tilewright.plan.schedule import Compute, Loop, Pack, Schedule
from tilewright.plan.types import Plan

HERE = Path(__file__).parent
CONSTANTS = {"B": (12, 64, 512), "D": (12, 512, 64)}
G2 = {"b": 12, "m": 512, "n": 64, "k": 64, "l": 512}
FORMS = {
    "codegen/g2_plain.c": "",
    "codegen/g2_softmax.c": "softmax",
    "codegen/g2_online.c": "softmax",
    "codegen/g2_in_parts.c": "softmax",
    "codegen/g2_packed_ahead.c": "",
}


PACKING = re.compile(r"^static void pack_\w+\(.*?^\}\n\n?", re.MULTILINE | re.DOTALL)
"""Functions that pack operands: `tests/render/c/test_packing.py` runs them."""


def emitted(name: str) -> str:
    """The text of the chain as it is emitted now, without functions that pack."""
    plan = attention_plan("x86-64-v4", FORMS[name], dict(G2))
    constants = {tensor: np.zeros(shape, np.float32) for tensor, shape in CONSTANTS.items()} if "packed_ahead" in name else {}
    text = chain_text(artifact_of([SCHEDULED[name](plan) if name in SCHEDULED else plan], constants))
    return PACKING.sub("", text)


def _blocks(plan: Plan, keys: int) -> Loop:
    steps = tuple(Compute(operator.name) for operator in plan.chain.operators)
    return Loop("b", 1, (Loop("m", 24, (Loop("l", keys, steps),)),))


def online(plan: Plan) -> Plan:
    """The same in blocks of 128 keys, operands read in place."""
    return replace(plan, schedule=Schedule((_blocks(plan, 128),)))


def in_parts(plan: Plan) -> Plan:
    """The same in four parts of the keys, each in blocks of 64."""
    schedule = Schedule((Loop("l", 128, (_blocks(plan, 64),)),), split="l")
    return replace(plan, schedule=schedule, parallel_axes=("l", "b", "m"))


def packed_ahead(plan: Plan) -> Plan:
    """The first product in blocks of 24 of its depth, so that what is packed ahead lies in blocks of them."""
    steps = Loop("k", 24, (Compute("scores"),)), Compute("out")
    ahead = tuple(leaf for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack))
    return replace(plan, schedule=Schedule((Loop("b", 1, (Loop("m", 24, steps),)),), ahead=ahead))


SCHEDULED = {
    "codegen/g2_online.c": online,
    "codegen/g2_in_parts.c": in_parts,
    "codegen/g2_packed_ahead.c": packed_ahead,
}


def contents() -> dict[str, str]:
    """Every file of this kind by its name."""
    return {name: emitted(name) for name in FORMS}


def golden(name: str) -> str:
    """What was reviewed."""
    return (HERE / name).read_text()
