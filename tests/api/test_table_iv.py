"""The main job: every chain of Table IV, plain and with softmax, as one fused kernel, right and small."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.support.expected import gemm_chain_with_bound
from tilewright import compiler
from tilewright.tune.shapes import TABLE_IV, ChainShape, chain_shape

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
TARGET = "x86-64-v3"


def plain(a, b, d):  # type: ignore[no-untyped-def]
    return tw.einsum("bml,bln->bmn", tw.einsum("bmk,bkl->bml", a, b), d)


def with_softmax(a, b, d):  # type: ignore[no-untyped-def]
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,bkl->bml", a, b), axis=-1), d)


FORMS = {"plain": plain, "softmax": with_softmax}


def operands(shape: ChainShape) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(extents, np.float32) / 4 for name, extents in zip("ABD", shape.operands, strict=True)}


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", TABLE_IV, ids=lambda shape: shape.name)
def test_right_on_one_and_two_threads_as_one_kernel(shape: ChainShape, form: str) -> None:
    inputs = operands(shape)
    lowered = tw.jit(FORMS[form], target=TARGET, fuse=True).lower(*inputs.values())
    assert len(lowered.model_plan.plans) == 1, "the chain was cut"
    results = [
        replace(lowered, options=replace(lowered.options, threads=threads)).compile()(*inputs.values()) for threads in (1, 2)
    ]
    middle = "softmax" if form == "softmax" else ""
    exact, bound = gemm_chain_with_bound(inputs, middle)
    error = np.abs(results[0] - exact)
    assert (error <= bound).all(), f"off by {error.max()}"
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_of_g3_by_the_runtimes_accounting(threads: int) -> None:
    """Its scores alone are 16.8 MB; a fused kernel holds less than 4 MiB for each thread."""
    inputs = operands(chain_shape("G3"))
    executable = compiler.build(tw.jit(with_softmax, target=TARGET).lower(*inputs.values()).model_plan, threads=threads)
    executable.pool.trim()
    executable.pool.reset_peak()
    executable.run(list(inputs.values()), executable.new_outputs(list(inputs.values())))
    assert 0 < executable.memory_stats().peak_bytes < 4 * MIB * threads


@pytest.mark.needs("avx2", "fma")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs")
@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_of_g3_by_resident_memory(threads: int) -> None:
    """The peak of the process's resident memory during one call, beyond what was resident before it."""
    program = f"""
import numpy as np, tilewright as tw
from pathlib import Path
from tests.api.test_table_iv import TARGET, operands, with_softmax
from tilewright.tune.shapes import chain_shape

def status(label):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(label))

inputs = operands(chain_shape("G3"))
out = np.zeros((16, 512, 64), np.float32)
kernel = tw.jit(with_softmax, target=TARGET, threads={threads}).lower(*inputs.values()).compile()
small = tw.jit(with_softmax, target=TARGET, threads={threads})
small(*(x[:2, :9, :9] for x in inputs.values()))
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
kernel(*inputs.values(), out=out)
print(status("VmHWM") - before)
"""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    assert int(result.stdout) < 4 * MIB * threads
