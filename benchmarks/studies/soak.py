"""Many threads call functions and sessions with changing shapes for a long time, from a cold cache.

    python -m benchmarks.studies.soak [--minutes 20] [--threads 8] [--new 0.02] [--seed 0]

Every result is compared with NumPy in float64. A share of the calls has a shape that is new, which is traced, planned and
compiled; all others repeat a shape of late, whose kernel exists: the longest of these calls is how long a thread waits for
others. The size of the process is printed as it goes on; the table at the end says whether it grew after the first quarter.
The exit status is 1 if a result was wrong or a call failed.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.studies.parts.soak_program import Program, Shapes
from tilewright.report import units

Array: TypeAlias = np.ndarray[Any, Any]

TOLERANCE = 1e-4
"""Relative to the largest element of what is expected."""
OF_LATE = 32
"""Shapes of a program that are called again; more would be let go by the program before their turn."""
SAMPLE_S = 5.0
STEPS_MS = (1, 5, 10, 20, 50, 100, 200)
SHOWN = 3
"""Of the longest calls."""


@dataclass(slots=True)
class Tally:
    """What all threads have seen."""

    calls: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    waits: Counter[int] = field(default_factory=Counter)
    """Calls of existing kernels that took longer than each of `STEPS_MS`."""
    longest_s: list[tuple[float, str]] = field(default_factory=list)
    """The longest of these calls, longest first: only a few, so that the memory of this list does not count as growth."""
    compilations_s: list[float] = field(default_factory=list)
    sizes: list[tuple[float, float, int, int]] = field(default_factory=list)
    """(minute, MiB resident, mappings, kernels)."""
    collections_s: list[float] = field(default_factory=list)
    """Full collections of Python's garbage: all threads wait for them."""

    def wait(self, seconds: float, where: str) -> None:
        """Count a call of an existing kernel."""
        self.waits.update(step for step in STEPS_MS if seconds * 1e3 > step)
        if len(self.longest_s) < SHOWN or seconds > self.longest_s[-1][0]:
            self.longest_s = sorted([*self.longest_s, (seconds, where)], reverse=True)[:SHOWN]


