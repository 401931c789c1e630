"""Plans and C text of every graph are those that the repository announces; of some subjects a part everyday, others `rest`."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from tests.replay import stored
from tests.replay.planning import SUBJECTS, graphs_of
from tests.replay.record import record

HOW = """\
{count} of {all} graphs of '{subject}' changed unannounced:
  {changed}
See how they differ from a revision (HEAD, or the one that you started from):
  python -m tests.replay --against HEAD --only {subject}
If that is meant, announce it, commit tests/replay/digests.txt and say why in the message:
  python -m tests.replay --write"""


LONG = {"models": 2, "node_cases": 3}
"""Of so many graphs one is taken everyday, by their names."""


def is_everyday(graph: str) -> bool:
    return zlib.crc32(graph.encode()) % LONG.get(graph.partition("/")[0], 1) == 0


def is_other(graph: str) -> bool:
    return not is_everyday(graph)


@pytest.mark.unverified
@pytest.mark.parametrize(
    ("subject", "takes"),
    [
        *(pytest.param(subject, is_everyday, id=subject) for subject in SUBJECTS),
        *(pytest.param(subject, is_other, marks=pytest.mark.rest, id=f"{subject}-others") for subject in LONG),
    ],
)
def test_nothing_changes_unannounced(subject: str, takes: Callable[[str], bool]) -> None:
    graphs = {f"{subject}/{name}": planned for name, planned in graphs_of(subject).items() if takes(f"{subject}/{name}")}
    found = {graph: record(planned, stored.MACHINE).line(graph, stored.MACHINE) for graph, planned in graphs.items()}
    changed = [told for told in stored.changed(found, [subject]) if takes(told.partition(":")[0])]
    message = HOW.format(count=len(changed), all=len(graphs), subject=subject, changed="\n  ".join(changed))
    if stored.versions() != stored.versions_then():
        message += f"\nThe digests were made with {stored.versions_then()}; here is {stored.versions()}."
    assert not changed, message
