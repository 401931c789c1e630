"""The smallest program that fails in the same way: fewer steps, operands, repetitions and dimensions, and shorter ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.support.random.extremes.program import Program
from tests.support.sweeps import Outcome


def shrunk(program: Program, cause: str, judge: Callable[[Program], Outcome]) -> Program:
    """A program of which nothing can be left out, halved, or lowered by one."""
    while True:
        smaller = next((one for one in _smaller(program) if judge(one).cause == cause), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: Program) -> Iterator[Program]:
    for number in range(len(program.steps)) if len(program.steps) > 1 else ():
        yield replace(program, steps=program.steps[:number] + program.steps[number + 1 :])
    if program.family == "wide":
        for count in _lower(len(program.shapes), 2):
            yield replace(program, shapes=program.shapes[:count], count=count)
        if program.end != "x":
            yield replace(program, end="x")
    if program.family == "deep":
        yield from (replace(program, count=count) for count in _lower(program.count, 1))
        yield from (replace(program, shapes=program.shapes[:count]) for count in _lower(len(program.shapes), 1))
    for extent in sorted({extent for shape in program.shapes for extent in shape}, reverse=True):
        for less in _lower(extent, 1):
            shapes = tuple(tuple(less if one == extent else one for one in shape) for shape in program.shapes)
            yield replace(program, shapes=shapes)


def _lower(number: int, least: int) -> Iterator[int]:
    """The half, three quarters, and one less, as far as they are other numbers that are not below the least."""
    yield from (less for less in dict.fromkeys((number // 2, number * 3 // 4, number - 1)) if least <= less < number)
