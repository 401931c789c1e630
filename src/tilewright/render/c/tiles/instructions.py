"""Instructions in C: an operator, a builtin function, or one instruction in inline assembly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tilewright.errors import InternalError
from tilewright.render.c.tiles import masks, memory, nested, scalars, shuffles
from tilewright.render.c.tiles.names import Names
from tilewright.render.c.tiles.vocabulary import SCALARS, SHORTEST, all_lanes, literal, register_lanes
from tilewright.tile.dialects.description import Entry
from tilewright.tile.index import Index
from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.passes.support import key_types
from tilewright.tile.program import Constant, Instruction
from tilewright.tile.types import Type

Rendering: TypeAlias = "Callable[[Names, Instruction], Iterator[str]]"


def lines(body: Names, made: Instruction) -> Iterator[str]:
    """The statements of an instruction; the last one that begins with its type defines it."""
    return RENDERINGS.get(made.operation, arithmetic)(body, made)


def arithmetic(body: Names, made: Instruction) -> Iterator[str]:
    """What treats lane by lane, or groups of lanes, and depends on operands alone."""
    vocabulary, t = body.vocabulary, made.type
    operands = [body.value(one) for one in made.operands]
    types = [one.type for one in made.operands]
    if made.operation is Operation.MULTIPLY_ADD:
        yield body.defined(made, f"{multiply_add_function(body, t)}({', '.join(operands)})")
        return
    if t.lanes == 1 and types[0].lanes == 1:
        yield body.defined(made, scalars.expression(vocabulary, made.operation, t, types, operands))
        return
    entry = vocabulary.dialect.entry(made.operation, *key_types(made.operation, t, made.operands))
    if entry is None or "convertvector" in entry.c:
        yield from without_entry(body, made, operands)
    elif entry.c and vocabulary.is_x86 and _is_sum_of_products(made):
        yield from body.opaque(made, operators(body, made, entry, operands))
    elif entry.c:
        yield body.defined(made, operators(body, made, entry, operands))
    else:
        yield from assembly(body, made, entry, operands)


def _is_sum_of_products(made: Instruction) -> bool:
    """Whether products of pairs are added: GCC would add them up in another order, and keep them all until then."""
    is_product = (isinstance(one, Instruction) and one.operation is Operation.PAIRS for one in made.operands)
    return made.operation is Operation.ADD and any(is_product)


def operators(body: Names, made: Instruction, entry: Entry, operands: list[str]) -> str:
    """The expression of an entry."""
    t = made.type
    names = {"t": body.vocabulary.type(t)}
    if t.is_mask:
        if body.vocabulary.is_mask_register(t):
            names["all"] = all_lanes(t)
    elif made.operation is Operation.FMA:
        names["fma"] = fma_function(body, t)
    else:
        lanes = register_lanes(t)
        names["u"] = body.vocabulary.vector_type(f"uint{t.bits}", lanes)
        names["i"] = body.vocabulary.vector_type(f"int{t.bits}", lanes)
    if made.operation in SHIFTS:
        operands = [operands[0], shift_count(body, made, names["u"])]
    text = entry.c.format(*operands, **names)
    return f"({names['t']})({text})" if made.operation in COMPARISONS else text


SUMS = (Operation.DOT, Operation.FMA)
"""Instructions that add to their last operand."""
SHIFTS = (Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT)


def shift_count(body: Names, made: Instruction, unsigned: str) -> str:
    """A constant of all lanes as a number, which compilers know best."""
    count = made.operands[1]
    if isinstance(count, Constant):
        return str(int(count.number))
    return f"({unsigned if made.operation is Operation.SHIFT_LEFT else body.vocabulary.type(made.type)}){body.value(count)}"


def fma_function(body: Names, t: Type) -> str:
    """A macro: of the builtin that Clang has since 16, or of what GCC and older ones of Clang have."""
    name = f"fma_{t.dtype}x{register_lanes(t)}"
    own = FMA_BUILTINS.get(body.vocabulary.dialect.architecture, _x86_fma)(body.vocabulary.type(t), t)
    builtin = f"#define {name} __builtin_elementwise_fma"
    text = f"#if __has_builtin(__builtin_elementwise_fma)\n{builtin}\n#else\n#define {name}(a, b, c) {own}\n#endif"
    return body.vocabulary.define(name, text)


def _x86_fma(c: str, t: Type) -> str:
    letter = "ps" if t.bits == 32 else "pd"
    size = {128: "", 256: "256", 512: "512_mask"}[register_lanes(t) * t.bits]
    last = f", (unsigned {'short' if t.bits == 32 else 'char'})-1, 4" if size == "512_mask" else ""
    return f"__builtin_ia32_vfmadd{letter}{size}(a, b, c{last})"


def _statement(c: str, text: str, constraint: str) -> str:
    inputs = f'"{constraint}"(a), "{constraint}"(b)'
    return f'({{ {c} total_ = c; __asm__("{text}" : "+{constraint}"(total_) : {inputs}); total_; }})'


def _aarch64_fma(c: str, t: Type) -> str:
    lanes = "4s" if t.bits == 32 else "2d"
    return _statement(c, f"fmla %0.{lanes}, %1.{lanes}, %2.{lanes}", "w")


def _ppc64le_fma(c: str, t: Type) -> str:
    return _statement(c, f"xvmadda{'sp' if t.bits == 32 else 'dp'} %x0, %x1, %x2", "wa")


def multiply_add_function(body: Names, t: Type) -> str:
    """A function that fuses where no other dialect is there that would."""
    c, letter = body.vocabulary.type(t), "s" if t.bits == 32 else "d"
    name = f"multiply_add_{t.dtype}" + f"x{register_lanes(t)}" * (t.lanes > 1)
    fused = f"return __builtin_fma{'f' * (letter == 's')}(a, b, c);"
    ways = {"aarch64": fused, "powerpc64": fused}
    if t.lanes > 1:
        lanes = f"{128 // t.bits}{letter}"
        ways["aarch64"] = f'__asm__("fmla %0.{lanes}, %1.{lanes}, %2.{lanes}" : "+w"(c) : "w"(a), "w"(b)); return c;'
        ways["powerpc64"] = f'__asm__("xvmadda{letter}p %x0, %x1, %x2" : "+wa"(c) : "wa"(a), "wa"(b)); return c;'
    lines = [f"static inline __attribute__((always_inline)) {c} {name}({c} a, {c} b, {c} c) {{"]
    for number, (machine, way) in enumerate(ways.items()):
        lines += [f"#{'el' * bool(number)}if defined(__{machine}__)", f"  {way}"]
    return body.vocabulary.define(name, "\n".join([*lines, "#else", "  return a * b + c;", "#endif", "}"]))


FMA_BUILTINS = {"aarch64": _aarch64_fma, "ppc64le": _ppc64le_fma}


def assembly(body: Names, made: Instruction, entry: Entry, operands: list[str]) -> Iterator[str]:
    """One instruction. AT&T syntax has operands in the opposite order."""
    vocabulary, t = body.vocabulary, made.type
    mnemonic = entry.mnemonic.replace("{", "%{").replace("}", "%}")
    name, c = body.value(made), vocabulary.type(t)
    register = vocabulary.constraint(t)
    inputs = [f'"{vocabulary.constraint(one.type)}"({text})' for one, text in zip(made.operands, operands, strict=True)]
    if made.operation is Operation.SELECT:
        yield from _selected(body, made, mnemonic, operands)
    elif made.operation in SUMS:
        yield f"{c} {name} = {operands[2]};"
        yield f'__asm__("{mnemonic} %2, %1, %0" : "+{register}"({name}) : {inputs[0]}, {inputs[1]});'
    elif mnemonic[0] in "v%" or len(operands) == 1:
        numbers = ", ".join(f"%{i}" for i in range(len(operands), -1, -1))
        yield f"{c} {name};"
        yield f'__asm__("{mnemonic} {numbers}" : "={register}"({name}) : {", ".join(inputs)});'
    else:
        yield f"{c} {name} = ({c}){operands[0]};"
        yield f'__asm__("{mnemonic} %1, %0" : "+{register}"({name}) : {inputs[1]});'
    if vocabulary.is_mask_register(t) and t.lanes < register_lanes(made.operands[0].type):
        yield f"{name} &= {all_lanes(t)};"


def _selected(body: Names, made: Instruction, mnemonic: str, operands: list[str]) -> Iterator[str]:
    vocabulary, (mask, yes, no) = body.vocabulary, operands
    name, register = body.value(made), vocabulary.constraint(made.type)
    yield f"{vocabulary.type(made.type)} {name};"
    if vocabulary.is_mask_register(made.operands[0].type):
        values = f'"{register}"({yes}), "{register}"({no}), "Yk"({mask})'
        yield f'__asm__("{mnemonic} %1, %2, %0%{{%3%}}" : "={register}"({name}) : {values});'
    else:
        values = f'"{register}"({yes}), "{register}"({no}), "{register}"({mask})'
        yield f'__asm__("{mnemonic} %3, %1, %2, %0" : "={register}"({name}) : {values});'


def without_entry(body: Names, made: Instruction, operands: list[str]) -> Iterator[str]:
    """What compilers take apart, or lane by lane."""
    operation, t, vocabulary = made.operation, made.type, body.vocabulary
    if operation is Operation.DOT:
        yield from _pair_sums(body, made, operands)
        return
    if operation is Operation.CAST and t.is_mask:
        yield body.defined(made, masks.cast(vocabulary, made, operands[0]))
    elif operation is Operation.CAST and _is_plain(made.operands[0].type, t):
        yield body.defined(made, _converted(body, made, operands[0]))
    else:
        types = [one.type for one in made.operands]
        yield body.defined(made, scalars.by_lanes(vocabulary, operation, t, types, operands))


def _is_plain(source: Type, t: Type) -> bool:
    """Whether C's conversion of vectors is that of `CAST`."""
    return not source.is_float or t.is_float or t.dtype == "int32"


