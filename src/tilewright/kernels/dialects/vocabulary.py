"""The vocabulary of vector dialects.

C text of `tw_transpose`: as many vectors as a vector has lanes become their own transpose, in registers.

A list of n vectors of n elements is transposed by log2(n) steps of one kind: the even elements of every two neighbours come
first, then the odd ones. It is done within quarters of four lanes, for four vectors at a time, and then to whole quarters:
each step is one instruction (shufps, vshufps; vperm2f128; vshuff32x4), where an element that leaves its quarter would take a
permutation by an index.

Vector dialects: the C vocabulary, `tw_*`, in which kernels and generated loops are written once for every ISA.

A dialect's `prelude` is C for GCC and Clang without any header. The vocabulary, over float lanes:

    TW_LANES, tw_vec, tw_mask                       lane count, a vector, the result of a comparison
    tw_load(p)  tw_store(p, v)                      unaligned
    tw_read(p)  tw_prefetch(p)                      one float; its cache line, wherever p points
    tw_stream(p, v)  tw_fence()                     store past the caches, where the ISA has that: p aligned to the vector; others
                                                    see what was stored so after the fence
    tw_whole_lines(p, stride)                       whether p, and all rows at that stride, begin cache lines
    tw_load_part(p, n)  tw_store_part(p, v, n)      the first n lanes, 0 <= n <= TW_LANES; loaded lanes >= n are 0
    tw_load_strided(p, stride, n)                   lane i is p[i * stride]; lanes >= n are 0
    tw_store_strided(p, stride, v, n)
    tw_transpose(v)  TW_EACH_LANE(statement)        v[i], lane j becomes v[j], lane i, of TW_LANES vectors; the statement
                                                    TW_LANES times, with the constant lane = 0, 1, ... in each
    tw_splat(x)  tw_iota()                          x everywhere; 0, 1, 2, ...
    tw_first(a, b, n)                               lanes < n of a, the others of b
    + - * /                                         C operators, each rounded
    tw_multiply_add(a, b, c)                        a * b + c: rounded once where the ISA can, else product and sum each
    tw_multiply_add_float64(a, b, c)                the same of three doubles
    tw_maximum tw_minimum                           NaN where either operand is NaN
    tw_sqrt tw_abs tw_floor
    tw_less tw_less_equal tw_greater tw_greater_equal tw_equal tw_not_equal     -> tw_mask; & | ~ combine masks
    tw_where(mask, a, b)  tw_any(mask)              an operand for each lane; whether the comparison holds in any lane
    tw_larger tw_smaller                            the same without care for NaN: one operand, if either is NaN
    tw_reduce_add tw_reduce_multiply tw_reduce_maximum tw_reduce_minimum        -> float, by halves: lane i with i + lanes/2
    tw_reduce_larger tw_reduce_smaller
    TW_KEEP(v)  TW_OPAQUE(p)                        keep a vector, or a pointer, in a register (compiles to nothing)

Nothing outside the lanes named is read or written. The compiler's flags must include -fno-math-errno and -ffp-contract=off and
must not include -ffast-math: a dialect, not a compiler, decides what is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.helpers import filled
from tilewright.records import record

TEXTS = CTexts(__file__)

QUARTER = 4
"""Lanes of 128 bits, between which an AVX shuffle of elements moves nothing."""


def transposition_text(lanes: int) -> str:
    """`tw_transpose` for a power of two of lanes, at least 4.

    >>> print(transposition_text(4).splitlines()[1])
      const tw_vec s_0 = TW_SHUFFLE_TWO(v[0], v[1], 0, 2, 4, 6);
    """
    lines: list[str] = []

    def pick(low: str, high: str, indices: list[int]) -> str:
        name = f"s_{len(lines)}"
        lines.append(f"  const tw_vec {name} = TW_SHUFFLE_TWO({low}, {high}, {', '.join(map(str, indices))});")
        return name

    groups = [[f"v[{start + i}]" for i in range(QUARTER)] for start in range(0, lanes, QUARTER)]
    inside = [_transposed(group, lambda low, high, odd: pick(low, high, _elements(lanes, odd))) for group in groups]
    columns = [
        _transposed([group[column] for group in inside], lambda low, high, odd: pick(low, high, _quarters(lanes, odd)))
        for column in range(QUARTER)
    ]
    results = [f"  v[{i}] = {columns[i % QUARTER][i // QUARTER]};" for i in range(lanes)]
    return "\n".join(["TW_INLINE void tw_transpose(tw_vec *v) {", *lines, *results, "}", ""])


def _transposed(vectors: list[str], pick: Callable[[str, str, int], str]) -> list[str]:
    """The transpose of a power of two of vectors, by their even (0) and odd (1) elements, picked from two neighbours."""
    for _ in range(len(vectors).bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [pick(low, high, odd) for odd in (0, 1) for low, high in pairs]
    return vectors


def _elements(lanes: int, odd: int) -> list[int]:
    """In every quarter the even, or odd, elements of two vectors."""
    starts = range(0, lanes, QUARTER)
    return [vector * lanes + start + i for start in starts for vector in (0, 1) for i in range(odd, QUARTER, 2)]


def _quarters(lanes: int, odd: int) -> list[int]:
    """The even, or odd, quarters of two vectors."""
    return [start + i for start in range(odd * QUARTER, 2 * lanes, 2 * QUARTER) for i in range(QUARTER)]


MOST_REGISTERS = 32
"""Of any ISA: instructions that know so many are encoded in another way, and assembly asks for them by another letter."""
INSTRUCTION = re.compile(r"^(?P<name>tw_\w+)\((?P<operands>.+)\) = (?P<instruction>.+)$", re.MULTILINE)


@record
class VectorDialect:
    """One ISA's spelling of the vocabulary.

    >>> from tilewright.kernels import dialect_for
    >>> dialect = dialect_for("x86_64", frozenset({"avx2", "fma"}))
    >>> dialect.name, dialect.lanes
    ('avx2', 8)
    """

    name: str
    vector_bits: int
    lanes: int
    """Floats per vector."""
    registers: int
    """Vector registers that every machine with these features has."""
    features: frozenset[str]
    """ISA features needed, named as in `Machine.features`."""
    architecture: str
    """As in `Machine.architecture`, or "any"."""
    prelude: str
    """The C text. It may be repeated within a translation unit, and only one dialect may be used in each."""

    def runs_on(self, architecture: str, features: frozenset[str]) -> bool:
        """Whether a machine of that architecture with these features can execute the dialect."""
        return self.architecture in ("any", architecture) and self.features <= features


def vector_dialect(
    name: str, vector_bits: int, registers: int, features: frozenset[str], architecture: str, instructions: str
) -> VectorDialect:
    """A dialect from `instructions`: the C of what differs between ISAs (listed below); the rest is the same for all.

    `instructions` defines tw_mask, tw_load_part, tw_store_part, the comparisons, tw_where, tw_any, tw_prefix (a mask of the
    first n lanes), tw_stream, tw_fence, tw_larger and tw_smaller (the second operand where the two are unordered), tw_sqrt,
    tw_floor, tw_multiply_add and tw_multiply_add_float64, TW_KEEP.

    A line `tw_sqrt(v) = vsqrtps` defines a function of vectors that is this one instruction. `@COMPARISONS@` are those of ISAs
    whose masks are vectors of integers.
    """
    lanes = vector_bits // 32
    guard = f"TW_DIALECT_{name.upper()}"
    letter = "v" if registers == MOST_REGISTERS else "x"
    own = INSTRUCTION.sub(partial(_instruction, letter), filled(instructions, {"COMPARISONS": TEXTS["comparisons"]}))
    pieces = (f"#ifndef {guard}\n#define {guard}\n", _types(vector_bits), own, _shared(lanes), "#endif\n")
    return VectorDialect(name, vector_bits, lanes, registers, features, architecture, "".join(pieces))


def _instruction(registers: str, found: re.Match[str]) -> str:
    """The function that one instruction is; assembly names the last operand first, and then the result."""
    operands = found["operands"].split(", ")
    places = ", ".join(f"%{number}" for number in range(len(operands), -1, -1))
    inputs = ", ".join(f'"{registers}"({name})' for name in operands)
    return f"""\
