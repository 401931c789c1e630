"""The outer-product matrix micro kernel, in C, for any tile of any vector dialect.

Accumulators for rows x vectors of C stay in registers; a step of K loads one row of B, and for each row broadcasts one element
of A (an explicit broadcast: with the memory operand folded into the FMA, tiles wider than one vector reach 77-93% of their
speed). One function per (rows, vectors), in two forms: whole vectors, and a last vector that is loaded and stored in part.

Operands of an epilogue that move along rows and columns and are far are asked for before the first step: short rows, which no
hardware foresees (attention 8 x 1024 x 1024 x 64 with a bias of its own for every score, Zen 5: 14.2 ms without, 10.7 with).

Other prefetching is an option. What the hardware does not foresee are starts of short rows: A of the next tile of rows, and the
tile of C; and B where it streams through once, as its panels lie further apart in time than the hardware looks ahead: steps of a
packed panel some way behind this one, or, of a B in place, the same rows of a panel further on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tilewright.kernels.contract import (
    NESTED_LOOPS,
    PREFETCH_ARGUMENTS,
    PREFETCH_PARAMETERS,
    Epilogue,
    KernelSource,
    MicroKernel,
    SourceKind,
    matrix_abi,
)
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.shape_dispatch import dispatch_text
from tilewright.kernels.tile_ending import TileEnding
from tilewright.kernels.translation_units import VARIANT, unit_text
from tilewright.kernels.wanted_shapes import wanted_shapes

PRODUCT = ("k", "a", "a_row", "a_column", "b", "b_row", "c", "c_row", "accumulate")
"""What the function of one shape is given of the product."""
UNROLL = 4
ROWS_PER_POINTER = 4
"""Rows are addressed as pointer + {0, 1, 2, 3} * a_row, as addressing modes can: a pointer per row takes too many registers."""
LEFT_LONG, LEFT_AHEAD = 512, 64
"""Rows of at least so many steps are prefetched so many floats ahead, shorter ones in the next tile: 32 to 128 floats gained the
same (28x16 and 14x32, k of 2048 and 4096, A in memory, Zen 5), where the next tile's rows would leave L1 before they are used."""
TALL_REGISTERS = 32
"""Vector registers from which on tiles of fewer columns have more rows: with 16, Clang spills 12 rows of one vector."""
LINE_FLOATS = 16
"""Steps of K between prefetches of a row of A, which moves on by a cache line of 64 bytes meanwhile if A is row-major."""
FULL_VECTORS, RIGHT_FLOATS_AHEAD, NARROW_FLOATS_AHEAD = 4, 2048, 3072
"""How far ahead B is prefetched in panels, of so many vectors and of fewer. Shares of a plain read of constants in memory
(Zen 5): 4 rows of 4 vectors 0.89 to 0.97 8 KiB ahead, 0.84 to 0.91 10 and 12 KiB ahead; 8 rows of 3 vectors 0.79 to 0.82
and 0.90 to 0.95."""
FEW_PANELS, RIGHT_ROWS_AHEAD = 4, 16
"""Rows of B in place of so few panels are prefetched so many rows ahead (4 x 4096 x 128 from memory, Zen 5: 6% less time)."""
WIDE_VECTORS, WIDE_VECTORS_AHEAD = 8, 64
"""Tiles so wide are for few rows: rows of B are prefetched so many vectors ahead (32 x 4096 rows of 8 vectors from memory, Zen 5:
32 and 128 vectors took 2% longer), of a B in place with many panels one panel."""
PREFETCH_STEPS, PREFETCH_UNROLL, MOST_PREFETCHED = 4, 2, 16
"""A tile asks for lines before every so many steps, of which so many are unrolled (4 make GCC 12 spill sums). Loops over so many
lines are unrolled."""
RIGHT_PANELS_AHEAD = 2
"""How far ahead B is prefetched in place: one panel comes too late, four gained less (12x32 and 6x64 in memory, same source)."""


