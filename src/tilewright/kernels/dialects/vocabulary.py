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
    tw_exp tw_log tw_tanh tw_erf tw_sigmoid tw_silu tw_gelu tw_gelu_tanh        `vector_functions.py`: to 1e-6, relative
    tw_less tw_less_equal tw_greater tw_greater_equal tw_equal tw_not_equal     -> tw_mask; & | ~ combine masks
    tw_where(mask, a, b)  tw_any(mask)              an operand for each lane; whether the comparison holds in any lane
    tw_larger tw_smaller                            the same without care for NaN: one operand, if either is NaN
    tw_reduce_add tw_reduce_multiply tw_reduce_maximum tw_reduce_minimum        -> float, by halves: lane i with i + lanes/2
    tw_reduce_larger tw_reduce_smaller
    tw_reduce_<name>_rows(v)                        v[way] = tw_splat(tw_reduce_<name>(v[way])), bit for bit
    TW_ROWS  TW_EACH_ROW(statement)                 the statement TW_ROWS times, with the constant way = 0, 1, ... in each
    tw_exp2_down                                    2^x of x that is not above 0 (softmax), to 2.4e-7, relative; below 2^-125.5
                                                    perhaps 0; NaN for NaN
    tw_<name>_rows(v)                               v[way] = tw_<name>(v[way]) for these functions, step by step for all ways
    TW_KEEP(v)  TW_OPAQUE(p)                        keep a vector, or a pointer, in a register (compiles to nothing)

Nothing outside the lanes named is read or written. The compiler's flags must include -fno-math-errno and -ffp-contract=off and
must not include -ffast-math (the exponential relies on rounding): a dialect, not a compiler, decides what is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.vector_functions import EXP2_DOWN, VECTOR_FUNCTIONS
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
OF_INTEGER_MASKS = ("comparisons", "bounds", "scales", "scale_down")
"""Parts of dialects whose masks are vectors of integers."""


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
    name: str,
    vector_bits: int,
    registers: int,
    features: frozenset[str],
    architecture: str,
    instructions: str,
    exp2_down: str = "",
) -> VectorDialect:
    """A dialect from `instructions`: the C of what differs between ISAs (listed below); the rest is the same for all.

    `instructions` defines tw_mask, tw_load_part, tw_store_part, the comparisons, tw_where, tw_any, tw_prefix (a mask of the
    first n lanes), tw_stream, tw_fence, tw_larger and tw_smaller (the second operand where the two are unordered),
    tw_size_below (the smaller of a limit and |v|; of NaN it or the limit), tw_nan_below (v, but NaN where x is -inf), tw_sqrt,
    tw_floor, tw_round (to nearest even, for |x| < 2^22), tw_scale (p * 2^n for integral -250 <= n <= 250, rounded once if p *
    2^(n/2) is normal or n is 0), tw_scale_add (p * 2^n + c), tw_multiply_add and tw_multiply_add_float64, tw_rest (a * b - ab,
    exact, where ab is a * b rounded, |a| and |b| are below 2^100 and the rest is normal), tw_inverse (1 / d to 2e-7 for 1 <= d
    < 2^100; 1 for 1), tw_scale_down (p * 2^n for 0.5 < p < 2 and integral -125 <= n <= 0, 0 for n < -125 and any p, NaN if both
    are), TW_KEEP.
    What an ISA has for C beside the vocabulary (elements of other types, parts of rows, sums of bytes) are its `INSTRUCTIONS`.
    With steps of its own for `exp2_down`, written as `EXP2_DOWN` is, a dialect needs no tw_scale_down.

    A line `tw_sqrt(v) = vsqrtps` defines a function of vectors that is this one instruction. `@COMPARISONS@`, `@BOUNDS@`,
    `@SCALES@` and `@SCALE_DOWN@` are those of ISAs whose masks are vectors of integers.
    """
    lanes = vector_bits // 32
    guard = f"TW_DIALECT_{name.upper()}"
    functions = {f"tw_{name}": function.steps for name, function in VECTOR_FUNCTIONS.items()}
    shared = _shared(lanes, functions | {"tw_exp2_down": exp2_down or EXP2_DOWN})
    letter = "v" if registers == MOST_REGISTERS else "x"
    own = INSTRUCTION.sub(
        partial(_instruction, letter), filled(instructions, {part.upper(): TEXTS[part] for part in OF_INTEGER_MASKS})
    )
    pieces = (f"#ifndef {guard}\n#define {guard}\n", _types(vector_bits), own, shared, "#endif\n")
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
    return row_unroll_text() + lanes_text(lanes) + filled(TEXTS["types"], {"LANES": lanes, "BYTES": size_bytes})


