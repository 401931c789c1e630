"""Every script of examples/ runs, as a user runs it, and prints what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "attention_kv_cache": ["row 0 is value 0: True", "decoded 20 keys: (1, 4, 1, 16) kernels: 2", "lengths as data agree: True"],
    "custom_micro_kernel": ["kernel: my_plain_4x8", "equal to NumPy: True"],
    "dynamic_batches": [
        "5 batches, kernels: 2",
        "rows alone have the same bits: True",
        "kernels after 41 calls: 1",
        "kernels: 2",
    ],
    "explain_not_fused": ["  not fused   t_3: fused", "FewerBlocks", "prices: 2 chains", "fused: 1 chains"],
    "jit_function": ["equal to NumPy: True", "weights as constants: True", "one chain of ['matmul', 'relu']"],
    "onnx_session": ["rows sum up to 1: True", "libraries compiled: 1 operators that ran as NumPy: {}", "bound output (7, 16)"],
    "quantised_model": ["steps away from the definition, at most: ", "integer micro kernel: True"],
    "saved_without_compiler": ["normalised.tw", "without a compiler: (5, 64) True", "the planner was imported: False"],
}
"""What must be in the output of each script."""


def test_every_script_is_listed() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py") if path.name != "conftest.py") == sorted(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_it_runs_and_prints(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TILEWRIGHT_VERIFY"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert [part for part in PRINTED[name] if part not in done.stdout] == [], done.stdout
