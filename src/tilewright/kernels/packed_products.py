"""C text of products of a few rows with weights of 4 or 8 bits, which are unpacked in registers: for any vector dialect.

Lanes are columns. A lane of 32 bits holds a word of a column: four bytes, and in each one number, or two (`PackedProduct`).

- Rows of float32: a number is shifted to the top of its lane and back with its sign, and becomes a float: shift, shift, convert,
  multiply-add for so many weights as a vector has lanes. Zero points in the middle of the numbers are a bit that is flipped once
  for a whole word.
- Rows of 8-bit integers: four steps of a row are broadcast and multiplied by four numbers of every lane at once, two products
  to a sum of 16 bits (vpmaddubsw). A number of 4 bits is 15 at most, an element of a row 128 in size, so that eight such sums,
  which are at most 8 * 2 * 15 * 128 = 30720 in size, fit into 16 bits; then they go into 32. Numbers of 8 bits are two of 4.

A sum over a block of weights is exact in integers, and in float32 in the order of the steps; the blocks' sums, times their
scales, are added up in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.contract import LINE_BYTES
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.element_access import C_TYPES, reading, suffix
from tilewright.kernels.helpers import Helper
from tilewright.records import record

TEXTS = CTexts(__file__)

WORD_BYTES = 4
MOST_SUMS = 8
"""Sums of 16 bits that fit into one: see above."""
BYTES_AHEAD = 1024
"""From the words that are loaded to those that are prefetched. One row of integers from memory, of a plain read of the same bytes
(Zen 3, medians of 21 rounds): not prefetched 0.80, 1 KiB ahead 1.06, 2 KiB 0.98, 4 KiB 0.92, 8 KiB 0.89."""
BLOCKS_AHEAD = 2
"""The same of scales."""
REGISTERS = {16: 32}
"""Of dialects by their lanes; all others have 16."""


@record(kw_only=True)
class PackedProduct:
    """Some rows by a panel of weights (numbers - zero points) * scales, in blocks of one scale a column.

    A panel holds block after block; a block `groups` times the words of all its columns, one after the other. With `per_byte` 2
    the lower halves of a word are four steps of the sum, and the upper halves the next four; with 1 its bytes are four steps.
    """

    per_byte: int
    row_type: str
    """float32, or int8 with scales and shares: see `graph/builders/nbits_matmul.py`."""
    scale_type: str
    zero_type: str
    """"": all zero points are in the middle, 8 or 128."""
    groups: int
    panel: int
    """Columns of a panel."""
    columns: int
    """Of them, those that are computed: whole vectors."""
    rows: int

    @property
    def name(self) -> str:
        """The function, which tells all the above."""
        bits, zeros = 8 // self.per_byte, self.zero_type or "middle"
        kind = f"{bits}_bits_{self.row_type}_{self.scale_type}_{zeros}"
        return f"tw_packed_{kind}_{self.groups}x{self.columns}_of_{self.panel}_{self.rows}"

    @property
    def block_size(self) -> int:
        """The steps of the sum in a block."""
        return self.groups * WORD_BYTES * self.per_byte

    @property
    def middle(self) -> int:
        """The zero point in the middle of the numbers."""
        return 8 if self.per_byte == 2 else 128


def packed_product(kind: PackedProduct, lanes: int) -> Helper:
    """The function `kind.name`, which adds the products with so many blocks to sums [rows][columns]:

    (numbers, scales, zeros, rows, row, row_block, row_scales, row_scale, row_shares, row_share, blocks, sums), where `row`,
    `row_scale` and `row_share` are the elements from one row to the next, `row_block` those from a block of a row to the next;
    zeros, scales and shares of rows are read only where there are such.
    """
    text = _Text(kind, lanes)
    opening, closing = [f"static __attribute__((noinline, unused)) void {kind.name}({_arguments(kind)}) {{"], ["}", ""]
    reads = reading(filter(None, (kind.scale_type, kind.zero_type)))
    return Helper(kind.name, "\n".join([*opening, *text.body(), *closing]), (_vocabulary(), *reads))


@cache
def _vocabulary() -> Helper:
    return Helper("tw_packed", with_instructions(TEXTS["vocabulary"]))


def _arguments(kind: PackedProduct) -> str:
    rows = f"const {C_TYPES[kind.row_type]} *rows, long row, long row_block"
    scales = f"const {C_TYPES[kind.scale_type]} *scales, const {C_TYPES[kind.zero_type or 'float32']} *zeros"
    of_rows = "const float *row_scales, long row_scale, const float *row_shares, long row_share"
    return f"const unsigned char *numbers, {scales}, {rows}, {of_rows}, long blocks, float *sums"


@record
class _Text:
    kind: PackedProduct
    lanes: int

    @property
    def is_whole(self) -> bool:
        """Whether rows are integers."""
        return self.kind.row_type == "int8"

    @property
    def wide(self) -> int:
        """Vectors of columns side by side: sums of a block take half of the registers, those of numbers of 8 bits are two."""
        most = REGISTERS.get(self.lanes, 16) // 2 // self.kind.rows // (3 - self.kind.per_byte if self.is_whole else 1)
        return max(1, min(most, self.kind.columns // self.lanes))

    def body(self) -> Iterator[str]:
        """All columns, so many vectors at a time."""
        vectors = self.kind.columns // self.lanes
        for first in range(0, vectors, self.wide):
            yield "  {"
            yield from (f"    {line}" for line in self.vectors(first, min(self.wide, vectors - first)))
            yield "  }"
        if not self.kind.zero_type:
            yield "  (void)zeros;"
        if not self.is_whole:
            yield "  (void)row_scales, (void)row_scale, (void)row_shares, (void)row_share;"

    def vectors(self, first: int, wide: int) -> Iterator[str]:
        """So many vectors of columns from one on: the totals of all blocks, which stay in registers where these are enough."""
        places = [(row, vector) for row in range(self.kind.rows) for vector in range(wide)]
        in_registers = 4 * len(places) <= REGISTERS.get(self.lanes, 16)
        if in_registers:
            yield from (f"tw_vec total_{row}_{vector} = tw_splat(0.0f);" for row, vector in places)
        else:
            yield f"float totals[{len(places)} * TW_LANES] = {{0}};"
        yield "for (long block = 0; block < blocks; block++) {"
        block_bytes = self.kind.groups * self.kind.panel * WORD_BYTES
        yield f"  const unsigned char *words = numbers + block * {block_bytes} + {first} * 4 * TW_LANES;"
        yield f"  const {C_TYPES[self.kind.row_type]} *steps = rows + block * row_block;"
        for vector in range(0, wide, max(1, LINE_BYTES // WORD_BYTES // self.lanes)):
            place = f"scales + (block + {BLOCKS_AHEAD}) * {self.kind.panel} + {first + vector} * TW_LANES"
            yield f"  __builtin_prefetch({place});"
        block = self.whole_block(first, wide) if self.is_whole else self.float_block(first, wide)
        yield from (f"  {line}" for line in block)
        for number, (row, vector) in enumerate(places):
            scale = self._load("scales", self.kind.scale_type, first + vector)
            if self.is_whole:
                scale = f"scale_{row} * {scale}"
            if in_registers:
                yield f"  total_{row}_{vector} = tw_multiply_add(sum_{row}_{vector}, {scale}, total_{row}_{vector});"
            else:
                total = f"totals + {number} * TW_LANES"
                yield f"  tw_store({total}, tw_multiply_add(sum_{row}_{vector}, {scale}, tw_load({total})));"
        yield "}"
        for number, (row, vector) in enumerate(places):
            place = f"sums + {row * self.kind.columns} + {first + vector} * TW_LANES"
            total = f"total_{row}_{vector}" if in_registers else f"tw_load(totals + {number} * TW_LANES)"
            yield f"tw_store({place}, tw_load({place}) + {total});"

    def float_block(self, first: int, wide: int) -> Iterator[str]:
        """The sums of a block of rows of float32, in the order of the steps."""
        rows, vectors, bits = range(self.kind.rows), range(wide), 8 // self.kind.per_byte
        yield from (f"tw_vec sum_{row}_{vector} = tw_splat(0.0f);" for row in rows for vector in vectors)
        for vector in vectors if self.kind.zero_type else ():
            zero = self._load("zeros", self.kind.zero_type, first + vector)
            yield f"const tw_vec zero_{vector} = {zero} - tw_splat({self.kind.middle}.0f);"
        yield f"for (long group = 0; group < {self.kind.groups}; group++) {{"
        flip = "0x88888888" if bits == 4 else "0x80808080"
        for vector in vectors:
            yield from self.prefetched(f"words + {vector} * 4 * TW_LANES", vector)
            yield f"  tw_packed_bits word_{vector} = (tw_packed_bits)tw_packed_load(words + {vector} * 4 * TW_LANES) ^ {flip}u;"
            yield f"  TW_KEEP(word_{vector});"
        for step in range(WORD_BYTES * self.kind.per_byte):
            yield from (f"  const tw_vec step_{step}_{row} = tw_splat(steps[{row} * row + {step}]);" for row in rows)
            shift = 32 - bits - (step % 4 * 8 + step // 4 * 4)
            for vector in vectors:
                number = f"__builtin_convertvector((tw_int)(word_{vector} << {shift}) >> {32 - bits}, tw_vec)"
                number = f"{number} - zero_{vector}" if self.kind.zero_type else number
                yield f"  const tw_vec number_{step}_{vector} = {number};"
                for row in rows:
                    total = f"sum_{row}_{vector}"
                    yield f"  {total} = tw_multiply_add(number_{step}_{vector}, step_{step}_{row}, {total});"
        yield f"  words += {self.kind.panel * WORD_BYTES};"
        yield f"  steps += {WORD_BYTES * self.kind.per_byte};"
        yield "}"

    def whole_block(self, first: int, wide: int) -> Iterator[str]:
        """The sums of a block of rows of integers, less the zero points' part, as floats."""
        rows, vectors = range(self.kind.rows), range(wide)
        at_once = min(self.kind.groups, MOST_SUMS // self.kind.per_byte)
        whole = [f"whole_{row}_{vector}" for row in rows for vector in vectors]
        is_one = at_once == self.kind.groups
        if not is_one:
            yield f"tw_int {', '.join(f'{one} = tw_splat_int(0)' for one in whole)};"
            yield f"for (long group = 0; group < {self.kind.groups}; group += {at_once}) {{"
        yield from self.sums_of_groups(wide, at_once)
        for row in rows:
            for vector in vectors:
                part = self._whole(row, vector)
                yield f"const tw_int whole_{row}_{vector} = {part};" if is_one else f"whole_{row}_{vector} += {part};"
        if not is_one:
            yield f"words += {at_once * self.kind.panel * WORD_BYTES};"
            yield f"steps += {at_once * WORD_BYTES * self.kind.per_byte};"
            yield "}"
        points = self.kind.groups * WORD_BYTES
        for vector in vectors if self.kind.zero_type else ():
            yield f"const tw_vec zero_{vector} = {self._load('zeros', self.kind.zero_type, first + vector)};"
        for row in rows:
            share = f"row_shares[{row} * row_share + block]"
            zero = "" if self.kind.zero_type else f" * {self.kind.middle}.0f"
            yield f"const tw_vec scale_{row} = tw_splat(row_scales[{row} * row_scale + block]);"
            yield f"const tw_vec less_{row} = tw_splat({share} * -{points}.0f{zero});"
            for vector in vectors:
                total = f"__builtin_convertvector(whole_{row}_{vector}, tw_vec)"
                total = f"tw_multiply_add(less_{row}, zero_{vector}, {total})" if self.kind.zero_type else f"{total} + less_{row}"
                yield f"const tw_vec sum_{row}_{vector} = {total};"

    def sums_of_groups(self, wide: int, groups: int) -> Iterator[str]:
        """The sums of 16 bits of so many groups, those of upper halves of bytes apart where they count 16 times as much."""
        rows, vectors, is_apart = range(self.kind.rows), range(wide), self.kind.per_byte == 1
        for row in rows:
            for vector in vectors:
                parts = [f"low_{row}_{vector} = {{0}}", *([f"high_{row}_{vector} = {{0}}"] if is_apart else [])]
                yield f"tw_packed_sums {', '.join(parts)};"
        for group in range(groups):
            yield "{"
            for vector in vectors if self.kind.rows > 2 else ():
                yield from self.unpacked(group, vector)
            for row in rows:
                place = f"steps + {row} * row + {group * WORD_BYTES * self.kind.per_byte}"
                yield f"  const tw_int first_{row} = tw_packed_steps({place});"
                yield f"  const tw_int second_{row} = {f'first_{row}' if is_apart else f'tw_packed_steps({place} + 4)'};"
                for vector in vectors if self.kind.rows > 2 else ():
                    yield from self.added(row, vector)
            for vector in vectors if self.kind.rows <= 2 else ():
                yield from self.unpacked(group, vector)
                for row in rows:
                    yield from self.added(row, vector)
            yield "}"

    def unpacked(self, group: int, vector: int) -> Iterator[str]:
        """The two halves of the bytes of a vector of words."""
        at = f"words + {group * self.kind.panel * WORD_BYTES} + {vector} * 4 * TW_LANES"
        yield from self.prefetched(at, vector)
        yield f"  tw_int word_{vector} = tw_packed_load({at});"
        yield f"  TW_KEEP(word_{vector});"
        yield f"  const tw_int lower_{vector} = word_{vector} & 0x0f0f0f0f;"
        yield f"  const tw_int upper_{vector} = (tw_int)((tw_packed_bits)word_{vector} >> 4) & 0x0f0f0f0f;"

    def prefetched(self, place: str, vector: int) -> Iterator[str]:
        """Ask for the line of words that is loaded some groups later, by the first vector of a line."""
        if vector % max(1, LINE_BYTES // WORD_BYTES // self.lanes) == 0:
            yield f"  __builtin_prefetch({place} + {BYTES_AHEAD});"

    def added(self, row: int, vector: int) -> Iterator[str]:
        """Both halves, times four steps of a row each, go into the sums."""
        low, high = f"low_{row}_{vector}", f"{'high' if self.kind.per_byte == 1 else 'low'}_{row}_{vector}"
        yield f"  {low} = tw_packed_add({low}, lower_{vector}, first_{row});"
        yield f"  {high} = tw_packed_add({high}, upper_{vector}, second_{row});"

    def _whole(self, row: int, vector: int) -> str:
        low = f"tw_packed_whole(low_{row}_{vector})"
        return low if self.kind.per_byte == 2 else f"{low} + (tw_packed_whole(high_{row}_{vector}) << 4)"

    def _load(self, array: str, dtype: str, vector: int) -> str:
        return f"tw_load{suffix(dtype)}({array} + block * {self.kind.panel} + {vector} * TW_LANES)"
