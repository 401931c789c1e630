"""The scalar functions of doubles that are more than an instruction, in C without any library.

They are Taylor series after a reduction of the argument: no table, no fitted coefficient. The largest errors that were seen, and
that tests/kernels/functions/test_double_functions.py allows, in units of the last place: 1 for exp, log and atan, 4 for all
others, but 12 for erf and 40 for pow (where the result is next to the largest double). Rounded to float32 each is off by less
than 0.5001 units.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.kernels.conversions import CONVERSIONS
from tilewright.kernels.functions.doubles import exponentials, rounding, trigonometry
from tilewright.kernels.helpers import Helper, filled, paragraphs

SUFFIX = "_float64"
AS_STORED = """\
TW_INLINE double tw_as_float16_float64(double x) { return tw_float_of_float16(tw_float16_of(x)); }

TW_INLINE double tw_as_bfloat16_float64(double x) { return tw_float_of_bfloat16(tw_bfloat16_of(x)); }
"""
_TEXT = "\n".join((rounding.TEXT, exponentials.TEXT, trigonometry.TEXT))
_HELPERS = (
    *paragraphs(filled(_TEXT, exponentials.SERIES | trigonometry.SERIES)),
    *(Helper(helper.name, helper.text, (CONVERSIONS,)) for helper in paragraphs(AS_STORED)),
)

DOUBLE_FUNCTIONS: Mapping[str, Helper] = MappingProxyType(
    {one.name.removeprefix("tw_").removesuffix(SUFFIX): one for one in _HELPERS if one.name.endswith(SUFFIX)}
)
"""By the names of `graph.scalar_functions`: each is the C function `tw_<name>_float64`."""
