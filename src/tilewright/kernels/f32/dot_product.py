"""The dot-product matrix micro kernel, in C, for any vector dialect: one column of C, lanes along the reduction.

Where C has one column its rows are dot products: a vector of B serves one row of A each, and nothing is broadcast. Rows are taken
four at a time, several steps each: more streams of A meet in few sets of a cache, fewer share too little of B (of 1 to 16 rows,
four of four steps read fastest from L2 to memory). The sums of all rows are folded together: two vectors become one in each
stage, so that one vector of results is left, and a row costs some three instructions instead of a reduction of its own.

A step takes `lanes` elements of K. Sum number j of a row takes the steps j, j + unroll, ..., the steps that are left go to the
first; the sums of a row are added in pairs, and lanes are folded by halves, as `tw_reduce_add` does.

Rows of A and the column of B should be contiguous. Other strides are gathered lane by lane: correct, but slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tilewright.kernels.contract import DEPTH, KernelSource, MicroKernel, SourceKind, Variants, matrix_abi
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.tile_ending import wanted_shapes

GROUP = 4
"""Rows at a time."""


def dot_product_kernel(dialect: VectorDialect, *, peak_share: float) -> MicroKernel:
    """Declare the kernel with as many rows as the dialect has lanes, and one column.

    `peak_share` is measured, of operands in L1: each multiplication needs an element of A of its own.

    >>> from tilewright.kernels import dialect_for
    >>> dot_product_kernel(dialect_for("x86_64", frozenset({"avx512f", "avx512dq"})), peak_share=0.5).name
    'matmul_avx512_f32_16x1_dot'
    """

    def emit(name: str, variants: Variants) -> KernelSource:
        return KernelSource(SourceKind.C, dot_product_text(dialect, name, variants))

    return MicroKernel(
        name=f"matmul_{dialect.name}_f32_{dialect.lanes}x1_dot",
        operation="matmul",
        rows=dialect.lanes,
        columns=1,
        depth=dialect.lanes,
        element_types=("float32", "float32", "float32"),
        architecture=dialect.architecture,
        features=dialect.features,
        vector_bits=dialect.vector_bits,
        peak_share=peak_share,
        emit=emit,
        lanes_along=DEPTH,
    )


def dot_product_text(dialect: VectorDialect, name: str, variants: Variants) -> str:
    """The C of the function `name`, self-contained, with code for `variants` only (None: for every number of rows).

    A call with another number of rows traps.
    """
    rows = [m for m, _ in wanted_shapes(dialect.lanes, 1, variants, name)]
    unroll = dialect.registers // (2 * GROUP)
    functions = [_function(name, Dots(dialect.lanes, m, unroll, strided)) for m in rows for strided in (False, True)]
    return "\n".join([dialect.prelude, *functions, _dispatch(name, rows)])


def _function(name: str, dots: Dots) -> str:
    more = ", long a_column, long b_row" if dots.strided else ""
    return "\n".join(
        [
            f"static __attribute__((noinline)) void {name}_{dots.suffix}(long k, const float *a, long a_row, const float *b,",
            f"    float *c, long c_row, long accumulate{more}) {{",
            *(line for first in range(0, dots.lanes, GROUP) for line in dots.group(first)),
            *fold([f"sum_{first}" for first in range(0, dots.lanes, GROUP)], dots.lanes, dots.lanes // GROUP),
            *dots.finish(),
            "}",
            "",
        ]
    )


@dataclass(frozen=True, slots=True)
class Dots:
    """The statements for so many rows; `strided` where rows of A or the column of B are not contiguous."""

    lanes: int
    rows: int
    unroll: int
    strided: bool

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.rows}x1" + ("_strided" if self.strided else "")

    def group(self, first: int) -> Iterator[str]:
        """`sum_<first>`: some neighbouring rows folded into one vector; zero for rows that are not there."""
        rows = [f"{first + i}" for i in range(GROUP)]
        rows_left = rows[: max(0, self.rows - first)]
        yield f"  tw_vec sum_{first} = {{0}};"
        if not rows_left:
            return
        yield "  {"
        yield "    long p = 0;"
        yield from (f"    const float *a_{row} = a + {row} * a_row;" for row in rows_left)
        yield from (f"    tw_vec sum_{row}_{j} = {{0}};" for row, j in product(rows_left, range(self.unroll)))
        yield from (f"    tw_vec sum_{row}_0 = {{0}};" for row in rows[len(rows_left) :])
        yield f"    for (; p + {self.unroll} * TW_LANES <= k; p += {self.unroll} * TW_LANES) {{"
        for j in range(self.unroll):
            yield from self.step(rows_left, j, "TW_LANES")
        yield "    }"
        yield "    for (; p + TW_LANES <= k; p += TW_LANES) {"
        yield from self.step(rows_left, 0, "TW_LANES")
        yield "    }"
        yield "    if (p < k) {"
        yield "      const long rest = k - p;"
        yield from self.step(rows_left, 0, "rest")
        yield "    }"
        for row in rows_left:
            yield f"    sum_{row}_0 = {_in_pairs([f'sum_{row}_{j}' for j in range(self.unroll)])};"
        yield from fold([f"sum_{row}_0" for row in rows], self.lanes, self.lanes)
        yield f"    sum_{first} = sum_{first}_0;"
        yield "  }"

    def step(self, rows: list[str], number: int, count: str) -> Iterator[str]:
        """One step of K for every row, into the sum of that number."""
        yield f"      const tw_vec b_{number} = {self._load('b', 'b_row', number, count)};"
        for row in rows:
            left, total = self._load(f"a_{row}", "a_column", number, count), f"sum_{row}_{number}"
            yield f"      {total} = tw_multiply_add({left}, b_{number}, {total});"

    def finish(self) -> Iterator[str]:
        """Add C where asked to, and store."""
        yield "  if (c_row == 1) {"
        yield "    if (accumulate)"
        yield f"      sum_0 = tw_load_part(c, {self.rows}) + sum_0;"
        yield f"    tw_store_part(c, sum_0, {self.rows});"
        yield "    return;"
        yield "  }"
        for i in range(self.rows):
            yield f"  c[{i} * c_row] = accumulate ? c[{i} * c_row] + sum_0[{i}] : sum_0[{i}];"

    def _load(self, pointer: str, stride: str, number: int, count: str) -> str:
        place = f"p + {number} * TW_LANES"
        if self.strided:
            return f"tw_load_strided({pointer} + ({place}) * {stride}, {stride}, {count})"
        return f"tw_load({pointer} + {place})" if count == "TW_LANES" else f"tw_load_part({pointer} + {place}, {count})"


def fold(sums: list[str], lanes: int, segment: int) -> Iterator[str]:
    """Neighbours become one, stage by stage: `segment` lanes of a sum become half as many. The first one has all in order."""
    while len(sums) > 1:
        half = segment // 2
        starts = range(0, 2 * lanes, segment)
        lower = ", ".join(str(start + i) for start in starts for i in range(half))
        upper = ", ".join(str(start + half + i) for start in starts for i in range(half))
        for left, right, result in zip(sums[::2], sums[1::2], sums, strict=False):
            pair = f"{left}, {right}"
            yield f"  {result} = TW_SHUFFLE_TWO({pair}, {lower}) + TW_SHUFFLE_TWO({pair}, {upper});"
        sums, segment = sums[: len(sums) // 2], half


def _in_pairs(terms: list[str]) -> str:
    while len(terms) > 1:
        terms = [f"({left} + {right})" for left, right in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _dispatch(name: str, rows: list[int]) -> str:
    """The function of the ABI: choose by m, and by whether rows of A and the column of B are contiguous."""
    lines = [matrix_abi(name) + " {", "  (void)n;", "  switch (m * 2 + (a_column != 1 || b_row != 1)) {"]
    for m in rows:
        for strided in (False, True):
            more = ", a_column, b_row" if strided else ""
            call = f"{name}_{m}x1{'_strided' * strided}(k, a, a_row, b, c, c_row, accumulate{more})"
            lines += [f"  case {m} * 2 + {int(strided)}:", f"    {call};", "    return;"]
    return "\n".join([*lines, "  default:", "    __builtin_trap();", "  }", "}", ""])
