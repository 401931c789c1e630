"""Golden reports: explanations of plans, and a table of the benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tilewright as tw
from tests.support.hand_plans import attention_plan, many_rejected, model_plan
from tests.support.hand_results import PROVENANCE, results
from tilewright.report.explain import explain
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.shapes import chain_shape
from tilewright_bench.tables.report import Report

HERE = Path(__file__).parent


def explained_g2(softmax: bool) -> str:
    """G2 as it is planned for the paper's machine."""
    function = attention if softmax else gemm_chain
    return tw.jit(function, target="cascadelake-6240").lower(*map(tw.spec, chain_shape("G2").operands)).explain()


def explained_layer() -> str:
    """A layer of a perceptron, whose weights are a constant."""
    weights = np.zeros((256, 1024), np.float32)
    return tw.jit(lambda x: tw.relu(x @ weights), target="cascadelake-6240").lower(tw.spec((512, 256))).explain()


REPORTS = {
    "explain_attention": lambda: explain(model_plan(attention_plan(many_rejected(5)))),
    "explain_g2": lambda: explained_g2(softmax=False),
    "explain_g2_softmax": lambda: explained_g2(softmax=True),
    "explain_layer": explained_layer,
    "bench_chains": lambda: Report(PROVENANCE, results()).as_text(),
}


def golden(name: str) -> tuple[str, str]:
    """The report as it is printed now, and as the golden file has it."""
    return REPORTS[name]() + "\n", (HERE / f"{name}.txt").read_text()


def contents() -> dict[str, str]:
    """Every file of this kind by its name."""
    return {f"{name}.txt": report() + "\n" for name, report in REPORTS.items()}
