"""Whole functions for devices by their names: what becomes one chain. No device is needed, and none of what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.onnx as ort
from tilewright import compiler
from tilewright.errors import TilewrightError
from tilewright.machine import Machine
from tilewright.plan.planner import forget_plans
from tilewright.precision import Precision

ROWS, WIDTH, HEADS = 48, 64, 4


def weights(*shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float16) for shape in shapes]


IN = weights(*[(WIDTH, WIDTH)] * 3)
OUT, UP, DOWN = weights((WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))


def block(x):
    """Of a transformer."""
    rows = tw.layer_norm(x)
    q, k, v = ((rows @ weight).reshape(ROWS, HEADS, WIDTH // HEADS).transpose(1, 0, 2) for weight in IN)
    scores = tw.einsum("hmk,hlk->hml", q, k) * 0.25
    heads = tw.einsum("hml,hln->hmn", tw.softmax(scores, axis=-1), v)
    x = x + heads.transpose(1, 0, 2).reshape(ROWS, WIDTH) @ OUT
    return x + tw.gelu(tw.layer_norm(x) @ UP) @ DOWN


@pytest.mark.parametrize("target", ["a100", "h100"])
def test_attention_and_the_perceptron_of_a_transformer_are_a_chain_each(target: str) -> None:
    lowered = tw.jit(block, target=target).lower(tw.spec((ROWS, WIDTH), "float16"))
    products = [
        [operator.kind for operator in plan.chain.operators if operator.is_contraction()] for plan in lowered.model_plan.plans
    ]
    assert products.count(["einsum", "einsum"]) == 1
    assert products.count(["matmul", "matmul"]) == 1
    assert {tensor.dtype for tensor in lowered.model_plan.graph.tensors} == {"float16"}
    assert all(layout.row_padding == 0 for _, layout in lowered.model_plan.layouts)


def test_a_session_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.backends.triton_gpu.launch.lacking", lambda architecture: ("a GPU",))
    parser = pytest.importorskip("onnx").parser
    signature = "(float16[8, 16] x, float16[16, 32] w) => (float16[8, 32] y)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g {signature} {{ y = MatMul(x, w) }}'
    session = ort.InferenceSession(parser.parse_model(text).SerializeToString(), target="h100", prepare=False)
    assert "predicted" in session.explain()
    x, w = weights((8, 16), (16, 32))
    with pytest.raises(TilewrightError, match="a kernel for h100 cannot run on this machine"):
        session.run(None, {"x": x, "w": w})


class Answers(dict[str, bytes]):
    """Divisions that are kept, and how many were asked for in vain."""

    missed = 0

    def find(self, question: str) -> bytes | None:
        self.missed += question not in self
        return self.get(question)

    def keep(self, question: str, answer: Callable[[], bytes]) -> None:
        self[question] = answer()


def test_divisions_are_kept_for_a_planner() -> None:
    graph = tw.jit(block, target="a100").lower(tw.spec((ROWS, WIDTH), "float16")).graph
    machine, answers = Machine.named("a100"), Answers()
    plans = []
    for precision, missed in ((Precision.FLOAT32, True), (Precision.FLOAT32, False), (Precision.TF32, True)):
        forget_plans()
        answers.missed = 0
        plans.append(compiler.plan(graph, machine, precision=precision, answers=answers).plans)
        assert (answers.missed > 0) is missed
    assert plans[0] == plans[1]
