"""Runs of random chains of convolutions: by a front end, by schedules and algorithms that a test chooses, beside PyTorch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from math import inf
from unittest.mock import patch

import numpy as np

import tilewright as tw
import tilewright.onnx as ort
from tests.support.algorithms import forced
from tests.support.forced_schedules import at_random, met, only, orders, scheduled, with_tiles
from tests.support.random.conv_chains import Array, ConvChain, by_torch, onnx_model
from tilewright import compiler
from tilewright.api.kernel import Lowered
from tilewright.plan.schedule import Storage
from tilewright.plan.search.exact_search import PlanningProblem
from tilewright.plan.whole_model import layout_choice
from tilewright.plan.whole_model.algorithm_prices import AlgorithmPrices
from tilewright.plan.whole_model.layout_choice import LAYOUTS, ChosenLayouts, Images
from tilewright.precision import Precision

ROUTES = ("constants", "arguments", "onnx")
"""A function that closes over the weights, one that is given them, and a model."""
FUSIONS = (None, True, False)


def computed(chain: ConvChain, route: str, fuse: bool | None, target: str) -> list[Array]:
    """The results by a front end on one thread and on two. Functions are planned once; sessions decide on fusion by price."""
    weights = chain.weights()
    if route == "onnx":
        octets = onnx_model(chain).SerializeToString()
        sessions = (ort.InferenceSession(octets, _on(threads), target=target) for threads in (1, 2))
        return [np.asarray(session.run(None, {"x": chain.x()})[0]) for session in sessions]
    given = (chain.x(), *(weights.values() if route == "arguments" else ()))
    function = chain.function(weights if route == "constants" else None)
    lowered = tw.jit(function, fuse=fuse, threads=1, target=target).lower(*given)
    return [np.asarray(one.compile()(*given)) for one in on_one_and_two_threads(lowered)]


def _on(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return options


def on_one_and_two_threads(lowered: Lowered) -> tuple[Lowered, Lowered]:
    """What is planned once for one thread, and the same for two."""
    on_two = replace(lowered, options=replace(lowered.options, threads=2))
    on_two.__dict__["model_plan"] = lowered.model_plan
    return lowered, on_two


def check(chain: ConvChain, results: Sequence[Array]) -> None:
    """The result is PyTorch's, and has the same bits with two threads."""
    (one, two), (wanted, tolerance) = results, by_torch(chain)
    assert one.shape == wanted.shape == chain.shapes()[-1]
    np.testing.assert_allclose(one, wanted, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(one, two)


@contextmanager
def planned(seed: int, algorithm: str) -> Iterator[None]:
    """Inside, schedules are any, and an algorithm is taken wherever it applies; an empty name leaves the choice to the prices."""
    with scheduled(at_random(random.Random(seed))), forced(algorithm) if algorithm else nullcontext():
        yield


@contextmanager
def laid_out(*, channels_last: bool) -> Iterator[None]:
    """Inside, all images between operators lie as they are written, or all with channels last."""

    def last(groups: Mapping[str, object], tables: object) -> dict[str, int]:
        return dict.fromkeys(groups, LAYOUTS[1])

    def written(prices: AlgorithmPrices, precision: Precision) -> ChosenLayouts:
        return ChosenLayouts(Images({}, {}), {}, {})

    chosen = compiler.choose_layouts if channels_last else written
    everywhere = patch.multiple(layout_choice, cheapest=last, LEAST_GAIN=inf)
    with everywhere, patch.multiple(compiler, choose_layouts=chosen, is_small=lambda graph: False):
        yield


def check_every_order(
    chain: ConvChain, algorithm: str, target: str, seed: int = 0, *, channels_last: bool = False
) -> set[Storage]:
    """Every order of loops and storage of the largest part that can be fused, with tiles at random; returns the storages met."""
    with laid_out(channels_last=channels_last):
        return _checked_orders(chain, algorithm, target, seed)


def _checked_orders(chain: ConvChain, algorithm: str, target: str, seed: int) -> set[Storage]:
    function, problems, storages = chain.function(chain.weights()), list[PlanningProblem](), set[Storage]()
    with scheduled(met(problems)), forced(algorithm):
        tw.jit(function, fuse=True, target=target).lower(chain.x())
    largest = max(problems, key=lambda problem: len(problem.context.chain.operators))
    for number, order in enumerate(orders(largest)):
        candidate = with_tiles(order, random.Random(f"{seed} {number}"))
        with scheduled(only(largest.context.chain, candidate)), forced(algorithm):
            lowered = tw.jit(function, fuse=True, threads=1, target=target).lower(chain.x())
            check(chain, [np.asarray(one.compile()(chain.x())) for one in on_one_and_two_threads(lowered)])
        storages |= {storage for plan in lowered.model_plan.plans for _, storage in plan.schedule.storage}
    return storages
