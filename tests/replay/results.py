"""Results of the graphs, bit by bit: a digest for every level of x86-64, of inputs that the graph's name is the seed of.

    python -m tests.replay --results                                  # compare: all levels that this CPU has
    python -m tests.replay --results --only attention --levels x86-64-v3
    python -m tests.replay --write-results                            # announce what was meant to change

A graph is planned for the machine that has a level's name, whose caches and cores a file describes: the plan, and with it the
order of every sum, is that of no host. One thread computes it, and `TILEWRIGHT_MAX_ISA` keeps all else to the level. A level that
this CPU lacks is skipped and counted; what `results.txt` has of it stays. Graphs that compute or move too much are left out.

Numbers from elsewhere are those of every CPU: torch, which draws weights, is kept from instructions beyond SSE (`TORCH`, set
before it is imported), and no digest depends on the instructions by which NumPy computes constants. Inputs and constants have a
digest of their own, so that one sees where that fails. A NaN counts as a NaN: its sign and payload are those of whichever operand
a compiler put first.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tests.replay import stored
from tests.replay.planning import Planned
from tests.replay.record import DIGEST_DIGITS
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.dtypes import dtype_named
from tilewright.entry_point import Symbol
from tilewright.errors import PositionError
from tilewright.graph.expressions.extents import value_of
from tilewright.machine import Machine
from tilewright.settings import ISA_LEVELS

FILE = Path(__file__).with_name("results.txt")
TORCH = {"ATEN_CPU_CAPABILITY": "default"}
UNKNOWN = "-"
LARGEST_FLOPS, LARGEST_BYTES = 1e10, 512 << 20
"""Of a graph that is run: about a second at level 2."""
TOO_LARGE, NO_KERNEL = "too large", "without a kernel"
OTHER_INPUTS = "has other inputs or constants"
SIZE = 37
"""Of dimensions of any length, within their limits."""
INTEGERS = ((-9, 9), (0, 8), (0, 4), (0, 2), (0, 1))
"""Least and end of what integers of 32 and 64 bits are drawn from: the first where no position is outside of its dimension."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Results:
    """What the file has of a graph: digests of inputs and constants, and of results by level."""

    given: str
    by_level: Mapping[str, str]

    def line(self, graph: str) -> str:
        """Of the file."""
        return " ".join([graph, self.given, *(self.by_level.get(level, UNKNOWN) for level in ISA_LEVELS)])

    def changes(self, before: Results | None) -> list[str]:
        """What differs from before, of the levels that both have."""
        if before is None:
            return ["is new"]
        if self.given != before.given:
            return [OTHER_INPUTS]
        both = (level for level in self.by_level if before.by_level.get(level, UNKNOWN) != UNKNOWN)
        return [f"other results at {level}" for level in both if self.by_level[level] != before.by_level[level]]

    def completed(self, before: Results | None) -> Results:
        """With the levels that were not computed now."""
        is_same = before is not None and before.given == self.given
        return Results(self.given, {**before.by_level, **self.by_level}) if before is not None and is_same else self


def executable_levels(levels: Iterable[str] = ISA_LEVELS) -> tuple[str, ...]:
    """Those that this CPU has all features of."""
    host = Machine.detect().features
    return tuple(level for level in levels if Machine.named(level).features <= host)


def results(graph: str, planned: Planned, levels: Sequence[str]) -> Results | str:
    """Of a graph at these levels, or why it is left out."""
    found = {}
    for level in levels:
        with mock.patch.dict(os.environ, TILEWRIGHT_MAX_ISA=level):
            plans = planned(level)
            if not plans:
                return NO_KERNEL
            if not all(map(_fits, plans)):
                return TOO_LARGE
            found[level] = [_computed(graph, plan) for plan in plans]
    given, *_ = ([one for one, _ in pairs] for pairs in found.values())
    return Results(_digest(given), {level: _digest([one for _, one in pairs]) for level, pairs in found.items()})


def read() -> dict[str, Results]:
    """The file, by graph."""
    lines = (line.split() for line in FILE.read_text().splitlines() if line and not line.startswith("#"))
    return {graph: Results(given, dict(zip(ISA_LEVELS, digests, strict=True))) for graph, given, *digests in lines}


