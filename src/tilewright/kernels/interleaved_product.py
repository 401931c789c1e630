"""The outer-product matrix micro kernel of short elements, in C, for any vector dialect: lanes of 32 bits hold groups of steps.

A lane of B is a group of `interleave` neighbouring steps of one column, and a group of A is broadcast: a step of the loop loads
vectors of B, and multiplies each by the group of every row. What a product of two groups is stands in an `Arithmetic`: groups
are taken apart into parts (for instance into even and odd bytes), and a part of A times a part of B is added to the sums.

A step reads whole groups of A where rows are contiguous. The last steps of a depth that is no multiple of the group are gathered
element by element, and so are all steps of other strides: correct, but slow. One function per (rows, vectors), in two forms:
whole vectors, and a last vector that is loaded and stored in part; a third one, in parts, for strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import ElementTypes, Epilogue, MicroKernel, Variants, matrix_abi, stored_types
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES, ELEMENT_BYTES
from tilewright.kernels.f32.outer_product_tile import PRODUCT, ROWS_PER_POINTER, Accumulators
from tilewright.kernels.helpers import filled
from tilewright.kernels.products import TALL_REGISTERS
from tilewright.kernels.saturation import Saturation
from tilewright.kernels.tile_ending import TileEnding, dispatch_text, function_text, matmul_kernel, wanted_shapes
from tilewright.kernels.tile_sources import ProductSource
from tilewright.kernels.translation_units import VARIANT, unit_text
from tilewright.records import record
from tilewright.tile.products.arithmetic import Arithmetic as TileArithmetic
from tilewright.tile.products.tile import PLAIN, Shape

TEXTS = CTexts(__file__)

LANE_BYTES = 4


@record
class Arithmetic:
    """What a product of two groups is, in C.

    `text` defines, in the vocabulary of the dialects, the type `{prefix}_part`; for every number `i` of a part
    `{prefix}_left_{i}(tw_int)` and `{prefix}_right_{i}(tw_int)`, that part of a vector of groups; and
    `{prefix}_add(sum, left, right)`, the sum with the products of two parts. `sum_type` is the type of the sums, in lanes of 32
    bits. The text of a prefix stands once in a translation unit.
    """

    prefix: str
    element_types: ElementTypes
    parts: int
    sum_type: str
    text: str
    features: frozenset[str] = frozenset()
    """What it needs besides the dialect's features."""
    saturation: Saturation | None = None
    """As `MicroKernel.saturation`."""
    chain_cycles: int | None = None
    """As `MicroKernel.chain_cycles`."""
    flushes: bool = False
    """As `MicroKernel.flushes`."""
    tile: Callable[[str, str], TileArithmetic] | None = None
    """The same for tile programs, of the types of the operands; None where they lack an operation."""

    @property
    def interleave(self) -> int:
        """Steps in a group."""
        return LANE_BYTES // ELEMENT_BYTES[self.element_types[0]]


