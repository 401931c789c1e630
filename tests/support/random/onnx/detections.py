"""What follows detectors, segmentation and key points: boxes, thresholds, suppression, the best of them, masks, positions.

Boxes are [images, places, 4], scores [images, classes, places].
"""

from __future__ import annotations

import numpy as np

from onnx import TensorProto
from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Value

FLOAT, INT32, INT64, UINT8, BOOL = (
    TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL,
)  # fmt: skip


def is_boxes(value: Value) -> bool:
    return value.rank == 3 and value.shape[2] == 4 and value.shape[1] is not None


def is_scores(value: Value) -> bool:
    return value.rank == 3 and None not in value.shape[1:] and value.size <= 4000


def places_of(scores: Value) -> tuple[int | str, ...]:
    """The extents of images and places."""
    return (scores.names[0], scores.names[2])


def number(g: Growing, value: float) -> str:
    return g.constant(np.float32(value))


def decode(g: Growing) -> None:
    """Centres and sizes become corners, beside anchors and in pixels, or not."""
    x = g.pick("f", is_boxes)
    if g.chance(0.5):
        centre, size = g.add("Split", x, results=2, axis=g.choose([2, -1]), num_outputs=2)
    else:
        centre = g.add("Slice", x, g.integers(0), g.integers(2), g.integers(-1))
        size = g.add("Slice", x, g.integers(2), g.integers(g.choose([4, 2**31 - 1, 2**63 - 1])), g.integers(2))
    if g.chance(0.5):
        anchors = g.floats(1, g.shape(x)[1] or 1, 2, positive=True)
        centre = g.add("Add", g.add("Mul", centre, anchors, terms=1), g.floats(1, g.shape(x)[1] or 1, 2), terms=1)
        size = g.add("Mul", g.add("Exp", g.add("Min", size, number(g, 2)), terms=1), anchors, terms=1)
    half = g.add(*g.choose([("Mul", size, number(g, 0.5)), ("Div", size, number(g, 2))]), terms=1)
    corners = g.add("Sub", centre, half, terms=1), g.add("Add", centre, half, terms=1)
    boxes = g.add("Concat", *corners, axis=g.choose([-1, 2]))
    if g.chance(0.4):
        g.add("Mul", boxes, g.constant(np.array([8, 16, 8, 16], np.float32)), terms=1)


def columns_apart(g: Growing) -> None:
    """Each coordinate by itself, as TensorFlow's models have them, and back together in another order."""
    x = g.pick("f", is_boxes)
    if g.chance(0.5):
        columns = [g.add("Gather", x, g.constant(np.int64(n - g.choose([0, 4]))), axis=2) for n in range(4)]
    else:
        columns = [g.add("Squeeze", one, g.integers(2)) for one in g.add("Split", x, results=4, axis=2, num_outputs=4)]
    middle = [g.add("Mul", g.add("Add", *columns[n::2], terms=1), number(g, 0.5), terms=1) for n in range(2)]
    sides = [g.add("Sub", columns[n + 2], columns[n], terms=1) for n in range(2)]
    order = g.choose([middle + sides, sides[::-1] + middle, columns[1::-1] + columns[:1:-1]])
    g.add("Concat", *(g.add("Unsqueeze", one, g.integers(-1)) for one in order), axis=-1)


def clip_to_image(g: Growing) -> None:
    x = g.pick("f", is_boxes)
    height, width = (g.choose([0.75, 1.0, 2.0]) for _ in range(2))
    if g.chance(0.4):
        g.add("Clip", x, number(g, 0), number(g, height))
        return
    most = g.constant(np.array([width, height, width, height], np.float32))
    g.add("Max", g.add("Min", x, most), number(g, 0))


