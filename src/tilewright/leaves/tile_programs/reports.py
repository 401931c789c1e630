"""What programs tell their caller: functions of C that they call."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.kernels.helpers import Helper
from tilewright.tile.program import Block, CallStatement, statements

POSITION = Helper(
    "tw_report_position",
    """\
static __attribute__((noinline, cold)) void tw_report_position(const void *to, long lookup, long place, long position,
                                                               long extent) {
  const struct tw_context *const caller = to;
  if (caller->out_of_range)
    caller->out_of_range(caller->pool, lookup, place, position, extent);
}
""",
)
"""A position outside of its dimension: the number of the lookup, where the position lies, what it is, and the extent."""
INFINITE = Helper(
    "tw_report_infinite",
    """\
static __attribute__((noinline, cold)) void tw_report_infinite(const void *to) {
  const struct tw_context *const caller = to;
  if (caller->not_finite)
    caller->not_finite(caller->pool);
}
""",
)
"""A NaN or an infinity."""
REPORTS = {helper.name: helper for helper in (POSITION, INFINITE)}


def reports(body: Block) -> Iterable[Helper]:
    """Those that a program calls."""
    called = {statement.symbol for statement in statements(body) if isinstance(statement, CallStatement)}
    return (REPORTS[name] for name in sorted(called & REPORTS.keys()))
