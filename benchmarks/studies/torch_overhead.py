"""What a call of a compiled PyTorch model costs beside its kernels, and what many calls from four threads leave behind.

    python -m benchmarks.studies.torch_overhead [--model bert] [--layers 6] [--rounds 31] [--calls 10000] [--json FILE]

One thread and CPU time, in rounds in which all take turns; the minima count. The model hardly computes: BERT of transformers with
a width of 64 (103 parameters with 6 layers), or an encoder that needs torch alone and has fewer modules to guard. Dynamo and
AOTAutograd are measured by backends that return the same tensors in every call. "graph" is the call of what AOTAutograd gets from
the backend; "launch" the call of its library with arrays that are ready, "kernels" the same in a loop in C. "ours" is what the
graph takes beyond the launch. The check of frozen weights is compared with a bare loop that asks every weight for its identity,
version and address.

Then four threads call the encoder with tokens of changing lengths, after two calls that tell Dynamo that lengths change. Every
result is compared with that of eager mode. Memory is the size of the process, sampled ten times; the first fifth of the calls is
left out. The exit status is 1 if a result was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import torch

import tilewright.torch
from benchmarks.studies.parts.torch_encoder import MOST_TOKENS, encoder, tokens
from tilewright.api import torch_internals as internals
from tilewright.api.torch.weights import FrozenWeights, Run, living
from tilewright.frontend.torch.element_types import numpy_view
from tilewright.runtime import pool

TOKENS, TURN_S = 16, 0.01
SAMPLES, KERNEL_CALLS = 10, 20
TOLERANCE = 1e-4

Call = Callable[[], Any]


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

        def watched(weights: FrozenWeights, plain: Run, arguments: list[Any]) -> list[Any]:
            seen.append(Graph(weights, [*arguments]))
            return plain(arguments)

        with ExitStack() as stack:
            for one in living():
                run = partial(watched, one, one._last.run)
                stack.enter_context(patch.object(one._last, "run", run))
            call()
        (found,) = seen
        return found

    def call(self) -> Any:
        """As AOTAutograd calls it."""
        return self.weights([*self.arguments])

    def library(self, count: int) -> tuple[Call, Call]:
        """A call of the library with arrays that are ready, and so many of them in C."""
        running: Any = self.weights._last.run
        inputs = (*running._reads.arrays(self.arguments), *running._constants)
        outputs = [numpy_view(tensor) for tensor in running._allocate(self.arguments)]  # which hold the tensors
        loaded = running._loaded.on(pool.get(1))
        return partial(loaded.run, inputs, outputs), partial(loaded.run_repeatedly, count, inputs, outputs)

    def check(self) -> bool:
        """Of the frozen weights."""
        return self.weights._last.holds(self.arguments)

    def bare_loop(self) -> Call:
        """Over the frozen weights."""
        frozen = [self.arguments[place] for place in self.weights.frozen]

        def loop() -> None:
            for weight in frozen:
                id(weight)
                weight._version  # noqa: B018
                weight.data_ptr()

        return loop


def bert(layers: int) -> tuple[Any, tuple[Any, ...]]:
    """A small BERT of transformers, and its arguments."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes: Any = {"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 256}
    model: Any = BertModel(BertConfig(num_hidden_layers=layers, return_dict=False, **sizes))
    model.eval()
    return model, (tokens(TOKENS), torch.ones(1, TOKENS, dtype=torch.long))


def own(layers: int) -> tuple[Any, tuple[Any, ...]]:
    """The encoder, and its arguments."""
    return encoder(layers), (tokens(TOKENS),)


MODELS: dict[str, Callable[[int], tuple[Any, tuple[Any, ...]]]] = {"bert": bert, "encoder": own}


def contenders(name: str, layers: int) -> dict[str, tuple[Call, int]]:
    """What is measured, by name, and how many calls one is."""
    made: dict[str, tuple[Call, int]] = {}
    backends = {"dynamo": constant, "dynamo_and_aot": constant_through_autograd, "tilewright": tilewright.torch.backend}
    for contender, backend in backends.items():
        model, given = MODELS[name](layers)
        made[contender] = partial(torch.compile(model, backend=backend, fullgraph=True), *given), 1
        made[contender][0]()
    graph = Graph.of(made["tilewright"][0])
    launch, kernels = graph.library(KERNEL_CALLS)
    made |= {"eager": (partial(model, *given), 1), "graph": (graph.call, 1)}
    made |= {"launch": (launch, 1), "kernels": (kernels, KERNEL_CALLS)}
    return made | {"check": (graph.check, 1), "bare_loop": (graph.bare_loop(), 1)}


def turn_us(call: Call, count: int) -> float:
    """CPU time of a call, in microseconds."""
    calls, begin = 0, time.process_time()
    while (passed := time.process_time() - begin) < TURN_S:
        call()
        calls += 1
    return passed / calls / count * 1e6


def overhead(name: str, layers: int, rounds: int) -> dict[str, float]:
    """Microseconds of a call of each contender, and the ratios that count."""
    measured = contenders(name, layers)
    best = {name: turn_us(*one) for name, one in measured.items()}
    for _ in range(rounds):
        best = {name: min(best[name], turn_us(*one)) for name, one in measured.items()}
    ours = best["graph"] - best["launch"]
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

    function = torch.compile(model, backend=backend, fullgraph=True)
    given = [tokens(length) for length in range(3, MOST_TOKENS, 7)]
    wanted = [model(one) for one in given]
    for one in given[:2]:
        function(one)

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
    parser.add_argument("--model", choices=sorted(MODELS), default="bert")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    times = overhead(arguments.model, arguments.layers, arguments.rounds)
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