class Soak:
    """Threads that call programs until their time is over."""

    def __init__(self, programs: Sequence[Program], share_new: float, seed: int) -> None:
        self.programs, self.share_new, self.seed = programs, share_new, seed
        self.tally = Tally()
        self._of_late: dict[str, deque[Shapes]] = {program.name: deque(maxlen=OF_LATE) for program in programs}
        self._numbers = np.random.default_rng(seed).standard_normal(1 << 16).astype(np.float32)
        self._lock = threading.Lock()
        self._ends_at = 0.0
        self._collecting_since = time.perf_counter()

    def run(self, minutes: float, threads: int, report: Callable[[str], None]) -> Tally:
        """Call from so many threads for so long; `report` gets a line every few seconds."""
        begin = time.perf_counter()
        self._ends_at = begin + 60 * minutes
        workers = [threading.Thread(target=self._work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        gc.callbacks.append(self._collected)
        while time.perf_counter() < self._ends_at:
            time.sleep(max(0.0, min(SAMPLE_S, self._ends_at - time.perf_counter())))
            self._sample((time.perf_counter() - begin) / 60, report)
        for worker in workers:
            worker.join()
        gc.callbacks.remove(self._collected)
        return self.tally

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._collecting_since = time.perf_counter()
        else:
            self.tally.collections_s.append(time.perf_counter() - self._collecting_since)

    def _work(self, number: int) -> None:
        choose = random.Random(1000 * self.seed + number)
        while time.perf_counter() < self._ends_at:
            program = choose.choice(self.programs)
            of_late = self._of_late[program.name]
            is_new = not of_late or choose.random() < self.share_new
            shapes = program.shapes(choose) if is_new else choose.choice([*of_late])
            try:
                self._call(program, shapes, choose, is_new)
            except Exception as problem:
                with self._lock:
                    self.tally.wrong.append(f"{program.name} {shapes}: {type(problem).__name__}: {problem}")

    def _call(self, program: Program, shapes: Shapes, choose: random.Random, is_new: bool) -> None:
        arrays = [self._array(shape, choose) for shape in shapes]
        begin = time.perf_counter()
        result = program.call(*arrays)
        seconds = time.perf_counter() - begin
        expected = program.meaning(*(array.astype(np.float64) for array in arrays))
        difference = float(np.max(np.abs(result - expected), initial=0)) / max(float(np.max(np.abs(expected), initial=0)), 1e-3)
        with self._lock:
            self.tally.calls[program.name] += 1
            if not difference <= TOLERANCE or result.shape != expected.shape:
                self.tally.wrong.append(f"{program.name} {shapes}: differs by {difference:.1e}")
            if is_new:
                self.tally.made[program.name] += 1
                self.tally.compilations_s.append(seconds)
                self._of_late[program.name].append(shapes)
            else:
                self.tally.wait(seconds, f"{program.name} {shapes}")

    def _array(self, shape: tuple[int, ...], choose: random.Random) -> Array:
        size = int(np.prod(shape))
        start = choose.randrange(len(self._numbers) - size)
        return self._numbers[start : start + size].reshape(shape)

    def _sample(self, minute: float, report: Callable[[str], None]) -> None:
        resident, mappings = resident_bytes(), len(Path("/proc/self/maps").read_text().splitlines())
        with self._lock:
            tally = self.tally
            calls, made, wrong = tally.calls.total(), tally.made.total(), len(tally.wrong)
            longest = max((seconds for seconds, _ in tally.longest_s), default=0.0)
            tally.sizes.append((minute, resident / 2**20, mappings, made))
        report(
            f"{minute:6.2f} min  {calls:8} calls  {made:6} shapes  {wrong} wrong  {units.size(resident)}  "
            f"{mappings} mappings  longest wait {longest * 1e3:.1f} ms"
        )


def resident_bytes() -> int:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def table(tally: Tally, seconds: float) -> str:
    """What is to be told at the end."""
    repeated = tally.calls.total() - tally.made.total()
    made = sorted(tally.compilations_s) or [0.0]
    lines = [
        f"{tally.calls.total()} calls, {tally.made.total()} of new shapes, in {seconds / 60:.1f} min; {len(tally.wrong)} wrong",
        *(f"  {name:24} {count:8} calls {tally.made[name]:6} shapes" for name, count in sorted(tally.calls.items())),
        f"first calls of a shape: median {made[len(made) // 2] * 1e3:.0f} ms, longest {made[-1] * 1e3:.0f} ms",
        f"{repeated} calls of shapes whose kernel exists, longer than",
        *(f"  {step:4} ms {tally.waits[step]:8}" for step in STEPS_MS),
        *(f"  longest: {wait * 1e3:.1f} ms, {where}" for wait, where in tally.longest_s),
        f"{len(tally.collections_s)} full collections of garbage, the longest {max(tally.collections_s, default=0) * 1e3:.1f} ms",
        *_growth(tally),
        *(f"  wrong: {one}" for one in tally.wrong[:10]),
    ]
    return "\n".join(lines)


def _growth(tally: Tally) -> list[str]:
    late = [one for one in tally.sizes if one[0] >= tally.sizes[-1][0] / 4]
    (_, first_mib, first_mappings, _), (_, last_mib, last_mappings, _) = late[0], late[-1]
    series = " ".join(f"{mib:.0f}" for _, mib, _, _ in tally.sizes[:: max(1, len(tally.sizes) // 24)])
    return [
        f"resident MiB over time: {series}",
        f"after a quarter: {first_mib:.0f} MiB, {first_mappings} mappings",
        f"at the end:      {last_mib:.0f} MiB, {last_mappings} mappings",
    ]


def main() -> int:
    """Run it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--new", type=float, default=0.02, help="share of the calls with a new shape")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tilewright-soak-") as directory:
        os.environ["TILEWRIGHT_CACHE_DIR"] = directory
        from benchmarks.studies.parts.soak_programs import programs

        soak = Soak(programs(), options.new, options.seed)
        gc.freeze()  # as servers do: full collections pass over the modules that are loaded by now
        tally = soak.run(options.minutes, options.threads, lambda line: print(line, file=sys.stderr, flush=True))
    print(table(tally, 60 * options.minutes))
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
