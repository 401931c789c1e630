"""Tile programs inlined in the text of a region: what is passed for their parameters, then their statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from tilewright.block.integers import Symbolic
from tilewright.c_text.integer_expressions import pointer, to_c, value_helpers
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.helpers import Helper
from tilewright.leaves.declaration import LoweredTile, PlaceArgument, TileArgument
from tilewright.records import record
from tilewright.render.c.tiles.rendering import TileTexts
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.program import Buffer, Parameter

PREFIX = "tw_"
"""Of the names of a program: no others of a region begin so."""
DECLARATION = "declare "
"""What declarations of called functions are named by: helpers define them."""
DEFINITION = "tile "
"""What begins the names of helpers that the texts of programs need before them."""
WORD = re.compile(r"\w+")


@record(eq=False)
class InlinedTile:
    """A leaf's program as statements in braces."""

    lines: tuple[str, ...]
    called: tuple[Helper, ...]

    def text(self) -> list[str]:
        """All statements."""
        return list(self.lines)

    def helpers(self) -> list[Helper]:
        """The functions that they call, and types."""
        return list(self.called)


def inlined(lowered: LoweredTile, dialect: Dialect) -> InlinedTile:
    """The text of a program."""
    texts, program = TileTexts(dialect), lowered.program
    passed = {_name(one): _text(one, argument) for one, argument in zip(program.parameters, lowered.arguments, strict=True)}
    lines = texts.statements(program, passed, PREFIX)
    of_integers = [one for argument in lowered.arguments for one in _value_helpers(argument)]
    return InlinedTile(tuple(lines), (*lowered.helpers, *of_integers, *helpers_of(texts)))


def called(lowered: LoweredTile) -> InlinedTile:
    """The call of a program that is a function of its own."""
    passed = (_text(one, argument) for one, argument in zip(lowered.program.parameters, lowered.arguments, strict=True))
    of_integers = [one for argument in lowered.arguments for one in _value_helpers(argument)]
    return InlinedTile((f"{lowered.function}({', '.join(passed)});",), (*lowered.helpers, *of_integers))


def _name(parameter: Parameter) -> str:
    return parameter if isinstance(parameter, str) else parameter.name


def _text(parameter: Parameter, argument: TileArgument) -> str:
    """The C expression of what is passed."""
    if isinstance(argument, PlaceArgument):
        place = pointer(argument.buffer, argument.offset)
    elif isinstance(argument, int | Symbolic):
        return to_c(argument)
    else:
        place = argument.value
    assert isinstance(parameter, Buffer)
    is_same = isinstance(argument, PlaceArgument) and C_TYPES[argument.dtype] == C_TYPES.get(parameter.dtype)
    return place if is_same else f"(void *)({place})"


def _value_helpers(argument: TileArgument) -> Iterable[Helper]:
    if isinstance(argument, PlaceArgument):
        return value_helpers(argument.offset)
    return value_helpers(argument) if isinstance(argument, int | Symbolic) else ()


def helpers_of(texts: TileTexts) -> list[Helper]:
    """What texts need before them as helpers, each with those before it that it mentions."""
    found: dict[str, Helper] = {}
    for name, text in texts.definitions_by_name().items():
        if not name.startswith(DECLARATION):
            mentioned = dict.fromkeys(WORD.findall(text))
            found[name] = _helper(name, text, tuple(found[word] for word in mentioned if word in found))
    return list(found.values())


@lru_cache(4096)
def _helper(name: str, text: str, uses: tuple[Helper, ...]) -> Helper:
    return Helper(f"{DEFINITION}{name}", f"{text}\n", uses)