def made_with() -> str:
    """Versions of the packages with which the file was written."""
    return FILE.read_text().splitlines()[1].removeprefix("# ")


def write(found: Mapping[str, Results]) -> None:
    """Replace the file."""
    heading = f"# graph, digest of inputs and constants, digests of results: {', '.join(ISA_LEVELS)}\n# {stored.versions()}"
    FILE.write_text("\n\n".join([heading, *(found[graph].line(graph) for graph in sorted(found))]) + "\n")


def _fits(plan: Any) -> bool:
    floors = [one.floor for one in plan.plans]
    return sum(one.flops for one in floors) <= LARGEST_FLOPS and sum(one.compulsory_bytes for one in floors) <= LARGEST_BYTES


def _computed(graph: str, plan: Any) -> tuple[str, str]:
    """The digests of what is given and of the results."""
    artifact = compiler.generate(plan)
    asked = replace(plan.graph, constants=plan.given)
    loaded, read = loading.load(artifact, asked, plan.machine, threads=1)
    constants = [constant.array for _, constant in plan.given]
    for limits in INTEGERS:
        inputs = list(_inputs(graph, artifact, len(asked.inputs), limits))
        try:
            outputs = [_run(loaded, [*inputs, *read], before) for before in (0, 255)]
        except PositionError:
            continue
        first, second = map(digest_of, outputs)
        assert first == second, f"{graph} gives other results in a second call"
        return _digest([digest_of(constants), digest_of(inputs)]), first
    raise AssertionError(f"{graph} takes no integers")


def _run(loaded: Any, inputs: Sequence[Array], before: int) -> list[Array]:
    """The results, in memory that held these bytes before."""
    outputs: list[Array] = loaded.new_outputs(inputs)
    for output in outputs:
        output.view(np.uint8).fill(before) if output.ndim else output.fill(0)
    loaded.run(inputs, outputs)
    return outputs


def _inputs(graph: str, artifact: Artifact, count: int, limits: tuple[int, int]) -> Iterator[Array]:
    sizes = _sizes(artifact.signature.symbols)
    for number, slot in enumerate(artifact.signature.inputs[:count]):
        numbers = np.random.default_rng(zlib.crc32(f"{graph} {number}".encode()))
        yield _filled(
            numbers, dtype_named(slot.dtype), [one if isinstance(one, int) else sizes[one] for one in slot.shape], limits
        )


def _sizes(symbols: Sequence[Symbol]) -> dict[str, int]:
    dimensions = {one.name: min(max(one.low, SIZE), one.high) for one in symbols if one.extent is None}
    return dimensions | {one.name: value_of(one.extent, dimensions) for one in symbols if one.extent is not None}


def _filled(numbers: np.random.Generator, dtype: np.dtype[Any], shape: Sequence[int], limits: tuple[int, int]) -> Array:
    """Integers of at most 16 bits take all values."""
    if dtype == np.bool_:
        return numbers.integers(2, size=shape).astype(dtype)
    if not np.issubdtype(dtype, np.integer):
        return np.asarray(numbers.standard_normal(shape)).astype(dtype)
    info = np.iinfo(dtype)
    least, end = (info.min, info.max + 1) if dtype.itemsize <= 2 and limits is INTEGERS[0] else limits
    return np.asarray(numbers.integers(max(least, info.min), end, size=shape)).astype(dtype)


def digest_of(arrays: Iterable[Array]) -> str:
    """Of types, shapes and bits, in order."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.name} {array.shape} ".encode())
        found.update(np.ascontiguousarray(_with_one_nan(array)).view(np.uint8).tobytes())
    return found.hexdigest()[:DIGEST_DIGITS]


def _with_one_nan(array: Array) -> Array:
    is_nan = np.zeros(array.shape, bool) if array.dtype.kind in "biu" else np.asarray(array != array)
    return np.where(is_nan, np.array(np.nan, array.dtype), array) if is_nan.any() else array


def _digest(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else hashlib.sha256(" ".join(texts).encode()).hexdigest()[:DIGEST_DIGITS]
