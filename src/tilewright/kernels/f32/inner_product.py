"""float32 products whose lanes lie along the depth.

The dot-product matrix micro kernel, in C, for any vector dialect: one column of C, lanes along the reduction.

Where C has one column its rows are dot products: a vector of B serves one row of A each, and nothing is broadcast. Rows are taken
four at a time, several steps each: more streams of A meet in few sets of a cache, fewer share too little of B (of 1 to 16 rows,
four of four steps read fastest from L2 to memory). The sums of all rows are folded together: two vectors become one in each
stage, so that one vector of results is left, and a row costs some three instructions instead of a reduction of its own.

A step takes `lanes` elements of K. Sum number j of a row takes the steps j, j + unroll, ..., the steps that are left go to the
first; the sums of a row are added in pairs, and lanes are folded by halves, as `tw_reduce_add` does.

Rows of A and the column of B should be contiguous. Other strides are gathered lane by lane: correct, but slow.

The inner-product matrix micro kernel, in C, for any vector dialect: few rows of C, B given by columns, lanes along the depth.

The columns of B are contiguous (keys of attention, weights of a linear layer as PyTorch keeps them): few rows of A do not pay for
a transposed copy. Some columns pass at a time, each vector of them serves all rows, and an element of C has one vector of sums.
The sums of a row are folded together, two vectors to one in each stage, until one vector holds the results of all columns.

Lanes are folded by halves, as `tw_reduce_add` does. Fewer columns than the tile has read the last one again. Rows of A should be
contiguous too: others are gathered lane by lane, which is correct, but slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import DEPTH, MicroKernel, Variants, matrix_abi
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.tile_ending import function_text, matmul_kernel, switch_text, wanted_shapes
from tilewright.kernels.translation_units import VARIANT
from tilewright.records import record

GROUP = 4
"""Rows at a time."""


def dot_product_kernel(dialect: VectorDialect, *, peak_share: float) -> MicroKernel:
    """Declare the kernel with as many rows as the dialect has lanes, and one column.

    `peak_share` is measured, of operands in L1: each multiplication needs an element of A of its own.

    >>> from tilewright.kernels.registry import dialects
    >>> dot_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), peak_share=0.5).name
    'matmul_avx512_f32_16x1_dot'
    """

    def emit(name: str, variants: Variants) -> KernelSource:
        return KernelSource(SourceKind.C, dot_product_text(dialect, name, variants))

    name = f"matmul_{dialect.name}_f32_{dialect.lanes}x1_dot"
    return matmul_kernel(dialect, name, (dialect.lanes, 1, dialect.lanes), emit, peak_share=peak_share, lanes_along=DEPTH)


def dot_product_text(dialect: VectorDialect, name: str, variants: Variants) -> str:
    """The C of the function `name`, self-contained, with code for `variants` only (None: for every number of rows).

    A call with another number of rows traps.
    """
    rows = [m for m, _ in wanted_shapes(dialect.lanes, 1, variants, name)]
    unroll = dialect.registers // (2 * GROUP)
    functions = [_dot_function(name, Dots(dialect.lanes, m, unroll, strided)) for m in rows for strided in (False, True)]
    return "\n".join([dialect.prelude, *functions, _dot_dispatch(name, rows)])


def _dot_function(name: str, dots: Dots) -> str:
    start = f"void {name}_{dots.suffix}(long k, const float *a, long a_row, const float *b,"
    more = ", long a_column, long b_row" if dots.strided else ""
    head = f"static __attribute__((noinline)) {start}\n    float *c, long c_row, long accumulate{more})"
    firsts = range(0, dots.lanes, GROUP)
    sums = (line for first in firsts for line in dots.group(first))
    folded = fold([f"sum_{first}" for first in firsts], dots.lanes, dots.lanes // GROUP)
    return function_text(head, (*sums, *folded, *dots.finish()))


@record
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


def _dot_dispatch(name: str, rows: list[int]) -> str:
    """The function of the ABI: choose by m, and by whether rows of A and the column of B are contiguous."""
    calls = []
    for m, strided in product(rows, (False, True)):
        more = ", a_column, b_row" if strided else ""
        call = f"{name}_{m}x1{'_strided' * strided}(k, a, a_row, b, c, c_row, accumulate{more})"
        calls.append((f"{m} * 2 + {int(strided)}", call))
    return switch_text(matrix_abi(name), ["(void)n;"], "m * 2 + (a_column != 1 || b_row != 1)", calls)


LONG_GROUP, SHORT_GROUP = 4, 8
"""Columns at a time. Long ones are streams of their own, which hardware prefetchers follow: more of them meet in few sets of a
cache (4096x4096 from memory: 97% of a plain read with 4, 85 with 8). Short ones, one behind the other, are prefetched: 94% with
8, 92 with 4 (4096 x 128)."""
AHEAD_FLOATS = 1024
"""How far ahead columns are prefetched at least: 4 KiB (32 x 4096 keys of 128 from memory, Zen 5; 2 and 8 KiB: 2% slower)."""
LONG_DEPTH = 16384
"""Columns of so many elements are prefetched within themselves: further columns would leave the L2 before they are used."""


def inner_product_kernel(dialect: VectorDialect, rows: int, *, peak_share: float, prefetch: tuple[str, ...] = ()) -> MicroKernel:
    """Declare the kernel with so many rows, and as many columns as the dialect has lanes.

    `peak_share` is measured. `prefetch` is empty or names the right operand.

    >>> from tilewright.kernels.registry import dialects
    >>> inner_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), 2, peak_share=0.5).name
    'matmul_avx512_f32_2x16_inner'
    """

    def emit(name: str, variants: Variants) -> KernelSource:
        return KernelSource(SourceKind.C, inner_product_text(dialect, rows, name, variants, prefetch))

    ahead = ["prefetch", *prefetch] if prefetch else []
    name = "_".join([f"matmul_{dialect.name}_f32_{rows}x{dialect.lanes}_inner", *ahead])
    return matmul_kernel(
        dialect,
        name,
        (rows, dialect.lanes, dialect.lanes),
        emit,
        peak_share=peak_share,
        prefetch=prefetch,
        lanes_along=DEPTH,
        right_by_columns=True,
    )


def inner_product_text(dialect: VectorDialect, rows: int, name: str, variants: Variants, prefetch: tuple[str, ...] = ()) -> str:
    """The C of the function `name`, self-contained, with code for `variants` only (None: for every number of rows).

    A call with another number of rows traps.
    """
    ordered = [m for m, _ in wanted_shapes(rows, 1, variants, name)]
    forms = product(ordered, (False, True), (False, True))
    functions = [_function(name, Columns(dialect, m, edge, strided, bool(prefetch))) for m, edge, strided in forms]
    return "\n".join([dialect.prelude, VARIANT, *functions, _dispatch(name, ordered)])


def _function(name: str, tile: Columns) -> str:
    """One number of rows. `columns` is their number in an edge. What gathers is never inlined: it needs registers."""
    kind = "static __attribute__((noinline))" if tile.strided else "TW_VARIANT"
    start = f"void {name}_{tile.suffix}(long k, const float *a, long a_row, const float *b, long b_row,"
    more = ", long columns" * tile.edge + ", long a_column" * tile.strided
    return function_text(f"{kind} {start}\n    float *c, long c_row, long accumulate{more})", tile.statements())


@record
class Columns:
    """The statements for so many rows: an `edge` has fewer columns, `strided` rows of A are not contiguous."""

    dialect: VectorDialect
    rows: int
    edge: bool
    strided: bool
    prefetch: bool

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.rows}x1" + "_edge" * self.edge + "_strided" * self.strided

    @property
    def group(self) -> int:
        """Columns at a time: sums of all rows take half of the registers at most."""
        fitting = max(1, self.dialect.registers // 2 // self.rows)
        return min(SHORT_GROUP if self.prefetch else LONG_GROUP, self.dialect.lanes, 1 << fitting.bit_length() - 1)

    def statements(self) -> Iterator[str]:
        """All groups of columns, then the results."""
        if self.prefetch:
            whole = f"{self.group} * b_row * (1 + {AHEAD_FLOATS} / ({self.group} * k + 1))"
            yield f"  const long ahead = k < {LONG_DEPTH} ? {whole} : {AHEAD_FLOATS};"
        groups = self.dialect.lanes // self.group
        yield f"  tw_vec folded[{self.rows * groups}], *sums = folded;"
        yield "  TW_OPAQUE(sums);"
        for number in range(groups):
            yield from self.columns(number)
        yield "  TW_OPAQUE(sums);"
        for i in range(self.rows):
            yield from self.finish(i, groups)

    def columns(self, number: int) -> Iterator[str]:
        """The sums of a group of columns, folded into one vector for each row. These wait in memory: loops need the registers."""
        first = number * self.group
        group = range(first, first + self.group)
        yield "  {"
        for j in group:
            yield f"    const float *b_{j} = b + {self._column(j)} * b_row;"
        for i in range(self.rows):
            yield "    tw_vec " + ", ".join(f"part_{i}_{j} = {{0}}" for j in group) + ";"
        yield "    long p = 0;"
        yield "    for (; p + TW_LANES <= k; p += TW_LANES) {"
        yield from self.step(group, "TW_LANES")
        yield "    }"
        yield "    if (p < k) {"
        yield "      const long rest = k - p;"
        yield from self.step(group, "rest")
        yield "    }"
        for i in range(self.rows):
            yield from fold([f"part_{i}_{j}" for j in group], self.dialect.lanes, self.dialect.lanes)
            yield f"    sums[{number * self.rows + i}] = part_{i}_{first};"
        yield "  }"

    def step(self, group: range, count: str) -> Iterator[str]:
        """One vector of the depth: of every column of a group, for every row."""
        for i in range(self.rows):
            yield f"      const tw_vec a_{i} = {self._left(i, count)};"
        for j in group:
            yield f"      const tw_vec b_{j}_p = {_load(f'b_{j} + p', count)};"
            yield "      " + " ".join(f"part_{i}_{j} = tw_multiply_add(a_{i}, b_{j}_p, part_{i}_{j});" for i in range(self.rows))
        if self.prefetch and count == "TW_LANES":
            yield from (f"      tw_prefetch(b_{j} + p + ahead);" for j in group)

    def finish(self, row: int, groups: int) -> Iterator[str]:
        """Fold the groups of a row, add C where asked to, and store."""
        names = [f"sum_{row}_{number}" for number in range(groups)]
        for number, name in enumerate(names):
            yield f"  tw_vec {name} = sums[{number * self.rows + row}];"
        yield from fold(names, self.dialect.lanes, self.dialect.lanes // self.group)
        place, value = f"c + {row} * c_row", names[0]
        count = "columns" if self.edge else "TW_LANES"
        yield "  if (accumulate)"
        yield f"    {value} = {_load(place, count)} + {value};"
        yield f"  tw_store_part({place}, {value}, columns);" if self.edge else f"  tw_store({place}, {value});"

    def _column(self, number: int) -> str:
        return f"({number} < columns ? {number} : columns - 1)" if self.edge else str(number)

    def _left(self, row: int, count: str) -> str:
        if self.strided:
            return f"tw_load_strided(a + {row} * a_row + p * a_column, a_column, {count})"
        return _load(f"a + {row} * a_row + p", count)


def _load(pointer: str, count: str) -> str:
    return f"tw_load({pointer})" if count == "TW_LANES" else f"tw_load_part({pointer}, {count})"


def _dispatch(name: str, rows: list[int]) -> str:
    """The function of the ABI: choose by m, by whether there are all columns, and by whether rows of A are contiguous."""
    calls = []
    for m, edge, strided in product(rows, (False, True), (False, True)):
        more = ", n" * edge + ", a_column" * strided
        suffix = f"{m}x1" + "_edge" * edge + "_strided" * strided
        call = f"{name}_{suffix}(k, a, a_row, b, b_row, c, c_row, accumulate{more})"
        calls.append((f"{m} * 4 + {2 * edge + strided}", call))
    return switch_text(matrix_abi(name), [], "m * 4 + (n < TW_LANES) * 2 + (a_column != 1)", calls)
