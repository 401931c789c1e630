"""The smallest program that fails in the same way: nodes are removed, greedily, as long as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from tests.support.random.onnx.program import Program, reads
from tests.support.sweeps import Outcome


def shrunk(program: Program, cause: str, judge: Callable[[Program], Outcome]) -> Program:
    """A program of which no single node, and no output, can be left out; what a removed node made becomes an input."""
    while True:
        smaller = next((one for one in _smaller(program) if one.is_complete() and judge(one).cause == cause), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: Program) -> Iterator[Program]:
    """Programs with less in them, the smallest first: the half that leads to a value, then all but one node or output."""
    count = len(program.nodes)
    if count > 4:
        for node in program.nodes[: count // 2 + 1][::-1]:
            yield program.with_nodes(program.nodes, tuple(name for name in node.output if name)).live()
        yield _cut(program, program.nodes[count // 2 :])
    for output in program.outputs if len(program.outputs) > 1 else ():
        yield program.with_nodes(program.nodes, (output,)).live()
    for output in program.outputs if len(program.outputs) > 2 else ():
        yield program.with_nodes(program.nodes, tuple(name for name in program.outputs if name != output)).live()
    for number in range(count if count > 1 else 0):
        yield _cut(program, program.nodes[:number] + program.nodes[number + 1 :])


def _cut(program: Program, nodes: tuple[onnx.NodeProto, ...]) -> Program:
    """Only these nodes. Outputs that were made by others are replaced by what the rest makes and nobody reads."""
    made = [name for node in nodes for name in node.output]
    kept = tuple(name for name in program.outputs if name in made)
    if not kept:
        read = {name for node in nodes for name in reads(node)}
        kept = tuple(name for name in made if name not in read)
    return program.with_nodes(nodes, kept).live()
