"""Several Python threads, forked children, and the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.hand_written import dot
from tilewright.runtime import executable


def test_python_threads_at_once() -> None:
    kernel = executable.load(dot(), threads=2)
    wrong: list[int] = []

    def work(seed: int) -> None:
        a, b = np.full((100, 50), seed, np.float32), np.ones(50, np.float32)
        e = np.empty((100, 2), np.float32)
        for _ in range(300):
            e.fill(0)
            kernel.run([a, b], [e])
            if not (e == [50 * seed, seed]).all():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert wrong == []


FORK = """
import os, sys, threading
import numpy as np
from tests.runtime.hand_written import dot
from tilewright.runtime import executable

kernel = executable.load(dot(), threads=3)

def call():
    e = np.empty((100, 2), np.float32)
    kernel.run([np.ones((100, 50), np.float32), np.ones(50, np.float32)], [e])
    assert (e == [50, 1]).all()

def call_until(stop):
    while not stop.is_set():
        call()

call()
stop = threading.Event()
busy = threading.Thread(target=call_until, args=(stop,))
busy.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        others = [threading.Thread(target=call) for _ in range(2)]
        for thread in others: thread.start()
        call()
        for thread in others: thread.join()
        grandchild = os.fork()
        if grandchild == 0:
            call()
            os._exit(0)
        os._exit(os.waitpid(grandchild, 0)[1])
    assert os.waitpid(child, 0)[1] == 0
    call()
stop.set()
busy.join()
print("passed")
"""

EXIT = """
import sys, threading
import numpy as np
from tests.runtime.hand_written import dot
from tilewright.runtime import executable

kernel = executable.load(dot(), threads=3)

def call_for_ever():
    while True:
        kernel.run([np.ones((100, 50), np.float32), np.ones(50, np.float32)], [np.empty((100, 2), np.float32)])

threading.Thread(target=call_for_ever, daemon=True).start()
kernel.run([np.ones((100, 50), np.float32), np.ones(50, np.float32)], [np.empty((100, 2), np.float32)])
print("passed")
"""


@pytest.mark.parametrize("script", [FORK, EXIT], ids=["fork after first use", "exit while a thread is calling"])
def test_processes_come_and_go(script: str) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}"}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True,
        text=True,
        timeout=100,
        env=environment,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (0, "passed\n"), answer.stderr
