"""Saved use: compile once, then run in processes that have no compiler and neither plan nor generate code.

Usage: saved_without_compiler.py [DIRECTORY], which keeps the package.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tw


@tw.jit
def normalised(x, gain):
    return tw.rms_norm(x, axis=-1) * gain


ROWS = tw.Dim("rows", 1, 256)


def build(directory: Path) -> None:
    """On the machine that has a compiler: one package of all kernels that were prepared or called."""
    normalised.prepare(tw.spec((ROWS, 64)), tw.spec((64,)))
    normalised.save(directory / "normalised.tw")
    print("saved", sorted(path.name for path in directory.glob("normalised*")))


def use(path: Path) -> None:
    """Where there is no compiler: the package has the kernel for every number of rows."""
    loaded = tw.load(path)
    x = np.random.default_rng(0).standard_normal((5, 64), np.float32)
    rows = loaded(x, np.ones(64, np.float32))
    print("without a compiler:", rows.shape, np.allclose((rows**2).mean(axis=1), 1, atol=1e-3))
    print("the planner was imported:", "tilewright.plan.planner" in sys.modules)


if sys.argv[1:2] == ["--use"]:
    use(Path(sys.argv[2]))
else:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(sys.argv[1] if sys.argv[1:] else temporary)
        build(place)
        without = {**os.environ, "PATH": "/nowhere", "TILEWRIGHT_CACHE_DIR": str(place / "empty")}  # no cc, gcc or clang
        subprocess.run([sys.executable, __file__, "--use", place / "normalised.tw"], env=without, check=True)
