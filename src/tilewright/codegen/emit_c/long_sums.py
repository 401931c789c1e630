"""C text of long sums: the innermost loop runs in blocks, and full accumulators are emptied into a total."""

from __future__ import annotations

from tilewright.codegen.emit_c.c_text import indent

Lines = list[str]
BLOCK = "from", "until"
"""The variables that say where a block begins and ends."""


def in_blocks(size: str, steps: str, enough: str, body: Lines, emptying: Lines) -> Lines:
    """The loop over blocks of `steps` elements; accumulators are emptied behind a block once they have `taken` enough.

    Where further loops stand around this one, short blocks of several of their trips come together.
    """
    return [
        f"for (long from = 0; from < {size}; from += {steps}) {{",
        f"  const long until = tw_min(from + {steps}, {size});",
        *indent(body),
        "  taken += until - from;",
        f"  if (taken >= {enough}) {{",
        *indent(indent([*emptying, "taken = 0;"])),
        "  }",
        "}",
    ]


def emptied_at_end(loops: Lines, emptying: Lines) -> Lines:
    """Loops around `in_blocks`, and what accumulators are left with behind them."""
    return ["{", "  long taken = 0;", *indent(loops), *indent(emptying), "}"]