TW_INLINE tw_vec {found["name"]}({", ".join(f"tw_vec {name}" for name in operands)}) {{
  tw_vec result;
  __asm__("{found["instruction"]} {places}" : "={registers}"(result) : {inputs});
  return result;
}}"""


def _types(vector_bits: int) -> str:
    lanes, size_bytes = vector_bits // 32, vector_bits // 8
    return lanes_text(lanes) + filled(TEXTS["types"], {"LANES": lanes, "BYTES": size_bytes})


def lanes_text(lanes: int) -> str:
    """The definition of TW_EACH_LANE."""
    each = " ".join(f"{{ enum {{ lane = {i} }}; __VA_ARGS__ }}" for i in range(lanes))
    return f"#define TW_EACH_LANE(...) {{ {each} }}\n"


def _shared(lanes: int) -> str:
    every = range(lanes)
    strided = ", ".join(f"p[{i} * stride]" if i else "p[0]" for i in every)
    text = filled(TEXTS["memory"] + TEXTS["values"], {"STRIDED": strided, "IOTA": ", ".join(f"{i}.0f" for i in every)})
    folds = (_reduction(*reduction, lanes) for reduction in REDUCTIONS)
    return text + "".join(folds) + transposition_text(lanes)


def _reduction(name: str, expression: str, lanes: int) -> str:
    """Fold the upper half of the lanes onto the lower half until one lane is left."""
    lines = [f"TW_INLINE float tw_reduce_{name}(tw_vec v) {{", "  tw_vec upper;"]
    half = lanes // 2
    while half:
        indices = ", ".join(str((i + half) % lanes) for i in range(lanes))
        lines += [f"  upper = TW_SHUFFLE(v, {indices});", f"  v = {expression};"]
        half //= 2
    return "\n".join([*lines, "  return v[0];", "}", ""])


REDUCTIONS = (
    ("add", "v + upper"),
    ("multiply", "v * upper"),
    ("maximum", "tw_maximum(v, upper)"),
    ("minimum", "tw_minimum(v, upper)"),
    ("larger", "tw_larger(v, upper)"),
    ("smaller", "tw_smaller(v, upper)"),
)

ROW_UNROLL = 4
"""Rows that a row-wise reduction works on at a time. Measured on AVX-512 (Zen 5), softmax of 24 rows of 512: 7.9 cycles a vector
with 2 ways, 6.7 with 4; row by row 11.7."""