def row_unroll_text() -> str:
    """The definitions of TW_ROWS and TW_EACH_ROW."""
    return f"#define TW_ROWS {ROW_UNROLL}\n{_each_text('way', 'ROW', ROW_UNROLL)}"


def lanes_text(lanes: int) -> str:
    """The definition of TW_EACH_LANE."""
    return _each_text("lane", "LANE", lanes)


def _each_text(name: str, macro: str, count: int) -> str:
    each = " ".join(f"{{ enum {{ {name} = {i} }}; __VA_ARGS__ }}" for i in range(count))
    return f"#define TW_EACH_{macro}(...) {{ {each} }}\n"


def _shared(lanes: int, functions: Mapping[str, str]) -> str:
    every = range(lanes)
    strided = ", ".join(f"p[{i} * stride]" if i else "p[0]" for i in every)
    text = filled(TEXTS["memory"] + TEXTS["values"], {"STRIDED": strided, "IOTA": ", ".join(f"{i}.0f" for i in every)})
    text += "".join(_one(name, steps) + _for_rows(name, steps) for name, steps in functions.items())
    folds = (fold(*reduction, lanes) for reduction in REDUCTIONS for fold in (_reduction, _reduction_of_rows))
    return text + "".join(folds) + transposition_text(lanes)


def _one(name: str, steps: str) -> str:
    lines = "".join(f"  {line}\n" for line in steps.replace("$", "").splitlines())
    return f"TW_INLINE tw_vec {name}(tw_vec x) {{\n{_declared(steps, '')}{lines}  return x;\n}}\n"


def _for_rows(name: str, steps: str) -> str:
    """For all ways step by step: one chain of dependent steps leaves the units idle."""
    lines = "".join(f"  TW_EACH_ROW({line})\n" for line in re.sub(r"\$(\w)", r"\1[way]", steps).splitlines())
    return f"TW_INLINE void {name}_rows(tw_vec *x) {{\n{_declared(steps, '[TW_ROWS]')}{lines}}}\n"


def _declared(steps: str, each: str) -> str:
    names = dict.fromkeys(re.findall(r"\$(\w)", steps))
    return "".join(f"  tw_vec {name}{each};\n" for name in names if name != "x")


def _reduction(name: str, expression: str, lanes: int) -> str:
    """Fold the upper half of the lanes onto the lower half until one lane is left."""
    lines = [f"TW_INLINE float tw_reduce_{name}(tw_vec v) {{", "  tw_vec upper;"]
    half = lanes // 2
    while half:
        indices = ", ".join(str((i + half) % lanes) for i in range(lanes))
        lines += [f"  upper = TW_SHUFFLE(v, {indices});", f"  v = {expression};"]
        half //= 2
    return "\n".join([*lines, "  return v[0];", "}", ""])


def _reduction_of_rows(name: str, expression: str, lanes: int) -> str:
    """The same for all ways at a time: halves, then quarters of two vectors meet in one, until every way has its part of one."""
    lines = [f"TW_INLINE void tw_reduce_{name}_rows(tw_vec *all) {{", "  tw_vec v;", "  tw_vec upper;"]
    part = lanes
    count = ROW_UNROLL
    while count > 1:
        part //= 2
        count //= 2
        lower = [i // part * 2 * part + i % part for i in range(lanes)]
        for i in range(count):
            for half, offset in (("v", 0), ("upper", part)):
                indices = ", ".join(str(lane + offset) for lane in lower)
                lines.append(f"  {half} = TW_SHUFFLE_TWO(all[{2 * i}], all[{2 * i + 1}], {indices});")
            lines.append(f"  all[{i}] = {expression};")
    lines.append("  v = all[0];")
    while part > 1:
        part //= 2
        lines += [f"  upper = TW_SHUFFLE(v, {', '.join(str(i ^ part) for i in range(lanes))});", f"  v = {expression};"]
    whole = lanes // ROW_UNROLL
    lines += [f"  all[{way}] = TW_SHUFFLE(v, {', '.join([str(way * whole)] * lanes)});" for way in range(ROW_UNROLL)]
    return "\n".join([*lines, "}", ""])


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
