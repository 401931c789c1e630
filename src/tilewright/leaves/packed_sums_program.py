"""Products of a few rows with weights of 4 or 8 bits as tile programs: weights are unpacked in registers.

Lanes are columns. A lane of 32 bits holds a word of a column: four bytes, and in each one number, or two.

- Rows of float32: a number is shifted to the top of its lane and back with its sign, and becomes a float: shift, shift, convert,
  multiply-add for so many weights as a vector has lanes. Zero points in the middle of the numbers are a bit that is flipped once
  for a whole word.
- Rows of 8-bit integers: four steps of a row are broadcast and multiplied by four numbers of every lane at once, and added up by
  one instruction where there is one (`_SumsOfDots`), else two products to a sum of 16 bits. A number of 4 bits is 15 at most, an
  element of a row 128 in size, so that eight such sums, which are at most 8 * 2 * 15 * 128 = 30720 in size, fit into 16 bits;
  then they go into 32. Numbers of 8 bits are two of 4.

A sum over a block of weights is exact in integers, and in float32 in the order of the steps; the blocks' sums, times their
scales, are added up in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.scalar import Load, Scalar, State
from tilewright.kernels.contract import LINE_BYTES
from tilewright.leaves.declaration import LoweredTile
from tilewright.leaves.packed_sums_form import WORD_BYTES, PackedSum, counts_together, rows_together
from tilewright.leaves.tile_programs.integers import smaller, whole
from tilewright.leaves.tile_programs.points import Points
from tilewright.leaves.tile_programs.values import Values
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import NOT_SATURATING, Operation
from tilewright.tile.program import Buffer, Value
from tilewright.tile.types import Type, vector

BLOCKS_IN_A_RUN = 128
"""Blocks whose sums are added up before they go into the totals: roundings grow with the count of these runs."""
MOST_SUMS = 8
"""Sums of 16 bits that fit into one: see above."""
BYTES_AHEAD = 1024
"""From the words that are loaded to those that are prefetched. One row of integers from memory, of a plain read of the same bytes
(Zen 3, medians of 21 rounds): not prefetched 0.80, 1 KiB ahead 1.06, 2 KiB 0.98, 4 KiB 0.92, 8 KiB 0.89."""
BLOCKS_AHEAD = 2
"""The same of scales."""
REGISTERS = {16: 32}
"""Of dialects by their lanes; all others have 16."""
Place: TypeAlias = tuple[int, int]
"""A row and a vector of columns, by number."""
Sums: TypeAlias = dict[Place, Value]


def lowered(loops: VectorLoops, form: PackedSum) -> LoweredTile:
    """The program of a box whose operands lie as `packed_sums` says."""
    by_pairs = _PackedSums(loops, form).lowered()
    return replace(by_pairs, of_dots=_SumsOfDots(loops, form).lowered()) if form.is_whole else by_pairs


class _PackedSums(Points):
    def __init__(self, loops: VectorLoops, form: PackedSum) -> None:
        Points.__init__(self, loops)
        self.form, self.is_whole = form, bool(form.is_whole)
        columns = self.size(form.column)
        assert isinstance(columns, int)
        self.columns, self.groups = columns, self.size(form.group)
        self.words = vector("int32", self.lanes)
        self.registers = REGISTERS.get(self.lanes, 16)
        self.vectors_of_line = max(1, LINE_BYTES // WORD_BYTES // self.lanes)

    # Loops.

    def lowered(self) -> LoweredTile:
        """Some rows at a time, inside loops over all other axes: the weights of a panel come from memory once."""
        form, size = self.form, self.size(self.form.row)
        start: IndexLike = 0
        with self.over(axis for axis in self.ranges if axis not in {form.row, form.column, form.block, form.group, form.byte}):
            for count in sorted(set(rows_together(size)), reverse=True) if isinstance(size, int) else counts_together():
                stop = start + whole(self.builder, size - start, count)
                with self.along(form.row, start, stop, count) as row:
                    self.some_rows(row, count)
                start = stop
        return self.arguments.lowered()

    def some_rows(self, row: IndexLike, count: int) -> None:
        """The sums of so many rows, and their finish."""
        b, form = self.builder, self.form
        memory = b.scratch("sums", "float32", count * self.columns)
        with b.loop("i", 0, count * self.columns, self.lanes) as i:
            b.store(memory, i, b.constant(0.0, self.type))
        blocks = self.size(form.block)
        with b.loop("first", 0, blocks, BLOCKS_IN_A_RUN) as first:
            in_run = smaller(b, BLOCKS_IN_A_RUN, blocks - first)
            vectors, wide = self.columns // self.lanes, self.wide(count)
            for vector in range(0, vectors, wide):
                places = [(way, one) for way in range(count) for one in range(vector, min(vector + wide, vectors))]
                self.run(row, first, in_run, places, memory)
        columns = self.along(form.column, 0, self.columns, self.lanes)
        with b.loop("way", 0, count) as way, self.moved(form.row, row + way), columns:
            self.finish(b.load(memory, way * self.columns + self.at[form.column], self.type))

    def wide(self, rows: int) -> int:
        """Vectors of columns side by side: sums of a block take half of the registers, those of numbers of 8 bits are two."""
        most = self.registers // 2 // rows // (3 - self.form.per_byte if self.is_whole else 1)
        return max(1, min(most, self.columns // self.lanes))

    def finish(self, total: Value) -> None:
        """Store what becomes of the sums of a vector of columns."""

        def leaf(scalar: Scalar) -> Value:
            return total if isinstance(scalar, State) else self.load(self.loops.view(_read(scalar)))

        self.store(Values(self.builder, self.type, leaf).value(self.loops.reduction.finish))

    def run(self, row: IndexLike, first: IndexLike, blocks: IndexLike, places: list[Place], memory: Buffer) -> None:
        """Add the sums of so many blocks to those in memory: their totals stay in registers where these are enough."""
        b = self.builder
        fits = 4 * len(places) <= self.registers
        totals = [b.variable(b.constant(0.0, self.type)) for _ in places] if fits else []
        kept = None if fits else b.scratch("totals", "float32", len(places) * self.lanes)
        if kept is not None:
            for number in range(len(places)):
                b.store(kept, number * self.lanes, b.constant(0.0, self.type))
        with b.loop("block", first, first + blocks) as block, self.moved(self.form.block, block):
            self.prefetch_scales(places)
            sums = self.of_integers(row, places) if self.is_whole else self.of_floats(row, places)
            scales = self.scales(row, places)
            for number, place in enumerate(places):
                if kept is None:
                    b.assign(totals[number], b.multiply_add(sums[place], scales[place], totals[number]))
                else:
                    at = number * self.lanes
                    b.store(kept, at, b.multiply_add(sums[place], scales[place], b.load(kept, at, self.type)))
        for number, (way, one) in enumerate(places):
            at = way * self.columns + one * self.lanes
            total = totals[number] if kept is None else b.load(kept, number * self.lanes, self.type)
            b.store(memory, at, b.load(memory, at, self.type) + total)

    # Operands.

    def of_column(self, read: int, one: int) -> IndexLike:
        """Where a read lies at a vector of columns."""
        with self.moved(self.form.column, one * self.lanes):
            return self.place(self.loops.view(read))

    def of_row(self, read: int, row: IndexLike) -> IndexLike:
        """Where a read lies at a row."""
        with self.moved(self.form.row, row):
            return self.place(self.loops.view(read))

    def buffer(self, read: int) -> Buffer:
        """The memory of a read."""
        return self.arguments.buffer(self.loops.view(read))[0]

    def by_column(self, read: int, one: int) -> Value:
        """A read by columns, as float32."""
        with self.moved(self.form.column, one * self.lanes):
            return self.load(self.loops.view(read))

    def by_row(self, read: int, row: IndexLike) -> Value:
        """A read by rows, in all lanes."""
        return self.builder.broadcast(self.buffer(read), self.of_row(read, row), self.type)

    def scales(self, row: IndexLike, places: list[Place]) -> dict[Place, Value]:
        """The scales of blocks, times those of rows of integers."""
        scales = {one: self.by_column(self.form.scales, one) for _, one in places}
        if not self.is_whole:
            return {place: scales[place[1]] for place in places}
        return {(way, one): self.by_row(self.form.scales + 1, row + way) * scales[one] for way, one in places}

    def prefetch_scales(self, places: list[Place]) -> None:
        """Those some blocks ahead, by lines."""
        ahead = self.stride(self.loops.view(self.form.scales).stride(self.form.block)) * BLOCKS_AHEAD
        for one in dict.fromkeys(one for _, one in places):
            if (one - places[0][1]) % self.vectors_of_line == 0:
                self.builder.prefetch(self.buffer(self.form.scales), self.of_column(self.form.scales, one) + ahead)

    def word(self, one: int, places: list[Place]) -> Value:
        """The words of a vector of columns in the current group; the first of a line asks for the line of some groups later."""
        place = self.of_column(0, one)
        if (one - places[0][1]) % self.vectors_of_line == 0:
            self.builder.prefetch(self.buffer(0), place + BYTES_AHEAD)
        return self.builder.load(self.buffer(0), place, self.words)

    # Blocks.

    def of_floats(self, row: IndexLike, places: list[Place]) -> Sums:
        """The sums of a block of rows of float32, in the order of the steps."""
        b, form, bits = self.builder, self.form, 8 // self.form.per_byte
        vectors, ways = list(dict.fromkeys(one for _, one in places)), list(dict.fromkeys(way for way, _ in places))
        sums = {place: b.variable(b.constant(0.0, self.type)) for place in places}
        zeros = {one: self.by_column(form.zeros, one) - form.middle for one in vectors} if form.has_zeros else {}
        flipped = int("88888888" if bits == 4 else "80808080", 16)
        with self.along(form.group, 0, self.groups):
            words = {one: self.word(one, places) ^ flipped for one in vectors}
            for step in range(WORD_BYTES * form.per_byte):
                steps = {way: b.broadcast(self.buffer(1), self.of_row(1, row + way) + step, self.type) for way in ways}
                shift = 32 - bits - (step % 4 * 8 + step // 4 * 4)
                for one in vectors:
                    number = b.cast(words[one] << shift >> (32 - bits), "float32")
                    number = number - zeros[one] if zeros else number
                    for way in ways:
                        total = sums[way, one]
                        b.assign(total, b.multiply_add(number, steps[way], total))
        return dict(sums)

    def of_integers(self, row: IndexLike, places: list[Place]) -> Sums:
        """The sums of a block of rows of integers, less the zero points' part, as floats."""
        b, form = self.builder, self.form
        whole_sums = self.whole_sums(row, places)
        zeros = {one: self.by_column(form.zeros, one) for _, one in places} if form.has_zeros else {}
        taken = self.number(self.groups * -WORD_BYTES)
        found: Sums = {}
        for way, one in places:
            less, total = self.by_row(form.scales + 2, row + way) * taken, b.cast(whole_sums[way, one], "float32")
            found[way, one] = b.multiply_add(less, zeros[one], total) if zeros else total + less * form.middle
        return found

    def whole_sums(self, row: IndexLike, places: list[Place]) -> Sums:
        """The sums of the products of a block, in 32 bits."""
        b, at_once = self.builder, MOST_SUMS // self.form.per_byte
        if isinstance(self.groups, int) and self.groups <= at_once:
            return self.of_groups(row, places, self.groups)
        sums = {place: b.variable(b.constant(0, self.words)) for place in places}
        stop = whole(b, self.groups, at_once)
        for start, end, count in ((0, stop, at_once), (stop, self.groups, 1)):
            if start != end:
                with self.along(self.form.group, start, end, count):
                    for place, part in self.of_groups(row, places, count).items():
                        b.assign(sums[place], sums[place] + part)
        return dict(sums)

    def of_groups(self, row: IndexLike, places: list[Place], count: int) -> Sums:
        """The sums of so many groups, in 16 bits first; those of upper halves apart where they count 16 times as much."""
        sums: dict[Place, list[Value]] = {place: [] for place in places}
        for _ in self.each_group(count):
            self.add_group(row, places, sums)
        return {place: self.in_32_bits(parts) for place, parts in sums.items()}

    def each_group(self, count: int) -> Iterator[int]:
        """At each of so many groups."""
        first = self.at[self.form.group]
        for number in range(count):
            with self.moved(self.form.group, first + number):
                yield number

    def add_group(self, row: IndexLike, places: list[Place], sums: dict[Place, list[Value]]) -> None:
        """Both halves of all bytes of a group, times four steps of a row each. Of few rows the steps stay in registers while
        words are unpacked, of many the words."""
        ways, vectors = list(dict.fromkeys(way for way, _ in places)), list(dict.fromkeys(one for _, one in places))
        if len(ways) > 2:
            halves = {one: self.halves(one, places) for one in vectors}
            for way in ways:
                steps = self.steps(row + way)
                for one in vectors:
                    self.add_products(sums[way, one], halves[one], steps)
            return
        steps_of = {way: self.steps(row + way) for way in ways}
        for one in vectors:
            halves_of_one = self.halves(one, places)
            for way in ways:
                self.add_products(sums[way, one], halves_of_one, steps_of[way])

    def halves(self, one: int, places: list[Place]) -> tuple[Value, Value]:
        """The lower and the upper halves of the bytes of a vector of words."""
        b, word = self.builder, self.builder.bitcast(self.word(one, places), self.words.unsigned)
        lower, upper = (b.bitcast(part & 0x0F0F0F0F, self.bytes_of_words("uint8")) for part in (word, word >> 4))
        return lower, upper

    def steps(self, row: IndexLike) -> tuple[Value, Value]:
        """The four steps of a row that lower halves are multiplied by, and those of upper halves."""
        b, place, is_apart = self.builder, self.of_row(1, row), self.form.per_byte == 1
        places = (place, place if is_apart else place + WORD_BYTES)
        first, second = (b.bitcast(b.broadcast(self.buffer(1), at, self.words), self.bytes_of_words("int8")) for at in places)
        return first, second

    def bytes_of_words(self, dtype: str) -> Type:
        """A vector of words, as bytes."""
        return vector(dtype, self.lanes * WORD_BYTES)

    def add_products(self, sums: list[Value], halves: tuple[Value, Value], steps: tuple[Value, Value]) -> None:
        """Products, neighbours added, go into one sum, or of lower and upper halves into two."""
        b, of = self.builder, vector("int16", self.lanes * 2)
        products = [b.instruction(Operation.PAIRS, of, pair, NOT_SATURATING) for pair in zip(halves, steps, strict=True)]
        if self.form.per_byte == 1:
            sums[:] = [one + product for one, product in zip(sums, products, strict=True)] if sums else products
        else:
            for product in products:
                sums[:] = [sums[0] + product] if sums else [product]

    def in_32_bits(self, sums: list[Value]) -> Value:
        """Neighbouring sums of 16 bits added; those of upper halves count 16 times as much."""
        b = self.builder
        low, *high = (b.dot(one, b.constant(1, one.type), b.constant(0, self.words)) for one in sums)
        return low + (high[0] << 4) if high else low


class _SumsOfDots(_PackedSums):
    """The same by products of four bytes, added up in 32 bits: those of lower halves, and of upper ones."""

    def add_products(self, sums: list[Value], halves: tuple[Value, Value], steps: tuple[Value, Value]) -> None:
        """Into a sum of each."""
        totals = sums or [self.builder.constant(0, self.words)] * 2
        sums[:] = [self.builder.dot(*pair) for pair in zip(halves, steps, totals, strict=True)]

    def in_32_bits(self, sums: list[Value]) -> Value:
        """Both; those of upper halves count 16 times as much where they are of one number."""
        low, high = sums
        return low + (high << 4) if self.form.per_byte == 1 else low + high


def _read(scalar: Scalar) -> int:
    assert isinstance(scalar, Load)
    return scalar.read
