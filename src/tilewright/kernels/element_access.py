"""C text that reads elements of any type as floats, and stores floats as elements: converted where they are loaded and stored.

Integers up to 2^24 are exact as floats; larger ones are rounded to the nearest, which does not change how they compare with
positions along an axis. What is stored is converted as in `conversions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from tilewright.graph.exactness import HALVES, SHORT_TYPES
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.conversions import BITS, CONVERSIONS, conversions_of, whole_numbers_of
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.element_types import C_TYPES as C_TYPES
from tilewright.kernels.element_types import ELEMENT_BYTES as ELEMENT_BYTES
from tilewright.kernels.element_types import NARROW_STORES
from tilewright.kernels.element_types import suffix as suffix
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)

NARROW = NARROW_STORES | {"bool"}
"""Types whose elements fit into the lanes of a vector of 32 bits, widened."""
FLOAT = re.compile(r"\(float\)([^;]+)")
GUARDED = "#ifndef TW_%_@NAME@\n#define TW_%_@NAME@\n@TEXT@#endif\n"
READS_ONCE, STORES_ONCE = GUARDED.replace("%", "READS"), GUARDED.replace("%", "STORES")


def reading(dtypes: Iterable[str]) -> list[Helper]:
    """The functions that read elements of these types; their text may be repeated within a translation unit."""
    return [_reading(dtype) for dtype in _converted(dtypes)]


def writing(dtypes: Iterable[str]) -> list[Helper]:
    """The functions that store elements of these types; their text may be repeated within a translation unit."""
    return [_writing(dtype) for dtype in _converted(dtypes)]


@cache
def whole_numbers(dtype: str) -> Helper:
    """`tw_load_whole_<dtype>` and `tw_store_whole_<dtype>`: vectors of a type of `NARROW` as lanes of 32 bits, and their low bits
    as such elements; `tw_load_whole_part_<dtype>`: the first elements, and where masks are in registers `tw_load_whole_lanes_`,
    those of a mask. The text may be repeated within a translation unit."""
    return Helper(f"tw_load_whole_{dtype}", _named(TEXTS["whole_int32" if dtype == "int32" else "whole"], dtype))


@cache
def _reading(dtype: str) -> Helper:
    text, needed = TEXTS["reads"] + TEXTS["load"], _bits(dtype)
    if dtype in HALVES:
        text = TEXTS["load_half"]
    elif dtype in SHORT_TYPES:
        text, needed = FLOAT.sub(r"tw_float_of_@NAME@(\1)", text), (conversions_of(dtype),)
    elif dtype in NARROW:
        text, needed = TEXTS["reads"] + TEXTS["load_narrow"], (whole_numbers(dtype),)
    return Helper(f"tw_load_{dtype}", _named(READS_ONCE, dtype, text), needed)


@cache
def _writing(dtype: str) -> Helper:
    text, needed = TEXTS["stores"], (*_bits(dtype), CONVERSIONS)
    if dtype in HALVES:
        text = TEXTS["stores_half"]
    elif dtype in SHORT_TYPES:
        needed = (conversions_of(dtype),)
    elif dtype in NARROW_STORES:
        text, needed = TEXTS["stores_narrow"], (whole_numbers_of(), whole_numbers(dtype))
    return Helper(f"tw_store_{dtype}", _named(STORES_ONCE, dtype, text), needed)


def _bits(dtype: str) -> tuple[Helper, ...]:
    return (BITS,) if dtype in HALVES else ()


def _converted(dtypes: Iterable[str]) -> list[str]:
    return sorted(set(dtypes) - {"float32"})


def _named(text: str, dtype: str, inner: str = "") -> str:
    whole = filled(text, {"TEXT": inner, "PART": TEXTS["whole_part"]})
    return filled(with_instructions(whole, dtype), {"NAME": dtype, "TYPE": C_TYPES[dtype]})
