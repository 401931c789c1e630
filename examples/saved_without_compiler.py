"""Saved use: compile once, then run in processes that have no compiler and neither plan nor generate code.

Usage: saved_without_compiler.py [DIRECTORY], which keeps the cache and the saved library.
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
    """On the machine that has a compiler: fill the cache, and keep the library and its C as files."""
    normalised.prepare(tw.spec((ROWS, 64)), tw.spec((64,)))
    kernel = normalised.lower(tw.spec((ROWS, 64)), tw.spec((64,))).compile()
    kernel.save(directory / "normalised.so")
    print("saved", sorted(path.name for path in directory.glob("normalised*")))


def use() -> None:
    """Where there is no compiler, with the same cache directory: `prepare` finds the kernel for every number of rows there."""
    normalised.prepare(tw.spec((ROWS, 64)), tw.spec((64,)))
    x = np.random.default_rng(0).standard_normal((5, 64), np.float32)
    rows = normalised(x, np.ones(64, np.float32))
    print("without a compiler:", rows.shape, np.allclose((rows**2).mean(axis=1), 1, atol=1e-3))
    print("the planner was imported:", "tilewright.plan.planner" in sys.modules)


if sys.argv[1:] == ["--use"]:
    use()
else:
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(sys.argv[1] if sys.argv[1:] else temporary)
        os.environ["TILEWRIGHT_CACHE_DIR"] = str(place / "cache")
        build(place)
        without = {**os.environ, "PATH": "/nowhere"}  # no cc, gcc or clang is found
        subprocess.run([sys.executable, __file__, "--use"], env=without, check=True)
