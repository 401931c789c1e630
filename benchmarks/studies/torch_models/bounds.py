"""What the backend must show: bounds of our time over a peer's, of errors and of compile times, and which models miss them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.studies.torch_models.models import CONVOLUTIONAL, TRANSFORMERS
from benchmarks.studies.torch_models.tables import ratios, wall_s
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.tables.means import geometric_mean

Parts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bound:
    """Of ratios to a peer over a group of models: each of them, and their geometric mean."""

    models: tuple[str, ...]
    peer: str
    each: float
    mean: float = math.inf


BOUNDS = (
    Bound(tuple(TRANSFORMERS), "inductor", 0.90),
    Bound(tuple(TRANSFORMERS), "freezing", 1.05, 0.90),
    Bound(tuple(TRANSFORMERS), "onnxruntime", 0.95, 0.82),
    Bound(tuple(CONVOLUTIONAL), "freezing", 0.95),
    Bound(tuple(CONVOLUTIONAL), "onnxruntime", 1.10, 0.95),
)
ERROR = 2.0
"""Ours over eager's, both against float64."""
COMPILATION = {"cold": 0.5, "second": 1.0}
"""Our wall time over inductor's."""


def judged(found: Mapping[str, Parts]) -> Iterator[str]:
    """A line for each bound: geometric mean, worst, and the models that miss it."""
    timed = {name: parts["times"] for name, parts in found.items() if "ms" in parts.get("times", {})}
    for bound in BOUNDS:
        given = {name: ratios(timed[name]) for name in bound.models if name in timed}
        values = {name: one[bound.peer] for name, one in given.items() if bound.peer in one}
        yield from line(f"ours/{bound.peer}", values, bound.each, bound.mean)
    yield from line("error, ours/eager", dict(_errors(timed)), ERROR)
    for process, most in COMPILATION.items():
        yield from line(f"{process} compilation, ours/inductor", dict(_compilations(found, process)), most)


def line(title: str, values: Mapping[str, float], each: float, mean: float = math.inf) -> Iterator[str]:
    """Nothing without values.

    >>> next(line("ours/eager", {"bert": 0.5, "vit": 2.0}, each=1.5, mean=0.9))
    'ours/eager: geometric mean 1.000 (at most 0.90: MISSED), worst 2.000 vit (at most 1.50); missed by vit 2.000'
    """
    if not values:
        return
    middle, worst = geometric_mean(list(values.values())), max(values, key=lambda name: values[name])
    verdict = "" if math.isinf(mean) else f" (at most {mean:.2f}{': MISSED' if middle > mean else ''})"
    missed = ", ".join(f"{name} {value:.3f}" for name, value in values.items() if value > each)
    text = f"{title}: geometric mean {middle:.3f}{verdict}, worst {values[worst]:.3f} {worst} (at most {each:.2f})"
    yield f"{text}; missed by {missed}" if missed else text


def _errors(timed: Mapping[str, Parts]) -> Iterator[tuple[str, float]]:
    for name, times in timed.items():
        errors = times["errors"]
        if TILEWRIGHT in errors and errors.get("eager"):
            yield name, errors[TILEWRIGHT] / errors["eager"]


def _compilations(found: Mapping[str, Parts], process: str) -> Iterator[tuple[str, float]]:
    for name, parts in found.items():
        seconds = wall_s(parts["compilation"], process) if "compilation" in parts else {}
        if {TILEWRIGHT, "inductor"} <= seconds.keys():
            yield name, seconds[TILEWRIGHT] / seconds["inductor"]
