"""Matrix kernels for AMX: products of tiles of 16 x 64 bytes and 64 bytes x 16, added to 16 x 16 numbers of 32 bits.

Bytes are summed exactly. Of bfloat16 a tile sums even and odd steps apart, and takes denormal numbers for zeros.

Two tiles of A and two of B are multiplied to four of C at a time. A is read in place where its rows are contiguous; B's panels
of interleaved steps are tiles as they lie. What the last steps of a depth lack is filled up with zeros on the stack, by
AVX-512. A call loads a configuration of the tiles, which is why a tile of the kernel has many rows, and releases them at its
end: other libraries of a process load their own. Tiles cannot be computed with: an epilogue takes the sums of 32 rows from a
buffer on the stack, which stays in L1. Instructions: Intel 64 and IA-32 Architectures Software Developer's Manual,
volume 1, chapter 18, and volume 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import ElementTypes, Epilogue, MicroKernel, Variants, matrix_abi, stored_types
from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.element_access import C_TYPES, ELEMENT_BYTES
from tilewright.kernels.helpers import filled
from tilewright.kernels.interleaved_product import words
from tilewright.kernels.tile_ending import TileEnding, matmul_kernel
from tilewright.kernels.translation_units import used_definitions
from tilewright.records import record

TEXTS = CTexts(__file__)

BLOCK = 16
"""Rows, and columns of 4 bytes, of a tile."""
ROWS = 128
CALL_CYCLES = 180
"""To load a configuration, and to release the tiles: 69 ns at 2.6 GHz, stores of C included."""
COLUMNS = 2 * BLOCK


@record
class TileArithmetic:
    """What tiles are multiplied by: an instruction, and the types of its operands."""

    name: str
    element_types: ElementTypes
    instruction: str
    feature: str
    flushes: bool = False
    """As `MicroKernel.flushes`."""

    @property
    def interleave(self) -> int:
        """Steps in 4 bytes."""
        return 4 // ELEMENT_BYTES[self.element_types[0]]


def tile_kernel(arithmetic: TileArithmetic, *, peak_share: float) -> MicroKernel:
    """Declare the kernel of 128 x 32. `peak_share` is measured, as in `MicroKernel.peak_share`."""

    def emit(name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        return KernelSource(SourceKind.C, tile_text(arithmetic, name, epilogue))

    name = f"matmul_amx_{arithmetic.name}_{ROWS}x{COLUMNS}"
    return matmul_kernel(
        DIALECT,
        name,
        (ROWS, COLUMNS, arithmetic.interleave),
        emit,
        element_types=arithmetic.element_types,
        features=DIALECT.features | {"amx_tile", "avx512bw", arithmetic.feature},
        peak_share=peak_share,
        emit_with=emit,
        rows_per_instruction=BLOCK,
        call_cycles=CALL_CYCLES,
        interleave=arithmetic.interleave,
        flushes=arithmetic.flushes,
    )


def tile_text(arithmetic: TileArithmetic, name: str, epilogue: Epilogue | None = None) -> str:
    """The C of the function `name`, self-contained."""
    left, right, result = (C_TYPES[element_type] for element_type in arithmetic.element_types)
    stored = C_TYPES[stored_types(arithmetic.element_types, epilogue)[2]]
    shapes = ((rows, columns) for rows in (1, 2) for columns in (1, 2))
    blocks = (_blocks(arithmetic, *shape, epilogue) for shape in shapes)
    text = "".join((*_endings(arithmetic, epilogue), *blocks, TEXTS["whole"]))
    abi = matrix_abi(name, epilogue, element_types=arithmetic.element_types)
    types = {"TA": left, "TB": right, "TC": result, "TO": stored}
    steps = {"H": arithmetic.interleave, "STEPS": arithmetic.interleave * BLOCK}
    text = filled(text, {"ABI": abi, "NAME": name, **_operands(epilogue), **types, **steps})
    return "\n".join((TEXTS["tiles"], *(used_definitions(DIALECT.prelude, text) if epilogue is not None else ()), text))


def _operands(epilogue: Epilogue | None) -> dict[str, str]:
    """The operands of the epilogue as parameters and arguments, behind others."""
    parameters, arguments = (epilogue.parameters(), epilogue.arguments()) if epilogue is not None else ((), ())
    moving = [name.removesuffix("_row") for name in arguments if name.endswith("_row")]
    given = {
        "PARAMETERS": parameters,
        "ARGUMENTS": arguments,
        "LAST_ARGUMENTS": [f"{name} + whole * {name}_row" if name in moving else name for name in arguments],
        "ADVANCE": [f"{name} += rows * {name}_row" for name in moving],
    }
    return {place: "".join(f", {name}" for name in names) for place, names in given.items()}


def _blocks(arithmetic: TileArithmetic, rows: int, columns: int, epilogue: Epilogue | None) -> str:
    """The function for so many blocks of rows and of columns. Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B."""
    places = [(i, j) for i in range(rows) for j in range(columns)]
    result = [f"{2 * i + j}, c + {16 * i} * c_row + {16 * j}, 4 * c_row" for i, j in places]
    loads = [f"TW_TILE_LOAD({6 + j}, panel + {16 * j} * H, panel_row * sizeof *b);" for j in range(columns)]
    loads += [f"TW_TILE_LOAD({4 + i}, from + {16 * i} * from_row, from_row * sizeof *a);" for i in range(rows)]
    products = [
        f'__asm__ volatile("{arithmetic.instruction} %%tmm{6 + j}, %%tmm{4 + i}, %%tmm{2 * i + j}" : :);' for i, j in places
    ]
    holds_sums = epilogue is None or not epilogue.element_type
    parts = {
        "NAME": f"@NAME@_{rows}x{columns}",
        "STEP": _lines((*loads, *products)),
        "START": TEXTS["start"] if holds_sums else "      (void)accumulate;\n@ZEROS@",
        "LOADS": _lines(f"TW_TILE_LOAD({place});" for place in result),
        "ZEROS": _lines(f"TW_TILE_ZERO({2 * i + j});" for i, j in places),
        "STORES": _through_buffer(places, columns) if epilogue else _lines(f"TW_TILE_STORE({place});" for place in result),
    }
    return filled(TEXTS["blocks"], parts)


def _through_buffer(places: Iterable[tuple[int, int]], columns: int) -> str:
    """Statements that store tiles on the stack, and finish them there."""
    tiles = (f"TW_TILE_STORE({2 * i + j}, sums + {16 * i} * COLUMNS + {16 * j}, COLUMNS * 4);" for i, j in places)
    last = f"n - {BLOCK * (columns - 1)}"
    given = f"(sums, rows, c, c_row@ARGUMENTS@, {last});"
    endings = (f"if ({last} < {BLOCK})", f"  @ENDING@_part{given}", "else", f"  @ENDING@{given}")
    lines = _lines(("@TC@ sums[32 * COLUMNS] __attribute__((aligned(64)));", *tiles, *endings))
    return lines.replace("@ENDING@", f"@NAME@_end_{columns}")


def _endings(arithmetic: TileArithmetic, epilogue: Epilogue | None) -> Iterator[str]:
    """What finishes and stores rows of one block of columns, or two, with a last one in part or whole."""
    if epilogue is None:
        return
    is_whole = arithmetic.element_types[2] == "int32"
    load = "tw_load_words" if is_whole else "tw_load"
    yield from (words(), *TileEnding(epilogue, 1, BLOCK, has_part=True, is_whole=is_whole).vocabulary())
    for columns, has_part in product((1, 2), (False, True)):
        ending = TileEnding(epilogue, columns, BLOCK, has_part, is_whole)
        sums = f"{load}(sums + {{row}} * {COLUMNS} + {{vector}} * TW_LANES)"
        name = f"@NAME@_end_{columns}{'_part' * has_part}"
        lines = {"COLUMNS": "\n".join(ending.columns()), "STORES": "\n".join(ending.stores("i", sums))}
        yield filled(TEXTS["ending"], {"NAME": name, **lines})


def _lines(statements: Iterable[str]) -> str:
    return "\n".join(f"      {statement}" for statement in statements)


U8S8 = TileArithmetic("u8s8", ("uint8", "int8", "int32"), "tdpbusd", "amx_int8")
S8U8 = TileArithmetic("s8u8", ("int8", "uint8", "int32"), "tdpbsud", "amx_int8")
BF16 = TileArithmetic("bf16", ("bfloat16", "bfloat16", "float32"), "tdpbf16ps", "amx_bf16", flushes=True)

# Measured on one core of an Intel Xeon (Sapphire Rapids), GCC 12: see docs/kernels.md. That of bfloat16 is not: its instruction
# takes as long, for half as many steps.
KERNELS = (*(tile_kernel(arithmetic, peak_share=14.0) for arithmetic in (U8S8, S8U8)), tile_kernel(BF16, peak_share=7.0))
