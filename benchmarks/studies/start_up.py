"""How long users wait: importing, the first call without and with the cache, and what a call costs beside its kernel.

    python -m benchmarks.studies.start_up [--processes N]

Every figure is a median over fresh processes (warm file caches, calibrated machine). The first call is that of fused attention,
12 heads of 512 x 64: tracing, planning, generating, compiling, loading and the computation itself, which is shown beside it.
"No cache" knows the calibration and the compiler, as the first process after a calibration does, but no library apart from the
runtime's own; "nothing at all" knows the calibration only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

CALLS = 20_000
LIMITS_MS = {"import": 100.0, "first call, no cache": 500.0, "first call, warm cache": 30.0, "call path": 5e-3}


def attention(q: Any, k: Any, v: Any) -> Any:
    """Two products around a softmax."""
    import tilewright as tw

    return tw.softmax(q @ k, axis=-1) @ v


def start() -> dict[str, float]:
    """Seconds of this process, which has imported nothing yet, by what they were spent on."""
    begin = time.perf_counter()
    import numpy as np

    numpy_s, begin = time.perf_counter() - begin, time.perf_counter()
    import tilewright as tw

    import_s = time.perf_counter() - begin
    arrays = [np.ones(shape, np.float32) for shape in ((12, 512, 64), (12, 64, 512), (12, 512, 64))]
    out = np.empty((12, 512, 64), np.float32)
    begin = time.perf_counter()
    function = tw.jit(attention, threads=1)
    function(*arrays, out=out)
    first_s, begin = time.perf_counter() - begin, time.perf_counter()
    function(*arrays, out=out)
    return {"numpy": numpy_s, "import": import_s, "first call": first_s, "the same, later": time.perf_counter() - begin}


def stages() -> dict[str, float]:
    """Seconds of this process for each stage of a first call; importing the planner and the code generator stands apart."""
    import tilewright as tw

    begin = time.perf_counter()
    from tilewright import compiler
    from tilewright.runtime import calibration, executable
    from tilewright.runtime.compilation import libraries, toolchain
    from tilewright.runtime.store import cache as kernel_cache

    found = {"import planner": time.perf_counter() - begin}
    graph = tw.jit(attention).lower(*(tw.spec(shape) for shape in ((12, 512, 64), (12, 64, 512), (12, 512, 64)))).graph
    machine, tools, cache = calibration.ensure(), toolchain.find(), kernel_cache.default()
    model_plan = _timed(found, "plan", lambda: compiler.plan(graph, machine))
    artifact = _timed(found, "generate", lambda: compiler.generate(model_plan))
    _timed(found, "compile", lambda: libraries.build(artifact, tools, cache))
    _timed(found, "load", lambda: executable.load(artifact, threads=1))
    return found


def _timed(found: dict[str, float], name: str, run: Callable[[], Any]) -> Any:
    begin = time.perf_counter()
    result = run()
    found[name] = time.perf_counter() - begin
    return result


def call_path() -> dict[str, float]:
    """Seconds of a call on arrays of one element, where the kernel has nothing to do."""
    import numpy as np

    import tilewright as tw

    function = tw.jit(lambda x, y: x @ y, threads=1)
    x, y, out = (np.ones((1, 1), np.float32) for _ in range(3))
    function(x, y)
    found = {"other lengths": other_lengths(tw, np)}
    for name, target in (("call path", None), ("with out=", out)):
        begin = time.perf_counter()
        for _ in range(CALLS):
            function(x, y, out=target)
        found[name] = (time.perf_counter() - begin) / CALLS
    return found


def other_lengths(tw: Any, np: Any) -> float:
    """Seconds of a call whose lengths have a kernel but were never met: every step of a decoding loop is one."""
    function = tw.jit(lambda x, y: x @ y, threads=1)
    lengths = range(1025, 4097)
    pairs = [(np.ones((1, n), np.float32), np.ones((n, 1), np.float32)) for n in (*lengths[:2], *lengths)]
    for pair in pairs[:2]:
        function(*pair)
    kernel = function.kernels[-1]
    seconds = []
    for one in (kernel, function, kernel):  # the first meets the arrays
        begin = time.perf_counter()
        for pair in pairs[2:]:
            one(*pair)
        seconds.append((time.perf_counter() - begin) / len(lengths))
    return seconds[1] - seconds[2]


def fresh(part: str, cache: Path) -> dict[str, float]:
    """What a function of this module answers in a process of its own, with that cache directory."""
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "benchmarks.studies.start_up", part]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds: dict[str, float] = json.loads(answer.stdout)
    return seconds


def emptied(cache: Path) -> None:
    """Take away what was generated and compiled, apart from the runtime's own library, which every kernel needs."""
    for path in [*cache.glob("*.artifact"), *cache.glob("*.so")]:
        if b"tw_launch" not in path.read_bytes():
            path.unlink()


def bare(cache: Path) -> None:
    """Leave nothing but the calibration."""
    for path in cache.glob("*.*"):
        path.unlink()


def medians(part: str, cache: Path, processes: int, prepare: Callable[[], None] = lambda: None) -> dict[str, float]:
    """Of every figure of a part, over fresh processes."""
    samples = []
    for _ in range(processes):
        prepare()
        samples.append(fresh(part, cache))
    return {name: median(sample[name] for sample in samples) for name in samples[0]}


def measured(cache: Path, processes: int) -> tuple[dict[str, float], dict[str, float]]:
    """(the figures with a limit, what they are made of), in milliseconds."""
    fresh("start", cache)  # calibrates, finds the compiler, and writes Python's bytecode
    cold = medians("start", cache, processes, lambda: emptied(cache))
    nothing = medians("start", cache, processes, lambda: bare(cache))
    parts = medians("stages", cache, processes, lambda: emptied(cache))
    warm, call = medians("start", cache, processes), medians("call_path", cache, processes)
    limited = {
        "import": warm["import"],
        "first call, no cache": cold["first call"],
        "first call, warm cache": warm["first call"],
        "call path": call["call path"],
    }
    others = {
        "numpy alone": warm["numpy"],
        "the computation": warm["the same, later"],
        "call with out=": call["with out="],
        "more for a length not met": call["other lengths"],
        "first call, nothing at all": nothing["first call"],
    }
    return _milliseconds(limited), _milliseconds(others | parts)


def _milliseconds(seconds: dict[str, float]) -> dict[str, float]:
    return {name: 1e3 * value for name, value in seconds.items()}


PARTS = {"start": start, "stages": stages, "call_path": call_path}


def main() -> None:
    """Print the figures, those with a limit first; as a process of its own, those of a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=PARTS, help="only this, in this process, as JSON")
    parser.add_argument("--processes", type=int, default=7)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part]()))
        return
    cache = Path(tempfile.mkdtemp(prefix="tilewright-start-"))
    try:
        limited, others = measured(cache, options.processes)
    finally:
        shutil.rmtree(cache)
    for name, milliseconds in limited.items():
        print(f"{name:28}{milliseconds:10.4f} ms   of {LIMITS_MS[name]:g} ms")
    print("\nof which, and beside it")
    for name, milliseconds in others.items():
        print(f"{name:28}{milliseconds:10.4f} ms")


if __name__ == "__main__":
    main()
