"""Operations of single lanes in C: as expressions, and as functions for vectors whose lanes are taken apart."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import InternalError
from tilewright.render.c.tiles import software_fma
from tilewright.render.c.tiles.vocabulary import SCALARS, Vocabulary
from tilewright.tile.dialects.operators import BITWISE, FLOAT_OPERATORS, INTEGER_OPERATORS, SIGNS
from tilewright.tile.operations import Operation
from tilewright.tile.types import Type

FLOATS = {
    **FLOAT_OPERATORS,
    Operation.SQUARE_ROOT: "__builtin_sqrt{f}({0})",
    Operation.FLOOR: "__builtin_floor{f}({0})",
    Operation.CEIL: "__builtin_ceil{f}({0})",
    Operation.TRUNCATE: "__builtin_trunc{f}({0})",
    Operation.ROUND: "__builtin_rint{f}({0})",
    Operation.FMA: "__builtin_fma{f}({0}, {1}, {2})",
}
INTEGERS = {
    **INTEGER_OPERATORS,
    **BITWISE,
    Operation.QUOTIENT: "{1} == 0 ? 0 : {0} / {1}",
    Operation.REMAINDER: "{1} == 0 ? 0 : {0} % {1}",
    Operation.HIGH_HALF: "({t})((({d}){0} * ({d}){1}) >> {bits})",
}
SIGNED = {
    Operation.QUOTIENT: "{1} == 0 ? 0 : {1} == -1 ? ({t})-({u}){0} : {0} / {1}",
    Operation.REMAINDER: "{1} == 0 || {1} == -1 ? 0 : {0} % {1}",
}
MASKS = {**BITWISE, Operation.NOT: "!{0}"}
ANY_TYPE = {
    **{operation: f"{{0}} {sign} {{1}}" for operation, sign in SIGNS.items()},
    Operation.SMALLER: "{0} < {1} ? {0} : {1}",
    Operation.LARGER: "{0} > {1} ? {0} : {1}",
    Operation.SELECT: "{0} ? {1} : {2}",
}
LIMITS = {"int32": ("int", "(-0x7fffffff - 1)", 31), "int64": ("long", "(-0x7fffffffffffffffL - 1)", 63)}


def expression(vocabulary: Vocabulary, operation: Operation, t: Type, types: Sequence[Type], operands: Sequence[str]) -> str:
    """An operation on values of one lane."""
    if operation is Operation.CAST:
        return _cast(vocabulary, types[0].dtype, t.dtype, operands[0])
    if operation is Operation.FMA and not vocabulary.dialect.entry(operation, t.dtype):
        return f"{software_fma.define(vocabulary)}({', '.join(operands)})"
    kind = FLOATS if t.is_float else MASKS if types[0].is_mask else INTEGERS
    text = (SIGNED if t.is_signed else {}).get(operation) or ANY_TYPE.get(operation) or kind.get(operation)
    if text is None:
        raise InternalError(f"C has no {operation} of {', '.join(map(str, types))}")
    return text.format(*operands, **_names(t))


def _names(t: Type) -> dict[str, str | int]:
    """C types that texts mention; narrow integers are computed with in int."""
    if t.is_mask:
        return {}
    wide = {64: "__int128", 32: "long"}.get(t.bits, "int")
    unsigned = SCALARS[f"uint{t.bits}"] if t.bits >= 32 else "unsigned"
    sign = "" if t.is_signed or t.bits < 32 else "unsigned "
    return {"t": SCALARS[t.dtype], "u": unsigned, "d": sign + wide, "f": "f" * (t.dtype == "float32"), "bits": t.bits}


def _cast(vocabulary: Vocabulary, source: str, dtype: str, operand: str) -> str:
    """Floats to integers by a function that knows what has no such integer."""
    if dtype.startswith("mask"):
        return operand
    if source in FLOAT_NAMES and dtype not in FLOAT_NAMES and dtype != "uint64":
        return f"{_float_to_integer(vocabulary, source, dtype)}({operand})"
    return f"({SCALARS[dtype]}){operand}"


FLOAT_NAMES = ("float32", "float64")


def _float_to_integer(vocabulary: Vocabulary, source: str, dtype: str) -> str:
    """x86 has an instruction that gives the smallest number where there is no other."""
    by, least, bits = LIMITS["int64" if dtype in ("int64", "uint32") else "int32"]
    lower = "x > -0x1.00000002p31" if source == "float64" and bits == 31 else f"x >= -0x1p{bits}"
    result, inside = SCALARS[dtype], f"{lower} && x < 0x1p{bits}"
    name, instruction = f"cast_{source}_{dtype}", f"cvtts{'s' if source == 'float32' else 'd'}2si %1, %0"
    assembly = f'  {by} found;\n  __asm__("@{instruction}" : "=r"(found) : "x"(x));\n  return ({result})found;'
    branches = (
        f"#if defined(__AVX__)\n{assembly.replace('@', 'v')}",
        f"#elif defined(__x86_64__)\n{assembly.replace('@', '')}",
        f"#else\n  return ({result})({inside} ? ({by})x : {least});\n#endif",
    )
    head = f"static inline __attribute__((always_inline)) {result} {name}({SCALARS[source]} x)"
    return vocabulary.define(name, "\n".join([f"{head} {{", *branches, "}"]))


def by_lanes(vocabulary: Vocabulary, operation: Operation, t: Type, types: Sequence[Type], operands: Sequence[str]) -> str:
    """An operation on vectors, lane by lane: an expression of operands that are names."""
    lanes = []
    scalar_types = [one.scalar for one in types]
    for lane in range(t.lanes):
        its_operands = [f"{name}[{lane}]" for name in operands]
        lanes.append(expression(vocabulary, operation, t.scalar, scalar_types, its_operands))
    return f"({vocabulary.type(t)}){{{', '.join(lanes)}}}"
