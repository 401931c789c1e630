"""Tile programs as text: a function each, or statements for another function."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.render.c.tiles.body import Body, define_tables, function_text, parameters
from tilewright.render.c.tiles.vocabulary import Vocabulary
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.program import TileProgram


class TileTexts:
    """The texts of programs in one file, which need `definitions` before them."""

    def __init__(self, dialect: Dialect) -> None:
        """For an instruction set."""
        self.dialect = dialect
        self._vocabulary = Vocabulary(dialect)

    def definitions(self) -> str:
        """What all texts so far need before them: types, tables and functions."""
        return self._vocabulary.text()

    def definitions_by_name(self) -> Mapping[str, str]:
        """The same one by one, each behind those that it mentions."""
        return self._vocabulary.definitions

    def function(self, program: TileProgram, qualifiers: str = "") -> str:
        """A function of a program's name; its parameters are pointers to elements, long integers, and values.

        >>> from tilewright.tile.builder import Builder
        >>> from tilewright.tile.dialects.registry import dialects
        >>> from tilewright.tile.types import vector
        >>> b, texts = Builder(), TileTexts(dialects()["avx2"])
        >>> n, x = b.integer("n"), b.buffer("x", "float32", is_written=True)
        >>> with b.loop("i", 0, n, 8) as i:
        ...     b.store(x, i, b.load(x, i, vector("float32", 8)) + 1.0)
        >>> print(texts.function(b.program("add_one")))
        void add_one(long n, float *x) {
          const float32x8 c0 = in_8_lanes(0x1p0f);
          for (long i = 0; i < n; i += 8) {
            const float32x8 v0 = *(const float32x8_u *)(x + i);
            const float32x8 v1 = v0 + c0;
            *(float32x8_u *)(x + i) = v1;
          }
        }
        """
        return function_text(legalise(program, self.dialect), self._vocabulary, program.name, qualifiers)

    def statements(self, program: TileProgram, arguments: Mapping[str, str], prefix: str) -> list[str]:
        """Statements in braces. `arguments` are C expressions of all parameters by name; `prefix` keeps names apart."""
        legal = legalise(program, self.dialect)
        define_tables(legal, self._vocabulary, prefix)
        body = Body(self._vocabulary, legal, prefix)
        given = parameters(legal, body, arguments)
        return [
            "{",
            *(f"  const {line}" if "*" not in line.split("=")[0] else f"  {line}" for line in given),
            *(f"  {line}" for line in body.lines()),
            "}",
        ]


def unit(program: TileProgram, dialect: Dialect) -> str:
    """A file of one function."""
    texts = TileTexts(dialect)
    function = texts.function(program)
    return f"{texts.definitions()}{function}\n"