def outer_product_kernel(
    dialect: VectorDialect,
    rows: int,
    vectors: int,
    *,
    peak_share: float,
    prefetch: tuple[str, ...] = (),
    unroll: int = UNROLL,
    reduction_loops: int = 1,
    has_nested: bool = False,
    form: type[Tile] | None = None,
    rows_per_instruction: int = 1,
) -> MicroKernel:
    """Declare the kernel with a tile of rows x (vectors * dialect.lanes) floats.

    `peak_share` is measured: of the peak of vectors of the dialect's width. `prefetch` names operands as
    `MicroKernel.prefetch` does. `unroll` is the number of steps of K per loop trip. With `reduction_loops` of 2 a tile stays in
    registers while two nested loops pass, for example the taps of a convolution around its channels; `has_nested` says that the
    same tile is declared with `NESTED_LOOPS`. `form` writes the statements of a shape (`Tile` where None), for matrix units
    with `rows_per_instruction`.

    >>> from tilewright.kernels import dialect_for
    >>> outer_product_kernel(dialect_for("x86_64", frozenset({"avx512f", "avx512dq"})), 6, 4, peak_share=0.97).name
    'matmul_avx512_f32_6x64'
    """
    texts = _Texts(dialect, rows, vectors, prefetch, unroll, reduction_loops, form if form is not None else Tile)
    columns = vectors * dialect.lanes
    tile_name = f"matmul_{dialect.name}_f32_{rows}x{columns}"
    ahead, nest = ["prefetch", *prefetch] if prefetch else [], [f"nest{reduction_loops}"] if reduction_loops > 1 else []
    return MicroKernel(
        name="_".join([tile_name, *ahead, *nest]),
        operation="matmul",
        rows=rows,
        columns=columns,
        depth=unroll,
        element_types=("float32", "float32", "float32"),
        architecture=dialect.architecture,
        features=dialect.features,
        vector_bits=dialect.vector_bits,
        peak_share=peak_share,
        emit=texts.emit,
        emit_with=texts.emit,
        emit_prefetching=texts.emit_prefetching if prefetch == ("right",) and vectors < WIDE_VECTORS else None,
        prefetch=prefetch,
        shares_accumulators=dialect.registers >= TALL_REGISTERS,
        rows_per_instruction=rows_per_instruction,
        reduction_loops=reduction_loops,
        nested=f"{tile_name}_nest{NESTED_LOOPS}" if has_nested else "",
        of_shape=texts.of_shape if reduction_loops == 1 else None,
        emit_shape=texts.emit_shape if reduction_loops == 1 else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """The sources of a kernel: of all shapes of its tile, and of one."""

    dialect: VectorDialect
    rows: int
    vectors: int
    prefetch: tuple[str, ...]
    unroll: int
    reduction_loops: int
    form: type[Tile]

    def emit(self, name: str, variants: frozenset[tuple[int, int]] | None, epilogue: Epilogue | None = None) -> KernelSource:
        """Of `MicroKernel.emit` and `MicroKernel.emit_with`."""
        text = outer_product_text(
            self.dialect,
            self.rows,
            self.vectors,
            name,
            variants,
            self.prefetch,
            self.unroll,
            epilogue,
            reduction_loops=self.reduction_loops,
            form=self.form,
        )
        return KernelSource(SourceKind.C, text)

    def emit_prefetching(self, name: str, variants: frozenset[tuple[int, int]] | None, epilogue: Epilogue | None) -> KernelSource:
        """Of `MicroKernel.emit_prefetching`."""
        text = outer_product_text(
            self.dialect, self.rows, self.vectors, name, variants, (), self.unroll, epilogue, prefetching=True
        )
        return KernelSource(SourceKind.C, text)

    def of_shape(self, name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        """Of `MicroKernel.of_shape`."""
        last = n % self.dialect.lanes
        tile = Tile(m, -(-n // self.dialect.lanes), bool(last))
        return f"{name}_{tile.suffix}", (str(last),) if last else ()

    def emit_shape(self, name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        """Of `MicroKernel.emit_shape`."""
        lanes, own = self.dialect.lanes, () if prefetching else self.prefetch
        wide = self.vectors >= WIDE_VECTORS
        tile = self.form(m, -(-n // lanes), bool(n % lanes), own, self.unroll, wide, epilogue, lanes, prefetching)
        text = unit_text(self.dialect, (*tile.ending().vocabulary(), _variant(name, tile)))
        return KernelSource(SourceKind.C, text, joins=True)


def outer_product_text(
    dialect: VectorDialect,
    rows: int,
    vectors: int,
    name: str,
    variants: frozenset[tuple[int, int]] | None,
    prefetch: tuple[str, ...] = (),
    unroll: int = UNROLL,
    epilogue: Epilogue | None = None,
    *,
    prefetching: bool = False,
    reduction_loops: int = 1,
    form: type[Tile] | None = None,
) -> str:
    """The C of the function `name`, self-contained, with code for `variants` only (None: every shape of the tile).

    A call with another shape traps.
    """
    ordered = wanted_shapes(rows, vectors, variants, name)
    wide, statements = vectors >= WIDE_VECTORS, form if form is not None else Tile
    shapes = ((m, v, edge) for m, v in ordered for edge in (False, True))
    tiles = [
        statements(m, v, edge, prefetch, unroll, wide, epilogue, dialect.lanes, prefetching, reduction_loops)
        for m, v, edge in shapes
    ]
    dispatch = _dispatch(name, ordered, epilogue, prefetching, reduction_loops)
    return "\n".join(
        [dialect.prelude, VARIANT, *tiles[0].ending().vocabulary(), *(_variant(name, tile) for tile in tiles), dispatch]
    )


def _variant(name: str, tile: Tile) -> str:
    """One shape: everything in registers. `last` is the number of columns in the last vector of an edge."""
    more = (
        *(f"long {name}" for name in _outer_arguments(tile.reduction_loops)),
        *(tile.epilogue.parameters() if tile.epilogue is not None else ()),
        *(PREFETCH_PARAMETERS if tile.prefetching else ()),
    )
    last = "".join(f", {parameter}" for parameter in (*more, *(["long last"] if tile.edge else [])))
    return "\n".join(
        [
            f"TW_VARIANT void {name}_{tile.suffix}(long k, const float *a, long a_row, long a_column,",
            f"    const float *b, long b_row, float *c, long c_row, long accumulate{last}) {{",
            *tile.declarations(),
            *tile.loop(),
            *tile.finish(),
            "}",
            "",
        ]
    )


class Tile:
    """The statements of one shape."""

    def __init__(
        self,
        rows: int,
        vectors: int,
        edge: bool,
        prefetch: tuple[str, ...] = (),
        unroll: int = UNROLL,
        wide: bool = False,
        epilogue: Epilogue | None = None,
        lanes: int = 1,
        prefetching: bool = False,
        reduction_loops: int = 1,
    ) -> None:
        self.rows = rows
        self.vectors = vectors
        self.edge = edge
        self.prefetch = prefetch
        self.unroll = unroll
        self.wide = wide
        self.epilogue = epilogue
        self.lanes = lanes
        self.prefetching = prefetching
        self.reduction_loops = reduction_loops

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.rows}x{self.vectors}" + ("_edge" if self.edge else "")

    def declarations(self) -> Iterator[str]:
        """Pointers into A, the accumulators, and what is prefetched before the first step."""
        if self.rows >= ROWS_PER_POINTER:
            yield "  const long a_row_3 = 3 * a_row;"
        for i in self._pointer_rows():
            yield f"  const float *a_{i} = a + {i} * a_row;"
        for i in range(self.rows):
            zeros = ", ".join(f"sum_{i}_{j} = {{0}}" for j in range(self.vectors))
            yield f"  tw_vec {zeros};"
        if "right" in self.prefetch:
            yield f"  const long ahead = {self._next_right()};"
        yield from self.ending().fetched(self.rows)
        if "target" in self.prefetch:
            for i, j in self._places():
                yield f"  __builtin_prefetch(c + {i} * c_row + {j} * TW_LANES, 1);"

    def loop(self) -> Iterator[str]:
        """All steps of all reduction loops, outermost first."""
        around = range(1, self.reduction_loops)
        yield from (f"  for (long q_{i} = 0; q_{i} < k_{i}; q_{i}++) {{" for i in reversed(around))
        yield from self.innermost_loop()
        for i in around:
            count, of_a, of_b = (f"k_{i - 1}", f"a_step_{i - 1}", f"b_step_{i - 1}") if i > 1 else ("k", "a_column", "b_row")
            yield from (f"  a_{row} += a_step_{i} - {count} * {of_a};" for row in self._pointer_rows())
            yield f"  b += b_step_{i} - {count} * {of_b};"
            yield "  }"

    def innermost_loop(self) -> Iterator[str]:
        """All steps of K; where A of the next rows is prefetched, in groups of the steps that use up one line of a row."""
        unroll = [] if self.edge else [f"#pragma GCC unroll {self.unroll}"]
        if "left" not in self.prefetch:
            yield from self.prefetching_loop() if self.prefetching else self.plain_loop()
            return
        yield f"  for (long group = 0; group < k; group += {LINE_FLOATS}) {{"
        yield f"    const long end = group + {LINE_FLOATS} < k ? group + {LINE_FLOATS} : k;"
        yield f"    const float *next = a_0 + {self._next_left()};"
        for _ in range(self.rows):
            yield "    __builtin_prefetch(next);"
            yield "    next += a_row;"
            yield "    TW_OPAQUE(next);"
        yield from (*unroll, "  for (long p = group; p < end; p++) {", *self.step(), "  }", "  }")

    def plain_loop(self) -> Iterator[str]:
        """All steps of K. The last ones stand apart: Clang leaves unrolled steps in their midst, and spills, where k is known."""
        if self.edge or self.unroll == 1:
            yield from ("  for (long p = 0; p < k; p++) {", *self.step(), "  }")
            return
        yield f"  const long whole = k - k % {self.unroll};"
        yield from (f"#pragma GCC unroll {self.unroll}", "  for (long p = 0; p < whole; p++) {", *self.step(), "  }")
        yield from ("#pragma GCC unroll 1", "  for (long p = whole; p < k; p++) {", *self.step(), "  }")

    def prefetching_loop(self) -> Iterator[str]:
        """As the plain loop, asking for some lines before every group of steps."""
        unroll = 1 if self.edge else PREFETCH_UNROLL
        yield f"  const long whole = k - k % {PREFETCH_STEPS}, asked = ({PREFETCH_STEPS} * lines + k - 1) / k;"
        yield f"  for (long group = 0; group < whole; group += {PREFETCH_STEPS}) {{"
        yield from (f"#pragma GCC unroll {MOST_PREFETCHED}", "    for (long line = 0; line < asked; line++)")
        yield f"      __builtin_prefetch(next + line * {LINE_FLOATS});"
        yield f"    next += asked * {LINE_FLOATS};"
        yield from (
            f"#pragma GCC unroll {unroll}",
            f"    for (long p = 0; p < {PREFETCH_STEPS}; p++) {{",
            *self.step(),
            "    }",
            "  }",
        )
        yield from ("#pragma GCC unroll 1", "  for (long p = whole; p < k; p++) {", *self.step(), "  }")

    def step(self) -> Iterator[str]:
        """One step of K. TW_KEEP stops GCC 12 from loading a vector again for each row; one row's FMAs load best themselves."""
        for j in range(self.vectors):
            yield f"    tw_vec b_{j} = {self._load('b', j)};"
            if self.rows > 1:
                yield f"    TW_KEEP(b_{j});"
        for i in range(self.rows):
            yield f"    tw_vec a_{i}_p = tw_splat({self._element(i)});"
            yield "    " + " ".join(f"sum_{i}_{j} = tw_multiply_add(a_{i}_p, b_{j}, sum_{i}_{j});" for j in range(self.vectors))
        for i in self._pointer_rows():
            yield f"    a_{i} += a_column;"
            yield f"    TW_OPAQUE(a_{i});"
        if "right" in self.prefetch:
            for j in range(self.vectors):
                yield f"    __builtin_prefetch(b + ahead + {j} * TW_LANES);"
        yield "    b += b_row;"

    def finish(self) -> Iterator[str]:
        """Add C where asked to, and store."""
        yield "  if (accumulate) {"
        for i, j in self._places():
            yield f"    sum_{i}_{j} = {self._load(f'c + {i} * c_row', j)} + sum_{i}_{j};"
        yield "  }"
        yield from self.ending().columns()
        yield from self.ending().stores(range(self.rows), "sum_{row}_{vector}")

    def ending(self) -> TileEnding:
        """How the tile ends."""
        return TileEnding(self.epilogue, self.vectors, self.lanes, self.edge)

    def _next_left(self) -> str:
        """The next tile of rows, or further on in long rows: with C prefetched as well no register is left to choose."""
        rows = f"{self.rows} * a_row"
        return rows if "target" in self.prefetch else f"(k < {LEFT_LONG} ? {rows} : {LEFT_AHEAD} * a_column)"

    def _next_right(self) -> str:
        """Later rows of a panel; of a B in place with many of them, the same rows of a later panel."""
        width = f"{self.vectors} * TW_LANES"
        if self.wide:
            return f"b_row > {FEW_PANELS} * {width} ? {width} : {WIDE_VECTORS_AHEAD // self.vectors} * b_row"
        ahead = RIGHT_FLOATS_AHEAD if self.vectors >= FULL_VECTORS else NARROW_FLOATS_AHEAD
        rows = f"(b_row > {width} ? {RIGHT_ROWS_AHEAD} : {ahead // (self.vectors * self.lanes)}) * b_row"
        return f"b_row > {FEW_PANELS} * {width} ? {RIGHT_PANELS_AHEAD} * {width} : {rows}"

    def _places(self) -> Iterator[tuple[int, int]]:
        """(row, vector) of every accumulator."""
        return product(range(self.rows), range(self.vectors))

    def _pointer_rows(self) -> range:
        return range(0, self.rows, ROWS_PER_POINTER)

    def _element(self, row: int) -> str:
        offset = row % ROWS_PER_POINTER
        index = ("0", "a_row", "2 * a_row", "a_row_3")[offset]
        return f"a_{row - offset}[{index}]"

    def _in_part(self, vector: int) -> bool:
        return self.edge and vector == self.vectors - 1

    def _load(self, pointer: str, vector: int) -> str:
        address = f"{pointer} + {vector} * TW_LANES"
        return f"tw_load_part({address}, last)" if self._in_part(vector) else f"tw_load({address})"


def _outer_arguments(reduction_loops: int) -> list[str]:
    """What a shape is given of the reduction loops around that over K."""
    return [f"{part}_{i}" for i in range(1, reduction_loops) for part in ("k", "a_step", "b_step")]


def _dispatch(
    name: str, variants: list[tuple[int, int]], epilogue: Epilogue | None, prefetching: bool = False, reduction_loops: int = 1
) -> str:
    """The function of the ABI."""
    more = (*(epilogue.arguments() if epilogue is not None else ()), *(PREFETCH_ARGUMENTS if prefetching else ()))
    arguments = ", ".join([*PRODUCT, *_outer_arguments(reduction_loops), *more])
    cases = (
        (rows, vectors, edge, f"{name}_{Tile(rows, vectors, edge).suffix}({arguments}{', last' * edge})")
        for rows, vectors in variants
        for edge in (False, True)
    )
    return dispatch_text(matrix_abi(name, epilogue, prefetching=prefetching, reduction_loops=reduction_loops), cases)