def scaled_back(g: Growing) -> None:
    """From the padded image to the original one: less the padding, over a scale, to whole pixels."""
    x = g.pick("f", is_boxes)
    moved = g.add("Sub", x, g.constant(np.array([0.25, 0.5, 0.25, 0.5], np.float32)), terms=1)
    scaled = g.add("Div", moved, number(g, g.choose([0.3, 0.7, 3.0, 0.0625])), terms=1)
    match g.whole(0, 2):
        case 0:
            g.add("Cast", scaled, to=g.choose([INT32, INT64]))
        case 1:
            g.add("Cast", g.add(g.choose(["Round", "Floor", "Ceil"]), scaled), to=INT64)


def best_classes(g: Growing) -> None:
    """The best score and class of every place, beside the box."""
    boxes = g.pick("f", is_boxes)
    x = g.pick("f", lambda v: is_scores(v) and places_of(v) == g.values[boxes].names[:2])
    axis = g.choose([1, -2])
    best = g.add("ReduceMax", x, g.integers(axis), keepdims=0)
    found = g.add("ArgMax", x, axis=axis, keepdims=0, select_last_index=int(g.chance(0.2)))
    if g.chance(0.5):
        moved = g.add("Mul", g.add("Cast", found, to=FLOAT), number(g, 4))
        g.add("Add", boxes, g.add("Unsqueeze", moved, g.integers(2)), terms=1)
        return
    more = [g.add("Unsqueeze", one, g.integers(2)) for one in (best, g.add("Cast", found, to=FLOAT))]
    g.add("Concat", boxes, *more, axis=2)


def above_threshold(g: Growing) -> None:
    """Zero below it; how many there are; and which, of one image."""
    x = g.pick("f", lambda v: v.rank > 1 and v.size <= 4000)
    certain = g.add(g.choose(["Greater", "GreaterOrEqual"]), x, number(g, g.choose([0.25, 0.3, 0.5, -0.2])))
    match g.whole(0, 3):
        case 0:
            g.add("Where", certain, x, number(g, g.choose([0, -1])))
        case 1:
            g.add("Mul", x, g.add("Cast", certain, to=FLOAT))
        case 2:
            g.add("ReduceSum", g.add("Cast", certain, to=g.choose([INT32, INT64, FLOAT])), g.integers(-1), keepdims=g.whole(0, 1))
        case _:
            places = g.add("Transpose", g.add("NonZero", certain), perm=[1, 0])
            g.add("GatherND", x, places)
            if g.chance(0.5):
                g.add(
                    "Cast", g.add("Gather", places, g.constant(np.int64(g.choose([0, -1]))), axis=1), to=g.choose([INT32, FLOAT])
                )


def suppressed(g: Growing) -> None:
    """NonMaxSuppression, and what it chose of the boxes and the scores."""
    boxes = g.pick("f", is_boxes)
    scores = g.pick("f", lambda v: is_scores(v) and places_of(v) == g.values[boxes].names[:2])
    bounds = [
        g.integers(g.whole(1, 4)),
        g.constant(np.float32([g.choose([0.1, 0.45, 0.7])])),
        g.constant(np.float32([g.choose([0.0, 0.3])])),
    ]
    chosen = g.add("NonMaxSuppression", boxes, scores, *bounds[: g.whole(1, 3)], center_point_box=g.whole(0, 1))
    if g.chance(0.3):
        g.add("Cast", chosen, to=INT32)
        return
    image, kind, place = (g.add("Slice", chosen, g.integers(n), g.integers(n + 1), g.integers(1)) for n in range(3))
    found = g.add("GatherND", boxes, g.add("Concat", image, place, axis=1))
    score = g.add("Unsqueeze", g.add("GatherND", scores, chosen), g.integers(1))
    parts = [g.add("Cast", image, to=FLOAT), found, g.add("Cast", kind, to=FLOAT), score]
    g.add("Concat", *g.choose([parts, parts[1:], parts[1:2] + parts[3:]]), axis=1)


