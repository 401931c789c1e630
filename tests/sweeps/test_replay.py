"""Plans, C texts and object code of all graphs, for every named machine, beside those of the revision before.

    pytest -m sweep -s tests/sweeps/test_replay.py

`TILEWRIGHT_REPLAY_AGAINST` names another revision. What changed is printed. Nothing may change, object code included, unless that
is announced: the digests in the repository changed, too.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter

import pytest

from tests.replay.comparing import ROOT, compare
from tests.replay.stored import FILE
from tilewright.machine import targets

REVISION = os.environ.get("TILEWRIGHT_REPLAY_AGAINST", "HEAD~1")


@pytest.mark.sweep
def test_all_machines_and_the_object_code() -> None:
    changed = []
    for changes in compare(REVISION, targets.names(), with_code=True):
        counts = Counter(kind for change in changes for kind in change.kinds)
        changed += [f"{one.graph} for {one.machine}: {', '.join(one.kinds)}" for one in changes if one.kinds]
        print(f"{changes[0].machine}: {len(changes)} graphs, {dict(counts) or 'nothing changed'}", flush=True)
    print(*changed, sep="\n")
    assert not changed or _is_announced()


def _is_announced() -> bool:
    """Whether the digests in the repository changed since then, too."""
    return subprocess.run(["git", "-C", str(ROOT), "diff", "--quiet", REVISION, "--", str(FILE)], check=False).returncode != 0
