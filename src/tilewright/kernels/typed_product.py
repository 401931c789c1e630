"""The outer-product matrix micro kernel of any element type, in C, for any vector dialect: lanes are elements of C.

A step loads a row of B as vectors of such lanes, and broadcasts an element of A for each row, as `f32/outer_product.py` does.
What a vector is, and what adds a product to a sum, stands in an `ElementArithmetic`. One function per (rows, vectors), in two
forms: whole vectors, and a last vector that is loaded and stored in part.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import ElementTypes, Epilogue, MicroKernel, Variants, matrix_abi, stored_types
from tilewright.kernels.conversions import BITS
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES, ELEMENT_BYTES, whole_numbers
from tilewright.kernels.f32.outer_product_tile import ROWS_PER_POINTER, Accumulators
from tilewright.kernels.helpers import filled, texts
from tilewright.kernels.interleaved_product import given, words
from tilewright.kernels.products import TALL_REGISTERS
from tilewright.kernels.tile_ending import TileEnding, dispatch_text, function_text, matmul_kernel, wanted_shapes
from tilewright.kernels.tile_sources import ProductSource
from tilewright.kernels.translation_units import VARIANT, unit_text
from tilewright.records import record
from tilewright.tile.products.arithmetic import of_elements
from tilewright.tile.products.tile import PLAIN, Shape

TEXTS = CTexts(__file__)
WORD_BYTES = 4


@record
class ElementArithmetic:
    """What vectors of a type are, in C.

    `text` defines the type `{prefix}_vec`, whose lanes are accumulators, `{prefix}_load`, `{prefix}_load_part`, `{prefix}_splat`
    of operands, and `{prefix}_add(sum, a, b)`. The text of a prefix stands once in a translation unit.
    """

    prefix: str
    element_types: ElementTypes
    text: str
    features: frozenset[str] = frozenset()
    """What it needs besides the dialect's features."""

    @property
    def sum_bytes(self) -> int:
        """Of a lane."""
        return ELEMENT_BYTES[self.element_types[2]]

    @property
    def has_words(self) -> bool:
        """Whether lanes are those of the dialect."""
        return self.sum_bytes == WORD_BYTES

    @property
    def is_double(self) -> bool:
        """Whether sums are doubles."""
        return self.element_types[2] == "float64"

    @property
    def takes_epilogue(self) -> bool:
        """Whether sums have a type that epilogues are written for: vectors of `tw_vec`, of `tw_int`, or of doubles."""
        return self.element_types[2] in ("float32", "int32", "float64")


def arithmetic(prefix: str, element_types: ElementTypes, features: frozenset[str] = frozenset()) -> ElementArithmetic:
    """Products of elements of one type, whose sums have that type, or float32 for shorter floats.

    Sums of integers are unsigned in C, where they may wrap.
    """
    left, _, result = element_types
    is_half = ELEMENT_BYTES[left] < WORD_BYTES
    add = {"float32": "add_floats", "float64": "add_doubles"}.get(result, "add")
    sums = C_TYPES[result] if "float" in result else f"unsigned {C_TYPES[result].removeprefix('unsigned').strip()}".strip()
    operands, added = with_instructions(TEXTS["halves" if is_half else "same_size"]), with_instructions(TEXTS[add])
    places = {"OPERANDS": operands, "ADD": added, "SUM": sums, "TYPE": C_TYPES[left], "PREFIX": prefix}
    return ElementArithmetic(prefix, element_types, filled(TEXTS["vocabulary"], places), features)


