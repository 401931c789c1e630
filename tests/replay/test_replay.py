"""Plans and C text of every graph are those that the repository announces."""

from __future__ import annotations

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


@pytest.mark.unverified
@pytest.mark.parametrize("subject", SUBJECTS)
def test_nothing_changes_unannounced(subject: str) -> None:
    graphs = {f"{subject}/{name}": planned for name, planned in graphs_of(subject).items()}
    found = {graph: record(planned, stored.MACHINE).line(graph, stored.MACHINE) for graph, planned in graphs.items()}
    changed = stored.changed(found, [subject])
    if changed:
        message = HOW.format(count=len(changed), all=len(graphs), subject=subject, changed="\n  ".join(changed))
        if stored.versions() != stored.versions_then():
            message += f"\nThe digests were made with {stored.versions_then()}; here is {stored.versions()}."
        pytest.fail(message, pytrace=False)
