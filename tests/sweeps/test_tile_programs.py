"""Random tile programs in C and assembly beside the interpreter: `pytest -m sweep -s tests/sweeps/test_tile_programs.py`.

`TILEWRIGHT_SWEEP_COUNT` is the number of programs for each dialect and compiler, `TILEWRIGHT_SWEEP_SEED` the first seed. With
wrong entries in the tables of dialects some program must differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from tests.support.kernel_build import COMPILERS, command
from tests.support.random.tiles import case, register_case
from tests.support.sweeps import seeds
from tests.support.tiles import Case, InAssembly, InC, Legalised, differences, here
from tilewright.tile.dialects.description import Dialect, Key
from tilewright.tile.operations import Operation
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.passes.support import key_types
from tilewright.tile.program import Instruction, statements

pytestmark = pytest.mark.sweep

COUNT = 2000
BATCH = 100
"""Programs that are compiled together."""
DIALECTS = {one.name: one for one in here()}
NEIGHBOURS = {
    Operation.ADD: Operation.SUBTRACT,
    Operation.SUBTRACT: Operation.ADD,
    Operation.MULTIPLY: Operation.ADD,
    Operation.DIVIDE: Operation.MULTIPLY,
    Operation.SMALLER: Operation.LARGER,
    Operation.LARGER: Operation.SMALLER,
    Operation.FLOOR: Operation.CEIL,
    Operation.CEIL: Operation.TRUNCATE,
    Operation.TRUNCATE: Operation.ROUND,
    Operation.ROUND: Operation.FLOOR,
    Operation.AND: Operation.OR,
    Operation.OR: Operation.XOR,
    Operation.XOR: Operation.AND,
    Operation.EQUAL: Operation.UNEQUAL,
    Operation.UNEQUAL: Operation.EQUAL,
    Operation.LESS: Operation.LESS_EQUAL,
    Operation.LESS_EQUAL: Operation.LESS,
    Operation.GREATER: Operation.GREATER_EQUAL,
    Operation.GREATER_EQUAL: Operation.GREATER,
    Operation.SHIFT_LEFT: Operation.SHIFT_RIGHT,
    Operation.SHIFT_RIGHT: Operation.SHIFT_LEFT,
}
"""What a wrong entry computes."""
USERS = 48
"""Programs that use an entry, of which one must differ where it is wrong."""
UNSEEN = 0.05
"""Wrong entries that no program may show: an order that differs for equal numbers, in code that never asks for these."""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", DIALECTS)
def test_programs(name: str, compiler: str) -> None:
    if command(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    rendering, numbers = InC(DIALECTS[name], compiler), _seeds(name)
    found: list[str] = []
    for batch in _batches(numbers):
        found += differences(batch, rendering)
    print(f"{rendering.name}: {len(numbers)} programs from {numbers.start} on, {len(found)} differ")
    assert not found, found[0]


@pytest.mark.parametrize("name", [name for name, one in DIALECTS.items() if "fma" in one.features])
def test_in_assembly(name: str) -> None:
    rendering, numbers = InAssembly(DIALECTS[name]), _seeds(name)
    found: list[str] = []
    for first in range(numbers.start, numbers.stop, BATCH):
        drawn = (register_case(seed, f"tile{seed}", DIALECTS[name].vector_bits) for seed in range(first, first + BATCH))
        found += differences([one for one in drawn if rendering.assembles(one.program)], rendering)
    assert not found, found[0]


@pytest.mark.parametrize("name", DIALECTS)
def test_legalised(name: str) -> None:
    found = [text for batch in _batches(_seeds(name)) for text in differences(batch, Legalised(DIALECTS[name]))]
    assert not found, found[0]


@pytest.mark.parametrize("name", DIALECTS)
def test_wrong_entries_are_found(name: str) -> None:
    dialect = DIALECTS[name]
    users = _users(dialect, [case(seed, f"tile{seed}") for seed in _seeds(name)[:1000]])
    survivors = []
    for key, mutant in _mutants(dialect):
        groups = [users[key][first : first + 8] for first in range(0, len(users[key]), 8)]
        if groups and not any(differences(group, InC(mutant)) for group in groups):
            survivors.append(key)
    print(f"{name}: {sum(bool(users[key]) for key, _ in _mutants(dialect))} wrong entries, not found: {survivors}")
    assert len(survivors) <= UNSEEN * len(users)


def _seeds(name: str) -> range:
    """Other programs for every dialect."""
    numbers = seeds(COUNT)
    offset = list(DIALECTS).index(name) * len(numbers)
    return range(numbers.start + offset, numbers.stop + offset)


def _batches(numbers: range) -> Iterator[list[Case]]:
    for first in range(numbers.start, numbers.stop, BATCH):
        yield [case(seed, f"tile{seed}") for seed in range(first, min(first + BATCH, numbers.stop))]


def _mutants(dialect: Dialect) -> Iterator[tuple[Key, Dialect]]:
    """Each entry that computes what another one should."""
    for key, entry in dialect.table.items():
        operation = next((one for one in NEIGHBOURS if one == key[0]), None)
        wrong = None if operation is None else dialect.table.get((NEIGHBOURS[operation], *key[1:]))
        if wrong is not None and wrong != entry:
            yield key, replace(dialect, table={**dialect.table, key: wrong})


def _users(dialect: Dialect, cases: Sequence[Case]) -> Mapping[Key, list[Case]]:
    """Of each entry, some programs that use it."""
    found: dict[Key, list[Case]] = defaultdict(list)
    for one in cases:
        body = legalise(one.program, dialect).body
        made = [statement for statement in statements(body) if isinstance(statement, Instruction)]
        for key in {(one.operation, *key_types(one.operation, one.type, one.operands)) for one in made if one.type.lanes > 1}:
            if len(found[key]) < USERS:
                found[key].append(one)
    return found
