"""Plans, C texts and object code of all graphs, for every named machine, beside those of the revision before; and their results.

    pytest -m sweep -s tests/sweeps/test_replay.py

`TILEWRIGHT_REPLAY_AGAINST` names another revision. What changed is printed. Nothing may change, object code included, unless that
is announced: the digests in the repository changed, too. Results are computed at every level of x86-64 that this CPU has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.replay.comparing import ROOT, compare
from tests.replay.stored import FILE
from tilewright.machine import targets

REVISION = os.environ.get("TILEWRIGHT_REPLAY_AGAINST", "HEAD~1")


@pytest.mark.sweep
def test_all_machines_and_the_object_code() -> None:
    changed = []
    for changes in compare(REVISION, targets.names("cpu"), with_code=True):
        counts = Counter(kind for change in changes for kind in change.kinds)
        changed += [f"{one.graph} for {one.machine}: {', '.join(one.kinds)}" for one in changes if one.kinds]
        print(f"{changes[0].machine}: {len(changes)} graphs, {dict(counts) or 'nothing changed'}", flush=True)
    print(*changed, sep="\n")
    assert not changed or _is_announced()


@pytest.mark.sweep
def test_no_bit_of_a_result_changed() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.replay", "--results"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    print(run.stdout)
    assert run.returncode == 0


def _is_announced() -> bool:
    """Whether the digests in the repository changed since then, too."""
    return subprocess.run(["git", "-C", str(ROOT), "diff", "--quiet", REVISION, "--", str(FILE)], check=False).returncode != 0
