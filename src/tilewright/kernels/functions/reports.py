"""C of the function that reports NaN and infinities to whoever called an entry point: `caller` names its context."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.graph.scalar_functions import REPORT_NOT_FINITE
from tilewright.kernels.helpers import Helper

REPORT = Helper(
    "tw_not_finite",
    """\
static __attribute__((noinline, cold)) void tw_not_finite(const struct tw_context *caller) {
  if (caller->not_finite)
    caller->not_finite(caller->pool);
}
""",
)
OF_VECTORS = Helper(
    "tw_report_not_finite",
    """\
TW_INLINE tw_vec tw_report_not_finite(const struct tw_context *caller, tw_vec v) { /* v - v is NaN for an infinity */
  if (__builtin_expect(tw_any(tw_not_equal(v - v, tw_splat(0.0f))), 0))
    tw_not_finite(caller);
  return v;
}
""",
    (REPORT,),
)
OF_DOUBLES = Helper(
    "tw_report_not_finite_float64",
    """\
TW_INLINE double tw_report_not_finite_float64(const struct tw_context *caller, double a) {
  if (__builtin_expect(a - a != 0, 0))
    tw_not_finite(caller);
  return a;
}
""",
    (REPORT,),
)


def reports(functions: Iterable[str], helper: Helper) -> list[Helper]:
    """The helper, where it is among the functions.

    >>> reports(["exp"], OF_VECTORS)
    []
    """
    return [helper] if REPORT_NOT_FINITE in functions else []