def best_of_all_classes(g: Growing) -> None:
    """The best pairs of places and classes: divided and taken apart, as DETR's ends are."""
    x = g.pick("f", is_scores)
    classes = g.shape(x)[2] or 1
    flat = g.add("Flatten", x, axis=1)
    count = g.whole(1, min(6, g.shape(flat)[1] or 1))
    best, order = g.add("TopK", flat, g.integers(count), results=2, axis=g.choose([1, -1]))
    by = g.constant(np.int64(classes))
    places, kinds = g.add("Div", order, by), g.add("Mod", order, by)
    boxes = g.pick("f", lambda v: is_boxes(v) and v.names[:2] == g.values[x].names[:2])
    wide = g.add("Unsqueeze", places, g.integers(2))
    if g.chance(0.5):
        g.add("GatherElements", boxes, g.add("Expand", wide, g.integers(1, 1, 4)), axis=1)
    else:
        g.add("GatherND", boxes, wide, batch_dims=1)
    if g.chance(0.5):
        g.add("Concat", best, g.add("Cast", kinds, to=FLOAT), axis=1)


def padded_to_length(g: Growing) -> None:
    """As many rows as a result has room for: what is missing is -1, what is too much is cut off."""
    x = g.pick("fi", lambda v: v.rank == 2 and v.shape[1] is not None)
    rows = g.whole(1, 6)
    count = g.add("Slice", g.add("Shape", x), g.integers(0), g.integers(1))
    missing = g.add("Max", g.add("Sub", g.integers(rows), count), g.integers(0))
    pads = g.add("Concat", g.integers(0, 0), missing, g.integers(0), axis=0)
    value = g.constant(np.array(-1, g.values[x].dtype))
    full = g.add("Pad", x, pads, value)
    g.add("Slice", full, g.integers(0), g.integers(rows), g.integers(0))


def masks_of_classes(g: Growing) -> None:
    """A class for every pixel, as bytes or as a mask for each class."""
    x = g.pick("f", lambda v: v.rank in (3, 4) and v.shape[1] is not None)
    classes = g.add("ArgMax", x, axis=1, keepdims=g.whole(0, 1))
    match g.whole(0, 3):
        case 0:
            g.add("Cast", classes, to=g.choose([UINT8, INT32, FLOAT]))
        case 1:
            narrow = g.add("Cast", classes, to=g.choose([UINT8, INT32, INT64]))
            kinds = np.arange(g.shape(x)[1] or 1, dtype=g.values[narrow].dtype).reshape(-1, *(1,) * g.values[narrow].rank)
            g.add("Cast", g.add("Equal", g.add("Unsqueeze", narrow, g.integers(0)), g.constant(kinds)), to=FLOAT)
        case 2:
            depth = g.constant(np.int64(g.shape(x)[1] or 1))
            shown = g.add("OneHot", classes, depth, g.constant(np.array([0, 1], np.float32)), axis=g.choose([1, -1]))
            g.add("ReduceSum", shown, g.integers(-1), terms=64, keepdims=0)
        case _:
            palette = g.constant(g.rng.integers(0, 256, (g.shape(x)[1] or 1, 3)).astype(np.uint8))
            g.add("Gather", palette, classes)


def crop_masks(g: Growing) -> None:
    """Pixels inside of boxes: positions of rows and columns compared with the four sides."""
    boxes = g.pick("f", lambda v: is_boxes(v) and v.size <= 400)
    size = g.whole(2, 6)
    line = g.add("Cast", g.add("Range", *(g.constant(np.int64(n)) for n in (0, size, 1))), to=FLOAT)
    line = g.add("Mul", line, number(g, 1 / size), terms=1)
    sides = [g.add("Unsqueeze", one, g.integers(3)) for one in g.add("Split", boxes, results=4, axis=2, num_outputs=4)]
    across, down = g.add("Reshape", line, g.integers(1, 1, 1, size)), g.add("Reshape", line, g.integers(1, 1, size, 1))
    inside = [
        g.add("And", g.add("GreaterOrEqual", place, low), g.add("Less", place, high))
        for place, low, high in ((across, sides[0], sides[2]), (down, sides[1], sides[3]))
    ]
    g.add("Cast", g.add("And", *inside), to=g.choose([FLOAT, UINT8, INT32]))


