"""What programs tell their caller: functions of C that they call."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.c_text.lookups import REPORT as OUT_OF_RANGE
from tilewright.kernels.functions.scalar_functions import REPORT as NOT_FINITE
from tilewright.kernels.helpers import Helper
from tilewright.tile.program import Block, CallStatement, statements

POSITION = Helper(
    "tw_report_position",
    """\
TW_INLINE void tw_report_position(const void *caller, long lookup, long place, long position, long extent) {
  tw_out_of_range(caller, lookup, place, position, extent);
}
""",
    (OUT_OF_RANGE,),
)
"""A position outside of its dimension: the number of the lookup, where the position lies, what it is, and the extent."""
INFINITE = Helper(
    "tw_report_infinite", "TW_INLINE void tw_report_infinite(const void *caller) { tw_not_finite(caller); }\n", (NOT_FINITE,)
)
"""A NaN or an infinity."""
REPORTS = {helper.name: helper for helper in (POSITION, INFINITE)}


def reports(body: Block) -> Iterable[Helper]:
    """Those that a program calls."""
    called = {statement.symbol for statement in statements(body) if isinstance(statement, CallStatement)}
    return (REPORTS[name] for name in sorted(called & REPORTS.keys()))