def interleaved_product_kernel(
    dialect: VectorDialect, arithmetic: Arithmetic, rows: int, vectors: int, *, peak_share: float
) -> MicroKernel:
    """Declare the kernel with a tile of rows x (vectors * dialect.lanes) elements.

    `peak_share` is measured, as in `MicroKernel.peak_share`. Its text has code for the shapes that are wanted only: a call with
    another one traps.
    """

    tile_of = partial(GroupTile, arithmetic, dialect.lanes)

    def emit(name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        shapes = wanted_shapes(rows, vectors, variants, name)
        strided = [tile_of(name, m, v, is_edge=True, is_strided=True, epilogue=epilogue) for m, v in shapes]
        tiles = [tile_of(name, m, v, edge, epilogue=epilogue) for m, v in shapes for edge in (False, True)]
        texts = (*_vocabulary(arithmetic, name), *tiles[0].ending().vocabulary(), *(tile.text() for tile in (*strided, *tiles)))
        return KernelSource(SourceKind.C, "\n".join([dialect.prelude, VARIANT, *texts, _dispatch(name, tiles)]))

    def of_shape(name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        last = n % dialect.lanes
        tile = tile_of(name, m, -(-n // dialect.lanes), is_edge=bool(last))
        return tile.function, (str(last),) if last else ()

    def emit_shape(name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        tile = tile_of(name, m, -(-n // dialect.lanes), is_edge=bool(n % dialect.lanes), epilogue=epilogue)

        def in_c() -> KernelSource:
            tiles = replace(tile, is_edge=True, is_strided=True), tile
            texts = (*_vocabulary(arithmetic, name), *tile.ending().vocabulary(), *(one.text() for one in tiles))
            return KernelSource(SourceKind.C, unit_text(dialect, texts), joins=True)

        if epilogue is not None or arithmetic.tile is None:
            return in_c()
        shape, of_tile = Shape(m, tile.vectors, dialect.lanes, tile.is_edge), arithmetic.tile(*arithmetic.element_types[:2])
        source = ProductSource(name, dialect, arithmetic.features, of_tile, (shape,), PLAIN)
        return KernelSource(SourceKind.TILE, source, joins=True)

    columns = vectors * dialect.lanes
    name = f"matmul_{dialect.name}_{arithmetic.prefix}_{rows}x{columns}"
    return matmul_kernel(
        dialect,
        name,
        (rows, columns, arithmetic.interleave),
        emit,
        element_types=arithmetic.element_types,
        features=dialect.features | arithmetic.features,
        peak_share=peak_share,
        emit_with=emit,
        shares_accumulators=dialect.registers >= TALL_REGISTERS,
        chain_cycles=arithmetic.chain_cycles,
        saturation=arithmetic.saturation,
        flushes=arithmetic.flushes,
        interleave=arithmetic.interleave,
        of_shape=of_shape,
        emit_shape=emit_shape,
    )


@cache
def words() -> str:
    """Vectors of 32-bit lanes, whatever they hold and wherever they lie."""
    return with_instructions(TEXTS["words"])


def _vocabulary(arithmetic: Arithmetic, name: str) -> tuple[str, ...]:
    """The text that tiles call."""
    left = arithmetic.element_types[0]
    word = {1: "char", 2: "short"}[ELEMENT_BYTES[left]]
    gathered = {"NAME": name, "TYPE": C_TYPES[left], "WORD": word, "BITS": 8 * ELEMENT_BYTES[left]}
    return words(), _once(arithmetic), filled(TEXTS["gather"], gathered)


def _once(arithmetic: Arithmetic) -> str:
    """The text with a guard: several tiles of one arithmetic may be parts of one program."""
    guard = f"TW_ARITHMETIC_{arithmetic.prefix}"
    return f"#ifndef {guard}\n#define {guard}\n{arithmetic.text}#endif\n"


@record
class GroupTile(Accumulators):
    """Statements of one shape, with a last vector in part (`is_edge`), for rows of A that are not contiguous (`is_strided`)."""

    arithmetic: Arithmetic
    lanes: int
    name: str
    rows: int
    vectors: int
    is_edge: bool
    is_strided: bool = False
    epilogue: Epilogue | None = None

    @property
    def function(self) -> str:
        """The name of the function of this shape."""
        form = "_strided" if self.is_strided else "_edge" * self.is_edge
        return f"{self.name}_{self.rows}x{self.vectors}{form}"

    def text(self) -> str:
        """The function. What gathers is never inlined: it needs registers."""
        left, right, result = (C_TYPES[of] for of in stored_types(self.arithmetic.element_types, self.epilogue))
        kind = "static __attribute__((noinline))" if self.is_strided else "TW_VARIANT"
        more = self.epilogue.parameters() if self.epilogue is not None else ()
        last = "".join(f", {parameter}" for parameter in (*more, *(["long last"] if self.is_edge else [])))
        start = f"void {self.function}(long k, const {left} *a, long a_row, long a_column,"
        head = f"{kind} {start}\n    const {right} *b, long b_row, {result} *c, long c_row, long accumulate{last})"
        before = [] if self.is_strided else list(self.without_strides())
        before += ["  const long a_row_3 = 3 * a_row;"] if self.rows >= ROWS_PER_POINTER else []
        loop = self.strided_loop() if self.is_strided else self.contiguous_loop()
        return function_text(head, (*before, *self.declarations(), *loop, *self.finish()))

    def without_strides(self) -> Iterator[str]:
        """Leave rows of A that are not contiguous to the form for them."""
        strided = replace(self, is_edge=True, is_strided=True)
        yield "  if (a_column != 1) {"
        yield f"    {strided.function}({', '.join(given(self.epilogue))}, {'last' if self.is_edge else 'TW_LANES'});"
        yield "    return;"
        yield "  }"

    def declarations(self) -> Iterator[str]:
        """Pointers into A, and the sums."""
        left = C_TYPES[self.arithmetic.element_types[0]]
        yield from (f"  const {left} *a_{i} = a + {i} * a_row;" for i in self._pointer_rows())
        for i in range(self.rows):
            yield f"  {self.arithmetic.sum_type} {', '.join(f'sum_{i}_{j} = {{0}}' for j in range(self.vectors))};"

    def contiguous_loop(self) -> Iterator[str]:
        """Whole groups, then the steps that are left."""
        h = self.arithmetic.interleave
        yield f"  const long rest = k % {h};"
        yield f"  for (long p = 0; p + {h} <= k; p += {h}) {{"
        yield from self.step("*(const tw_word *)({place})")
        yield from self.advance(str(h))
        yield "  }"
        yield "  if (rest) {"
        yield from self.step(f"{self.name}_group({{place}}, 1, rest)")
        yield "  }"

    def strided_loop(self) -> Iterator[str]:
        """All groups, element by element."""
        h = self.arithmetic.interleave
        yield f"  for (long p = 0; p < k; p += {h}) {{"
        yield f"    const long count = k - p < {h} ? k - p : {h};"
        yield from self.step(f"{self.name}_group({{place}}, a_column, count)")
        yield from self.advance("count * a_column")
        yield "  }"

    def step(self, group: str) -> Iterator[str]:
        """One group of every row, read as `group` says, times the groups of every column.

        What several rows use is kept in registers; of one row every vector is used once, right behind its load.
        """
        parts = range(self.arithmetic.parts)
        if self.rows == 1:
            yield self._group(0, group)
            yield from (self._left(0, part) for part in parts)
            for j in range(self.vectors):
                yield from self._right(j)
                yield from (self._add(0, j, part) for part in parts)
            return
        for j in range(self.vectors):
            yield from self._right(j)
        for i in range(self.rows):
            yield self._group(i, group)
            for part in parts:
                yield self._left(i, part)
                yield from (self._add(i, j, part) for j in range(self.vectors))

    def _group(self, row: int, group: str) -> str:
        """A group of a row, everywhere."""
        return f"    const tw_int a_{row}_p = tw_splat_int({group.format(place=' + '.join(self._row(row)))});"

    def _left(self, row: int, part: int) -> str:
        """A part of the group of a row."""
        prefix = self.arithmetic.prefix
        return f"    const {prefix}_part a_{row}_{part} = {prefix}_left_{part}(a_{row}_p);"

    def _right(self, vector: int) -> Iterator[str]:
        """Groups of a vector of columns, and their parts."""
        prefix = self.arithmetic.prefix
        yield f"    tw_int b_{vector} = {self._load('b', vector, self.arithmetic.element_types[1])};"
        if self.rows > 1:
            yield f"    TW_KEEP(b_{vector});"
        for part in range(self.arithmetic.parts):
            yield f"    const {prefix}_part b_{vector}_{part} = {prefix}_right_{part}(b_{vector});"

    def _add(self, row: int, vector: int, part: int) -> str:
        sums = f"sum_{row}_{vector}"
        return f"    {sums} = {self.arithmetic.prefix}_add({sums}, a_{row}_{part}, b_{vector}_{part});"

    def advance(self, by: str) -> Iterator[str]:
        """Move on to the next group."""
        for i in self._pointer_rows():
            yield f"    a_{i} += {by};"
            yield f"    TW_OPAQUE(a_{i});"
        yield "    b += b_row;"

    def finish(self) -> Iterator[str]:
        """Add C where asked to, and store."""
        yield from self._add_target() if self._holds_sums() else ["  (void)accumulate;"]
        sums = "(tw_int)sum_{row}_{vector}" if self._is_whole() else "sum_{row}_{vector}"
        yield from self.ending().columns()
        yield from self.ending().stores(range(self.rows), sums)

    def ending(self) -> TileEnding:
        """How the tile ends."""
        return TileEnding(self.epilogue, self.vectors, self.lanes, self.is_edge, self._is_whole())

    def _add_target(self) -> Iterator[str]:
        result, sums = self.arithmetic.element_types[2], self.arithmetic.sum_type
        yield "  if (accumulate) {"
        for i, j in self._places():
            yield f"    sum_{i}_{j} = ({sums}){self._load(f'c + {i} * c_row', j, result)} + sum_{i}_{j};"
        yield "  }"

    def _holds_sums(self) -> bool:
        """Whether C holds sums, and not what an epilogue has made of them."""
        return self.epilogue is None or not self.epilogue.element_type

    def _is_whole(self) -> bool:
        return self.arithmetic.element_types[2] == "int32"

    def _load(self, pointer: str, vector: int, element_type: str) -> str:
        address = f"{pointer} + {vector} * TW_LANES * {LANE_BYTES // ELEMENT_BYTES[element_type]}"
        is_part = self.is_edge and vector == self.vectors - 1
        return f"tw_load_words_part({address}, last)" if is_part else f"tw_load_words({address})"


def given(epilogue: Epilogue | None) -> tuple[str, ...]:
    """What the function of a shape is given of the product, and of its epilogue."""
    return (*PRODUCT, *(epilogue.arguments() if epilogue is not None else ()))


def _dispatch(name: str, tiles: list[GroupTile]) -> str:
    """The function of the ABI."""
    epilogue, element_types = tiles[0].epilogue, tiles[0].arithmetic.element_types
    arguments = ", ".join(given(epilogue))
    cases = ((one.rows, one.vectors, one.is_edge, f"{one.function}({arguments}{', last' * one.is_edge})") for one in tiles)
    return dispatch_text(matrix_abi(name, epilogue, element_types=element_types), cases)
