"""One model in a process of its own: its contenders in turns, or the seconds until one of them has compiled it."""

from __future__ import annotations

import json
import resource
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.studies.torch_models.contenders import CONTENDERS, Contender, arrays, error, in_float64
from benchmarks.studies.torch_models.models import Model, Size, build
from tilewright_bench.measurement.contender import TILEWRIGHT

Document = dict[str, Any]
TURN_S = 0.02
"""A turn lasts at least this long."""
MOST_CALLS = 20
"""Of a turn."""
LONG_CALL_S = 0.1
"""A call so long needs no call before it that warms the caches."""
STORAGE = (
    *("empty", "empty_strided", "as_strided", "view", "detach", "resize_", "alias", "_reshape_alias", "set_", "lift_fresh"),
    *("to", "resolve_conj", "resolve_neg"),
)
"""ATen operators that compute nothing; the last ones come of `Tensor.numpy`."""


def times(model: Model, names: Sequence[str], rounds: int) -> Document:
    """Milliseconds of every round, errors, graphs, and ATen operators of a compiled call, by contender."""
    exact, found = in_float64(model), Found()
    running = {name: call for name in names if (call := found.made(name, model, exact)) is not None}
    return {**found.document, "ms": turns(running, rounds)}


class Found:
    """What is known of contenders besides their times."""

    def __init__(self) -> None:
        self.document: Document = {"errors": {}, "graphs": {}, "eager": {}, "failures": {}}

    def made(self, name: str, model: Model, exact: list[Any]) -> Contender | None:
        """The contender after its first call; None if it fails, which is noted."""
        try:
            with counted_graphs() as graphs:
                call = CONTENDERS[name](model)
                self.document["errors"][name] = error(arrays(call()), exact)
            self.document["graphs"][name] = len(graphs)
            self.document["eager"][name] = eager_operators(call) if name == TILEWRIGHT else []
        except Exception as problem:
            self.document["failures"][name] = f"{type(problem).__name__}: {problem}"[:2000]
            return None
        return call


@contextmanager
def counted_graphs() -> Iterator[list[object]]:
    """One entry for every graph that Dynamo hands to a backend meanwhile."""
    from torch._dynamo.utils import counters

    before, graphs = counters["stats"]["unique_graphs"], list[object]()
    yield graphs
    graphs.extend([None] * (counters["stats"]["unique_graphs"] - before))


def eager_operators(call: Contender) -> list[str]:
    """The ATen operators with which one call computes."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    names = [event.name.removeprefix("aten::") for event in profile.events() if event.name.startswith("aten::")]
    return [name for name in names if name not in STORAGE]


def turns(calls: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of process time of a call, by contender and round; who begins changes from round to round."""
    numbers = {name: calls_of_a_turn(call) for name, call in calls.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for number in range(rounds):
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            taken[name].append(turn_ms(calls[name], numbers[name]))
    return taken


def calls_of_a_turn(call: Contender) -> int:
    """So many that a turn is long enough."""
    call()
    seconds = max(process_seconds(call), 1e-6)
    return 0 if seconds >= LONG_CALL_S else max(1, min(MOST_CALLS, int(TURN_S / seconds)))


def turn_ms(call: Contender, number: int) -> float:
    """The mean of so many calls after one that warms the caches; with 0, of one call without it."""
    if number:
        call()
    begin = time.process_time()
    for _ in range(number or 1):
        call()
    return (time.process_time() - begin) / (number or 1) * 1e3


def process_seconds(call: Callable[[], object]) -> float:
    """Process time of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def compilation(model: Model, names: Sequence[str], rounds: int) -> Document:
    """Seconds from the call of torch.compile to the end of the first call, and process time of this and of child processes."""
    (name,) = names
    begin, spent = time.perf_counter(), all_process_seconds()
    CONTENDERS[name](model)()
    wall_s = time.perf_counter() - begin
    own, children = (after - before for after, before in zip(all_process_seconds(), spent, strict=True))
    return {"wall_s": wall_s, "process_s": own, "children_s": children}


def all_process_seconds() -> tuple[float, float]:
    """Process time of this process, and of those of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


PARTS: Mapping[str, Callable[[Model, Sequence[str], int], Document]] = {"times": times, "compilation": compilation}


def run(arguments: str) -> None:
    """Do what a JSON document of arguments says; the last line of the output is what was found."""
    options = json.loads(arguments)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    model = build(options["model"], Size(options["layers"], options["small"]))
    print(json.dumps(PARTS[options["part"]](model, options["contenders"], options["rounds"])))
