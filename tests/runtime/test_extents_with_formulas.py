"""Outputs whose extents are formulas of dimensions: allocated, checked by the launcher, and told in words."""

import numpy as np
import pytest

from tilewright import compiler
from tilewright.backends import loading
from tilewright.errors import ShapeError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import arange
from tilewright.graph.expressions.extents import SymbolicExtent, maximum, minimum, minus, plus, quotient, times
from tilewright.machine.machine import Machine

S, T = SymbolicExtent("s", 0, 9, 9), SymbolicExtent("t", 1, 5, 5)
FORMULAS = {
    "sum": (plus(S, T, 2), lambda s, t: s + t + 2),
    "product": (times(S, T, 3), lambda s, t: 3 * s * t),
    "quotient": (quotient(plus(times(S, 2), 1), T), lambda s, t: (2 * s + 1) // t),
    "minimum": (minimum(S, times(T, 2)), lambda s, t: min(s, 2 * t)),
    "maximum": (maximum(minus(S, T), 0), lambda s, t: max(s - t, 0)),
}


def _loaded(extent):
    builder = Builder("counted")
    builder.input("x", (S, T), "float32")
    result = builder.record(arange, extent, 0, 1, "float32", kind="arange")
    graph = builder.graph((result.name,))
    machine = Machine.named("x86-64-v2")
    executable, _ = loading.load(compiler.generate(compiler.plan(graph, machine)), graph, machine, threads=1)
    return executable


@pytest.mark.parametrize("name", FORMULAS)
def test_outputs_have_the_extent_of_the_formula(name):
    extent, value = FORMULAS[name]
    executable = _loaded(extent)
    for s, t in ((0, 1), (1, 1), (7, 2), (9, 5), (2, 5)):
        x = np.zeros((s, t), np.float32)
        (output,) = executable.new_outputs([x])
        executable.run([x], [output])
        assert output.tolist() == list(range(value(s, t)))


def test_an_output_of_another_extent_is_refused_in_words():
    executable = _loaded(plus(S, T, 2))
    x = np.zeros((4, 3), np.float32)
    with pytest.raises(ShapeError, match=r"shape \(8,\), expected \(s \+ t \+ 2,\)[\s\S]*s \+ t \+ 2 is 9"):
        executable.run([x], [np.zeros(8, np.float32)])
    with pytest.raises(ShapeError, match=r"t must lie in 1\.\.5"):
        executable.run([np.zeros((4, 6), np.float32)], [np.zeros(12, np.float32)])


def test_ranges_beyond_the_numbers_of_c_are_not_told():
    s, t = SymbolicExtent("s", 1, 1 << 40, 128), SymbolicExtent("t", 1, 1 << 40, 128)
    builder = Builder("large")
    x = builder.input("x", (s, t), "float32")
    result = builder.reshape(builder.map("exp", x), (times(s, t),))
    graph = builder.graph((result.name,))
    machine = Machine.named("x86-64-v2")
    executable, _ = loading.load(compiler.generate(compiler.plan(graph, machine)), graph, machine, threads=1)
    assert str(1 << 80) not in executable.source
    x = np.zeros((3, 5), np.float32)
    (output,) = executable.new_outputs([x])
    executable.run([x], [output])
    assert output.tolist() == [1.0] * 15
