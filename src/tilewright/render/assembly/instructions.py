"""Instructions of x86 by operation and element type, as GNU `as` names them."""

from __future__ import annotations

from tilewright.tile.operations import Operation as O

PLAIN: dict[tuple[O, str], str] = {
    (O.ADD, "float32"): "vaddps",
    (O.ADD, "float64"): "vaddpd",
    (O.ADD, "int32"): "vpaddd",
    (O.ADD, "int64"): "vpaddq",
    (O.SUBTRACT, "float32"): "vsubps",
    (O.SUBTRACT, "float64"): "vsubpd",
    (O.SUBTRACT, "int32"): "vpsubd",
    (O.SUBTRACT, "int64"): "vpsubq",
    (O.MULTIPLY, "float32"): "vmulps",
    (O.MULTIPLY, "float64"): "vmulpd",
    (O.MULTIPLY, "int32"): "vpmulld",
    (O.DIVIDE, "float32"): "vdivps",
    (O.DIVIDE, "float64"): "vdivpd",
    (O.SMALLER, "float32"): "vminps",
    (O.SMALLER, "float64"): "vminpd",
    (O.LARGER, "float32"): "vmaxps",
    (O.LARGER, "float64"): "vmaxpd",
    (O.SMALLER, "int32"): "vpminsd",
    (O.LARGER, "int32"): "vpmaxsd",
    (O.PAIRS, "int16"): "vpmaddubsw",
}
"""Of two operands, of which the second may lie in memory."""
PLAIN_AVX512: dict[tuple[O, str], str] = {(O.MULTIPLY, "int64"): "vpmullq"}
FUSED = {"float32": "vfmadd231ps", "float64": "vfmadd231pd"}
DOTS = {"int16": "vpdpwssd", "int8": "vpdpbusd", "bfloat16": "vdpbf16ps"}
"""By the type of the operand that may lie in memory: of bytes the signed one."""
SHIFTS = {
    (O.SHIFT_LEFT, "int16"): "vpsllw",
    (O.SHIFT_LEFT, "uint16"): "vpsllw",
    (O.SHIFT_LEFT, "int32"): "vpslld",
    (O.SHIFT_LEFT, "uint32"): "vpslld",
    (O.SHIFT_RIGHT, "int16"): "vpsraw",
    (O.SHIFT_RIGHT, "uint16"): "vpsrlw",
    (O.SHIFT_RIGHT, "int32"): "vpsrad",
    (O.SHIFT_RIGHT, "uint32"): "vpsrld",
}
"""By a number."""
ROOTS = {"float32": "vsqrtps", "float64": "vsqrtpd"}
LOGIC = {O.AND: "vpand", O.OR: "vpor", O.XOR: "vpxor"}
BROADCASTS = {"float32": "vbroadcastss", "float64": "vbroadcastsd", "int32": "vpbroadcastd", "int64": "vpbroadcastq"}
COMPARISONS = {"float32": "vcmpps", "float64": "vcmppd", "int32": "vpcmpd", "int64": "vpcmpq"}
FLOAT_COMPARISONS = {O.EQUAL: 0, O.UNEQUAL: 4, O.LESS: 17, O.LESS_EQUAL: 18, O.GREATER_EQUAL: 29, O.GREATER: 30}
"""Quiet ones, false of NaN but for the second."""
INTEGER_COMPARISONS = {O.EQUAL: 0, O.LESS: 1, O.LESS_EQUAL: 2, O.UNEQUAL: 4, O.GREATER_EQUAL: 5, O.GREATER: 6}
BLENDS = {32: "vblendmps", 64: "vblendmpd"}
COMMUTATIVE = frozenset((O.ADD, O.MULTIPLY))
LAST_OPERAND = frozenset((O.SUBTRACT, O.DIVIDE, O.SMALLER, O.LARGER, O.AND, O.OR))
"""Whose last operand may lie in memory."""
