"""Programs within programs: calls of functions of values, and of rare cases for single lanes."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.render.c.tiles import masks
from tilewright.render.c.tiles.names import Names
from tilewright.tile.program import Instruction, TileProgram


def call(body: Names, made: Instruction) -> Iterator[str]:
    """A function of values."""
    assert isinstance(made.detail, TileProgram)
    arguments = ", ".join(body.value(one) for one in made.operands)
    yield f"const {body.vocabulary.type(made.type)} {body.value(made)} = {body.nested(made.detail)}({arguments});"


def per_lane(body: Names, made: Instruction) -> Iterator[str]:
    """A branch to a function that takes one lane after the other."""
    assert isinstance(made.detail, TileProgram)
    name, (*arguments, otherwise, mask) = body.value(made), made.operands
    function = body.nested(made.detail)
    given = [body.value(one) for one in arguments]
    c, mask_text = body.vocabulary.type(made.type), body.value(mask)
    if made.type.lanes == 1:
        yield f"const {c} {name} = {mask_text} ? {function}({', '.join(given)}) : {body.value(otherwise)};"
        return
    lanes_function = f"{function}_x{made.type.lanes}"
    if lanes_function not in body.vocabulary.definitions:
        parameters = [f"{body.vocabulary.type(one.type)} x{i}" for i, one in enumerate(arguments)]
        parameters += [f"{c} y", f"{body.vocabulary.type(mask.type)} m"]
        lanes = ", ".join(f"x{i}[i]" for i in range(len(arguments)))
        is_set = "m >> i & 1" if body.vocabulary.is_mask_register(mask.type) else "m[i]"
        head = f"static __attribute__((noinline, cold)) {c} {lanes_function}({', '.join(parameters)})"
        loop = f"for (int i = 0; i < {made.type.lanes}; i++) if ({is_set}) y[i] = {function}({lanes});"
        body.vocabulary.define(lanes_function, f"{head} {{\n  {loop}\n  return y;\n}}")
    yield f"{c} {name} = {body.value(otherwise)};"
    yield f"if (__builtin_expect({masks.any_text(body, mask_text, mask.type)}, 0))"
    yield f"  {name} = {lanes_function}({', '.join([*given, name, mask_text])});"
