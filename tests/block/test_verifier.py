"""Verifier of block programs: what plans become is right, and every kind of damage is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from tests.oracles.programs import fused, program
from tests.replay import stored
from tests.replay.planning import SUBJECTS, graphs_of
from tilewright.block.integers import Variable, VariableKind, equal
from tilewright.block.memory import Buffer, BufferName, Lifetime
from tilewright.block.program import Region
from tilewright.block.statements import If, MatrixTiles, Statement, Transfer
from tilewright.errors import InternalError
from tilewright.lower.program import verify_program
from tilewright.render.c.program import Program, lower_program

EXTENTS, TILES = {"m": 20, "n": 70, "k": 9, "l": 33}, {"m": 8, "n": 64, "k": 4, "l": 16}
PACKED = "D packed"
Damage = Callable[[Region], Region]


def small() -> Program:
    return program(*fused(EXTENTS, TILES), ("m",))


def statements(change: Callable[[Statement], Iterable[Statement]]) -> Damage:
    return lambda region: region.mapped(change)


def buffers(change: Callable[[Buffer], Iterable[Buffer]]) -> Damage:
    return lambda region: replace(region, buffers=tuple(other for one in region.buffers for other in change(one)))


def of_packed(**changes: object) -> Damage:
    return buffers(lambda one: (replace(one, **changes) if str(one.name) == PACKED else one,))


def elsewhere(node: Statement, offset: object) -> tuple[Statement, ...]:
    if not isinstance(node, MatrixTiles):
        return (node,)
    left = node.tile.roles.left
    return (replace(node, reads=tuple(replace(read, offset=offset) if n == left else read for n, read in enumerate(node.reads))),)


def writes(node: Statement, tensor: str) -> bool:
    return isinstance(node, MatrixTiles) and node.write.buffer == BufferName(tensor)


def copied_by_first(region: Region) -> Region:
    """The first block packs for all."""
    is_first = equal(Variable(VariableKind.BLOCK_START, "m"), 0)
    copy = statements(lambda node: (If(is_first, (node,)),) if isinstance(node, Transfer) else (node,))
    return of_packed(lifetime=Lifetime.TEAM)(copy(region))


NOWHERE = Variable(VariableKind.BLOCK_START, "nowhere")
DAMAGES: dict[str, tuple[Damage, str]] = {
    "a copy is left out": (statements(lambda node: () if isinstance(node, Transfer) else (node,)), "are read.*written are None"),
    "a result is left out": (statements(lambda node: () if writes(node, "E") else (node,)), "nothing writes E"),
    "a buffer is too short": (of_packed(elements=16 * 64 - 1), f"of {PACKED} are touched"),
    "a buffer is too long": (of_packed(elements=2 * 16 * 64), f"{PACKED} has 2048 elements"),
    "a buffer of a team is too long": (of_packed(elements=2 * 16 * 64, lifetime=Lifetime.TEAM), f"{PACKED} has 2048 elements"),
    "a block reads what another one writes": (copied_by_first, "are read.*written are None"),
    "a buffer of another type": (of_packed(dtype="int32"), f"{PACKED} is touched as float32"),
    "a buffer that nobody declares": (buffers(lambda one: ()), "nobody declares"),
    "a buffer that nothing touches": (buffers(lambda one: (one, replace(one, name=BufferName("other")))), "other is declared"),
    "a place before the buffer": (statements(lambda node: elsewhere(node, -1)), "elements -1"),
    "a variable that nobody defines": (statements(lambda node: elsewhere(node, NOWHERE)), "nowhere.*not defined"),
    "buffers in one place": (buffers(lambda one: (replace(one, reuse_group=0),)), "are read.*written are None"),
}


def test_the_program_that_is_damaged_is_right() -> None:
    verify_program(small())


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name: str) -> None:
    one, (damage, message) = small(), DAMAGES[name]
    with pytest.raises(InternalError, match=message):
        verify_program(replace(one, regions=tuple(map(damage, one.regions))))


def check(subject: str, step: int = 1) -> None:
    for planned in list(graphs_of(subject).values())[::step]:
        for model_plan in planned(stored.MACHINE):
            verify_program(lower_program(model_plan))


@pytest.mark.parametrize("subject", ["rows", "convolutions", "scalar_loops"])
def test_plans_become_programs_that_are_right(subject: str) -> None:
    check(subject, step=8)


@pytest.mark.sweep
@pytest.mark.parametrize("subject", SUBJECTS)
def test_all_plans_become_programs_that_are_right(subject: str) -> None:
    check(subject)
