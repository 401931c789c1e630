"""Replay: which plans, C texts, object codes and results differ between two revisions.

    python -m tests.replay --against main                       # a summary and differences, for one machine
    python -m tests.replay --against HEAD~1 --machines all --object-code
    python -m tests.replay --against main --only attention/causal --lines 0
    python -m tests.replay --write                              # announce what changed: rewrites digests.txt
    python -m tests.replay --results                            # results, bit by bit, beside those in results.txt
    python -m tests.replay --write-results                      # announce other results

The working tree, with what is not committed, is compared with a revision, which is checked out into a temporary work tree.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.replay import results, stored
from tests.replay.planning import SUBJECTS, Planned, graphs_of
from tests.replay.record import record
from tilewright.machine import targets
from tilewright.settings import ISA_LEVELS

LINES = 40
KINDS = ("plan", "text", "code", "new", "gone")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    doing = parser.add_mutually_exclusive_group(required=True)
    doing.add_argument("--against", metavar="REVISION", help="compare the working tree with this revision")
    doing.add_argument("--write", action="store_true", help="rewrite the digests in the repository, or those of --only")
    doing.add_argument("--results", action="store_true", help="compute results, and compare their digests (see results.py)")
    doing.add_argument(
        "--write-results", action="store_true", help="compute results, and rewrite their digests or those of --only"
    )
    doing.add_argument(
        "--collect", metavar="DIRECTORY", type=Path, help="store the record of every graph as a file (--against uses it)"
    )
    parser.add_argument("--machines", default=stored.MACHINE, help="names with commas between, or all; default: %(default)s")
    parser.add_argument("--levels", default=",".join(ISA_LEVELS), help="of results, with commas between; default: all")
    parser.add_argument("--only", default="", metavar="PREFIX", help="graphs whose subject/name begins so")
    parser.add_argument("--object-code", action="store_true", help="compile texts that differ, and compare the code")
    parser.add_argument("--lines", type=int, default=LINES, help="of each graph's differences; 0: all; default: %(default)s")
    chosen = parser.parse_args()
    machines = targets.names("cpu") if chosen.machines == "all" else tuple(chosen.machines.split(","))
    if chosen.write:
        write(chosen.only)
    elif chosen.results or chosen.write_results:
        are_equal = compute(chosen.only, chosen.levels.split(","), writes=chosen.write_results)
        sys.exit(not are_equal and not chosen.write_results)
    elif chosen.collect:
        collect(chosen.collect, machines[0], chosen.only)
    else:
        try:
            against(chosen.against, machines, chosen.only, chosen.lines, with_code=chosen.object_code)
        except RuntimeError as problem:
            sys.exit(str(problem))


def graphs(only: str = "") -> Iterator[tuple[str, Planned]]:
    """All graphs as subject/name, or those that begin so."""
    for subject in SUBJECTS:
        if f"{subject}/".startswith(only) or only.startswith(f"{subject}/"):
            named = ((f"{subject}/{name}", planned) for name, planned in graphs_of(subject).items())
            yield from ((graph, planned) for graph, planned in named if graph.startswith(only))


def write(only: str) -> None:
    """Announce what graphs are now, all or those that begin so; print which changed."""
    before = stored.read() if stored.FILE.exists() else {}
    kept = before if only else {}
    found = kept | {graph: record(planned, stored.MACHINE).line(graph, stored.MACHINE) for graph, planned in graphs(only)}
    for graph in (one for one in dict.fromkeys([*before, *found]) if before.get(one) != found.get(one)):
        print(f"{graph}: {stored.difference(before.get(graph), found.get(graph))}")
    stored.write(found)


def compute(only: str, levels: Sequence[str], *, writes: bool) -> bool:
    """Compare the results of graphs with those in the repository, and announce them; whether nothing differs."""
    os.environ.update(results.TORCH)
    here = results.executable_levels(levels)
    before, counts = results.read(), Counter[str]()
    found: dict[str, results.Results] = {}
    for graph, planned in graphs(only) if here else ():
        now = results.results(graph, planned, here)
        if isinstance(now, str):
            counts[now] += 1
            continue
        found[graph] = now.completed(before.get(graph))
        changes = now.changes(before.get(graph))
        counts["changed" if changes else "equal"] += 1
        for change in changes:
            print(f"{graph}: {change}", flush=True)
    gone = [] if only or not here else sorted(before.keys() - found.keys())
    print(*(f"{graph}: is gone\n" for graph in gone), sep="", end="")
    print(f"{', '.join(here)}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    print(*(f"{level}: skipped, this CPU cannot execute it\n" for level in levels if level not in here), sep="", end="")
    if writes:
        results.write(before | found if only else found)
    return not counts["changed"] and not gone


def collect(directory: Path, machine: str, only: str) -> None:
    """A file of every graph."""
    for graph, planned in graphs(only):
        record(planned, machine).save(directory / f"{graph}.json")


def against(revision: str, machines: Sequence[str], only: str, lines: int, *, with_code: bool) -> None:
    """Print what differs from a revision, and a summary for every machine."""
    from tests.replay.comparing import compare

    for changes in compare(revision, machines, only, with_code=with_code):
        if not changes:
            raise RuntimeError(f"no graph begins with {only!r}; subjects are {', '.join(SUBJECTS)}")
        for change in (one for one in changes if one.kinds):
            print(f"\n== {change.graph} for {change.machine}: {', '.join(change.kinds)}")
            print(*islice(change.differences(), lines or None), sep="\n")
        counts = Counter(kind for change in changes for kind in change.kinds)
        kinds = KINDS if with_code else [kind for kind in KINDS if kind != "code"]
        print(
            f"{changes[0].machine}: {len(changes)} graphs, " + ", ".join(f"{counts[kind]} {kind}" for kind in kinds), flush=True
        )


if __name__ == "__main__":
    main()
