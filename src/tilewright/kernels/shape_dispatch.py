"""C text of the choice among the functions of a kernel's shapes, where rows and columns are known at run time only."""

from __future__ import annotations

from collections.abc import Iterable

Case = tuple[int, int, bool, str]
"""Rows, vectors, whether the last vector is in part, and the call: its arguments are those of the ABI, and `last`, the number of
columns in the last vector."""


def dispatch_text(signature: str, cases: Iterable[Case], lanes: int | str = "TW_LANES") -> str:
    """The function of the ABI: choose by m, by the number of vectors that n needs, and by whether they are whole. Others trap.

    >>> print(dispatch_text("void f(long m, long n)", [(6, 4, False, "f_6x4()")], 16))
    void f(long m, long n) {
      const long vectors = (n + 16 - 1) / 16, last = n - (vectors - 1) * 16;
      switch ((m * 256 + vectors) * 2 + (last < 16)) {
      case (6 * 256 + 4) * 2 + 0:
        f_6x4();
        return;
      default:
        __builtin_trap();
      }
    }
    <BLANKLINE>
    """
    lines = [
        f"{signature} {{",
        f"  const long vectors = (n + {lanes} - 1) / {lanes}, last = n - (vectors - 1) * {lanes};",
        f"  switch ((m * 256 + vectors) * 2 + (last < {lanes})) {{",
    ]
    for rows, vectors, is_edge, call in cases:
        lines += [f"  case ({rows} * 256 + {vectors}) * 2 + {int(is_edge)}:", f"    {call};", "    return;"]
    return "\n".join([*lines, "  default:", "    __builtin_trap();", "  }", "}", ""])
