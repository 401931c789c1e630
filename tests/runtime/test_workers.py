"""Workers: threads beside the caller's, and none once the main thread has ended."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.runtime import workers

LATE = """
import threading, time
import numpy as np
import tilewright as tw

def late():
    threading.main_thread().join()
    time.sleep(0.1)
    print(tw.jit(lambda x, w: x @ w)(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)).tolist())

threading.Thread(target=late).start()
"""


def test_a_kernel_is_made_after_the_main_thread_has_ended() -> None:
    answer = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False, timeout=120)
    assert answer.stdout.strip() == "[[3.0, 3.0], [3.0, 3.0]]", answer.stderr


def test_the_caller_meets_what_its_work_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.threading.main_thread(), "is_alive", lambda: False)
    with workers.pool(3) as here:
        done = here.submit(int, "no number")
        assert list(here.map(abs, [-2, 3])) == [2, 3]
    with pytest.raises(ValueError, match="no number"):
        done.result()
