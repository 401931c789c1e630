"""Functions of bits; of truth values, logic."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.numbers import operand
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.types import Tensor

_TWO = ("Tensor", "Scalar", "Scalar_Tensor")
_LOGIC = {f"bitwise_{name}": f"bitwise_{name}" for name in ("and", "or", "xor", "not")}
_LOGIC |= {f"__{name}__": f"bitwise_{name}" for name in ("and", "or", "xor")}
_SHIFTS = {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
_SHIFTS |= {"__lshift__": "left_shift", "__rshift__": "right_shift"}


@lowers("aten.bitwise_not.default", *(f"aten.{name}.{overload}" for name in _LOGIC for overload in _TWO if "not" not in name))
def bits(call: Call) -> Tensor:
    """And, or, xor, not."""
    dtype, function = call.result.dtype, _LOGIC[call.operator]
    if dtype == "bool":
        function = function.replace("bitwise", "logical")
    return call.map(function, *(operand(call, name, dtype) for name in ("self", "other") if call.has(name)))


@lowers(*(f"aten.{name}.{overload}" for name in _SHIFTS for overload in (*_TWO, "Tensor_Scalar")))
def shifted(call: Call) -> Tensor:
    """Shifts of integers; by a negative number of places, or as many as there are bits, nothing but signs is left."""
    dtype = call.result.dtype
    if "int" not in dtype:
        raise call.refuse(f"shifts of {dtype}")
    return call.map(_SHIFTS[call.operator], operand(call, "self", dtype), operand(call, "other", dtype))