def _converted(body: Names, made: Instruction, operand: str) -> str:
    """Conversions keep the number of lanes: of a narrower vector, those that lie behind each other."""
    source, t = made.operands[0].type, made.type
    if register_lanes(source) == register_lanes(t):
        return f"__builtin_convertvector({operand}, {body.vocabulary.type(t)})"
    if register_lanes(source) > register_lanes(t):
        lanes = ", ".join(map(str, range(register_lanes(t))))
        return f"__builtin_convertvector(__builtin_shufflevector({operand}, {operand}, {lanes}), {body.vocabulary.type(t)})"
    whole = body.vocabulary.vector_type(t.dtype, register_lanes(source))
    numbers = [str(i) if i < register_lanes(source) else "-1" for i in range(register_lanes(t))]
    converted = f"__builtin_convertvector({operand}, {whole})"
    return f"__builtin_shufflevector({converted}, ({whole}){{0}}, {', '.join(numbers)})"


def _pair_sums(body: Names, made: Instruction, operands: list[str]) -> Iterator[str]:
    """Products of 16 bits are added up in pairs by one instruction, and to the total by another."""
    entry = body.vocabulary.dialect.entry("pair sums", "int16")
    if entry is None:
        raise InternalError(f"no sum of products for {made.type}")
    c, name, register = body.vocabulary.type(made.type), body.value(made), body.vocabulary.constraint(made.type)
    pairs = f"{name}_pairs"
    if not entry.mnemonic:
        own, operand = pair_sums_function(body, made), body.vocabulary.type(made.operands[0].type)
        yield f"const {c} {pairs} = {own}(({operand}){operands[0]}, ({operand}){operands[1]});"
    elif entry.mnemonic.startswith("v"):
        yield f"{c} {pairs};"
        values = f'"{register}"({operands[0]}), "{register}"({operands[1]})'
        yield f'__asm__("{entry.mnemonic} %2, %1, %0" : "={register}"({pairs}) : {values});'
    else:
        yield f"{c} {pairs} = ({c}){operands[0]};"
        yield f'__asm__("{entry.mnemonic} %1, %0" : "+{register}"({pairs}) : "{register}"({operands[1]}));'
    unsigned = body.vocabulary.vector_type("uint32", register_lanes(made.type))
    yield body.defined(made, f"({c})(({unsigned}){pairs} + ({unsigned}){operands[2]})")


