"""Loads, stores and gathers in C."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.render.c.tiles import masks
from tilewright.render.c.tiles.names import Names
from tilewright.render.c.tiles.vocabulary import SCALARS, STORED_AS, register_lanes
from tilewright.tile.program import Instruction, Place, Store, Value
from tilewright.tile.types import BITS, Type, vector

IF_CHAIN = vector("int8", 8)
"""Lanes that are loaded or stored one by one, each under a condition; more are in a loop."""


def load(body: Names, made: Instruction) -> Iterator[str]:
    """By one instruction where there is one, else lane by lane."""
    place, t, name = made.detail, made.type, body.value(made)
    assert isinstance(place, Place)
    c = body.vocabulary.type(t)
    mask = made.operands[0] if made.operands else None
    if mask is None:
        yield from body.kept(made, _loaded(body, place, t))
    elif t.lanes == 1:
        yield f"const {c} {name} = {body.value(mask)} ? {body.element(place)} : 0;"
    elif place.stride == 1 and (entry := body.vocabulary.dialect.entry("masked load", t.dtype)):
        register = body.vocabulary.constraint(t)
        yield f"{c} {name};"
        memory = f'"m"(*(const {c}_u *)({body.pointer(place)}))'
        if body.vocabulary.is_mask_register(mask.type):
            text = f'"{entry.mnemonic} %1, %0%{{%2%}}%{{z%}}" : "={register}"({name}) : {memory}, "Yk"({body.value(mask)})'
        else:
            text = f'"{entry.mnemonic} %1, %2, %0" : "={register}"({name}) : {memory}, "{register}"({_of_lanes(body, mask)})'
        yield f"__asm__({text});"
    elif t.lanes > IF_CHAIN.lanes and (count := masks.prefix_count(body, mask)):
        given = f"(const void *)({body.pointer(place)}), {body.index(place.stride)}, {count}"
        yield f"const {c} {name} = {_first(body, 'load', t)}({given});"
    else:
        yield f"{c} {name} = {{0}};"
        for lane in range(t.lanes):
            condition = masks.condition(body, mask, lane)
            if condition is not None:
                yield f"{condition}{name}[{lane}] = {_element(body, place, lane, t)};"


def _element(body: Names, place: Place, lane: int, t: Type) -> str:
    """A lane in memory; lanes that are wider than elements lie side by side."""
    if t.bits == BITS[body.buffers[place.buffer].dtype]:
        return body.element(place, lane)
    return f"((const {body.vocabulary.element_type(STORED_AS.get(t.dtype, t.dtype))} *)({body.pointer(place)}))[{lane}]"


def _first(body: Names, action: str, t: Type) -> str:
    """A function that loads, or stores, the first lanes, by way of memory."""
    c, element, lanes = body.vocabulary.type(t), SCALARS[t.dtype], register_lanes(t)
    name = f"{action}_first_{t.dtype}x{t.lanes}"
    loop = f"for (long i = 0; i < n && i < {t.lanes}; i++)"
    inline = "static inline __attribute__((always_inline))"
    if action == "load":
        text = f"{inline} {c} {name}(const {element} *p, long stride, long n) {{\n  {element} lanes[{lanes}] = {{0}};\n"
        text += f"  {loop} lanes[i] = p[i * stride];\n  return *(const {c}_u *)lanes;\n}}"
    else:
        text = f"{inline} void {name}({element} *p, {c} v, long n) {{\n  {element} lanes[{lanes}];\n"
        text += f"  *({c}_u *)lanes = v;\n  {loop} p[i] = lanes[i];\n}}"
    return body.vocabulary.define(name, text)


def _of_lanes(body: Names, mask: Value) -> str:
    """A mask that is a vector, without lanes that a narrow value does not have."""
    t = mask.type
    missing = register_lanes(t) - t.lanes
    if not missing:
        return body.value(mask)
    kept = body.lanes_constant(["-1"] * t.lanes + ["0"] * missing, t.integer)
    return f"{body.value(mask)} & {kept}"


def _loaded(body: Names, place: Place, t: Type) -> str:
    if t.lanes == 1:
        return body.element(place)
    c = body.vocabulary.type(t)
    if place.stride != 1 or t.lanes & (t.lanes - 1):
        return f"({c}){{{', '.join(body.element(place, lane) for lane in range(t.lanes))}}}"
    if t.lanes == register_lanes(t):
        return f"*(const {c}_u *)({body.pointer(place)})"
    kind = f"int{t.size_bits}"
    whole = body.vocabulary.vector_type(kind, 128 // t.size_bits)
    return f"({c})({whole}){{*(const {body.vocabulary.element_type(kind)} *)({body.pointer(place)})}}"


def broadcast(body: Names, made: Instruction) -> Iterator[str]:
    """As many consecutive elements as a lane has bits, in all lanes."""
    place, t, name = made.detail, made.type, body.value(made)
    assert isinstance(place, Place)
    kind = STORED_AS.get(t.dtype, t.dtype)
    if body.buffers[place.buffer].dtype == t.dtype:
        text = body.element(place)
    else:
        text = f"*(const {body.vocabulary.element_type(kind)} *)({body.pointer(place)})"
    if t.lanes == 1:
        yield f"const {SCALARS[kind]} {name} = {text};"
        return
    yield f"const {SCALARS[kind]} {name}_x = {text};"
    text = body.in_all_lanes(f"{name}_x", t)
    if body.vocabulary.has_many_registers:
        yield from body.kept(made, text)
    else:
        yield body.defined(made, text)


def gather(body: Names, made: Instruction) -> Iterator[str]:
    """By the instruction for 32 and 64 bits, else lane by lane."""
    place, t, name = made.detail, made.type, body.value(made)
    assert isinstance(place, Place)
    positions, mask = made.operands[0], made.operands[1] if len(made.operands) > 1 else None
    c = body.vocabulary.type(t)
    start = body.pointer(place)
    if t.lanes == 1:
        element = f"({start})[{body.value(positions)}]"
        yield f"const {c} {name} = {f'{body.value(mask)} ? {element} : 0' if mask is not None else element};"
    elif _has_instruction(body, positions.type, t):
        yield from _gathered(body, made, positions, mask, start)
    elif mask is None:
        lanes = ", ".join(f"({start})[{body.value(positions)}[{lane}]]" for lane in range(t.lanes))
        yield f"const {c} {name} = {{{lanes}}};"
    else:
        yield f"{c} {name} = {{0}};"
        for lane in range(t.lanes):
            condition = masks.condition(body, mask, lane)
            if condition is not None:
                yield f"{condition}{name}[{lane}] = ({start})[{body.value(positions)}[{lane}]];"


def _has_instruction(body: Names, positions: Type, t: Type) -> bool:
    """Of whole registers: those of the wider type are whole."""
    is_whole = max(positions.size_bits, t.size_bits) >= 128 and min(positions.size_bits, t.size_bits) >= 64
    return is_whole and body.vocabulary.dialect.entry("gather", positions.dtype, t.dtype) is not None


def _gathered(body: Names, made: Instruction, positions: Value, mask: Value | None, start: str) -> Iterator[str]:
    """The instruction clears its mask; lanes that it leaves out keep their zeros. It reads memory before the place, too."""
    vocabulary, t, name = body.vocabulary, made.type, body.value(made)
    entry = vocabulary.dialect.entry("gather", positions.type.dtype, t.dtype)
    assert entry is not None
    register, c = vocabulary.constraint(t), vocabulary.type(t)
    inputs = f'"{register}"({body.value(positions)}), "r"({start}) : "memory"'
    yield f"{c} {name} = {{0}};"
    place = f"(%3,%2,{t.bits // 8})"
    if vocabulary.is_mask_register(t.mask):
        every = body.mask_constant(t.mask, True)
        yield f"{vocabulary.type(t.mask)} {name}_m = {body.value(mask) if mask is not None else every};"
        yield f'__asm__("{entry.mnemonic} {place}, %0%{{%1%}}" : "+&{register}"({name}), "+&Yk"({name}_m) : {inputs});'
        return
    whole = vocabulary.type(t.mask)
    text = _of_lanes(body, mask) if mask is not None else _first_lanes(body, t)
    yield f"{whole} {name}_m = {text};"
    yield f'__asm__("{entry.mnemonic} %1, {place}, %0" : "+&{register}"({name}), "+&{register}"({name}_m) : {inputs});'


def _first_lanes(body: Names, t: Type) -> str:
    return body.lanes_constant(["-1"] * t.lanes + ["0"] * (register_lanes(t) - t.lanes), t.integer)


def store(body: Names, statement: Store) -> Iterator[str]:
    """By one instruction where there is one, else lane by lane."""
    place, t, mask = statement.place, statement.value.type, statement.mask
    value = body.value(statement.value)
    if t.lanes == 1:
        yield f"{f'if ({body.value(mask)}) ' if mask is not None else ''}{body.element(place)} = {value};"
    elif mask is None and place.stride == 1 and not t.lanes & (t.lanes - 1):
        yield _stored(body, statement, value)
    elif mask is not None and place.stride == 1 and body.vocabulary.dialect.entry("masked store", t.dtype):
        yield _masked_store(body, statement, mask, value)
    elif mask is not None and place.stride == 1 and t.lanes > IF_CHAIN.lanes and (count := masks.prefix_count(body, mask)):
        yield f"{_first(body, 'store', t)}({body.pointer(place)}, {value}, {count});"
    else:
        for lane in range(t.lanes):
            condition = masks.condition(body, mask, lane)
            if condition is not None:
                yield f"{condition}{body.element(place, lane)} = {value}[{lane}];"


def _stored(body: Names, statement: Store, value: str) -> str:
    t, pointer = statement.value.type, body.pointer(statement.place)
    c = body.vocabulary.type(t)
    if t.lanes < register_lanes(t):
        kind = f"int{t.size_bits}"
        whole = body.vocabulary.vector_type(kind, 128 // t.size_bits)
        return f"*({body.vocabulary.element_type(kind)} *)({pointer}) = (({whole}){value})[0];"
    entry = body.vocabulary.dialect.entry("streamed store", t.dtype)
    if statement.is_streamed and entry is not None:
        register = body.vocabulary.constraint(t)
        return f'__asm__ volatile("{entry.mnemonic} %1, %0" : "=m"(*({c}_u *)({pointer})) : "{register}"({value}));'
    return f"*({c}_u *)({pointer}) = {value};"


def _masked_store(body: Names, statement: Store, mask: Value, value: str) -> str:
    t, vocabulary = statement.value.type, body.vocabulary
    entry = vocabulary.dialect.entry("masked store", t.dtype)
    assert entry is not None
    register = vocabulary.constraint(t)
    memory = f'"+m"(*({vocabulary.type(t)}_u *)({body.pointer(statement.place)})) : "{register}"({value})'
    if vocabulary.is_mask_register(mask.type):
        return f'__asm__("{entry.mnemonic} %1, %0%{{%2%}}" : {memory}, "Yk"({body.value(mask)}));'
    return f'__asm__("{entry.mnemonic} %1, %2, %0" : {memory}, "{register}"({_of_lanes(body, mask)}));'
