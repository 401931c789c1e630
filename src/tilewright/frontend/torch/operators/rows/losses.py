"""Losses, and distances of rows. Halves are computed in float32 and rounded once, behind the mean or the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.operators.rows.reductions import norm_of, power_of, reduced
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.reshape import gather, gather_elements
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Tensor

MEAN, SUM = 1, 2
"""Of `reduction`; 0 keeps all elements."""
LEAST_LOGARITHM = -100.0
"""Logarithms of probabilities are held to it in binary_cross_entropy."""
SMALL = 1e-7
"""Added to norms in renorm."""
_DIFFERENCE = apply("subtract", Load(0), Load(1))
_SIZE = apply("abs", _DIFFERENCE)


def _loss(call: Call, body: Scalar, *operands: Tensor) -> Tensor:
    """A body of operands, and its mean or sum."""
    dtype, reduction = call.result.dtype, call["reduction"]
    if not reduction:
        return call.builder.body(body, *operands, dtype=dtype, kind=call.operator)
    return _total(call, call.builder.body(body, *operands, dtype=wide_type(dtype), kind=call.operator))


def _total(call: Call, losses: Tensor) -> Tensor:
    function = "mean" if call["reduction"] == MEAN else "sum"
    return call.cast(reduced(call, function, losses, tuple(range(len(losses.shape)))), call.result.dtype)


def _operands(call: Call, *names: str) -> list[Tensor]:
    wide = wide_type(call.result.dtype)
    return [call.tensor(name, wide) for name in names if call[name] is not None]


@lowers("aten.mse_loss.default")
def mse_loss(call: Call) -> Tensor:
    """`(self - target)^2`."""
    return _loss(call, apply("square", _DIFFERENCE), *_operands(call, "self", "target"))


@lowers("aten.l1_loss.default")
def l1_loss(call: Call) -> Tensor:
    """`|self - target|`."""
    return _loss(call, _SIZE, *_operands(call, "self", "target"))


@lowers("aten.smooth_l1_loss.default")
def smooth_l1_loss(call: Call) -> Tensor:
    """`d^2 / (2 beta)` of differences below beta, `d - beta / 2` of others."""
    beta = float(call["beta"])
    square = apply("divide", apply("multiply", apply("square", _SIZE), Literal(0.5)), Literal(beta or 1.0))
    line = apply("subtract", _SIZE, Literal(beta / 2))
    return _loss(call, apply("where", apply("less", _SIZE, Literal(beta)), square, line), *_operands(call, "self", "target"))


@lowers("aten.huber_loss.default")
def huber_loss(call: Call) -> Tensor:
    """`d^2 / 2` of differences below delta, `delta (d - delta / 2)` of others."""
    delta = float(call["delta"])
    square = apply("multiply", apply("square", _SIZE), Literal(0.5))
    line = apply("multiply", apply("subtract", _SIZE, Literal(delta / 2)), Literal(delta))
    return _loss(call, apply("where", apply("less", _SIZE, Literal(delta)), square, line), *_operands(call, "self", "target"))


@lowers("aten.soft_margin_loss.default")
def soft_margin_loss(call: Call) -> Tensor:
    """`log(1 + exp(-target * self))`."""
    product = apply("multiply", apply("negative", Load(1)), Load(0))
    return _loss(call, apply("log1p", apply("exp", product)), *_operands(call, "self", "target"))


@lowers("aten.binary_cross_entropy.default")
def binary_cross_entropy(call: Call) -> Tensor:
    """`-(target log(self) + (1 - target) log(1 - self))`, times a weight."""
    wrong, right = (
        apply("maximum", logarithm, Literal(LEAST_LOGARITHM))
        for logarithm in (apply("log1p", apply("negative", Load(0))), apply("log", Load(0)))
    )
    other = apply("multiply", apply("subtract", Load(1), Literal(1.0)), wrong)
    loss = apply("subtract", other, apply("multiply", Load(1), right))
    return _weighted(call, loss, _operands(call, "self", "target"))


@lowers("aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(call: Call) -> Tensor:
    """`(1 - target) self - (1 + (pos_weight - 1) target) log_sigmoid(self)`, times a weight."""
    operands = _operands(call, "self", "target", "pos_weight")
    exponential = apply("exp", apply("negative", apply("abs", Load(0))))
    logarithm: Scalar = apply("subtract", apply("minimum", Load(0), Literal(0.0)), apply("log1p", exponential))
    if len(operands) > 2:
        factor = apply("multiply", apply("subtract", Load(2), Literal(1.0)), Load(1))
        logarithm = apply("multiply", apply("add", factor, Literal(1.0)), logarithm)
    loss = apply("subtract", apply("multiply", apply("subtract", Literal(1.0), Load(1)), Load(0)), logarithm)
    return _weighted(call, loss, operands)


def _weighted(call: Call, loss: Scalar, operands: Sequence[Tensor]) -> Tensor:
    weights = _operands(call, "weight")
    return _loss(call, apply("multiply", loss, Load(len(operands))) if weights else loss, *operands, *weights)


# Classes


@lowers("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss(call: Call) -> tuple[Tensor, Tensor]:
    """Minus the element of the target's class, times the weight of that, and the sum of the weights.

    Targets outside of the classes are errors, but for those that are ignored: they have no loss and no weight.
    """
    dtype, wide = call.result.dtype, wide_type(call.result.dtype)
    x, target = call.tensor("self", wide), call.tensor("target", "int64")
    axis = 0 if len(x.shape) == 1 else 1
    counted = apply("not_equal", Load(0), Literal(float(call["ignore_index"])))
    classes = _classes(call, target, counted, x, axis)
    column = call.builder.reshape(classes, (*target.shape[:axis], 1, *target.shape[axis:]))
    if not target.shape and axis == 0:
        column = call.builder.reshape(classes, (1,))
    chosen = call.builder.reshape(call.builder.record(gather_elements, x, column, axis, kind="chosen"), target.shape)
    weights = [] if call["weight"] is None else [_looked_up(call, call.tensor("weight", wide), classes)]
    share: Scalar = Load(2) if weights else Literal(1.0)
    lost = apply("where", counted, apply("multiply", apply("negative", Load(1)), share), Literal(0.0))
    loss = call.builder.body(lost, target, chosen, *weights, dtype=wide, kind="loss")
    if not call["reduction"]:
        return call.cast(loss, dtype), filled(call.builder, 0, (), dtype)
    shares = apply("where", counted, share, Literal(0.0))
    axes = tuple(range(len(target.shape)))
    total = reduced(call, "sum", call.builder.body(shares, target, chosen, *weights, dtype=wide, kind="shares"), axes)
    lost_sum = reduced(call, "sum", loss, axes)
    found = call.builder.map("divide", lost_sum, total) if call["reduction"] == MEAN else lost_sum
    return call.cast(found, dtype), call.cast(total, dtype)


def _classes(call: Call, target: Tensor, counted: Scalar, x: Tensor, axis: int) -> Tensor:
    """Targets with 0 for those that are ignored; negative ones lie behind the last class, where lookups fail."""
    count = x.shape[axis]
    if not isinstance(count, int):
        raise call.refuse("the number of classes is not known")
    inside = apply("where", apply("less", Load(0), Literal(0.0)), Literal(float(count)), Load(0))
    return call.builder.body(apply("where", counted, inside, Literal(0.0)), target, dtype="int64", kind="classes")


def _looked_up(call: Call, weight: Tensor, classes: Tensor) -> Tensor:
    return call.builder.record(gather, weight, classes, 0, kind="weights")


# Distances


@lowers("aten._cdist_forward.default")
def distances(call: Call) -> Tensor:
    """The norms of the differences of all pairs of rows."""
    return _distances(call, float(call["p"]))


@lowers("aten._euclidean_dist.default")
def euclidean_distances(call: Call) -> Tensor:
    """The same; ATen's sum of squares and products loses digits of near rows, this does not."""
    return _distances(call, 2.0)


