"""Operations of tile programs, and what they mean: lane by lane unless said otherwise, with the same bits on every machine.

Integers wrap, constants too. Floats are rounded to nearest, ties to even, denormal numbers as all others; the payload and the
sign of a NaN that arithmetic makes are anything. What depends on the dialect is `MULTIPLY_ADD` alone.
"""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """An operation by name. Operands have the type of the result unless said otherwise; `detail` is what else it depends on.

    Floats and integers: `ADD` to `LARGER`, `NEGATE`, `ABSOLUTE`. `DIVIDE` is of floats; `QUOTIENT` and `REMAINDER` of
    integers, toward zero; by zero they give 0; the smallest integer by -1 wraps. `SMALLER` is `left < right ? left : right`,
    `LARGER` `left > right ? left : right`: the second operand where either is NaN, and of two zeros.

    Floats: `SQUARE_ROOT`, `FLOOR`, `CEIL`, `TRUNCATE`, `ROUND` (to nearest, ties to even). `FMA` is `a * b + c` with one
    rounding, of integers too. `MULTIPLY_ADD` is the same with one rounding or two, as the dialect says. `EXPONENT` is
    floor(log2 |x|) as a float (of 0 -inf, of infinities inf), `MANTISSA` x / 2**EXPONENT, in [1, 2) with the sign of x (of 0
    and infinities 1 with their sign). `CENTRED_EXPONENT` and `CENTRED_MANTISSA` are those of a positive number with the
    mantissa between sqrt(1/2) and sqrt(2): the exponent of 0 is -inf, of infinity and NaN itself, of negative numbers anything;
    the mantissa of what is not positive and finite is any number, or NaN. `SCALE` is a * 2**floor(b), rounded once (of a NaN
    and an infinite b, anything). With a detail, a promise that b is whole and a * 2**floor(b / 2) normal, or that a is 0 or
    not finite (of a NaN b, anything): two products do. The detail `NORMAL` promises that the result is normal, too, and 2**b
    unless a is a constant power of two: one product does. `FRACTION` is x - floor(x) rounded down, so that it is below 1: -0
    of integers, 0 of infinities.

    Lanes of bfloat16 are moved, selected, converted, and multiplied by `DOT`, no more.

    Integers and masks: `AND`, `OR`, `XOR`, `NOT`; integers: `SHIFT_LEFT`, `SHIFT_RIGHT` (which keeps the sign of signed
    ones), by a count that each lane has: anything where that is not below the bits of a lane. `HIGH_HALF` is the upper half
    of a product of twice the bits. `WITH_SIGN`, of signed ones, is the first operand where the second one is above 0, its
    opposite where that is below 0, and 0 where it is 0.

    Comparisons of equal types give a mask, false of NaN but for `UNEQUAL`. `SELECT` is of a mask and two values.

    `CAST` is the nearest value of another type, rounded once; of masks, those of other lanes. Integers wrap, floats become
    integers toward zero. What has no such integer becomes the smallest int32 or int64, and narrower types keep the low bits
    of the int32, uint32 those of the int64; of what uint64 lacks, any. `SATURATE` gives the nearest value that the type
    has: of integers, narrower; of floats rounded to nearest even first, NaN is 0.

    `BITCAST` is the same bits as another type of as many bits in all; the first lane has the lowest. Of masks, all bits of a
    lane are set or none, and integers that become masks are as many, all bits of them set or none.

    `DOT`: sum (operand 2) of 32-bit lanes plus the products of those narrower lanes of operands 0 and 1 that lie in each: 8
    or 16 bits, of any signs. Of a pair of bfloat16 lanes the second product is added first; each is fused with its
    addition, and denormal numbers are zeros of the same sign before and behind it, as AVX512_BF16 has it. `PAIRS`:
    neighbouring products of operands 0 (uint8) and 1 (int8) added up in int16, saturating; the detail promises that none does.

    `SPLAT`: a scalar in all lanes. `IOTA`: 0, 1, 2, ... `PREFIX`: a mask of the first `detail` (an index) lanes, of none
    where it is negative, of all where it is larger. `INDEX`: an index as an int64 scalar. `SHUFFLE`: lanes of the operands
    (one or two of one type, behind each other) by number, any number of them; -1 is a zero. `REDUCE`: all lanes, a power of
    two, by halves, the lower half before the upper one, with the operation `detail`, as a scalar. `ANY`: 1 where any lane
    of a mask is set, as an int32 scalar.

    `LOAD` reads `detail`, a `Place`; with a mask operand, lanes that are not set read nothing and are 0. Integers wider
    than elements, of a stride of 1, hold as many consecutive ones as fit. `BROADCAST` reads
    as many consecutive elements as a lane holds, in every lane: one float32, or four uint8 as an int32. `GATHER` reads, for
    every lane, the element at the place plus operand 0 (integers); a mask may follow. `CALL` is a program with a result, of
    the operands.

    `PER_LANE`: of operands one or more arguments, otherwise and mask, the program `detail` of each lane that is set, one
    after the other, and `otherwise` elsewhere: for rare cases, which cost a branch.
    """

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    QUOTIENT = "quotient"
    REMAINDER = "remainder"
    HIGH_HALF = "high half"
    WITH_SIGN = "with sign"
    SMALLER = "smaller"
    LARGER = "larger"
    NEGATE = "negate"
    ABSOLUTE = "absolute"
    SQUARE_ROOT = "square root"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNCATE = "truncate"
    ROUND = "round"
    FMA = "fma"
    MULTIPLY_ADD = "multiply-add"
    EXPONENT = "exponent"
    MANTISSA = "mantissa"
    CENTRED_EXPONENT = "centred exponent"
    CENTRED_MANTISSA = "centred mantissa"
    SCALE = "scale"
    FRACTION = "fraction"
    AND = "and"
    OR = "or"
    XOR = "xor"
    NOT = "not"
    SHIFT_LEFT = "shift left"
    SHIFT_RIGHT = "shift right"
    EQUAL = "equal"
    UNEQUAL = "unequal"
    LESS = "less"
    LESS_EQUAL = "less or equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater or equal"
    SELECT = "select"
    CAST = "cast"
    SATURATE = "saturate"
    BITCAST = "bitcast"
    DOT = "dot"
    PAIRS = "pairs"
    SPLAT = "splat"
    IOTA = "iota"
    PREFIX = "prefix"
    INDEX = "index"
    SHUFFLE = "shuffle"
    REDUCE = "reduce"
    ANY = "any"
    LOAD = "load"
    BROADCAST = "broadcast"
    GATHER = "gather"
    CALL = "call"
    PER_LANE = "per lane"


