"""A revision's process of `benchmarks.studies.planning_time`: plans cases by name, each time as if nothing was planned before.

A case is planned in a fork of this process, which has planned one small graph: what planning remembers ends with the fork.
Revisions without `tilewright.plan.counts` count nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import tilewright as tw
from tilewright import compiler
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.planner import plan_chain

Subject = Callable[[Machine], object]
"""What plans a case for a machine."""

TARGET = "cascadelake-6240"
"""A graph is the same for all machines, but one has to be named."""


def mlp(rows: int, *widths: int) -> Graph:
    """Products of operands with relu between them."""

    def network(x: Any, *weights: Any) -> Any:
        for weight in weights[:-1]:
            x = tw.relu(x @ weight)
        return x @ weights[-1]

    return traced(network, (rows, widths[0]), *pairwise(widths))


def attention(heads: int, queries: int, keys: int, width: int) -> Graph:
    """Softmax between two batched products."""

    def attended(q: Any, k: Any, v: Any) -> Any:
        return tw.softmax(q @ tw.matrix_transpose(k)) @ v

    return traced(attended, (heads, queries, width), (heads, keys, width), (heads, keys, width))


def bert_layer() -> Graph:
    """A layer of BERT-base without embeddings: 128 tokens of 768, 12 heads."""

    def layer(x: Any, q: Any, k: Any, v: Any, o: Any, up: Any, down: Any, scale: Any, shift: Any) -> Any:
        queries, keys, values = (tw.permute_dims(tw.reshape(x @ w, (128, 12, 64)), (1, 0, 2)) for w in (q, k, v))
        heads = tw.softmax(queries @ tw.matrix_transpose(keys) * 0.125) @ values
        x = tw.layer_norm(x + tw.reshape(tw.permute_dims(heads, (1, 0, 2)), (128, 768)) @ o, weight=scale, bias=shift)
        return tw.layer_norm(x + tw.gelu(x @ up) @ down, weight=scale, bias=shift)

    return traced(layer, (128, 768), *[(768, 768)] * 4, (768, 3072), (3072, 768), (768,), (768,))


def traced(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    """The graph of a function of arrays of these shapes."""
    with _asked() as graphs:
        tw.jit(function, target=TARGET).lower(*map(tw.spec, shapes))
    return graphs[0]


def convolutions(name: str) -> Graph:
    """A chain of Chimera's Table V with constant weights and relu in between, as the ONNX front end records it."""
    from tests.replay.onnx_text import model
    from tilewright.tune.shapes import conv_chain_shape  # earlier revisions do not have it

    shape = conv_chain_shape(name)
    attributes = [
        f"strides = [{s}, {s}], pads = [{p}, {p}, {p}, {p}]" for s, p in zip(shape.strides, shape.paddings, strict=True)
    ]
    body = f"a = Conv <{attributes[0]}> (x, v)\nb = Relu (a)\ny = Conv <{attributes[1]}> (b, w)"
    return imported(model(body, {"x": (1, *shape.image)}, dict(zip("vw", shape.filters, strict=True))))


def imported(path_or_model: Any) -> Graph:
    """The graph of an ONNX model."""
    from tilewright.onnx import InferenceSession

    with _asked() as graphs:
        InferenceSession(path_or_model, target=TARGET, prepare=False).explain()
    return graphs[0]


@contextmanager
def _asked() -> Iterator[list[Graph]]:
    """The first graph of which a plan is asked; it is not planned."""

    class Asked(Exception):
        pass

    graphs: list[Graph] = []
    plan = compiler.plan

    def asked(graph: Graph, *arguments: Any, **options: Any) -> Any:
        graphs.append(graph)
        raise Asked

    compiler.plan = asked
    try:
        yield graphs
    except Asked:
        pass
    finally:
        compiler.plan = plan


def chain_planning(height: int, width: int, channels: tuple[int, int, int], kernels: tuple[int, int]) -> Subject:
    """Plans two convolutions, each one contraction of seven axes, as one chain."""
    from tests.support.halo_chains import convolution_chain

    chain = convolution_chain(height, width, channels, kernels)
    return lambda machine: plan_chain(chain, machine)


def planning(make: Callable[..., Graph], *arguments: Any) -> Subject:
    """Plans a graph, rewrites included."""
    graph = make(*arguments)
    return lambda machine: compiler.plan(graph, machine)


CASES: Mapping[str, Callable[[], Subject]] = {
    "deep: 20 layers of 128": partial(planning, mlp, 1024, *[128] * 21),
    "deep: 50 layers of 128": partial(planning, mlp, 1024, *[128] * 51),
    "wide: 8 layers of 1024": partial(planning, mlp, 512, *[1024] * 9),
    "wide: 8 layers of 4096": partial(planning, mlp, 512, *[4096] * 9),
    "wide: 8 layers of 1024 to 4096": partial(planning, mlp, 512, *[1024, 2048, 4096] * 3),
    "chain: 3x3+1x1 56x56 64": partial(chain_planning, 56, 56, (64, 64, 64), (3, 1)),
    "chain: 1x1+3x3 56x56 64": partial(chain_planning, 56, 56, (64, 64, 64), (1, 3)),
    "chain: 3x3+3x3 28x28 128-256-64": partial(chain_planning, 28, 28, (128, 256, 64), (3, 3)),
    **{f"convolutions: C{number}": partial(planning, convolutions, f"C{number}") for number in range(1, 9)},
    "attention: 12 x 512 x 512 x 64": partial(planning, attention, 12, 512, 512, 64),
    "attention: BERT layer": partial(planning, bert_layer),
}
"""By name; a name that is not here is `model: ` and the path of an ONNX file."""


def subject(name: str) -> Subject:
    """What plans the case of that name."""
    kind, _, path = name.partition(": ")
    return planning(imported, path) if kind == "model" else CASES[name]()


def planned(work: Subject, machine: Machine) -> dict[str, Any]:
    """Process time and counts of one planning, in a fork."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.write(writing, json.dumps(measured(work, machine)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        result: dict[str, Any] = json.load(answer)
    os.waitpid(child, 0)
    return result


def measured(work: Subject, machine: Machine) -> dict[str, Any]:
    """Process time and counts of one planning."""
    _forget_plans()
    start = time.process_time()
    with _counting() as counts:
        work(machine)
    return {"seconds": time.process_time() - start, "counts": {str(kind): number for kind, number in counts.items()}}


def _forget_plans() -> None:
    """Nothing is answered from memory: importing a case plans it, too."""
    try:
        from tilewright.plan.planner import forget_plans
    except ImportError:
        return
    forget_plans()


@contextmanager
def _counting() -> Iterator[Mapping[Any, int]]:
    try:
        from tilewright.plan.counts import counting
    except ImportError:
        yield {}
    else:
        with counting() as counts:
            yield counts


def main() -> None:
    """Import a case, or plan it: an order and its answer are a line of JSON each."""
    planning(mlp, 64, 64, 64, 64)(Machine.named(TARGET))
    work: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        if "case" in order:
            work = subject(order["case"])
        answer = planned(work, Machine.named(order["target"])) if "target" in order else None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
