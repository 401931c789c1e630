"""Entries of constants follow what rewrites make of their tensors; the verifier finds those that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.rewrites.index_changes.reorder_dimensions import with_orders
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def graph() -> Graph:
    """The sum of a known matrix and an input."""
    builder = Builder("sum")
    x = builder.input("x", (2, 3), "float32")
    return builder.graph([builder.map("add", builder.literal(MATRIX, "matrix"), x).name])


def test_entries_are_reordered_with_the_dimensions() -> None:
    assert graph().tensor("matrix").entries == (0, 1, 2, 3, 4, 5)
    assert with_orders(graph(), {"matrix": (1, 0)}).tensor("matrix").entries == (0, 3, 1, 4, 2, 5)


def test_the_verifier_finds_entries_that_are_not_those_of_the_constant() -> None:
    whole = graph()
    wrong = [replace(t, entries=(0.0,) * 6) if t.name == "matrix" else t for t in whole.tensors]
    verify(whole)
    with pytest.raises(InternalError, match="the entries of 'matrix' are not those of its constant"):
        verify(replace(whole, tensors=tuple(wrong)))
