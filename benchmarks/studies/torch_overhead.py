"""What a call of a compiled PyTorch model costs beside its kernels, and what many calls from four threads leave behind.

    python -m benchmarks.studies.torch_overhead [--layers 6] [--rounds 31] [--calls 10000] [--threads 4] [--json FILE]

One thread and CPU time, in rounds in which all take turns; the minima count. The model is a small encoder, whose calls hardly
compute. Dynamo and AOTAutograd are measured by backends that return the same tensors in every call. "graph" is the call of what
AOTAutograd gets from the backend; "kernels" the same library, started in a loop in C. The check of frozen weights is compared
with a bare loop that asks every weight for its identity, version and address.

Then threads call models with tokens of changing lengths. Every result is compared with that of eager mode. Memory is the size of
the process, sampled ten times; the first fifth of the calls is left out. The exit status is 1 if a result was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

import tilewright.torch
from benchmarks.studies.parts.torch_encoder import MOST_TOKENS, encoder, tokens
from tilewright.api.torch import internals
from tilewright.api.torch.weights import FrozenWeights
from tilewright.runtime import pool

TOKENS, TURN_S = 16, 0.01
SAMPLES = 10
TOLERANCE = 1e-4

Call = Callable[[], Any]


def of_its_own_code(model: Any) -> Callable[[Any], Any]:
    """A function that calls a model; Dynamo keeps compiled code by code object."""
    names: dict[str, Any] = {"model": model}
    exec("def call(*arguments):\n    return model(*arguments)\n", names)
    function: Callable[[Any], Any] = names["call"]
    return function


def constant(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
    """A backend of Dynamo that always returns what the first call computed."""
    results = [result.detach() for result in module(*examples)]
    return lambda *arguments: results


def constant_through_autograd(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
    """The same behind AOTAutograd."""

    def compile_constant(graph: Any, examples: Sequence[Any]) -> Callable[[list[Any]], Any]:
        made = next(iter(reversed(graph.graph.nodes))).args[0]
        with internals.real_tensors():
            results = [torch.zeros([*map(int, node.meta["val"].shape)]) for node in made]

        def run(arguments: list[Any]) -> Any:
            arguments.clear()
            return results

        return internals.boxed(run)

    return internals.through_autograd(module, examples, inference=compile_constant, gradients=compile_constant)


@dataclass(slots=True)
class Graph:
    """What AOTAutograd calls, and the arguments of a call."""

    weights: FrozenWeights
    arguments: list[Any]

    @staticmethod
    def of(call: Call) -> Graph:
        """The only graph that a call runs."""
        seen: list[Graph] = []
        plain = FrozenWeights.__call__

        def watched(weights: FrozenWeights, arguments: list[Any]) -> list[Any]:
            seen.append(Graph(weights, [*arguments]))
            return plain(weights, arguments)

        with patch.object(FrozenWeights, "__call__", watched):
            call()
        (found,) = seen
        return found

    def call(self) -> Any:
        """As AOTAutograd calls it."""
        return self.weights([*self.arguments])

    def kernels(self, count: int) -> Call:
        """So many runs of the library, in C."""
        running: Any = self.weights._last.run
        inputs = (*running._reads.arrays(self.arguments), *running._constants)
        outputs = [running._write(tensor) for tensor in running._allocate(self.arguments)]
        loaded = running._loaded.on(pool.get(1))
        return lambda: loaded.run_repeatedly(count, inputs, outputs)

    def check(self) -> bool:
        """Of the frozen weights."""
        packed = self.weights._last
        return packed.seal.holds(packed.take(self.arguments))

    def bare_loop(self) -> Call:
        """Over the frozen weights."""
        frozen = self.weights._last.take(self.arguments)

        def loop() -> None:
            for weight in frozen:
                id(weight)
                weight._version  # noqa: B018
                weight.data_ptr()

        return loop


def contenders(layers: int) -> dict[str, tuple[Call, int]]:
    """What is measured, by name, and how many calls one is."""
    given = tokens(TOKENS)
    made: dict[str, tuple[Call, int]] = {}
    backends = {"dynamo": constant, "dynamo_and_aot": constant_through_autograd, "tilewright": tilewright.torch.backend}
    for name, backend in backends.items():
        function = torch.compile(of_its_own_code(encoder(layers)), backend=backend, fullgraph=True)
        made[name] = partial(function, given), 1
        function(given)
    graph = Graph.of(made["tilewright"][0])
    model = encoder(layers)
    made |= {"eager": (partial(model, given), 1), "graph": (graph.call, 1), "kernels": (graph.kernels(20), 20)}
    return made | {"check": (graph.check, 1), "bare_loop": (graph.bare_loop(), 1)}


def turn_us(call: Call, count: int) -> float:
    """CPU time of a call, in microseconds."""
    calls, begin = 0, time.process_time()
    while (passed := time.process_time() - begin) < TURN_S:
        call()
        calls += 1
    return passed / calls / count * 1e6


def overhead(layers: int, rounds: int) -> dict[str, float]:
    """Microseconds of a call of each contender, and the ratios that count."""
    measured = contenders(layers)
    best = {name: turn_us(*one) for name, one in measured.items()}
    for _ in range(rounds):
        best = {name: min(best[name], turn_us(*one)) for name, one in measured.items()}
    ours = best["graph"] - best["kernels"]
    ratios = {"ours": ours, "ours_by_torch": ours / best["dynamo_and_aot"], "check_by_loop": best["check"] / best["bare_loop"]}
    return best | ratios


@dataclass(slots=True)
class Soaked:
    """What threads saw."""

    calls: int = 0
    wrong: int = 0
    failed: list[str] = field(default_factory=list)
    graphs: int = 0
    """That were compiled."""
    sizes_mib: list[float] = field(default_factory=list)

    @property
    def growth_mib(self) -> float:
        """After the first fifth."""
        return self.sizes_mib[-1] - self.sizes_mib[len(self.sizes_mib) // 5] if self.sizes_mib else 0.0


def soaked(layers: int, calls: int, threads: int) -> Soaked:
    """Call one model from several threads, with lengths in turn."""
    model, found, lock = encoder(layers), Soaked(), threading.Lock()

    def backend(module: Any, examples: Sequence[Any]) -> Callable[..., Any]:
        found.graphs += 1
        return tilewright.torch.backend(module, examples)

    function = torch.compile(of_its_own_code(model), backend=backend, fullgraph=True)
    given = [tokens(length) for length in range(3, MOST_TOKENS, 7)]
    wanted = [model(one) for one in given]

    def right(number: int) -> bool:
        results = zip(function(given[number]), wanted[number], strict=True)
        return all(bool((got - expected).abs().max() <= TOLERANCE * expected.abs().max()) for got, expected in results)

    def work(seed: int) -> None:
        torch.set_grad_enabled(False)
        try:
            for turn in _turns(found, lock, calls):
                is_right = right((turn + seed) % len(given))
                with lock:
                    found.wrong += not is_right
        except Exception as problem:
            found.failed.append(f"{type(problem).__name__}: {problem}")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def _turns(found: Soaked, lock: threading.Lock, calls: int) -> Iterator[int]:
    while True:
        with lock:
            if found.calls == calls:
                return
            found.calls += 1
            turn = found.calls
            if turn % max(1, calls // SAMPLES) == 0:
                found.sizes_mib.append(_resident_mib())
        yield turn


def _resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    times = overhead(arguments.layers, arguments.rounds)
    for name, value in times.items():
        print(f"{name:16}{value:10.2f}{'' if '_by_' in name else ' us'}", flush=True)
    found = soaked(arguments.layers, arguments.calls, arguments.threads)
    sizes = " ".join(f"{size:.1f}" for size in found.sizes_mib)
    print(f"{found.calls} calls, {found.wrong} wrong, {len(found.failed)} failed, {found.graphs} graphs; MiB: {sizes}")
    for problem in found.failed:
        print(problem)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"overhead_us": times, "soak": asdict(found) | {"growth_mib": found.growth_mib}}, file, indent=1)
    return int(bool(found.wrong or found.failed))


if __name__ == "__main__":
    sys.exit(main())
