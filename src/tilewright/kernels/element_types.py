"""Element types of tensors that generated code reads and writes, and what C has for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.graph.exactness import HALVES, SHORT_TYPES
from tilewright.graph.types import element_bytes

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
        "float64": "double",
        **dict.fromkeys(sorted(HALVES), "unsigned short"),
        **dict.fromkeys(sorted(SHORT_TYPES), "unsigned char"),
    }
)
"""The C type of the elements of every tensor that generated code may read or write, by NumPy name."""
ELEMENT_TYPES = frozenset(C_TYPES)
"""Element types of tensors that kernels read and write, by NumPy name."""
NUMBERS = ELEMENT_TYPES - HALVES - SHORT_TYPES
"""Those that C has as numbers."""
ELEMENT_BYTES: Mapping[str, int] = MappingProxyType({name: element_bytes(name) for name in C_TYPES})
NARROW_STORES = frozenset(("int8", "int16", "int32", "uint8", "uint16"))
"""Types that are the low bits of an int32."""


def suffix(dtype: str) -> str:
    """What the names of functions of elements of this type end with.

    >>> suffix("float32"), suffix("bool")
    ('', '_bool')
    """
    return "" if dtype == "float32" else f"_{dtype}"
