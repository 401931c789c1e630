"""Several nodes that models write together: heads of detectors, pyramids, attention, positions of tokens."""

from __future__ import annotations

import numpy as np

from onnx import TensorProto
from tests.support.random.onnx.growing import Growing
from tests.support.random.onnx.layers import weights


def expected_bin(g: Growing) -> None:
    """The head of detectors that predict distances as distributions: softmax over bins, and its mean."""
    x = g.pick("f", lambda v: v.rank == 3 and v.shape[1] is not None and v.shape[2] is not None and v.shape[1] % 4 == 0)
    _, bins, places = (extent or 1 for extent in g.shape(x))
    parts = g.add("Reshape", x, g.integers(0, 4, bins // 4, places))
    turned = g.add("Transpose", parts, perm=[0, 2, 1, 3])
    chances = g.add("Softmax", turned, terms=64, axis=1)
    mean = g.add("Conv", chances, g.constant(np.arange(bins // 4, dtype=np.float32).reshape(1, -1, 1, 1)), terms=bins // 4)
    edges = g.add("Reshape", mean, g.integers(0, 4, places))
    low, high = g.add("Split", edges, results=2, axis=1, num_outputs=2)
    anchors = g.floats(1, 2, places)
    first, second = g.add("Sub", anchors, low, terms=1), g.add("Add", anchors, high, terms=1)
    centre = g.add("Div", g.add("Add", first, second, terms=1), g.constant(np.float32(2)))
    g.add("Concat", centre, g.add("Sub", second, first, terms=1), axis=1)


def heads(g: Growing) -> None:
    """Self-attention with heads that are split and joined by reshapes."""
    x = g.pick("f", lambda v: v.rank == 3 and v.shape[1] is not None and v.shape[2] is not None and v.shape[2] % 2 == 0)
    _, length, width = (extent or 1 for extent in g.shape(x))
    parts = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        projected = g.add("MatMul", x, weights(g, width, width, terms=width), terms=width)
        split = g.add("Reshape", projected, g.integers(0, length, 2, width // 2))
        parts.append(g.add("Transpose", split, perm=order))
    scores = g.add("Mul", g.add("MatMul", *parts[:2], terms=width), g.constant(np.float32(0.5)), terms=1)
    mixed = g.add("MatMul", g.add("Softmax", scores, terms=length), parts[2], terms=length)
    g.add("Reshape", g.add("Transpose", mixed, perm=[0, 2, 1, 3]), g.integers(0, length, -1))


def of_several_levels(g: Growing) -> None:
    """A feature pyramid: coarse features are enlarged and joined with fine ones."""
    x = g.pick("f", lambda v: v.rank == 4 and None not in v.shape[1:] and all((n or 1) % 2 == 0 for n in v.shape[2:]))
    channels = g.shape(x)[1] or 1
    weight = weights(g, g.whole(1, 6), channels, 3, 3, terms=9 * channels)
    fine = g.add("Relu", g.add("Conv", x, weight, terms=9 * channels, pads=[1] * 4))
    coarse = g.add("MaxPool", fine, kernel_shape=[2, 2], strides=[2, 2])
    doubled = g.constant(np.array([1, 1, 2, 2], np.float32))
    more = g.choose(
        [{"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, {"mode": "linear"}]
    )
    again = g.add("Resize", coarse, "", doubled, terms=4, **more)
    if g.chance(0.5):
        g.add("Add", g.add("Concat", fine, again, axis=1), g.constant(np.float32(0.5)), terms=1)
    else:
        g.add("Add", fine, again, terms=1)


def flattened_head(g: Growing) -> None:
    """Predictions of an image as a list of places: transpose, merge, split into boxes and scores."""
    x = g.pick("f", lambda v: v.rank == 4 and None not in v.shape[1:] and (v.shape[1] or 0) > 4)
    channels = g.shape(x)[1] or 1
    places = g.add("Reshape", g.add("Transpose", x, perm=[0, 2, 3, 1]), g.integers(0, -1, channels))
    boxes, scores = g.add("Split", places, g.integers(4, channels - 4), results=2, axis=2)
    certain = g.add("Sigmoid", scores, terms=1)
    g.add("Exp", g.add("Min", boxes, g.constant(np.float32(1))), terms=1)
    best = g.add("ReduceMax", certain, g.integers(-1), keepdims=0)
    if g.chance(0.7):
        count = g.whole(1, min(5, (g.shape(best)[1] or 1)))
        _, order = g.add("TopK", best, g.integers(count), results=2, axis=1)
        wide = g.add("Expand", g.add("Unsqueeze", order, g.integers(2)), g.integers(1, 1, 4))
        g.add("GatherElements", boxes, wide, axis=1)


def attention_with_padding(g: Growing) -> None:
    """Keys that a condition of the tokens excludes, in the forms in which exporters write it."""
    mask = g.pick("b", lambda v: v.rank == 2)
    tokens = g.values[mask].names
    x = g.pick("f", lambda v: v.rank == 3 and v.names[:2] == tokens and v.shape[2] is not None)
    width = g.shape(x)[2] or 1
    keys = g.add("Transpose", g.add("MatMul", x, weights(g, width, width, terms=width), terms=width), perm=[0, 2, 1])
    scores = g.add("MatMul", g.add("Mul", x, g.constant(np.float32(1 / width)), terms=1), keys, terms=width)
    wide = g.add("Unsqueeze", mask, g.integers(1))
    match g.choose(["where", "infinite", "added"]):
        case "where":
            masked = g.add("Where", wide, scores, g.constant(np.float32(-1e4)))
        case "infinite":
            masked = g.add("Where", wide, scores, g.constant(np.float32(-1e9)))
        case _:
            excluded = g.add("Sub", g.constant(np.float32(1)), g.add("Cast", wide, to=TensorProto.FLOAT))
            masked = g.add("Add", scores, g.add("Mul", excluded, g.constant(np.float32(-1e3))), terms=1)
    g.add("MatMul", g.add("Softmax", masked, terms=64), x, terms=64)


def embedded_tokens(g: Growing) -> None:
    ids = g.pick("i", lambda v: v.rank == 2 and v.dtype == np.int64 and v.size <= 256)
    places = g.add("Mod", ids, g.constant(np.int64(10)))
    rows = g.add("Gather", g.floats(10, g.choose([4, 6, 8])), places)
    g.add("LayerNormalization", rows, g.floats(g.shape(rows)[2] or 1, positive=True), terms=8, axis=-1, epsilon=1e-2)


def counted_tokens(g: Growing) -> None:
    """Positions as the tokens that count have them: a running sum of the mask; also looked up."""
    mask = g.pick("b", lambda v: v.rank == 2 and v.shape[1] is not None)
    counted = g.add("Cast", mask, to=TensorProto.INT64)
    places = g.add("Mul", g.add("CumSum", counted, g.constant(np.int64(1))), counted)
    g.add("Gather", g.floats((g.shape(mask)[1] or 1) + 1, g.whole(1, 4)), places)


def mean_of_tokens(g: Growing) -> None:
    """Over those that count, as sentence embeddings have it."""
    mask = g.pick("b", lambda v: v.rank == 2)
    x = g.pick("f", lambda v: v.rank == 3 and v.names[:2] == g.values[mask].names)
    share = g.add("Unsqueeze", g.add("Cast", mask, to=TensorProto.FLOAT), g.integers(-1))
    total = g.add("ReduceSum", g.add("Mul", x, share, terms=1), g.integers(1), terms=64, keepdims=0)
    count = g.add("Clip", g.add("ReduceSum", share, g.integers(1), terms=1, keepdims=0), g.constant(np.float32(1e-3)))
    mean = g.add("Div", total, count, terms=1)
    if g.chance(0.5):
        length = g.add("ReduceL2", mean, g.integers(-1), terms=64)
        g.add("Div", mean, g.add("Clip", length, g.constant(np.float32(1e-2))), terms=1)


def class_scores(g: Growing) -> None:
    """Softmax of logits, its largest, and the class: what segmentation and classification return."""
    x = g.pick("f", lambda v: v.rank > 1 and v.shape[1] is not None)
    chances = g.add("Softmax", x, terms=64, axis=1)
    g.add("ReduceMax", chances, g.integers(1), keepdims=0)
    best = g.add("ArgMax", x, axis=1, keepdims=g.whole(0, 1))
    if g.chance(0.5):
        g.add("Cast", g.add("Equal", best, g.constant(np.int64(g.whole(0, 2)))), to=TensorProto.FLOAT)


def in_double_precision(g: Growing) -> None:
    x = g.pick()
    wide = g.add("Cast", x, to=TensorProto.DOUBLE)
    scaled = g.add("Mul", wide, g.constant(np.float64(1.5)), terms=1)
    g.add("Cast", g.add("Add", scaled, wide, terms=1), to=TensorProto.FLOAT, terms=1)


def areas_and_overlaps(g: Growing) -> None:
    """Intersection over union of all pairs of boxes."""
    x = g.pick("f", lambda v: v.rank == 2 and v.shape[1] == 4 and v.shape[0] is not None)
    near, sides = g.add("Split", x, results=2, axis=1, num_outputs=2)
    sides = g.add("Add", g.add("Abs", sides), g.constant(np.float32(0.5)), terms=1)
    far = g.add("Add", near, sides, terms=1)
    area = g.add("ReduceProd", sides, g.integers(1), terms=2, keepdims=0)
    corners = [g.add("Unsqueeze", one, g.integers(axis)) for one in (near, far) for axis in (0, 1)]
    common = g.add("Sub", g.add("Min", *corners[2:]), g.add("Max", *corners[:2]), terms=1)
    inside = g.add("ReduceProd", g.add("Relu", common), g.integers(2), terms=2, keepdims=0)
    both = g.add("Add", g.add("Unsqueeze", area, g.integers(0)), g.add("Unsqueeze", area, g.integers(1)), terms=1)
    g.add("Div", inside, g.add("Sub", both, inside, terms=1), terms=1)


def boxes(g: Growing) -> None:
    """Four numbers of several places."""
    x = g.pick("f", lambda v: None not in v.shape and v.size % 4 == 0 and 8 <= v.size <= 400)
    g.add("Reshape", x, g.integers(-1, 4))


IDIOMS = (
    (expected_bin, 2), (heads, 2), (of_several_levels, 2), (flattened_head, 2), (attention_with_padding, 3), (embedded_tokens, 2),
    (counted_tokens, 1), (mean_of_tokens, 2), (class_scores, 2), (in_double_precision, 1), (areas_and_overlaps, 1), (boxes, 1),
)  # fmt: skip