def typed_product_kernel(
    dialect: VectorDialect, arithmetic: ElementArithmetic, rows: int, vectors: int, *, peak_share: float
) -> MicroKernel:
    """Declare the kernel with a tile of rows x vectors. `peak_share` is measured, as in `MicroKernel.peak_share`."""
    lanes = dialect.lanes * WORD_BYTES // arithmetic.sum_bytes
    tile_of = partial(TypedTile, arithmetic, lanes)

    def emit(name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        shapes = wanted_shapes(rows, vectors, variants, name)
        tiles = [tile_of(name, m, v, edge, epilogue) for m, v in shapes for edge in (False, True)]
        parts = (*tiles[0].vocabulary(), *(tile.text() for tile in tiles), _dispatch(name, tiles))
        return KernelSource(SourceKind.C, "\n".join([dialect.prelude, VARIANT, *parts]))

    def of_shape(name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        tile = tile_of(name, m, -(-n // lanes), bool(n % lanes))
        return tile.function, (str(n % lanes),) if tile.is_edge else ()

    def emit_shape(name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        tile = tile_of(name, m, -(-n // lanes), bool(n % lanes), epilogue)

        def in_c() -> KernelSource:
            return KernelSource(SourceKind.C, unit_text(dialect, (*tile.vocabulary(), tile.text())), joins=True)

        if epilogue is not None or len(set(arithmetic.element_types)) > 1:
            return in_c()
        shape = Shape(m, tile.vectors, lanes, tile.is_edge)
        of_tile = of_elements(arithmetic.element_types[0])
        source = ProductSource(name, dialect, arithmetic.features, of_tile, (shape,), PLAIN)
        return KernelSource(SourceKind.TILE, source, joins=True)

    columns = vectors * lanes
    return matmul_kernel(
        dialect,
        f"matmul_{dialect.name}_{arithmetic.prefix}_{rows}x{columns}",
        (rows, columns, 1),
        emit,
        element_types=arithmetic.element_types,
        features=dialect.features | arithmetic.features,
        peak_share=peak_share,
        emit_with=emit if arithmetic.takes_epilogue else None,
        shares_accumulators=dialect.registers >= TALL_REGISTERS,
        of_shape=of_shape,
        emit_shape=emit_shape,
    )


@record
class TypedTile(Accumulators):
    """Statements of one shape, with a last vector in part (`is_edge`)."""

    arithmetic: ElementArithmetic
    lanes: int
    name: str
    rows: int
    vectors: int
    is_edge: bool
    epilogue: Epilogue | None = None

    @property
    def function(self) -> str:
        """The name of the function of this shape."""
        return f"{self.name}_{self.rows}x{self.vectors}{'_edge' * self.is_edge}"

    def vocabulary(self) -> list[str]:
        """The text that the statements call."""
        prefix = self.arithmetic.prefix
        guard = f"TW_ELEMENTS_{prefix}"
        own = f"#ifndef {guard}\n#define {guard}\n{self.arithmetic.text}#endif\n"
        halves = (
            texts((BITS, whole_numbers("uint16"), whole_numbers("uint8")))
            if ELEMENT_BYTES[self.arithmetic.element_types[0]] < WORD_BYTES
            else []
        )
        return [words(), *halves, own, *self.ending().vocabulary()]

    def text(self) -> str:
        """The function."""
        left, right, result = (C_TYPES[of] for of in stored_types(self.arithmetic.element_types, self.epilogue))
        more = self.epilogue.parameters() if self.epilogue is not None else ()
        last = "".join(f", {parameter}" for parameter in (*more, *(["long last"] if self.is_edge else [])))
        start = f"void {self.function}(long k, const {left} *a, long a_row, long a_column,"
        head = f"TW_VARIANT {start}\n    const {right} *b, long b_row, {result} *c, long c_row, long accumulate{last})"
        return function_text(head, (*self.declarations(), *self.loop(), *self.finish()))

    def declarations(self) -> Iterator[str]:
        """Pointers into A, and the sums."""
        if self.rows >= ROWS_PER_POINTER:
            yield "  const long a_row_3 = 3 * a_row;"
        yield from (
            f"  const {C_TYPES[self.arithmetic.element_types[0]]} *a_{i} = a + {i} * a_row;" for i in self._pointer_rows()
        )
        for i in range(self.rows):
            yield f"  {self.arithmetic.prefix}_vec {', '.join(f'sum_{i}_{j} = {{0}}' for j in range(self.vectors))};"
        yield from self.ending().fetched(self.rows)

    def loop(self) -> Iterator[str]:
        """All steps. TW_KEEP stops GCC 12 from loading a vector again for each row."""
        prefix = self.arithmetic.prefix
        yield "  for (long p = 0; p < k; p++) {"
        for j in range(self.vectors):
            yield f"    {prefix}_vec b_{j} = {self._right(j)};"
            yield from [f"    TW_KEEP(b_{j});"] if self.rows > 1 else []
        for i in range(self.rows):
            yield f"    const {prefix}_vec a_{i}_p = {prefix}_splat({' + '.join(self._row(i))});"
            sums = ((f"sum_{i}_{j}", f"b_{j}") for j in range(self.vectors))
            yield "    " + " ".join(f"{total} = {prefix}_add({total}, a_{i}_p, {right});" for total, right in sums)
        for i in self._pointer_rows():
            yield f"    a_{i} += a_column;"
            yield f"    TW_OPAQUE(a_{i});"
        yield "    b += b_row;"
        yield "  }"

    def finish(self) -> Iterator[str]:
        """Add C where asked to, and store."""
        is_stored_as_sums = self.epilogue is None or not self.epilogue.element_type
        if is_stored_as_sums:
            yield "  if (accumulate) {"
            for i, j in self._places():
                yield f"    sum_{i}_{j} = ({self.arithmetic.prefix}_vec){self._words('load', i, j)} + sum_{i}_{j};"
            yield "  }"
        else:
            yield "  (void)accumulate;"
        if self.arithmetic.has_words or self.arithmetic.is_double:
            yield from self.ending().columns()
            yield from self.ending().stores(range(self.rows), f"{'(tw_int)' * self._is_whole()}sum_{{row}}_{{vector}}")
        else:
            yield from (f"  {self._words('store', i, j, f', (tw_int)sum_{i}_{j}')};" for i, j in self._places())

    def ending(self) -> TileEnding:
        """How the tile ends."""
        doubles = self.arithmetic.prefix if self.arithmetic.is_double else ""
        return TileEnding(self.epilogue, self.vectors, self.lanes, self.is_edge, self._is_whole(), doubles)

    def _is_whole(self) -> bool:
        return "int" in self.arithmetic.element_types[2]

    def _right(self, vector: int) -> str:
        address = f"b + {vector * self.lanes}"
        part, last = ("_part", ", last") if self._is_part(vector) else ("", "")
        return f"{self.arithmetic.prefix}_load{part}({address}{last})"

    def _words(self, action: str, row: int, vector: int, value: str = "") -> str:
        """Access to a vector of C, as words."""
        part, last = ("_part", f", {self.arithmetic.sum_bytes // WORD_BYTES} * last") if self._is_part(vector) else ("", "")
        return f"tw_{action}_words{part}(c + {row} * c_row + {vector * self.lanes}{value}{last})"

    def _is_part(self, vector: int) -> bool:
        return self.is_edge and vector == self.vectors - 1


def _dispatch(name: str, tiles: list[TypedTile]) -> str:
    """The function of the ABI."""
    epilogue, one = tiles[0].epilogue, tiles[0]
    arguments = ", ".join(given(epilogue))
    cases = ((tile.rows, tile.vectors, tile.is_edge, f"{tile.function}({arguments}{', last' * tile.is_edge})") for tile in tiles)
    return dispatch_text(matrix_abi(name, epilogue, element_types=one.arithmetic.element_types), cases, one.lanes)
