"""Compilers that fail, hang or are killed, and forks while a compiler runs: functions work when the compiler does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ToolchainError

COMPILER = shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="neither gcc nor clang is installed")
WAYS = {"fails": "echo broken >&2; exit 1", "hangs": "exec sleep 100", "is killed": "kill -9 $$"}


def _compiler(directory: Path, trouble: str) -> Path:
    """A compiler that is in trouble while there is a file `trouble` beside it."""
    path = directory / "cc"
    path.write_text(f'#!/bin/sh\nif [ -e "{directory}/trouble" ]; then {trouble}; fi\nexec {COMPILER} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("way", WAYS)
def test_calls_work_again_when_the_compiler_does(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEWRIGHT_CC", str(_compiler(tmp_path, WAYS[way])))
    monkeypatch.setenv("TILEWRIGHT_CC_TIMEOUT", "20")
    jitted = tw.jit(lambda x: (x * 2).sum(axis=-1), threads=1)
    x = np.ones((3, 5), np.float32)
    np.testing.assert_array_equal(jitted(x), [10] * 3)
    monkeypatch.setenv("TILEWRIGHT_CC_TIMEOUT", "0.5")
    (tmp_path / "trouble").touch()
    for rows in (4, 7):
        with pytest.raises(ToolchainError):
            jitted(np.ones((rows, 5), np.float32))
    np.testing.assert_array_equal(jitted(x), [10] * 3)
    (tmp_path / "trouble").unlink()
    monkeypatch.setenv("TILEWRIGHT_CC_TIMEOUT", "60")
    for rows in (7, 4, 9):
        np.testing.assert_array_equal(jitted(np.ones((rows, 5), np.float32)), [10] * rows)
    assert len(jitted.kernels) == 2


FORK = """
import os, threading, time
from pathlib import Path
import numpy as np
import tilewright as tw

jitted = tw.jit(lambda x: (x * 2).sum(axis=-1), threads=2)

def call(rows):
    assert (jitted(np.ones((rows, 5), np.float32)) == 10).all()

call(3)
Path(os.environ["TROUBLE"]).touch()
compiling = threading.Thread(target=call, args=(4,))
compiling.start()
while not Path(os.environ["TROUBLE"] + ".begun").exists():
    time.sleep(0.01)
child = os.fork()
call(4)
call(9)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
compiling.join()
assert len(jitted.kernels) == 2
print("passed")
"""


def test_a_process_forks_while_another_thread_compiles(tmp_path: Path) -> None:
    compiler = _compiler(tmp_path, f"touch {tmp_path}/trouble.begun; sleep 0.5")
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{root}:{root / 'src'}",
        "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
        "TILEWRIGHT_CC": str(compiler),
        "TROUBLE": str(tmp_path / "trouble"),
    }
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)
    assert (answer.returncode, answer.stdout) == (0, "passed\n"), answer.stderr
