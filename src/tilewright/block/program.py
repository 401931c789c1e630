"""Regions of a block program: statements that threads run together, one region after the other, and walks over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from tilewright.block.memory import Buffer, Lifetime
from tilewright.block.statements import THREADS, For, If, Statement
from tilewright.records import record


@record
class Region:
    """Statements that all threads run together, before the next region begins.

    Loops of level `THREADS` stand each as the last statement of the one around it. Without any, one thread runs the body.
    """

    name: str
    body: tuple[Statement, ...]
    buffers: tuple[Buffer, ...] = ()
    """All that statements use beside tensors of the graph and `constants`."""
    constants: tuple[Region, ...] = ()
    """Regions that run once, when the kernel is loaded, and whose buffers this one reads."""
    block_ns: int = 0
    """What one block is expected to take."""

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        """The buffers of every thread."""
        return tuple(buffer for buffer in self.buffers if buffer.lifetime is Lifetime.THREAD)

    @property
    def setup(self) -> tuple[Statement, ...]:
        """What a thread does before its first block: packing for what follows, where no loop is distributed."""
        moves = tuple(takewhile(lambda statement: statement.moves, self.body))
        return entered(self.body) if self.parallel else moves[: len(self.body) - 1]

    @property
    def parallel(self) -> tuple[For, ...]:
        """The loops whose blocks are distributed, outermost first."""
        loops: list[For] = []
        body = self.body
        while (inner := distributed(body)) is not None:
            loops.append(inner)
            body = inner.body
        return tuple(loops)

    @property
    def block(self) -> tuple[Statement, ...]:
        """What is done in every block of all distributed loops."""
        return self.parallel[-1].body if self.parallel else self.body[len(self.setup) :]

    def nodes(self) -> Iterator[Statement]:
        """Everything that a call does, in order."""
        yield from walk(self.body)

    def mapped(self, change: Callable[[Statement], Iterable[Statement]]) -> Region:
        """The region with other statements in the place of each."""
        return replace(self, body=mapped(self.body, change))


def distributed(body: Sequence[Statement]) -> For | None:
    """The loop at the end of a body whose blocks are distributed."""
    last = body[-1] if body else None
    return last if isinstance(last, For) and last.level == THREADS else None


def entered(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """What stands before that loop."""
    return body if distributed(body) is None else body[:-1]


def nested(loops: Iterable[For], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Distributed loops inside each other around a body; what they hold stands before the loop inside."""
    for loop in reversed(list(loops)):
        body = (replace(loop, body=(*loop.body, *body), level=THREADS),)
    return body


def mapped(nodes: Iterable[Statement], change: Callable[[Statement], Iterable[Statement]]) -> tuple[Statement, ...]:
    """Other statements in the place of each, at any depth; loops and conditions around them stay."""
    found: list[Statement] = []
    for node in nodes:
        found += [replace(node, body=mapped(node.body, change))] if isinstance(node, For | If) else change(node)
    return tuple(found)


def walk(nodes: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, those in the bodies of others behind them."""
    for node in nodes:
        yield node
        if isinstance(node, For | If):
            yield from walk(node.body)
