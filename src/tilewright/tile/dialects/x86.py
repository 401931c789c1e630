"""Instructions of x86 by name: what the dialects of that architecture put their tables together from.

Ports and latencies are those of Ice Lake and Sapphire Rapids (uops.info), of 256 bits. Zen 4 has four pipes; two multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.tile.dialects.description import Entry, Key
from tilewright.tile.dialects.operators import FLOAT_OPERATORS, INTEGER_OPERATORS, SIGNS
from tilewright.tile.operations import Operation

FLOATS = {"float32": "ps", "float64": "pd"}
SIGNED = {"int8": "b", "int16": "w", "int32": "d", "int64": "q"}
UNSIGNED = {f"u{name}": letter for name, letter in SIGNED.items()}
INTEGERS = {**SIGNED, **UNSIGNED}
BYTES = {"float32": "d", "float64": "q", "float16": "w", "bfloat16": "w", **INTEGERS}
FLOAT_PREDICATES = {
    Operation.EQUAL: 0,
    Operation.LESS: 17,
    Operation.LESS_EQUAL: 18,
    Operation.UNEQUAL: 4,
    Operation.GREATER_EQUAL: 29,
    Operation.GREATER: 30,
}
INTEGER_PREDICATES = {
    Operation.EQUAL: 0,
    Operation.LESS: 1,
    Operation.LESS_EQUAL: 2,
    Operation.UNEQUAL: 4,
    Operation.GREATER_EQUAL: 5,
    Operation.GREATER: 6,
}
ROUNDINGS = {Operation.ROUND: 8, Operation.FLOOR: 9, Operation.CEIL: 10, Operation.TRUNCATE: 11}
Rows = Iterable[tuple[Key, Entry]]


def float_arithmetic() -> Iterator[tuple[Key, Entry]]:
    """Sums to roots."""
    for dtype, p in FLOATS.items():
        is_wide = dtype == "float64"
        for operation, name in ((Operation.ADD, "add"), (Operation.SUBTRACT, "sub"), (Operation.MULTIPLY, "mul")):
            yield (operation, dtype), Entry(FLOAT_OPERATORS[operation], f"v{name}{p}", "01", 4)
        yield (Operation.DIVIDE, dtype), Entry(FLOAT_OPERATORS[Operation.DIVIDE], f"vdiv{p}", "0", 14 if is_wide else 11)
        yield (Operation.SQUARE_ROOT, dtype), Entry("", f"vsqrt{p}", "0", 18 if is_wide else 12)
        yield (Operation.SMALLER, dtype), Entry("", f"vmin{p}", "01", 4)
        yield (Operation.LARGER, dtype), Entry("", f"vmax{p}", "01", 4)


def roundings(name: str = "vround") -> Iterator[tuple[Key, Entry]]:
    """To integers that stay floats."""
    for dtype, p in FLOATS.items():
        for operation, code in ROUNDINGS.items():
            yield (operation, dtype), Entry("", f"{name}{p} ${code},", "01", 8)


def signs() -> Iterator[tuple[Key, Entry]]:
    """Of 128 and 256 bits alone."""
    for dtype, letter in SIGNED.items():
        if letter != "q":
            yield (Operation.WITH_SIGN, dtype), Entry("", f"vpsign{letter}", "01", 1)


def fused() -> Iterator[tuple[Key, Entry]]:
    """Multiply-adds: compilers choose the form, as {fma} of the C renderer."""
    for dtype, p in FLOATS.items():
        yield (Operation.FMA, dtype), Entry("{fma}({0}, {1}, {2})", f"vfmadd231{p}", "01", 4)


def integer_arithmetic(longest: int = 32) -> Iterator[tuple[Key, Entry]]:
    """Sums and products, minima and maxima, absolute values of lanes of up to so many bits."""
    for dtype, letter in INTEGERS.items():
        yield (Operation.ADD, dtype), Entry(INTEGER_OPERATORS[Operation.ADD], f"vpadd{letter}", "015", 1)
        yield (Operation.SUBTRACT, dtype), Entry(INTEGER_OPERATORS[Operation.SUBTRACT], f"vpsub{letter}", "015", 1)
        bits = int(dtype.removeprefix("u")[3:])
        if 16 <= bits <= longest:
            latency = {16: 5, 32: 10, 64: 15}[bits]
            yield (Operation.MULTIPLY, dtype), Entry(INTEGER_OPERATORS[Operation.MULTIPLY], f"vpmull{letter}", "01", latency)
        if bits <= longest:
            kind = f"{'u' if dtype in UNSIGNED else 's'}{letter}"
            yield (Operation.SMALLER, dtype), Entry("", f"vpmin{kind}", "01", 1)
            yield (Operation.LARGER, dtype), Entry("", f"vpmax{kind}", "01", 1)
            if dtype in SIGNED:
                yield (Operation.ABSOLUTE, dtype), Entry("", f"vpabs{letter}", "01", 1)
    yield (Operation.HIGH_HALF, "int16"), Entry("", "vpmulhw", "01", 5)
    yield (Operation.HIGH_HALF, "uint16"), Entry("", "vpmulhuw", "01", 5)
    yield (Operation.PAIRS, "uint8", "int8"), Entry("", "vpmaddubsw", "01", 5)
    yield ("pair sums", "int16"), Entry("", "vpmaddwd", "01", 5)


def shifts(dtypes: Iterable[str]) -> Iterator[tuple[Key, Entry]]:
    """By a count of every lane."""
    for dtype in dtypes:
        letter = INTEGERS[dtype]
        right = "vpsrav" if dtype in SIGNED else "vpsrlv"
        yield (Operation.SHIFT_LEFT, dtype), Entry(INTEGER_OPERATORS[Operation.SHIFT_LEFT], f"vpsllv{letter}", "01", 1)
        yield (Operation.SHIFT_RIGHT, dtype), Entry(INTEGER_OPERATORS[Operation.SHIFT_RIGHT], f"{right}{letter}", "01", 1)


def shifts_by_number(bits: Iterable[int] = (16, 32)) -> Iterator[tuple[Key, Entry]]:
    """Of all lanes of so many bits; the number is an immediate operand."""
    for dtype, letter in INTEGERS.items():
        if int(dtype.removeprefix("u")[3:]) in bits:
            right = "vpsra" if dtype in SIGNED else "vpsrl"
            yield ("shift left by number", dtype), Entry("", f"vpsll{letter}", "01", 1)
            yield ("shift right by number", dtype), Entry("", f"{right}{letter}", "01", 1)


def bitwise(suffix: str = "") -> Iterator[tuple[Key, Entry]]:
    """Of integers; names of 512 bits have a suffix, as masks have lanes."""
    for dtype in INTEGERS:
        for operation, sign, name in ((Operation.AND, "&", "vpand"), (Operation.OR, "|", "vpor"), (Operation.XOR, "^", "vpxor")):
            yield (operation, dtype), Entry(f"{{0}} {sign} {{1}}", f"{name}{suffix}", "015", 1)


def blends() -> Iterator[tuple[Key, Entry]]:
    """Choices by masks that are vectors: the mask comes first, then what it chooses, as of `SELECT`."""
    for dtype, letter in BYTES.items():
        name = f"vblendv{FLOATS[dtype]}" if dtype in FLOATS else {"d": "vblendvps", "q": "vblendvpd"}.get(letter, "vpblendvb")
        yield (Operation.SELECT, dtype), Entry("", name, "015", 2)


def vector_comparisons() -> Iterator[tuple[Key, Entry]]:
    """That give vectors."""
    for dtype, p in FLOATS.items():
        for operation, code in FLOAT_PREDICATES.items():
            yield (operation, dtype), Entry(f"{{0}} {SIGNS[operation]} {{1}}", f"vcmp{p} ${code},", "01", 4)
    for dtype, letter in SIGNED.items():
        yield (Operation.GREATER, dtype), Entry("{0} > {1}", f"vpcmpgt{letter}", "01", 1)
        yield (Operation.EQUAL, dtype), Entry("{0} == {1}", f"vpcmpeq{letter}", "01", 1)


def mask_comparisons() -> Iterator[tuple[Key, Entry]]:
    """That give mask registers."""
    for dtype, p in FLOATS.items():
        for operation, code in FLOAT_PREDICATES.items():
            yield (operation, dtype), Entry("", f"vcmp{p} ${code},", "5", 3)
    for dtype, letter in INTEGERS.items():
        for operation, code in INTEGER_PREDICATES.items():
            yield (operation, dtype), Entry("", f"vpcmp{'u' * (dtype in UNSIGNED)}{letter} ${code},", "5", 3)


def mask_blends() -> Iterator[tuple[Key, Entry]]:
    """Choices by mask registers."""
    for dtype, letter in BYTES.items():
        name = f"vblendm{FLOATS[dtype]}" if dtype in FLOATS else f"vpblendm{letter}"
        yield (Operation.SELECT, dtype), Entry("", name, "05", 1)


def mask_arithmetic() -> Iterator[tuple[Key, Entry]]:
    """Of mask registers, as wide as the lanes of a mask need."""
    for bits in (8, 16, 32, 64):
        for operation, sign, name in ((Operation.AND, "&", "kand"), (Operation.OR, "|", "kor"), (Operation.XOR, "^", "kxor")):
            yield (operation, f"mask{bits}"), Entry(f"({{t}})({{0}} {sign} {{1}})", name, "0", 1)
        yield (Operation.NOT, f"mask{bits}"), Entry("({t})({0} ^ {all})", "knot", "0", 1)


def widenings() -> Iterator[tuple[Key, Entry]]:
    """Integers to wider ones; a sign makes no difference to the result."""
    for source, letter in INTEGERS.items():
        for dtype, wide in INTEGERS.items():
            if "bwdq".index(letter) < "bwdq".index(wide):
                sign = "zx" if source in UNSIGNED else "sx"
                yield (Operation.CAST, source, dtype), Entry("", f"vpmov{sign}{letter}{wide}", "5", 3)


def narrowings() -> Iterator[tuple[Key, Entry]]:
    """Integers to narrower ones, which wrap or saturate."""
    for source, letter in INTEGERS.items():
        for dtype, narrow in INTEGERS.items():
            if "bwdq".index(letter) > "bwdq".index(narrow):
                yield (Operation.CAST, source, dtype), Entry("", f"vpmov{letter}{narrow}", "5", 4)
                if (source in UNSIGNED) == (dtype in UNSIGNED):
                    kind = "us" if dtype in UNSIGNED else "s"
                    yield (Operation.SATURATE, source, dtype), Entry("", f"vpmov{kind}{letter}{narrow}", "5", 4)


def conversions(names: Iterable[tuple[str, str, str]]) -> Iterator[tuple[Key, Entry]]:
    """Casts of (type, type, instruction)."""
    for source, dtype, name in names:
        yield (Operation.CAST, source, dtype), Entry("", name, "01", 4)


FLOAT_CONVERSIONS = (
    ("int32", "float32", "vcvtdq2ps"),
    ("float32", "int32", "vcvttps2dq"),
    ("float32", "float64", "vcvtps2pd"),
    ("float64", "float32", "vcvtpd2ps"),
    ("int32", "float64", "vcvtdq2pd"),
    ("float64", "int32", "vcvttpd2dq"),
)
HALF_CONVERSIONS = (("float16", "float32", "vcvtph2ps"), ("float32", "float16", "vcvtps2ph $0,"))
AVX512_CONVERSIONS = (
    ("uint32", "float32", "vcvtudq2ps"),
    ("uint32", "float64", "vcvtudq2pd"),
    ("int64", "float64", "vcvtqq2pd"),
    ("uint64", "float64", "vcvtuqq2pd"),
    ("float64", "int64", "vcvttpd2qq"),
    ("float64", "uint64", "vcvttpd2uqq"),
    ("int64", "float32", "vcvtqq2ps"),
    ("uint64", "float32", "vcvtuqq2ps"),
    ("float32", "int64", "vcvttps2qq"),
    ("float32", "uint64", "vcvttps2uqq"),
)


def memory(dtypes: Iterable[str]) -> Iterator[tuple[Key, Entry]]:
    """Loads and stores of whole registers, and of one element in all lanes."""
    for dtype in dtypes:
        name = f"vmovu{FLOATS[dtype]}" if dtype in FLOATS else "vmovdqu"
        broadcast = {"float32": "vbroadcastss", "float64": "vbroadcastsd"}.get(dtype, f"vpbroadcast{BYTES[dtype]}")
        streamed = f"vmovnt{FLOATS[dtype]}" if dtype in FLOATS else "vmovntdq"
        yield ("load", dtype), Entry("", name, "23", 7)
        yield ("store", dtype), Entry("", name, "4978", 0)
        yield ("streamed store", dtype), Entry("", streamed, "4978", 0)
        yield ("broadcast", dtype), Entry("", broadcast, "23", 7)


def without_vex(rows: Rows) -> Iterator[tuple[Key, Entry]]:
    """The same instructions as SSE has them: the result takes the place of the first operand."""
    for key, entry in rows:
        yield key, Entry(entry.c, entry.mnemonic.removeprefix("v"), entry.ports, entry.latency)


def exponents() -> Iterator[tuple[Key, Entry]]:
    """Parts of floats."""
    for dtype, p in FLOATS.items():
        yield (Operation.EXPONENT, dtype), Entry("", f"vgetexp{p}", "01", 4)
        yield (Operation.MANTISSA, dtype), Entry("", f"vgetmant{p} $0,", "01", 4)
        yield (Operation.SCALE, dtype), Entry("", f"vscalef{p}", "01", 4)
        yield (Operation.FRACTION, dtype), Entry("", f"vreduce{p} $9,", "0", 4)


def masked_moves() -> Iterator[tuple[Key, Entry]]:
    """Loads and stores under masks that are vectors: of 32 and 64 bits alone."""
    for dtype, letter in BYTES.items():
        if letter in "dq":
            name = f"vmaskmov{'ps' if letter == 'd' else 'pd'}"
            yield ("masked load", dtype), Entry("", name, "0123", 8)
            yield ("masked store", dtype), Entry("", name, "0478", 0)


def masked_memory() -> Iterator[tuple[Key, Entry]]:
    """Loads and stores under mask registers; those of integers know the size of a lane."""
    for dtype, letter in BYTES.items():
        size = {"b": 8, "w": 16, "d": 32, "q": 64}[letter]
        name = f"vmovu{FLOATS[dtype]}" if dtype in FLOATS else f"vmovdqu{size}"
        yield ("load", dtype), Entry("", name, "23", 7)
        yield ("store", dtype), Entry("", name, "4978", 0)
        yield ("masked load", dtype), Entry("", name, "23", 8)
        yield ("masked store", dtype), Entry("", name, "4978", 0)


def gathers() -> Iterator[tuple[Key, Entry]]:
    """Of elements of 32 and 64 bits."""
    for dtype, letter in BYTES.items():
        for index, size in (("int32", "d"), ("int64", "q")):
            if letter in "dq":
                name = f"vgather{size}{FLOATS[dtype]}" if dtype in FLOATS else f"vpgather{size}{letter}"
                yield ("gather", index, dtype), Entry("", name, "23", 20)


def mask_gathers() -> Iterator[tuple[Key, Entry]]:
    """The same names under mask registers."""
    yield from gathers()


def dots(prefix: str = "") -> Iterator[tuple[Key, Entry]]:
    """Sums of products of narrower lanes; the unsigned operand comes first."""
    yield (Operation.DOT, "uint8", "int8", "int32"), Entry("", f"{prefix}vpdpbusd", "0", 5)
    yield (Operation.DOT, "int16", "int16", "int32"), Entry("", f"{prefix}vpdpwssd", "0", 5)


def half_arithmetic() -> Iterator[tuple[Key, Entry]]:
    """Of float16, which C computes with in inline assembly alone: compilers know no operators of its bits."""
    for operation, name in HALF_NAMES.items():
        yield (operation, "float16"), Entry("", name, "05", 4)
    for operation, code in FLOAT_PREDICATES.items():
        yield (operation, "float16"), Entry("", f"vcmpph ${code},", "5", 3)
    for operation, code in ROUNDINGS.items():
        yield (operation, "float16"), Entry("", f"vrndscaleph ${code},", "05", 8)
    yield from conversions((("int16", "float16", "vcvtw2ph"), ("uint16", "float16", "vcvtuw2ph")))


HALF_NAMES = {
    Operation.ADD: "vaddph",
    Operation.SUBTRACT: "vsubph",
    Operation.MULTIPLY: "vmulph",
    Operation.DIVIDE: "vdivph",
    Operation.SQUARE_ROOT: "vsqrtph",
    Operation.SMALLER: "vminph",
    Operation.LARGER: "vmaxph",
    Operation.FMA: "vfmadd231ph",
    Operation.EXPONENT: "vgetexpph",
    Operation.MANTISSA: "vgetmantph $0,",
    Operation.SCALE: "vscalefph",
}
