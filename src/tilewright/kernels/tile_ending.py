"""What micro kernels of all element types share: shapes of their tiles, and how a tile ends.

Shapes of a tile: those that a caller of a micro kernel needs, and C text of the choice among their functions.

How a micro tile ends, in C: operands of its epilogue, the function of every sum, and the stores of what that gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import FLOAT32, LINE_BYTES, Along, Epilogue, MicroKernel
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import reading, suffix, writing
from tilewright.kernels.helpers import texts
from tilewright.records import record

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
    vectors = f"const long vectors = (n + {lanes} - 1) / {lanes}, last = n - (vectors - 1) * {lanes};"
    calls = ((f"({rows} * 256 + {vectors}) * 2 + {int(is_edge)}", call) for rows, vectors, is_edge, call in cases)
    return switch_text(signature, [vectors], f"(m * 256 + vectors) * 2 + (last < {lanes})", calls)


def switch_text(signature: str, before: Iterable[str], number: str, calls: Iterable[tuple[str, str]]) -> str:
    """A function that calls what its arguments say by a number, as (number, call), and traps for others."""
    cases = (line for case, call in calls for line in (f"  case {case}:", f"    {call};", "    return;"))
    lines = (*(f"  {line}" for line in before), f"  switch ({number}) {{", *cases, "  default:", "    __builtin_trap();", "  }")
    return function_text(signature, lines)


def function_text(head: str, lines: Iterable[str]) -> str:
    """A definition, with an empty line behind it."""
    return "\n".join([f"{head} {{", *lines, "}", ""])


def wanted_shapes(rows: int, vectors: int, variants: frozenset[tuple[int, int]] | None, name: str) -> list[tuple[int, int]]:
    """(rows, vectors) of every shape, largest first; None asks for all up to the whole tile.

    Fewer vectors may come with more rows, up to the number of accumulators of the tile. Raises TilewrightError for no shape at
    all, and for a shape that the tile cannot hold, where `name` is that of the function.

    >>> wanted_shapes(2, 2, None, "product"), wanted_shapes(2, 2, frozenset({(4, 1)}), "product")
    ([(2, 2), (2, 1), (1, 2), (1, 1)], [(4, 1)])
    """
    wanted = set(product(range(1, rows + 1), range(1, vectors + 1)) if variants is None else variants)
    if not wanted or not all(1 <= v <= vectors and 1 <= m <= rows * vectors // v for m, v in wanted):
        width = f"{vectors} {'vector' if vectors == 1 else 'vectors'}"
        raise TilewrightError(
            f"shapes {sorted(wanted)} are not within the tile of {rows} rows by {width}",
            where=f"micro kernel {name}",
            hint="ask for (rows, vectors) with at most as many vectors, and as many accumulators in all",
        )
    return sorted(wanted, reverse=True)


def matmul_kernel(
    dialect: VectorDialect, name: str, tile: tuple[int, int, int], emit: Callable[..., KernelSource], **details: Any
) -> MicroKernel:
    """Declare a product of matrices in the vectors of a dialect, with a tile of (rows, columns, steps).

    `details` are further fields of `MicroKernel`, and those that differ from a product of float32 by the dialect's instructions.
    """
    of_dialect: dict[str, Any] = {"architecture": dialect.architecture, "vector_bits": dialect.vector_bits}
    of_dialect |= {"element_types": FLOAT32, "features": dialect.features}
    return MicroKernel(name, "matmul", *tile, emit=emit, **of_dialect | details)


LANE_BYTES = 4


@record
class TileEnding:
    """Statements of a tile so many vectors wide, `last` of whose lanes count in the last vector where that is in part.

    Sums are vectors of floats, or `is_whole`, of whole numbers of 32 bits; what C holds has as many bits a lane, unless the
    epilogue says otherwise.
    """

    epilogue: Epilogue | None
    vectors: int
    lanes: int
    has_part: bool
    is_whole: bool = False

    def vocabulary(self) -> list[str]:
        """The text that the statements call: what reads operands, and the epilogue itself."""
        if self.epilogue is None:
            return []
        stored = writing([self.epilogue.element_type] if self.epilogue.element_type else [])
        return [*texts((*reading(one.element_type for one in self.epilogue.operands), *stored)), self.epilogue.text]

    def columns(self) -> Iterator[str]:
        """Operands that are the same for all rows."""
        for number, along in self.operands():
            vector = "tw_int" if along.is_whole else "tw_vec"
            if not along.rows:
                for j in range(self.vectors if along.columns else 1):
                    yield f"  const {vector} x_{number}_{j} = {self._operand(along, f'e{number}', j)};"

    def fetched(self, rows: int) -> Iterator[str]:
        """What only this tile reads of the operands, the line that a row ends in included."""
        for number, along in self.operands():
            if along.is_far and along.rows and along.columns:
                for i in range(rows):
                    places = (*map(self._at, range(self.vectors)), f"{self._at(self.vectors)} - 1")
                    yield from (f"  __builtin_prefetch(e{number} + {i} * e{number}_row + {place});" for place in places)

    def finished(self, value: str, row: int | str, vector: int) -> str:
        """The epilogue of one vector of sums; these themselves if there is none."""
        if self.epilogue is None:
            return value
        values = [value]
        for number, along in self.operands():
            place = f"e{number} + {row} * e{number}_row"
            is_loaded = not along.rows
            values.append(f"x_{number}_{vector if along.columns else 0}" if is_loaded else self._operand(along, place, vector))
        return f"{self.epilogue.name}({', '.join(values)})"

    def stores(self, rows: range | str, value: str) -> Iterator[str]:
        """The sums that `value` names by `{row}` and `{vector}`, finished and stored: past the caches where that is asked for and
        rows are whole lines. `rows` is a range, or the name of a variable."""
        if self._may_bypass_caches():
            yield "  if (tw_whole_lines((const float *)c, c_row)) {"
            yield from self._stores(rows, value, bypassing=True)
            yield "  } else {"
            yield from self._stores(rows, value)
            yield "  }"
        else:
            yield from self._stores(rows, value)

    def operands(self) -> Iterator[tuple[int, Along]]:
        """Those of the epilogue, numbered."""
        return enumerate(self.epilogue.operands if self.epilogue is not None else ())

    def _stores(self, rows: range | str, value: str, *, bypassing: bool = False) -> Iterator[str]:
        for row in [rows] if isinstance(rows, str) else rows:
            for j in range(self.vectors):
                finished = self.finished(value.format(row=row, vector=j), row, j)
                yield f"  {self._store(f'c + {row} * c_row + {self._at(j)}', j, finished, bypassing)};"

    def _store(self, place: str, vector: int, value: str, bypassing: bool) -> str:
        part, last = ("_part", ", last") if self._is_part(vector) else ("", "")
        stored = self.epilogue.element_type if self.epilogue is not None else ""
        if bypassing:
            return f"tw_stream((float *)({place}), (tw_vec){value})"
        if self.is_whole and not stored:
            return f"tw_store_words{part}({place}, (tw_int){value}{last})"
        return f"tw_store{part}{suffix(stored or 'float32')}({place}, {value}{last})"

    def _operand(self, along: Along, place: str, vector: int) -> str:
        of = suffix(along.element_type)
        if not along.columns:
            return f"tw_splat_int((int)*({place}))" if along.is_whole else f"tw_splat(tw_read{of}({place}))"
        part, last = ("_part", ", last") if self._is_part(vector) else ("", "")
        kind = f"_whole{part}_{along.element_type}" if along.is_whole else f"{part}{of}"
        return f"tw_load{kind}({place} + {vector} * TW_LANES{last})"

    def _at(self, vector: int) -> str:
        """Where a vector of columns begins."""
        return f"{vector} * TW_LANES"

    def _is_part(self, vector: int) -> bool:
        return self.has_part and vector == self.vectors - 1

    def _may_bypass_caches(self) -> bool:
        """Whether rows of the tile are whole lines, to be stored past the caches."""
        is_wanted = self.epilogue is not None and self.epilogue.non_temporal
        return is_wanted and not self.has_part and self.vectors * self.lanes * LANE_BYTES % LINE_BYTES == 0