def pair_sums_function(body: Names, made: Instruction) -> str:
    """A function that is one instruction where C is compiled for x86."""
    c, a = body.vocabulary.type(made.type), body.vocabulary.type(made.operands[0].type)
    u = body.vocabulary.vector_type("uint32", register_lanes(made.type))
    lines = [
        f"static inline __attribute__((always_inline)) {c} pair_sums({a} a, {a} b) {{",
        "#if defined(__SSE2__)",
        '  __asm__("pmaddwd %1, %0" : "+x"(a) : "x"(b));',
        f"  return ({c})a;",
        "#else",
        f"  const {u} even = ({u})(({c})(({u})a << 16) >> 16) * ({u})(({c})(({u})b << 16) >> 16);",
        f"  return ({c})(even + ({u})(({c})a >> 16) * ({u})(({c})b >> 16));",
        "#endif",
        "}",
    ]
    return body.vocabulary.define("pair_sums", "\n".join(lines))


def splat(body: Names, made: Instruction) -> Iterator[str]:
    """A scalar in all lanes."""
    yield body.defined(made, body.in_all_lanes(body.value(made.operands[0]), made.type))


def iota(body: Names, made: Instruction) -> Iterator[str]:
    """Lanes as literals."""
    numbers = [literal(lane, made.type.dtype) for lane in range(register_lanes(made.type))]
    yield body.defined(made, numbers[0] if made.type.lanes == 1 else body.lanes_constant(numbers, made.type))