def key_points(g: Growing) -> None:
    """The largest pixel of every heat map as a row and a column, in pixels of the image."""
    x = g.pick("f", lambda v: v.rank == 4 and None not in v.shape[1:])
    width = g.shape(x)[3] or 1
    flat = g.add("Reshape", x, g.integers(0, 0, -1))
    place = g.add("ArgMax", flat, axis=2, keepdims=1)
    parts = [g.add(name, place, g.constant(np.int64(width))) for name in ("Mod", "Div")]
    moved = [g.add("Mul", g.add("Cast", one, to=FLOAT), number(g, 4)) for one in parts]
    points = g.add("Concat", *(g.add("Add", one, number(g, 1.5)) for one in moved), axis=2)
    if g.chance(0.5):
        g.add("Concat", g.add("Mul", points, number(g, 0.125)), g.add("ReduceMax", flat, g.integers(2)), axis=2)


def expected_place(g: Growing) -> None:
    """The mean place of a heat map, by its softmax."""
    x = g.pick("f", lambda v: v.rank > 1 and v.shape[-1] is not None)
    count = g.shape(x)[-1] or 1
    chances = g.add("Softmax", x, terms=count, axis=-1)
    places = g.add("Cast", g.add("Range", *(g.constant(np.int64(n)) for n in (0, count, 1))), to=FLOAT)
    g.add("ReduceSum", g.add("Mul", chances, places, terms=1), g.integers(-1), terms=count, keepdims=g.whole(0, 1))


def largest_first(g: Growing) -> None:
    """Rows in the order of one of their columns."""
    x = g.pick("f", lambda v: v.rank == 2 and None not in v.shape and v.shape[0] > 1)
    column = g.add("Gather", x, g.constant(np.int64(g.choose([0, -1]))), axis=1)
    count = g.choose([g.shape(x)[0] or 1, g.whole(1, g.shape(x)[0] or 1)])
    _, order = g.add("TopK", column, g.integers(count), results=2, axis=0, largest=g.whole(0, 1))
    g.add("Gather", x, order, axis=0)


def first_image(g: Growing) -> None:
    """Without the batch: one image of a batch of one, or the first."""
    x = g.pick("f", lambda v: v.rank == 3)
    g.add("Gather", x, g.constant(np.int64(0)), axis=0)


def turned(g: Growing) -> None:
    """Places before features, or features before places."""
    g.add("Transpose", g.pick("f", is_scores), perm=[0, 2, 1])


def written_over(g: Growing) -> None:
    """Results put into a table of all places, by ScatterND or ScatterElements."""
    x = g.pick("f", lambda v: v.rank == 2 and None not in v.shape and v.shape[0] > 0)
    rows, width = (extent or 1 for extent in g.shape(x))
    table = g.constant(np.full((rows + 3, width), g.choose([0, -1]), np.float32))
    places = g.rng.permutation(rows + 3)[:rows].astype(np.int64)
    places -= (rows + 3) * (g.rng.random(rows) < 0.2)
    if g.chance(0.5):
        g.add("ScatterND", table, g.constant(places[:, None]), x)
    else:
        g.add("ScatterElements", table, g.constant(np.repeat(places[:, None], width, axis=1)), x, axis=0)


def certain(g: Growing) -> None:
    x = g.pick("f", is_scores)
    if g.values[x].size > 2000:
        raise Unfit
    g.add(g.choose(["Sigmoid", "Softmax"]), x, terms=64)


DETECTIONS = (
    (decode, 4), (columns_apart, 2), (clip_to_image, 2), (scaled_back, 3), (best_classes, 3), (above_threshold, 4),
    (suppressed, 5), (best_of_all_classes, 3), (padded_to_length, 2), (masks_of_classes, 2), (crop_masks, 2), (key_points, 2),
    (expected_place, 1), (largest_first, 2), (first_image, 2), (turned, 2), (written_over, 2), (certain, 1),
)  # fmt: skip
