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
from dataclasses import dataclass
from itertools import product

from tilewright.kernels.contract import (
    ElementTypes,
    Epilogue,
    KernelSource,
    MicroKernel,
    SourceKind,
    Variants,
    matrix_abi,
    stored_types,
)
from tilewright.kernels.dialects.avx512 import DIALECT
from tilewright.kernels.element_access import C_TYPES, ELEMENT_BYTES
from tilewright.kernels.interleaved_product import WORDS
from tilewright.kernels.tile_ending import TileEnding, matmul_kernel
from tilewright.kernels.translation_units import used_definitions

BLOCK = 16
"""Rows, and columns of 4 bytes, of a tile."""
ROWS = 128
CALL_CYCLES = 180
"""To load a configuration, and to release the tiles: 69 ns at 2.6 GHz, stores of C included."""
COLUMNS = 2 * BLOCK

TILES = """\
typedef struct {
  unsigned char palette, start, reserved[14];
  unsigned short row_bytes[16];
  unsigned char rows[16];
} tw_tiles;
/* Rows of A and columns of B in a first block and a second one, which may be empty, and groups of steps. A tile without rows has
   no columns either. */
static inline __attribute__((always_inline)) void tw_configure_tiles(long first_rows, long second_rows, long first_columns,
                                                                      long second_columns, long groups) {
  const long rows[8] = {first_rows, first_rows, second_rows, second_rows, first_rows, second_rows, groups, groups};
  const long columns[8] = {first_columns, second_columns, first_columns, second_columns, groups, groups, first_columns,
                           second_columns};
  tw_tiles tiles = {1, 0, {0}, {0}, {0}};
  for (int i = 0; i < 8; i++) {
    tiles.row_bytes[i] = (unsigned short)(rows[i] ? 4 * columns[i] : 0);
    tiles.rows[i] = (unsigned char)(columns[i] ? rows[i] : 0);
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(tiles));
}
/* The first bytes of a row, up to 64, and zeros behind them; others are not touched. */
static inline __attribute__((always_inline)) void tw_tile_row(void *to, const void *from, long bytes) {
  typedef long row_of_bytes __attribute__((vector_size(64)));
  const unsigned long mask = bytes >= 64 ? ~0ul : bytes <= 0 ? 0 : (1ul << bytes) - 1;
  row_of_bytes row;
  __asm__("vmovdqu8 %1, %0%{%2%}%{z%}" : "=v"(row) : "m"(*(const char(*)[64])from), "Yk"(mask));
  *(row_of_bytes *)to = row;
}
#define TW_TILE_LOAD(tile, p, stride) \\
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(p), "r"((long)(stride)) : "memory")
#define TW_TILE_STORE(tile, p, stride) \\
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(p), "r"((long)(stride)) : "memory")
#define TW_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile : :)
"""

# Rows by `rows` of them at a time. The statements in place of @LOADS@ and others are those for the tiles that there are.
BLOCKS = """\
static __attribute__((noinline)) void @NAME@(long k, const @TA@ *a, long a_row, long a_column, const @TB@ *b, long b_row, @TO@ *c,
                                             long c_row, long m, long n, long accumulate@PARAMETERS@, long rows) {
  enum { H = @H@, STEPS = @STEPS@, COLUMNS = 32 };
  const long groups = k < STEPS ? (k + H - 1) / H : STEPS / H;
  const long first_rows = rows < 16 ? rows : 16, first_columns = n < 16 ? n : 16;
  @TA@ left[32 * STEPS] __attribute__((aligned(64)));
  @TB@ right[STEPS * COLUMNS] __attribute__((aligned(64)));
  tw_configure_tiles(first_rows, rows - first_rows, first_columns, n - first_columns, groups);
  for (; m > 0; a += rows * a_row, c += rows * c_row@ADVANCE@, m -= rows) {
@START@
    for (long p = 0; p < k; p += STEPS) {
      const long steps = k - p < STEPS ? k - p : STEPS;
      const @TA@ *from = a + p * a_column;
      const @TB@ *panel = b + p / H * b_row;
      long from_row = a_row, panel_row = b_row;
      if (a_column != 1 || steps != groups * H) {
        for (long i = 0; i < rows; i++)
          if (a_column == 1)
            tw_tile_row(left + i * STEPS, from + i * a_row, steps * (long)sizeof *a);
          else
            for (long q = 0; q < STEPS; q++)
              left[i * STEPS + q] = q < steps ? from[i * a_row + q * a_column] : 0;
        from = left, from_row = STEPS;
      }
      if ((steps + H - 1) / H != groups) {
        for (long g = 0; g < groups; g++)
          for (long j = 0; j < n; j += 16)
            tw_tile_row(right + (g * COLUMNS + j) * H, panel + g * b_row + j * H, g * H < steps ? 4 * (n - j) : 0);
        panel = right, panel_row = COLUMNS * H;
      }
@STEP@
    }
@STORES@
  }
  __asm__ volatile("tilerelease" : :);
}
"""
START = """\
    if (accumulate) {
@LOADS@
    } else {
@ZEROS@
    }"""
