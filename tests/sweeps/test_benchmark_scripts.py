"""Every script of `benchmarks/` runs through its command line, with the least that it can measure; no figure is judged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.benchmark_scripts import NEEDED, ROOT, TINY

pytestmark = pytest.mark.sweep
YARDSTICK = """
long attn_ws(void) { return 64; }
void attn(long batch, const float *a, const float *b, const float *d, float *e, void *workspace) {}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for all, and this checkout."""
    cache = tmp_path_factory.mktemp("cache")
    cache.chmod(0o700)
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT / "bench" / "src", ROOT)))
    kept = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_CALIBRATE"}
    return {**kept, "PYTHONPATH": paths, "TILEWRIGHT_CACHE_DIR": str(cache)}


@pytest.mark.parametrize("script", TINY)
def test_it_ends_well_and_says_something(script: str, tmp_path: Path, environment: dict[str, str]) -> None:
    if script in NEEDED:
        pytest.importorskip(NEEDED[script], reason=f"{NEEDED[script]} missing: {script} compiles nothing")
    tmp_path.joinpath("attention_g9.c").write_text(YARDSTICK)
    for arguments in TINY[script]:
        done = subprocess.run(
            [sys.executable, "-m", script, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, f"{script} {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip() or any(path.suffix == ".json" for path in tmp_path.iterdir())
