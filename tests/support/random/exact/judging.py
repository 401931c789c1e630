"""What becomes of programs: by the reference of every step, through the rewrites and the interpreter, and as generated code.

Many programs are one graph, which is compiled once. Where something is wrong, each is tried alone, and shrunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tests.support.random.exact.program import Array, Joined, Program, difference, joined
from tests.support.sweeps import EQUAL, WRONG, Outcome, judged, judged_in_child
from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.interpreter import evaluate
from tilewright.graph.verifier import verify
from tilewright.machine import Machine

Judge = Callable[[Sequence[Program]], Outcome]


def by_reference(programs: Sequence[Program]) -> Outcome:
    """What operators give as NumPy."""
    return judged(lambda: _first_wrong(_references(programs)))


def interpreted(programs: Sequence[Program]) -> Outcome:
    """What the interpreter makes of the rewritten graph."""
    return judged(lambda: _compared(programs, _interpreted))


def compiled(target: str, threads: int = 2) -> Judge:
    """What generated code gives on a target."""

    def run(one: Joined) -> Mapping[str, Array]:
        model_plan = compiler.plan(one.graph, Machine.named(target))
        given = replace(model_plan.graph, constants=model_plan.given)
        executable, constants = loading.load(compiler.generate(model_plan), given, model_plan.machine, threads=threads)
        inputs = [*(one.feeds[name] for name in one.graph.inputs), *constants]
        outputs = executable.new_outputs(inputs)
        executable.run(inputs, outputs)
        return dict(zip(one.graph.outputs, outputs, strict=True))

    return lambda programs: judged(lambda: _compared(programs, run))


def failures(programs: Sequence[Program], judge: Judge) -> list[tuple[Program, Outcome]]:
    """The programs that fail, each as the smallest one that fails in the same way, in processes of their own."""
    if judge(programs).kind == EQUAL:
        return []
    if len(programs) > 1:
        middle = len(programs) // 2
        return [*failures(programs[:middle], judge), *failures(programs[middle:], judge)]
    found = judged_in_child(lambda: judge(programs))
    smallest = shrunk(programs[0], found.kind, judge)
    return [(smallest, judged_in_child(lambda: judge([smallest])))]


def shrunk(program: Program, kind: str, judge: Judge) -> Program:
    """A program of which no step, and no number that is given, can be left out; what a removed step made is given."""

    def fails(one: Program) -> bool:
        return bool(one.steps) and judged_in_child(lambda: judge([one])).kind == kind

    for result in program.results:
        alone = _leading_to(program, result)
        if fails(alone):
            program = alone
            break
    while True:
        cuts = (program.with_steps([s for s in program.steps if s is not step]) for step in program.steps)
        smaller = next((cut for cut in cuts if fails(cut)), None)
        if smaller is None:
            return program
        program = smaller


def _leading_to(program: Program, result: str) -> Program:
    """The steps that one result needs."""
    wanted, kept = {result}, []
    for step in reversed(program.steps):
        if step.result in wanted:
            kept.append(step)
            wanted.update(step.operands)
    return program.with_steps(kept[::-1])


def _references(programs: Sequence[Program]) -> list[str]:
    problems = []
    for program in programs:
        for step in program.steps:
            with np.errstate(all="ignore"):
                found = step.operator().reference(*(program.values[name] for name in step.operands))
            problem = difference(np.asarray(found), program.values[step.result])
            problems += [f"{step.text()}: {problem}"] if problem else []
    return problems


def _compared(programs: Sequence[Program], run: Callable[[Joined], Mapping[str, Array]]) -> Outcome:
    one = joined(programs)
    if not one.outputs:
        return Outcome(EQUAL)
    found = run(one)
    wanted = {name: programs[number].values[result] for name, (number, result) in one.outputs.items()}
    problems = {name: difference(found[name], value) for name, value in wanted.items()}
    return _first_wrong([f"{one.outputs[name][1]}: {problem}" for name, problem in problems.items() if problem])


def _interpreted(one: Joined) -> Mapping[str, Array]:
    verify(one.graph)
    return evaluate(compiler.rewrite(one.graph), one.feeds)


def _first_wrong(problems: Sequence[str]) -> Outcome:
    return Outcome(WRONG, problems[0]) if problems else Outcome(EQUAL)


def told(programs: Sequence[Program], judge: Judge) -> tuple[str, int]:
    """The text of all failures among programs, and their number. A refusal is one, too: all of these have a result."""
    found = failures(programs, judge)
    return "\n\n".join(f"{what.kind}: {what.reason}\n{program.text()}" for program, what in found), len(found)