def index(body: Names, made: Instruction) -> Iterator[str]:
    """An index as a value."""
    assert isinstance(made.detail, int | Index)
    yield body.defined(made, body.index(made.detail))


def bitcast(body: Names, made: Instruction) -> Iterator[str]:
    """The same bits: scalars by a union, or in the lowest lane of a vector."""
    source, t, vocabulary = made.operands[0].type, made.type, body.vocabulary
    operand = body.value(made.operands[0])
    if source.lanes > 1 and t.lanes > 1:
        yield body.defined(made, f"({vocabulary.type(t)}){operand}")
    elif t.lanes > 1:
        whole = vocabulary.vector_type(_stored(source), SHORTEST.size_bits // source.bits)
        yield body.defined(made, f"({vocabulary.type(t)})({whole}){{{operand}}}")
    elif source.lanes > 1:
        whole = vocabulary.vector_type(_stored(t), SHORTEST.size_bits // t.bits)
        yield body.defined(made, f"(({whole}){operand})[0]")
    elif (t.is_float and t.bits > 16) or (source.is_float and source.bits > 16):
        yield body.defined(made, f"((union {{ {SCALARS[source.dtype]} from; {SCALARS[t.dtype]} to; }}){{{operand}}}).to")
    else:
        yield body.defined(made, f"({SCALARS[t.dtype]}){operand}")


def _stored(t: Type) -> str:
    return f"uint{t.bits}" if t.bits == 16 else t.dtype


RENDERINGS: Mapping[Operation, Rendering] = {
    Operation.SPLAT: splat,
    Operation.IOTA: iota,
    Operation.INDEX: index,
    Operation.BITCAST: bitcast,
    Operation.SHUFFLE: shuffles.shuffle,
    Operation.PREFIX: masks.prefix,
    Operation.ANY: masks.any_lane,
    Operation.LOAD: memory.load,
    Operation.BROADCAST: memory.broadcast,
    Operation.GATHER: memory.gather,
    Operation.CALL: nested.call,
    Operation.PER_LANE: nested.per_lane,
}
