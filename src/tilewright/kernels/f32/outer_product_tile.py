"""C text of outer-product tiles in blocks of rows, for matrix units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import Epilogue, MicroKernel, Variants, matrix_abi
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.tile_ending import TileEnding, dispatch_text, function_text, matmul_kernel, wanted_shapes
from tilewright.kernels.translation_units import VARIANT, unit_text
from tilewright.records import record

ROWS_PER_POINTER = 4
"""Rows are addressed as pointer + {0, 1, 2, 3} * a_row, as addressing modes can: a pointer per row takes too many registers."""
PRODUCT = ("k", "a", "a_row", "a_column", "b", "b_row", "c", "c_row", "accumulate")
"""What the function of one shape is given of the product."""
UNROLL = 4


class Accumulators:
    """Rows by vectors of sums, and the pointers to the rows of A."""

    __slots__ = ()
    rows: int
    vectors: int

    def _places(self) -> Iterator[tuple[int, int]]:
        """(row, vector) of every accumulator."""
        return product(range(self.rows), range(self.vectors))

    def _pointer_rows(self) -> range:
        return range(0, self.rows, ROWS_PER_POINTER)

    def _row(self, row: int) -> tuple[str, str]:
        """The pointer to a row of A, and the row's place behind it."""
        offset = row % ROWS_PER_POINTER
        return f"a_{row - offset}", ("0", "a_row", "2 * a_row", "a_row_3")[offset]


@record
class Tile(Accumulators):
    """The statements of one shape; forms of it declare accumulators and loop over the steps."""

    rows: int
    vectors: int
    edge: bool
    epilogue: Epilogue | None = None
    lanes: int = 1

    @property
    def suffix(self) -> str:
        """Part of the function's name."""
        return f"{self.rows}x{self.vectors}" + ("_edge" if self.edge else "")

    def declarations(self) -> Iterator[str]:
        """Pointers and accumulators."""
        raise NotImplementedError

    def loop(self) -> Iterator[str]:
        """All steps."""
        raise NotImplementedError

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

    def _load(self, pointer: str, vector: int) -> str:
        address = f"{pointer} + {vector} * TW_LANES"
        return f"tw_load_part({address}, last)" if self.edge and vector == self.vectors - 1 else f"tw_load({address})"


def block_kernel(
    dialect: VectorDialect, rows: int, vectors: int, form: Callable[..., Tile], *, peak_share: float, rows_per_instruction: int
) -> MicroKernel:
    """Declare the kernel whose tiles a `form` writes."""
    lanes = dialect.lanes

    def tile_of(m: int, v: int, edge: bool, epilogue: Epilogue | None) -> Tile:
        return form(m, v, edge, epilogue, lanes)

    def emit(name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        shapes = wanted_shapes(rows, vectors, variants, name)
        tiles = [tile_of(m, v, edge, epilogue) for m, v in shapes for edge in (False, True)]
        given = ", ".join([*PRODUCT, *(epilogue.arguments() if epilogue is not None else ())])
        cases = ((one.rows, one.vectors, one.edge, f"{name}_{one.suffix}({given}{', last' * one.edge})") for one in tiles)
        texts = (*tiles[0].ending().vocabulary(), *(_variant(name, tile) for tile in tiles))
        dispatch = dispatch_text(matrix_abi(name, epilogue), cases)
        return KernelSource(SourceKind.C, "\n".join([dialect.prelude, VARIANT, *texts, dispatch]))

    def of_shape(name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        last = n % lanes
        return f"{name}_{tile_of(m, -(-n // lanes), bool(last), None).suffix}", (str(last),) if last else ()

    def emit_shape(name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        tile = tile_of(m, -(-n // lanes), bool(n % lanes), epilogue)
        return KernelSource(SourceKind.C, unit_text(dialect, (*tile.ending().vocabulary(), _variant(name, tile))), joins=True)

    columns = vectors * lanes
    return matmul_kernel(
        dialect,
        f"matmul_{dialect.name}_f32_{rows}x{columns}",
        (rows, columns, UNROLL),
        emit,
        peak_share=peak_share,
        emit_with=emit,
        rows_per_instruction=rows_per_instruction,
        of_shape=of_shape,
        emit_shape=emit_shape,
    )


def _variant(name: str, tile: Tile) -> str:
    """One shape: everything in registers. `last` is the number of columns in the last vector of an edge."""
    more = tile.epilogue.parameters() if tile.epilogue is not None else ()
    last = "".join(f", {parameter}" for parameter in (*more, *(["long last"] if tile.edge else [])))
    start = f"void {name}_{tile.suffix}(long k, const float *a, long a_row, long a_column,"
    head = f"TW_VARIANT {start}\n    const float *b, long b_row, float *c, long c_row, long accumulate{last})"
    return function_text(head, (*tile.declarations(), *tile.loop(), *tile.finish()))
