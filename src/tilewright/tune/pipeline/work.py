"""What is done on the machine that measures: functions of values that can be sent there, and answers that can be sent back.

That is trials of the variants of a chain, and calls of a whole model with other plans for some of its chains: what is faster
alone need not be behind other chains. First calls of new code run in a copy of the process: what crashes or does not end there is
never called here.
"""

from __future__ import annotations

import copyreg
import faulthandler
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import count
from math import isfinite
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tilewright import __version__, compiler
from tilewright.backends import backend, loading
from tilewright.dtypes import dtype_named
from tilewright.graph.types import Constant, Graph
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record
from tilewright.runtime import artifacts
from tilewright.runtime.arrays import Array
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.tuning.measurements import commit
from tilewright.tune.schedules.chain_case import ChainCase, drawn
from tilewright.tune.schedules.timing import Runnable, compiled_models, result_of, wrong
from tilewright.tune.timing import Verdict, fastest, paired_ratios, seconds_per_call

WAITING_S, WAITING = 10.0, 100.0
"""A call that waits uses no processor: it ends after so many seconds, and so many times its limit, of any clock."""


def returns(call: Callable[[], object], limit_s: float = float("inf")) -> bool:
    """Whether a call comes back, within `limit_s` seconds of a processor, in a copy of this process.

    Nothing that the call computes is seen here. Pages that it writes are copied, in about a microsecond each. It must not wait
    for other threads, which a copy does not have. Where there is no `os.fork` nothing is tried, and the answer is yes.

    >>> returns(lambda: 1), returns(lambda: 1 / 0)
    (True, False)
    """
    if not hasattr(os, "fork"):
        return True
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        _die_silently(limit_s)
        call()
        os._exit(0)
    finally:
        os._exit(1)


def _die_silently(limit_s: float) -> None:
    """Signals end this process, without a trace; so does the processor time after which it gets one."""
    import resource  # where there is no fork there is none

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    if isfinite(limit_s):
        signal.setitimer(signal.ITIMER_PROF, max(limit_s, 1e-6))
        signal.setitimer(signal.ITIMER_REAL, WAITING_S + WAITING * limit_s)


HOPELESS = 3.0
"""A variant whose first call takes so many times as long as the best so far is ended, and not called again."""
COPIED_S_PER_BYTE = 1e-9
"""Of the result: what a first call, in a copy of the process, may take longer. That is 4 us for a page, which takes about 1."""
STARTING_S = 0.02
TURNS = 5
PAIRS_S = 2.0
SERIES = 3
"""Of pairs, each of plans that are loaded anew."""

Named = tuple[str, Plan]
"""The digest of a plan's decisions, and the plan."""


@record
class Measured:
    """Seconds of plans, by digest, None for those that crash, are hopelessly slow or wrong; and what compiled them."""

    seconds: dict[str, float | None]
    compiler: str
    release: str
    commit: str


@record
class Paired:
    """What fresh pairs say about the candidate that was elected, None if none was right; the reference's seconds."""

    verdict: Verdict | None
    reference_s: float


def measure(case: ChainCase, plans: Sequence[Named], best_s: float) -> Measured:
    """Plans of one chain on one thread: compiled together, tried, checked, and timed where they are right.

    `best_s` is the time of the best known so far, infinite without any.
    """
    with TemporaryDirectory(prefix="tilewright-tune-") as directory:
        runnables = compiled_models(case, [case.model.with_plan(0, plan) for _, plan in plans], Path(directory))
        seconds: dict[str, float | None] = {}
        for (digest, _), runnable in zip(plans, runnables, strict=True):
            seconds[digest] = _timed(runnable, best_s) if _is_sound(case, runnable, best_s) else None
            best_s = min(best_s, seconds[digest] or best_s)
    release = f"{__version__} {artifacts.sources()[:12]}"
    return Measured(seconds, toolchain.find().version, release, commit() or f"release {__version__}")


def _is_sound(case: ChainCase, runnable: Runnable, best_s: float) -> bool:
    """Whether a plan neither crashes nor is hopelessly slow, and computes the right result."""
    limit_s = HOPELESS * best_s + STARTING_S + COPIED_S_PER_BYTE * runnable.result.nbytes
    return returns(runnable, limit_s) and not wrong(case, [runnable])


def _timed(runnable: Runnable, best_s: float) -> float:
    """The least of some turns; of one call where that is hopeless."""
    first_s = runnable.seconds(0.0)
    if first_s > HOPELESS * best_s:
        return first_s
    return min(runnable.seconds() for _ in range(TURNS))