def _distances(call: Call, power: float) -> Tensor:
    wide = wide_type(call.result.dtype)
    left, right = call.tensor("x1", wide), call.tensor("x2", wide)
    one = call.builder.reshape(left, (*left.shape[:-1], 1, left.shape[-1]))
    other = call.builder.reshape(right, (*right.shape[:-2], 1, *right.shape[-2:]))
    return call.cast(_norm(call, one, other, power), call.result.dtype)


def _norm(call: Call, left: Tensor, right: Tensor, power: float) -> Tensor:
    """Of differences along the last dimension."""
    if left.shape[-1] == 0:
        return filled(call.builder, 0, call.result.shape, left.dtype)
    body, function = _term(power)
    terms = call.builder.body(body, left, right, dtype=left.dtype, kind="distances")
    total = call.builder.reduce(function, terms, (len(terms.shape) - 1,))
    if power == 2:
        return call.builder.map("sqrt", total)
    return total if power in (0, 1, math.inf) else power_of(call, total, 1 / power)


def _term(power: float) -> tuple[Scalar, str]:
    """What is done with a difference, and how these are combined."""
    if power == 0:
        return apply("where", apply("equal", _DIFFERENCE, Literal(0.0)), Literal(0.0), Literal(1.0)), "sum"
    if power == math.inf:
        return _SIZE, "max"
    if power in (1, 2):
        return _SIZE if power == 1 else apply("square", _DIFFERENCE), "sum"
    return apply("pow", _SIZE, Literal(power)), "sum"


