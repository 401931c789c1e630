"""Element types that traced functions take and convert, and the refusal of all others: complex numbers, texts, dates, objects."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import DTypeError
from tilewright.frontend.tracing.location import user_location
from tilewright.graph.exactness import HALVES, IN_FLOAT32, INTEGERS, SHORT_TYPES

KNOWN = frozenset(("bool", *INTEGERS, *HALVES, "float32", "float64")) | SHORT_TYPES
_HINTS = {
    "complex": "pass the real and the imaginary part",
    "float128": "convert them with astype(numpy.float64)",
    "datetime64": "pass the counts: x.view(numpy.int64)",
    "timedelta64": "pass the counts: x.view(numpy.int64)",
}
"""By how the names of types begin."""


def check_known(dtype: str, subject: str) -> None:
    """Raise `DTypeError` for what is no number and no truth value, or no real one.

    >>> check_known("float8_e5m2", "x")
    """
    if dtype in KNOWN:
        return
    hint = next((hint for name, hint in _HINTS.items() if dtype.startswith(name)), "convert them to numbers before the call")
    why = "elements are truth values, integers and real numbers of up to 64 bits"
    raise DTypeError(f"{subject} has dtype {dtype}", where=user_location(), why=why, hint=hint)


def types_between(source: str, target: str) -> Iterator[str]:
    """Types on the way: what is shorter than a byte, or a float of a byte, is converted from and to float32 alone.

    >>> list(types_between("int4", "int64")), list(types_between("int64", "int4")), list(types_between("int64", "int8"))
    (['float32'], ['int8'], [])
    """
    if source in SHORT_TYPES and target != "float32":
        yield "float32"
    if target in SHORT_TYPES and "int" in target and source not in IN_FLOAT32:
        yield "int8"  # which keeps the low bits
