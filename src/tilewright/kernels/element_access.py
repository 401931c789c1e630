"""C text that reads elements of any type as floats, and stores floats as elements: converted where they are loaded and stored.

Integers up to 2^24 are exact as floats; larger ones are rounded to the nearest, which does not change how they compare with
positions along an axis. What is stored is converted as in `conversions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.types import element_bytes
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.conversions import BITS, CONVERSIONS, conversions_of, whole_numbers_of
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)

C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "float",
        "bool": "unsigned char",
        "int8": "signed char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "uint8": "unsigned char",
        "uint16": "unsigned short",
        "uint32": "unsigned",
        "uint64": "unsigned long",
        "float16": "unsigned short",
        "bfloat16": "unsigned short",
        "float64": "double",
        **dict.fromkeys(sorted(SHORT_TYPES), "unsigned char"),
    }
)
"""The C type of the elements of every tensor that generated code may read or write, by NumPy name."""
ELEMENT_TYPES = frozenset(C_TYPES)
"""Element types of tensors that kernels read and write, by NumPy name."""
ELEMENT_BYTES: Mapping[str, int] = MappingProxyType({name: element_bytes(name) for name in C_TYPES})
NARROW = frozenset(("bool", "int8", "int16", "int32", "uint8", "uint16"))
"""Types whose elements fit into the lanes of a vector of 32 bits, widened."""
NARROW_STORES = NARROW - {"bool"}
"""Types that are the low bits of an int32."""

HALVES = frozenset(("float16", "bfloat16"))
"""Floats whose bits are taken apart."""
FLOAT = re.compile(r"\(float\)([^;]+)")
GUARDED = "#ifndef TW_%_@NAME@\n#define TW_%_@NAME@\n@TEXT@#endif\n"
READS_ONCE, STORES_ONCE = GUARDED.replace("%", "READS"), GUARDED.replace("%", "STORES")


def suffix(dtype: str) -> str:
    """What the names of the functions that read elements of this type end with.

    >>> suffix("float32"), suffix("bool")
    ('', '_bool')
    """
    return "" if dtype == "float32" else f"_{dtype}"


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