@lowers("aten.dist.default")
def distance(call: Call) -> Tensor:
    """The norm of the difference of all elements."""
    wide, power = wide_type(call.result.dtype), float(call["p"])
    difference = call.builder.body(
        _DIFFERENCE, call.tensor("self", wide), call.tensor("other", wide), dtype=wide, kind="difference"
    )
    return call.cast(norm_of(call, difference, power, tuple(range(len(difference.shape)))), call.result.dtype)


@lowers("aten._pdist_forward.default")
def pair_distances(call: Call) -> Tensor:
    """The norms of the differences of every row and those behind it."""
    x = call.tensor("self", wide_type(call.result.dtype))
    rows = x.shape[0]
    if not isinstance(rows, int):
        raise call.refuse("the number of rows is not known")
    if 0 in call.result.shape:
        return filled(call.builder, 0, call.result.shape, call.result.dtype)
    pairs = (call.builder.constant(ids.astype(np.int64)) for ids in np.triu_indices(rows, 1))
    left, right = (call.builder.record(gather, x, ids, 0, kind="rows") for ids in pairs)
    return call.cast(_norm(call, left, right, float(call["p"])), call.result.dtype)


@lowers("aten.renorm.default")
def renorm(call: Call) -> Tensor:
    """Slices along a dimension, those whose norm is above `maxnorm` scaled down to it."""
    x = call.tensor("self", wide_type(call.result.dtype))
    kept = normalize_axis(call["dim"], len(x.shape))
    axes = tuple(axis for axis in range(len(x.shape)) if axis != kept)
    power, most = float(call["p"]), float(call["maxnorm"])
    if 0 in x.shape or power <= 0:
        raise call.refuse("no elements, or another norm")
    sizes = call.builder.map("abs", x)
    if math.isinf(power):
        norm = call.builder.reduce("max", sizes, axes, keepdims=True)
    else:
        total = call.builder.reduce("sum", power_of(call, sizes, power), axes, keepdims=True)
        norm = total if power == 1 else power_of(call, total, 1 / power)
    scale = apply("divide", Literal(most), apply("add", Load(1), Literal(SMALL)))
    factor = apply("where", apply("greater", Load(1), Literal(most)), scale, Literal(1.0))
    return call.builder.body(apply("multiply", Load(0), factor), x, norm, dtype=call.result.dtype, kind="renorm")
