"""Execution details in words: each is told where a plan has it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw
from tilewright.block.execution import Execution, Vectors
from tilewright.plan.types import Plan
from tilewright.report.execution import execution_lines


def planned(function, *shapes, target="x86-64-v3") -> Plan:
    (plan,) = tw.jit(function, target=target).lower(*map(tw.spec, shapes)).model_plan.plans
    return plan


def told(plan: Plan) -> str:
    return "\n".join(execution_lines(plan))


def test_parts_of_a_sum_are_combined_by_points() -> None:
    plan = planned(lambda x, y: x @ y, (8, 200000), (200000, 8))
    assert "partial results along k are combined in blocks of 64 points of out" in told(plan)
    assert "parts" not in told(planned(lambda x, y: x @ y, (64, 64), (64, 64)))


def test_parts_of_attention_are_combined_by_rows() -> None:
    plan = planned(lambda q, k, v: tw.softmax(q @ k, axis=-1) @ v, (1, 64), (64, 32768), (32768, 64))
    assert plan.schedule.split
    text = told(replace(plan, execution=replace(plan.execution, combined_rows=5)))
    assert f"partial results along {plan.schedule.split} are combined in blocks of 5 rows of out" in text


def test_short_tiles_are_inlined() -> None:
    plan = planned(lambda x, y: x @ y, (64, 64), (64, 64))
    (part,) = plan.operators
    for inlined in (False, True):
        changed = replace(plan, operators=(replace(part, calls=replace(part.calls, inlined=inlined)),))
        assert ("matmul: tiles are short, so that the micro kernel is inlined" in told(changed)) == inlined


def test_accumulators_take_turns_where_steps_only_combine() -> None:
    assert "max: 4 independent accumulators" in told(planned(lambda x: tw.max(x, axis=-1), (64, 512)))
    assert "accumulators" not in told(planned(lambda x: tw.max(x, axis=0), (64, 512))), "lanes run across rows"
    plan = planned(lambda x: tw.max(x, axis=-1), (64, 512))
    assert "accumulators" not in told(replace(plan, execution=Execution(vectors=Vectors(accumulators=1))))


def test_transposed_operands_are_turned() -> None:
    plan = planned(lambda x, y: x.T + y, (64, 512), (512, 64))
    assert "add: operands are transposed in registers from 3 columns and 8 rows on" in told(plan)
    assert "turned" not in told(planned(lambda x, y: x + y, (64, 512), (64, 512)))
    assert "turned" not in told(planned(lambda x, y: x.T + y, (2, 512), (512, 2))), "too few columns"
