"""Matrix kernels for AMX: products of tiles of 16 x 64 bytes and 64 bytes x 16, added to 16 x 16 numbers of 32 bits.

Bytes are summed exactly. Of bfloat16 a tile sums even and odd steps apart, and takes denormal numbers for zeros.

The functions are tile programs (`tile/products/units.py`). A call loads a configuration of the tiles, which is why a tile of the
kernel has many rows, and releases them at its end: other libraries of a process load their own.
"""

from __future__ import annotations

from itertools import product

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import ElementTypes, Epilogue, MicroKernel, Variants, matrix_abi
from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.element_types import ELEMENT_BYTES
from tilewright.kernels.tile_ending import function_text, matmul_kernel
from tilewright.kernels.tile_sources import ProgramEnding, Programs
from tilewright.records import record
from tilewright.tile.products.units import BLOCK, MOST_BLOCKS, UnitTile
from tilewright.tile.types import element_type

ROWS = 128
CALL_CYCLES = 180
"""To load a configuration, and to release the tiles: 69 ns at 2.6 GHz, stores of C included."""
PRODUCT = ("k", "a", "a_row", "a_column", "b", "b_row", "c", "c_row", "n", "accumulate")
"""What the function of a shape is given of the ABI."""
PASS = COLUMNS = MOST_BLOCKS * BLOCK
"""Rows and columns that are multiplied at a time."""


@record
class TileArithmetic:
    """What tiles hold, and the feature whose instruction multiplies them."""

    name: str
    element_types: ElementTypes
    feature: str
    flushes: bool = False
    """As `MicroKernel.flushes`."""

    @property
    def interleave(self) -> int:
        """Steps in 4 bytes."""
        return 4 // ELEMENT_BYTES[self.element_types[0]]


def tile_kernel(arithmetic: TileArithmetic, *, peak_share: float) -> MicroKernel:
    """Declare the kernel of 128 x 32. `peak_share` is measured, as in `MicroKernel.peak_share`."""
    features = DIALECT.features | {"amx_tile", "avx512bw", arithmetic.feature}

    def emit(name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        ending = ProgramEnding(epilogue) if epilogue is not None else None
        stored = element_type(epilogue.element_type) if epilogue is not None and epilogue.element_type else ""
        blocks = range(1, MOST_BLOCKS + 1)
        shapes = tuple(UnitTile(*shape, *arithmetic.element_types, ending, stored) for shape in product(blocks, blocks))
        choice = _choice(arithmetic, name, epilogue)
        return KernelSource(SourceKind.TILE, Programs(name, DIALECT, features - DIALECT.features, shapes, choice))

    name = f"matmul_amx_{arithmetic.name}_{ROWS}x{COLUMNS}"
    return matmul_kernel(
        DIALECT,
        name,
        (ROWS, COLUMNS, arithmetic.interleave),
        emit,
        element_types=arithmetic.element_types,
        features=features,
        peak_share=peak_share,
        emit_with=emit,
        rows_per_instruction=BLOCK,
        call_cycles=CALL_CYCLES,
        interleave=arithmetic.interleave,
        flushes=arithmetic.flushes,
    )


def _choice(arithmetic: TileArithmetic, name: str, epilogue: Epilogue | None) -> str:
    """The function of the ABI: whole passes, then what is left of the rows, of one block of columns or two."""
    endings = epilogue.arguments() if epilogue is not None else ()
    moving = {one.removesuffix("_row") for one in endings if one.endswith("_row")}

    def call(rows: int, columns: int, first: str, given: str) -> str:
        operands = [f"{one} + {first} * {one}_row" if one in {"a", "c", *moving} else one for one in (*PRODUCT, *endings)]
        return f"{name}_{rows}x{columns}({', '.join(operands)}, {given})"

    def calls(columns: int) -> list[str]:
        return [
            f"    if (whole) {call(2, columns, '0', f'{PASS}, whole')};",
            f"    if (rest > {BLOCK}) {call(2, columns, f'whole * {PASS}', 'rest, 1')};",
            f"    else if (rest) {call(1, columns, f'whole * {PASS}', 'rest, 1')};",
        ]

    begin = f"  const long whole = m / {PASS}, rest = m % {PASS};"
    lines = (begin, f"  if (n > {BLOCK}) {{", *calls(2), "  } else {", *calls(1), "  }")
    return function_text(matrix_abi(name, epilogue, element_types=arithmetic.element_types), lines)


U8S8 = TileArithmetic("u8s8", ("uint8", "int8", "int32"), "amx_int8")
S8U8 = TileArithmetic("s8u8", ("int8", "uint8", "int32"), "amx_int8")
BF16 = TileArithmetic("bf16", ("bfloat16", "bfloat16", "float32"), "amx_bf16", flushes=True)

# Measured on one core of an Intel Xeon (Sapphire Rapids), GCC 12: see docs/kernels.md. That of bfloat16 is not: its instruction
# takes as long, for half as many steps.
KERNELS = (*(tile_kernel(arithmetic, peak_share=14.0) for arithmetic in (U8S8, S8U8)), tile_kernel(BF16, peak_share=7.0))
