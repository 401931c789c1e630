"""What sweeps share: seeds, outcomes and their summary, and children whose crashes are outcomes, too.

`TILEWRIGHT_SWEEP_SEED` is the first seed of a sweep and `TILEWRIGHT_SWEEP_COUNT` the number of its programs; both have defaults.
"""

from __future__ import annotations

import argparse
import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tilewright.errors import TilewrightError

T = TypeVar("T")


class Describable(Protocol):
    """A program that can be printed."""

    def text(self) -> str: ...


P = TypeVar("P", bound=Describable)

EQUAL, WRONG, INTERNAL, CRASHED, REFUSED, SKIPPED = "equal", "wrong", "internal error", "crashed", "refused", "skipped"
FAILURES = (WRONG, INTERNAL, CRASHED)
FIRST_SEED = 1000
MOST_SHRUNK = 5
"""Programs of one cause that are shrunk in a sweep; what is wrong has no cause that is known, and is always shrunk."""
SECONDS = 180
"""After which a program counts as hanging."""


def seeds(count: int) -> range:
    """The seeds of a sweep of so many programs."""
    first = int(os.environ.get("TILEWRIGHT_SWEEP_SEED", FIRST_SEED))
    return range(first, first + int(os.environ.get("TILEWRIGHT_SWEEP_COUNT", count)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program."""

    kind: str
    reason: str = ""
    as_numpy: tuple[str, ...] = ()
    """Operators that ran as NumPy."""

    @property
    def is_failure(self) -> bool:
        return self.kind in FAILURES

    @property
    def cause(self) -> str:
        """The same for failures of the same kind: reasons without names and numbers. How far results are off is no cause."""
        if self.kind == WRONG:
            return WRONG
        return f"{self.kind}: {re.sub(r'[a-z_]*[0-9]+[_a-z0-9]*', '#', self.reason.partition(chr(10))[0])[:160]}"


def judged(compare: Callable[[], Outcome]) -> Outcome:
    """The outcome of compiling, running and comparing: errors that users may meet are refusals, all others are ours."""
    try:
        return compare()
    except TilewrightError as problem:
        return Outcome(REFUSED, f"{type(problem).__name__}: {problem.message}")
    except Exception as problem:
        return Outcome(INTERNAL, f"{type(problem).__name__}: {problem}")


class Crashed(Exception):
    """A child died."""


def in_child(make: Callable[[], T], seconds: int = SECONDS) -> T:
    """What a process of its own makes, which may crash or hang: `Crashed` then. The caller must not have started threads."""
    _load_compiler()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        try:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(pickle.dumps(make()))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise Crashed(signal.Signals(os.WTERMSIG(status)).name)
    if not told:
        raise Crashed(f"exit status {os.waitstatus_to_exitcode(status)}")
    made: T = pickle.loads(told)
    return made


@functools.cache
def _load_compiler() -> None:
    """Import what plans, generates and lowers, so that no child does it again: half a second each. Nothing is run."""
    import tilewright as tw
    from tilewright import compiler
    from tilewright.frontend.onnx.definition import definition

    for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        lowered = tw.jit(lambda x, y: tw.softmax(x @ y) + 1.0, target=target).lower(tw.spec((8, 9)), tw.spec((9, 8)))
        compiler.generate(lowered.model_plan)
    definition("Conv", 21)


def judged_in_child(judge: Callable[[], Outcome]) -> Outcome:
    """The outcome in a process of its own."""
    try:
        return in_child(judge)
    except Crashed as problem:
        return Outcome(CRASHED, str(problem))


def run_module(module: str, numbers: range, *options: str) -> str:
    """What a generator's command prints for these seeds, in a process without threads of its own."""
    command = [sys.executable, "-m", module, str(numbers.start), str(numbers.stop), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"exit status {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}"
    return run.stdout


def seeds_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments of a generator's command: `first` and `last`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="exclusive")
    return parser


def described(program: Describable, found: Outcome) -> tuple[Outcome, str]:
    """The outcome of a shrunk program, and its text."""
    return found, f"{found.kind}: {found.reason.partition(chr(10))[0]}\n{program.text()}"


def tried_program(
    program: P,
    outcome: Callable[[P], Outcome],
    shrunk: Callable[[P, str, Callable[[P], Outcome]], P],
    known: Collection[str] = (),
    explained: Callable[[P, Outcome], tuple[Outcome, str]] = described,
) -> tuple[Outcome, str]:
    """The outcome of a program, and if it failed, the text of the smallest program that fails in the same way.

    Every program runs in a process of its own; those that fail for a cause that is `known` are not shrunk.
    """

    def judge(one: P) -> Outcome:
        return judged_in_child(lambda: outcome(one))

    found = judge(program)
    if not found.is_failure:
        return found, ""
    smallest = shrunk(program, found.cause, judge) if found.cause not in known else program
    return explained(smallest, judge(smallest))


def swept(numbers: Iterable[int], tried: Callable[[int, Collection[str]], tuple[Outcome, str]]) -> str:
    """The summary of these seeds; failing programs are printed on the way.

    `tried` takes a seed and the causes that were seen often, whose programs it need not shrink; its text is of what failed.
    """
    outcomes: list[Outcome] = []
    for number in numbers:
        times = Counter(one.cause for one in outcomes if one.is_failure and one.kind != WRONG)
        found, text = tried(number, {cause for cause, count in times.items() if count >= MOST_SHRUNK})
        outcomes.append(found)
        if text:
            print(f"seed {number}: {text}\n", flush=True)
    return summary(outcomes)


def summary(outcomes: Iterable[Outcome]) -> str:
    """Counts by kind, failures and refusals by cause, and what ran as NumPy."""
    outcomes = list(outcomes)
    kinds = Counter(one.kind for one in outcomes)
    lines = [", ".join(f"{kinds[kind]} {kind}" for kind in (EQUAL, WRONG, INTERNAL, CRASHED, REFUSED, SKIPPED))]
    causes = Counter(one.cause for one in outcomes if one.kind != EQUAL)
    lines += [f"  {count} x {cause}" for cause, count in causes.most_common()]
    as_numpy = Counter(name for one in outcomes for name in one.as_numpy)
    lines += ["as NumPy: " + ", ".join(f"{count} x {name}" for name, count in as_numpy.most_common())] if as_numpy else []
    return "\n".join(lines)