COMPARISONS = frozenset(
    (
        Operation.EQUAL,
        Operation.UNEQUAL,
        Operation.LESS,
        Operation.LESS_EQUAL,
        Operation.GREATER,
        Operation.GREATER_EQUAL,
    )
)
READS = frozenset((Operation.LOAD, Operation.BROADCAST, Operation.GATHER))
"""Operations that read a buffer."""


class TileOperation(StrEnum):
    """What changes a register tile as a whole, or stores it; a tile has the rows and lanes that it was configured for.

    `ZERO`: all lanes become 0. `LOAD`: row r from `place.row * r` behind a place. `STORE`: the same into memory. `OUTER`: plus
    the outer product of two vectors, each product fused with its addition. `PRODUCT`: plus the matrix product of two other tiles,
    of bytes or of bfloat16: a row of the first holds groups of steps, as many as 32 bits hold, row g of the second the g-th group
    of every lane of the sum. Sums of integers wrap. Of bfloat16 even and odd steps are summed apart, from zero, each product
    fused with its addition; then both sums are added up, and that is added to the tile. Denormal numbers are zeros of the same
    sign before and behind all this, as AMX has it.
    """

    ZERO = "zero"
    LOAD = "load"
    STORE = "store"
    OUTER = "outer"
    PRODUCT = "product"


NEAR, NORMAL = 1, 2
"""Details of `SCALE`."""
NOT_SATURATING = 1
"""The detail of `PAIRS`."""


class IntegerOperation(StrEnum):
    """What defines an integer that no polynomial is: of indices, or of a scalar value (`VALUE`, converted to int64).

    Division is floor division by a positive number. Comparisons give 0 or 1; `CHOOSE` gives its second operand where the
    first is not 0, else its third. `ADDRESS` is where a place lies in memory, in bytes. `OPAQUE` is its
    operand, which a compiler is not to know: what is loaded from places that it is in is loaded again in each block that
    defines it anew.
    """

    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    FLOOR_DIVIDE = "floor divide"
    REMAINDER = "remainder"
    LESS = "less"
    EQUAL = "equal"
    BOTH = "both"
    EITHER = "either"
    CHOOSE = "choose"
    VALUE = "value"
    ADDRESS = "address"
    OPAQUE = "opaque"
