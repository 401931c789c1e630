"""What was compiled, and what stays in eager mode and why: nothing falls back in silence. Tests and reports read it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.records import record

LOGGER = logging.getLogger("tilewright.torch")
MOST_REPORTS = 1024
"""Of graphs that are remembered, the newest."""
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


@record
class EagerNode:
    """A call that stays in eager mode."""

    name: str
    operator: str
    reason: str
    place: str
    """In the user's source: "model.py:17"; empty where torch does not know it."""


@record
class GraphReport:
    """A graph that torch's compiler handed over."""

    name: str
    operators: int
    """Of the graph, before fusion."""
    parts: int
    """Libraries that it became."""
    eager: tuple[EagerNode, ...]
    why: str = ""
    """Why all of it stays in eager mode, where that has a reason of its own."""


_reports: list[GraphReport] = []


def reports() -> tuple[GraphReport, ...]:
    """Of all graphs since the last `reset`, the oldest first."""
    return tuple(_reports)


def reset() -> None:
    """Forget all reports."""
    _reports.clear()


def reasons() -> Counter[str]:
    """So many calls stay in eager mode for each reason."""
    return Counter(node.reason for report in _reports for node in report.eager)


def add(report: GraphReport) -> None:
    """Remember a report, and write it to the log."""
    del _reports[: len(_reports) + 1 - MOST_REPORTS]
    _reports.append(report)
    LOGGER.info("%s: %d operators in %d parts, %d calls in eager mode", *_numbers(report))
    if report.why:
        LOGGER.info("%s stays in eager mode: %s", report.name, report.why)
    for node in report.eager:
        place = f" ({node.place})" if node.place else ""
        LOGGER.info("%s: %s%s stays in eager mode: %s", report.name, node.operator, place, node.reason)


def _numbers(report: GraphReport) -> tuple[str, int, int, int]:
    return report.name, report.operators, report.parts, len(report.eager)


def eager_nodes(refused: Mapping[Any, str]) -> tuple[EagerNode, ...]:
    """Of nodes of `torch.fx` and the reasons why they stay."""
    return tuple(_eager_nodes(refused))


def _eager_nodes(refused: Mapping[Any, str]) -> Iterator[EagerNode]:
    for node, reason in refused.items():
        yield EagerNode(node.name, str(node.target), reason, _place(node.meta.get("stack_trace") or ""))


def _place(trace: str) -> str:
    """The innermost line of a stack trace.

    >>> _place('  File "model.py", line 17, in forward')
    'model.py:17'
    """
    frames = [*_FRAME.finditer(trace)]
    return f"{frames[-1]['file']}:{frames[-1]['line']}" if frames else ""
