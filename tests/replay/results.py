"""Results of the graphs, bit by bit: one digest for every level of x86-64, of inputs that the graph's name is the seed of.

A graph is planned for the machine that has a level's name, whose caches and cores are those of a file, and not of this host: what is
compiled is then the same everywhere. One thread computes it. What else could have a say is kept apart: a digest of the inputs and the
graph's constants is stored beside those of the results, since weights of a model that torch draws, and constants that NumPy folds,
are made by other instructions on another CPU.

A NaN counts as a NaN: which operand's payload and sign it has, a compiler decides when it orders the operands of a sum.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from tests.replay.planning import Planned
from tests.replay.record import DIGEST_DIGITS
from tilewright import compiler
from tilewright.backends import loading
from tilewright.codegen.artifact import Artifact, TensorSlot
from tilewright.machine import Machine
from tilewright.runtime.arrays import dtype_named
from tilewright.settings import ISA_LEVELS

LARGEST_FLOPS = 2e9
LARGEST_BYTES = 256 << 20
"""Of a graph that is run: a fifth of a second at level 2."""
UNKNOWN = "-"
TOO_LARGE, NO_KERNEL = "too large", "without a kernel"

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Results:
    """Digests of a graph: of what goes in, and of what comes out."""

    given: str
    results: str


def executable_levels() -> tuple[str, ...]:
    """The levels that this CPU has all features of."""
    host = Machine.detect().features
    return tuple(level for level in ISA_LEVELS if Machine.named(level).features <= host)


def results(graph: str, planned: Planned, level: str) -> Results | str:
    """The digests of a graph, or why it is left out."""
    with mock.patch.dict(os.environ, TILEWRIGHT_MAX_ISA=level):
        plans = planned(level)
        if not plans:
            return NO_KERNEL
        found = [_results(graph, plan) if _fits(plan) else TOO_LARGE for plan in plans]
    left_out = [one for one in found if isinstance(one, str)]
    return left_out[0] if left_out else Results(*(_joined(parts) for parts in zip(*found, strict=True)))


def inputs_of(graph: str, artifact: Artifact, slots: Sequence[TensorSlot], sizes: dict[str, int]) -> list[Array]:
    """Arrays for the inputs of a graph. Positions are in their dimensions: what looks them up would refuse others."""
    return [_filled(f"{graph} {number}", slot, sizes) for number, slot in enumerate(slots)]


def digest_of(arrays: Sequence[Array]) -> str:
    """Of types, shapes and bits; every NaN counts as the same one."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype} {array.shape} ".encode())
        found.update(np.ascontiguousarray(_with_one_nan(array)).tobytes())
    return found.hexdigest()[:DIGEST_DIGITS]
