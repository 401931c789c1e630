"""Byte traces of all graphs of replay beside their movement: `pytest -m sweep -s tests/sweeps/test_byte_traces.py`."""

from __future__ import annotations

import pytest

from tests.oracles.byte_traces import main
from tests.replay import stored

MACHINES = (stored.MACHINE, "zen5", "x86-64-v3", "neoverse-v2")


@pytest.mark.sweep
@pytest.mark.parametrize("machine", MACHINES)
def test_plans_move_what_their_programs_want(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([machine])
    printed = capsys.readouterr().out
    print(printed)
    assert " other" not in printed