def measure_pairs(case: ChainCase, own: Plan, best: Sequence[Plan], threads: int | None) -> Paired:
    """Candidates against a reference, compiled as calls are, with as many threads, taking turns in pairs.

    A candidate that wins has to win again, loaded anew: which pages memory lies on, and who else uses the caches at the moment,
    makes up to a fifth of the time of a call, for seconds and for all pairs alike. The verdict is the worst of all series.
    """
    loaded: list[list[Runnable]] = []  # all stay, so that every series lies on other pages

    def series(plans: Sequence[Plan], budget_s: float) -> Verdict | None:
        result = result_of(case.model, case)
        loaded.append([_runnable(case, case.model.with_plan(0, plan), threads, result) for plan in (own, *plans)])
        reference, *candidates = loaded[-1]
        errors = wrong(case, candidates)
        right = [number for number in range(len(candidates)) if number not in errors]
        found = fastest(reference.seconds, [candidates[number].seconds for number in right], budget_s=budget_s)
        return found and replace(found, number=right[found.number])

    verdict = series(best, PAIRS_S)
    for _ in range(SERIES - 1):
        if verdict is None or not verdict.is_faster:
            break
        again = series([best[verdict.number]], PAIRS_S / 2)
        verdict = again and Verdict(verdict.number, max(verdict.ratio, again.ratio), min(verdict.wins, again.wins))
    return Paired(verdict, loaded[0][0].seconds())


def loaded_model(model: ModelPlan, threads: int | None) -> tuple[backend.Runnable, tuple[Array, ...]]:
    """A model compiled as calls are, and the constants that these are given behind the inputs."""
    return loading.load(compiler.generate(model), replace(model.graph, constants=model.given), model.machine, threads=threads)


def _runnable(case: ChainCase, model: ModelPlan, threads: int | None, result: Array) -> Runnable:
    executable, read = loaded_model(model, threads)
    return Runnable(executable, (*case.inputs, *read), result)


SEED = 20240301
Call = Callable[[], object]


@record(eq=False)
class WholeCase:
    """A model whose calls are compared."""

    model: ModelPlan

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is sent elsewhere: weights are drawn there, for nothing that is measured depends on them."""
        content, seeds = BytesIO(), count(SEED)
        pickler = pickle.Pickler(content)
        pickler.dispatch_table = {**copyreg.dispatch_table, Constant: lambda constant: _sent(constant, next(seeds))}
        pickler.dump(self.model)
        return _received, (content.getvalue(),)


def _received(content: bytes) -> WholeCase:
    return WholeCase(pickle.loads(content))


def _sent(constant: Constant, seed: int) -> Any:
    """How a constant is pickled: whole where generated code may depend on its values, else to be drawn, by its own seed."""
    if constant.without_values().has_values:
        return constant.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    return _drawn_constant, (seed, constant.array.shape, constant.array.dtype, constant.has_values)


def _drawn_constant(seed: int, shape: tuple[int, ...], dtype: np.dtype[Any], has_values: bool) -> Constant:
    values = drawn(np.random.default_rng(seed), shape, dtype) if has_values else np.broadcast_to(np.zeros((), dtype), shape)
    return Constant(values, has_values)


def worst_ratio(case: WholeCase, plans: tuple[Plan, ...], threads: int | None) -> float | None:
    """The time of a call with these plans over that with the model's: of several series of pairs, loaded anew, the worst.

    Inputs are drawn, integers are 0: they may look something up. None where a model has extents that are known at run time only.
    """
    models = case.model, replace(case.model, plans=plans)
    if any(not isinstance(extent, int) for tensor in case.model.graph.tensors for extent in tensor.shape):
        return None
    inputs = _inputs(case.model.graph)
    loaded: list[Sequence[Call]] = []  # all stay, so that every series lies on other pages
    ratios = []
    for _ in range(SERIES):
        loaded.append([_call(model, inputs, threads) for model in models])
        first, second = (partial(seconds_per_call, call) for call in loaded[-1])
        (found,) = paired_ratios(first, [second], budget_s=PAIRS_S / 2)
        ratios.append(median(found))
    return max(ratios)


def _call(model: ModelPlan, inputs: Sequence[Array], threads: int | None) -> Call:
    executable, read = loaded_model(model, threads)
    operands = (*inputs, *read)
    return partial(executable.run, operands, executable.new_outputs(operands))


def _inputs(graph: Graph) -> list[Array]:
    source, tensors = np.random.default_rng(SEED), map(graph.tensor, graph.inputs)
    return [drawn(source, tensor.shape, dtype_named(tensor.dtype)) for tensor in tensors]
