"""The smallest program that fails in the same way: lines are removed, greedily, as long as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.support.random.jit.program import Program
from tests.support.sweeps import Outcome


def shrunk(program: Program, cause: str, judge: Callable[[Program], Outcome]) -> Program:
    """A program of which no line, output, layout or option can be left out; what a removed line made becomes an argument."""
    while True:
        smaller = next((one for one in _smaller(program) if judge(one).cause == cause), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: Program) -> Iterator[Program]:
    numbers = [line.name for line in program.lines if program.values[line.name].exact.dtype.kind == "f"]
    for name in numbers[:-1] if len(program.lines) > 1 else ():
        yield program.with_lines(program.lines, (name,))
    for name in program.outputs if len(program.outputs) > 1 else ():
        yield program.with_lines(program.lines, tuple(one for one in program.outputs if one != name))
    for number in range(len(program.lines) if len(program.lines) > 1 else 0):
        rest = program.lines[:number] + program.lines[number + 1 :]
        made = {line.name for line in rest}
        outputs = tuple(name for name in program.outputs if name in made)
        if outputs:
            yield program.with_lines(rest, outputs)
    if program.layouts:
        yield replace(program, layouts={})
    for name, plain in (("threads", 1), ("fuse", None), ("dynamic", False), ("target", "x86-64-v2")):
        if program.options[name] != plain:
            yield replace(program, options={**program.options, name: plain})
