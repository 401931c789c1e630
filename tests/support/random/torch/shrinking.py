"""The smallest program that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.support.random.torch.program import Options, Program
from tests.support.random.torch.values import Given
from tests.support.sweeps import Outcome

MOST_ATTEMPTS = 120


def shrunk(program: Program, cause: str, judge: Callable[[Program], Outcome]) -> Program:
    """A program of which no line, output, call or option can be left out; what a removed line made becomes an argument."""
    left = MOST_ATTEMPTS
    while left > 0:
        for smaller in _smaller(program):
            left -= 1
            if judge(smaller).cause == cause:
                program = smaller
                break
            if left <= 0:
                return program
        else:
            return program
    return program


def _smaller(program: Program) -> Iterator[Program]:
    if len(program.calls) > 1:
        yield replace(program, calls=program.calls[:1])
        yield from (replace(program, calls=program.calls[:n] + program.calls[n + 1 :]) for n in range(len(program.calls)))
    if len(program.outputs) > 1:
        yield from (replace(program, outputs=(one,)) for one in program.outputs)
        yield from (replace(program, outputs=program.outputs[:n] + program.outputs[n + 1 :]) for n in range(len(program.outputs)))
    yield from _with_fewer_lines(program)
    if program.options != Options():
        yield replace(program, options=Options())
    yield from (replace(program, arguments=some) for some in _plainer(program.arguments))
    yield from (replace(program, parameters=some) for some in _plainer(program.parameters))
    yield from (replace(program, buffers=some) for some in _plainer(program.buffers))


def _plainer(given: tuple[Given, ...]) -> Iterator[tuple[Given, ...]]:
    """Without one, or with one that lies as usual."""
    yield from (given[:n] + given[n + 1 :] for n in range(len(given)))
    yield from ((*given[:n], replace(one, layout=""), *given[n + 1 :]) for n, one in enumerate(given) if one.layout)


def _with_fewer_lines(program: Program) -> Iterator[Program]:
    lines = program.lines
    for name in (line.name for line in reversed(lines[:-1]) if line.name and program.outputs != (line.name,)):
        yield replace(program, outputs=(name,))
    for number in reversed(range(len(lines) if len(lines) > 1 else 0)):
        yield replace(program, lines=lines[:number] + lines[number + 1 :])
    for number, line in enumerate(lines if len(lines) > 1 else ()):
        if line.name:
            given = Given(line.name, line.dtype, line.shape)
            yield replace(program, lines=lines[:number] + lines[number + 1 :], arguments=(*program.arguments, given))