"""Where C holds sums."""
ENDING = """\
/* Rows of sums, finished and stored. */
static void @NAME@(const @TC@ *sums, long rows, @TO@ *c, long c_row@PARAMETERS@, long last) {
  (void)last;
@COLUMNS@
  for (long i = 0; i < rows; i++) {
@STORES@
  }
}
"""
WHOLE = """\
@ABI@ {
  const long whole = m / 32 * 32, rest = m - whole;
  const @TA@ *last = a + whole * a_row;
  @TO@ *last_c = c + whole * c_row;
  if (n > 16) {
    if (whole)
      @NAME@_2x2(k, a, a_row, a_column, b, b_row, c, c_row, whole, n, accumulate@ARGUMENTS@, 32);
    if (rest > 16)
      @NAME@_2x2(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
    else if (rest)
      @NAME@_1x2(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
  } else {
    if (whole)
      @NAME@_2x1(k, a, a_row, a_column, b, b_row, c, c_row, whole, n, accumulate@ARGUMENTS@, 32);
    if (rest > 16)
      @NAME@_2x1(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
    else if (rest)
      @NAME@_1x1(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
  }
}
"""


@dataclass(frozen=True, slots=True)
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
    text = "".join((*_endings(arithmetic, epilogue), *(_blocks(arithmetic, *shape, epilogue) for shape in shapes), WHOLE))
    text = text.replace("@ABI@", matrix_abi(name, epilogue, element_types=arithmetic.element_types)).replace("@NAME@", name)
    text = _with_operands(text, epilogue).replace("@TO@", stored)
    text = text.replace("@TA@", left).replace("@TB@", right).replace("@TC@", result)
    text = text.replace("@H@", str(arithmetic.interleave)).replace("@STEPS@", str(arithmetic.interleave * BLOCK))
    return "\n".join((TILES, *(used_definitions(DIALECT.prelude, text) if epilogue is not None else ()), text))


def _with_operands(text: str, epilogue: Epilogue | None) -> str:
    """The text with the operands of the epilogue as parameters and arguments."""
    parameters, arguments = (epilogue.parameters(), epilogue.arguments()) if epilogue is not None else ((), ())
    moving = [name.removesuffix("_row") for name in arguments if name.endswith("_row")]
    last = [f"{name} + whole * {name}_row" if name in moving else name for name in arguments]
    given = {
        "@PARAMETERS@": parameters,
        "@ARGUMENTS@": arguments,
        "@LAST_ARGUMENTS@": last,
        "@ADVANCE@": [f"{name} += rows * {name}_row" for name in moving],
    }
    for place, names in given.items():
        text = text.replace(place, "".join(f", {name}" for name in names))
    return text


def _blocks(arithmetic: TileArithmetic, rows: int, columns: int, epilogue: Epilogue | None) -> str:
    """The function for so many blocks of rows and of columns. Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B."""
    places = [(i, j) for i in range(rows) for j in range(columns)]
    result = [f"{2 * i + j}, c + {16 * i} * c_row + {16 * j}, 4 * c_row" for i, j in places]
    loads = [f"TW_TILE_LOAD({6 + j}, panel + {16 * j} * H, panel_row * sizeof *b);" for j in range(columns)]
    loads += [f"TW_TILE_LOAD({4 + i}, from + {16 * i} * from_row, from_row * sizeof *a);" for i in range(rows)]
    products = [
        f'__asm__ volatile("{arithmetic.instruction} %%tmm{6 + j}, %%tmm{4 + i}, %%tmm{2 * i + j}" : :);' for i, j in places
    ]
    text = BLOCKS.replace("@NAME@", f"@NAME@_{rows}x{columns}").replace("@STEP@", _lines((*loads, *products)))
    zeros = _lines(f"TW_TILE_ZERO({2 * i + j});" for i, j in places)
    holds_sums = epilogue is None or not epilogue.element_type
    text = text.replace("@START@", START if holds_sums else f"      (void)accumulate;\n{zeros}")
    text = text.replace("@LOADS@", _lines(f"TW_TILE_LOAD({place});" for place in result)).replace("@ZEROS@", zeros)
    stores = _lines(f"TW_TILE_STORE({place});" for place in result) if epilogue is None else _through_buffer(places, columns)
    return text.replace("@STORES@", stores)


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
    yield from (WORDS, *TileEnding(epilogue, 1, BLOCK, has_part=True, is_whole=is_whole).vocabulary())
    for columns, has_part in product((1, 2), (False, True)):
        ending = TileEnding(epilogue, columns, BLOCK, has_part, is_whole)
        sums = f"{load}(sums + {{row}} * {COLUMNS} + {{vector}} * TW_LANES)"
        text = ENDING.replace("@NAME@", f"@NAME@_end_{columns}{'_part' * has_part}")
        text = text.replace("@COLUMNS@", "\n".join(ending.columns()))
        yield text.replace("@STORES@", "\n".join(ending.stores("i", sums)))


def _lines(statements: Iterable[str]) -> str:
    return "\n".join(f"      {statement}" for statement in statements)


U8S8 = TileArithmetic("u8s8", ("uint8", "int8", "int32"), "tdpbusd", "amx_int8")
S8U8 = TileArithmetic("s8u8", ("int8", "uint8", "int32"), "tdpbsud", "amx_int8")
BF16 = TileArithmetic("bf16", ("bfloat16", "bfloat16", "float32"), "tdpbf16ps", "amx_bf16", flushes=True)

# Measured on one core of an Intel Xeon (Sapphire Rapids), GCC 12: see docs/kernels.md. That of bfloat16 is not: its instruction
# takes as long, for half as many steps.
KERNELS = (*(tile_kernel(arithmetic, peak_share=14.0) for arithmetic in (U8S8, S8U8)), tile_kernel(BF16, peak_share=7.0))
