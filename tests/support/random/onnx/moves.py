"""Nodes that move elements: slices, joins, gathers, transposes, reshapes, paddings."""

from __future__ import annotations

import math

import numpy as np

from onnx.numpy_helper import from_array
from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Value

EVERYTHING = "fib"
FAR = 2**31 - 1


def has_dimensions(value: Value) -> bool:
    return value.rank > 0


def slice_(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    starts, ends, steps, axes = [], [], [], g.some(range(g.values[x].rank))
    for axis in axes:
        extent = g.shape(x)[axis]
        step = g.choose([1, 1, 1, 2, 3, -1, -1, -2])
        if extent is None:
            start, end = (-1, -FAR - 1) if step < 0 else (0, FAR)
        elif step < 0:
            low = g.whole(0, extent - 1)
            start, end = g.whole(low, extent + 1), g.choose([low - 1 - extent if low else -FAR, -FAR - 1])
        elif g.has_empty and g.chance(0.3):
            start = end = g.whole(0, extent)
        else:
            start = g.whole(0, extent - 1)
            end = g.choose([extent, FAR, g.whole(start + 1, extent)])
            start = g.choose([start, start - extent])
        starts.append(start)
        ends.append(end)
        steps.append(step)
    named = [axis - g.choose([0, g.values[x].rank]) for axis in axes]
    g.add("Slice", x, g.integers(*starts), g.integers(*ends), g.integers(*named), g.integers(*steps))


def concat(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    axis = g.choose(g.fixed(x))

    def fits(value: Value) -> bool:
        same = value.rank == g.values[x].rank and value.dtype == g.values[x].dtype
        return same and all(n == axis or a == b for n, (a, b) in enumerate(zip(value.names, g.values[x].names, strict=True)))

    parts = [x, *(g.pick(EVERYTHING, fits) for _ in range(g.whole(1, 3)))]
    order = g.rng.permutation(len(parts))
    g.add("Concat", *(parts[n] for n in order), axis=axis - g.choose([0, g.values[x].rank]))


def split(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    axis = g.choose([axis for axis in g.fixed(x) if (g.shape(x)[axis] or 0) > 1])
    extent = g.shape(x)[axis] or 0
    parts = g.whole(2, min(4, extent))
    if g.chance(0.4):
        g.add("Split", x, results=parts, axis=axis, num_outputs=parts)
        return
    cuts = sorted(int(cut) + 1 for cut in g.rng.permutation(extent - 1)[: parts - 1])
    sizes = np.diff([0, *cuts, extent])
    g.add("Split", x, g.integers(*sizes), results=parts, axis=axis - g.values[x].rank)


def transpose(g: Growing) -> None:
    x = g.pick(EVERYTHING, lambda value: value.rank > 1)
    g.add("Transpose", x, perm=[int(n) for n in g.rng.permutation(g.values[x].rank)])


def reshape(g: Growing) -> None:
    """Neighbours are merged and split; one extent is -1, leading ones may be 0."""
    x = g.pick(EVERYTHING)
    shape = g.shape(x)
    changing = [axis for axis, extent in enumerate(shape) if extent is None]
    if changing not in ([], [0]):
        raise Unfit
    kept = 1 if changing or (shape and g.chance(0.4)) else 0
    wanted = [0] * kept + factors(g, math.prod(extent or 1 for extent in shape[kept:]))
    if changing and g.chance(0.3):
        wanted[0] = -1
        if len(wanted) > 1 and g.chance(0.4):
            del wanted[1]
    elif wanted and g.chance(0.5):
        wanted[g.whole(0, len(wanted) - 1)] = -1
    g.add("Reshape", x, g.constant(np.array(wanted, np.int64)))


def factors(g: Growing, size: int) -> list[int]:
    """Extents of a product."""
    found: list[int] = []
    while size > 1 and len(found) < 4:
        divisors = [n for n in range(2, size + 1) if size % n == 0]
        found.append(g.choose(divisors))
        size //= found[-1]
    if size > 1 or (not found and g.chance(0.5)):
        found.append(size)
    if g.chance(0.15):
        found.insert(g.whole(0, len(found)), 1)
    return found


def flatten(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    g.add("Flatten", x, axis=g.whole(0, g.values[x].rank))


def unsqueeze(g: Growing) -> None:
    x = g.pick(EVERYTHING, lambda value: value.rank < 5)
    g.add("Unsqueeze", x, g.integers(g.whole(0, g.values[x].rank)))


def squeeze(g: Growing) -> None:
    x = g.pick(EVERYTHING, lambda value: 1 in value.shape)
    axes = [axis for axis, extent in enumerate(g.shape(x)) if extent == 1]
    g.add("Squeeze", x, g.integers(*g.some(axes)))


def expand(g: Growing) -> None:
    x = g.pick(EVERYTHING, lambda value: value.rank < 5)
    shape = [g.choose([1, extent]) if extent != 1 else g.whole(1, 5) for extent in (one or 1 for one in g.shape(x))]
    if g.chance(0.4):
        shape.insert(0, g.whole(1, 3))
    g.add("Expand", x, g.constant(np.array(shape, np.int64)))


def tile(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    g.add("Tile", x, g.integers(*(g.choose([1, 1, 2, 3]) for _ in g.shape(x))))


def pad(g: Growing) -> None:
    x = g.pick("f", has_dimensions)
    axes = g.some(g.fixed(x))
    mode = g.choose(["constant", "constant", "edge", "reflect"])
    sides = [[g.whole(-1 if mode == "constant" else 0, 3) for _ in axes] for _ in range(2)]
    for side in sides:
        for n, axis in enumerate(axes):
            side[n] = min(side[n], (g.shape(x)[axis] or 1) - 1) if mode == "reflect" else side[n]
    value = g.constant(np.float32(g.choose([0.0, 0.5, -2.0]))) if mode == "constant" else ""
    g.add("Pad", x, g.integers(*sides[0], *sides[1]), value, g.integers(*axes), mode=mode)


def positions(g: Growing, extent: int, shape: tuple[int, ...]) -> str:
    """Constant or computed positions in an extent, negative ones among them."""
    if g.chance(0.35):
        try:
            return computed_positions(g, extent)
        except Unfit:
            pass
    return g.constant(g.rng.integers(-extent, extent, shape))


def computed_positions(g: Growing, extent: int) -> str:
    x = g.pick("i", lambda value: value.rank <= 2 and value.size <= 64 and value.dtype == np.int64)
    if g.chance(0.5):
        return str(g.add("Mod", x, g.constant(np.int64(extent))))
    return str(g.add("Clip", x, g.constant(np.int64(-extent if g.chance(0.5) else 0)), g.constant(np.int64(extent - 1))))


def gather(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    axis = g.choose(g.fixed(x))
    shape = g.choose([(), (1,), (3,), (5,), (2, 3)])
    g.add("Gather", x, positions(g, g.shape(x)[axis] or 1, shape), axis=axis - g.choose([0, g.values[x].rank]))


def gather_elements(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    if None in g.shape(x):
        raise Unfit
    shape = [g.whole(1, extent or 1) for extent in g.shape(x)]
    axis = g.whole(0, len(shape) - 1)
    extent = g.shape(x)[axis] or 1
    shape[axis] = g.whole(1, extent + 2)
    g.add("GatherElements", x, g.constant(g.rng.integers(-extent, extent, shape)), axis=axis)


def gather_by_order(g: Growing) -> None:
    """The best of a dimension, and what belongs to them: the heart of post-processing."""
    x = g.pick("f", has_dimensions)
    axis = g.choose([axis for axis in g.fixed(x) if (g.shape(x)[axis] or 0) > 1])
    count = g.whole(1, g.shape(x)[axis] or 1)
    _, places = g.add("TopK", x, g.integers(count), results=2, axis=axis, largest=g.whole(0, 1))
    same = g.pick(EVERYTHING, lambda value: value.names == g.values[x].names)
    g.add("GatherElements", same, places, axis=axis)


def gather_nd(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    shape = g.shape(x)
    batched = g.whole(0, len(shape) - 1) if None not in shape else 0
    if shape[0] is None:
        raise Unfit
    depth = g.whole(1, len(shape) - batched)
    if None in shape[batched : batched + depth]:
        raise Unfit
    leading = (*(extent or 1 for extent in shape[:batched]), g.whole(1, 4))
    drawn = [g.rng.integers(-(extent or 1), extent or 1, leading) for extent in shape[batched : batched + depth]]
    g.add("GatherND", x, g.constant(np.stack(drawn, -1)), batch_dims=batched)


def scatter_elements(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0 and None not in value.shape)
    shape = tuple(extent or 1 for extent in g.shape(x))
    axis = g.whole(0, len(shape) - 1)
    count = g.whole(1, shape[axis])
    chosen = np.argsort(g.rng.random(shape), axis)
    places = np.take(chosen, range(count), axis) - g.choose([0, shape[axis]])
    g.add("ScatterElements", x, g.constant(places), g.floats(*places.shape), axis=axis)


def scatter_nd(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0 and None not in value.shape)
    shape = tuple(extent or 1 for extent in g.shape(x))
    depth = g.whole(1, len(shape))
    flat = g.rng.permutation(math.prod(shape[:depth]))[: g.whole(1, 5)]
    places = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    g.add("ScatterND", x, g.constant(places), g.floats(len(flat), *shape[depth:]))


def depth_to_space(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank == 4 and value.shape[1] is not None and value.shape[1] % 4 == 0)
    g.add("DepthToSpace", x, blocksize=2, mode=g.choose(["DCR", "CRD"]))


def space_to_depth(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank == 4 and all(n is not None and n % 2 == 0 for n in value.shape[2:]))
    g.add("SpaceToDepth", x, blocksize=2)


def roll(g: Growing) -> None:
    """A cyclic shift, as window attention writes it."""
    x = g.pick(EVERYTHING, has_dimensions)
    axis = g.choose([axis for axis in g.fixed(x) if (g.shape(x)[axis] or 0) > 1])
    cut = g.whole(1, (g.shape(x)[axis] or 2) - 1)
    tail = g.add("Slice", x, g.integers(cut), g.integers(FAR), g.integers(axis))
    head = g.add("Slice", x, g.integers(0), g.integers(cut), g.integers(axis))
    g.add("Concat", tail, head, axis=axis)


def windows(g: Growing) -> None:
    """A partition of images into windows: reshape, transpose, reshape."""
    x = g.pick("f", lambda value: value.rank == 4 and all(n is not None and n % 2 == 0 for n in value.shape[2:]))
    _, channels, height, width = (extent or 1 for extent in g.shape(x))
    if g.shape(x)[1] is None:
        raise Unfit
    parts = g.add("Reshape", x, g.integers(0, channels, height // 2, 2, width // 2, 2))
    turned = g.add("Transpose", parts, perm=[0, 2, 4, 3, 5, 1])
    g.add("Reshape", turned, g.integers(-1, 4, channels))


def shuffle_channels(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank == 4 and None not in value.shape[1:] and (value.shape[1] or 1) % 2 == 0)
    _, channels, height, width = (extent or 1 for extent in g.shape(x))
    parts = g.add("Reshape", x, g.integers(0, 2, channels // 2, height, width))
    turned = g.add("Transpose", parts, perm=[0, 2, 1, 3, 4])
    g.add("Reshape", turned, g.integers(0, -1, height, width))


def triangle(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1)
    g.add("Trilu", x, g.constant(np.int64(g.whole(-2, 2))), upper=g.whole(0, 1))


def reverse_sequence(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1 and None not in value.shape[:2])
    rows, length = (extent or 1 for extent in g.shape(x)[:2])
    lengths = g.rng.integers(1, length + 1, rows)
    g.add("ReverseSequence", x, g.constant(lengths), batch_axis=0, time_axis=1)


def reshape_by_shape(g: Growing) -> None:
    """Merging by extents that are computed: Shape, Gather, Concat."""
    x = g.pick("f", lambda value: value.rank > 1)
    extents = g.add("Shape", x)
    kept = g.add("Slice", extents, g.integers(0), g.integers(1), g.integers(0))
    if g.chance(0.5):
        g.add("Reshape", x, g.add("Concat", kept, g.integers(-1), axis=0))
        return
    last = g.add("Gather", extents, g.constant(np.array([g.values[x].rank - 1])))
    g.add("Reshape", x, g.add("Concat", kept, g.integers(-1), last, axis=0))


def expand_like(g: Growing) -> None:
    """A slice or a mean stretched over what it came from."""
    x = g.pick("f", lambda value: value.rank > 0)
    axis = g.choose(g.fixed(x))
    narrow = g.add("Slice", x, g.integers(0), g.integers(1), g.integers(axis))
    g.add("Expand", narrow, g.add("Shape", x))


def repeat_batch(g: Growing) -> None:
    """Along the dimension of the batch, which may be dynamic."""
    x = g.pick(EVERYTHING, has_dimensions)
    other = g.pick(EVERYTHING, lambda value: value.names == g.values[x].names and value.dtype == g.values[x].dtype)
    g.add("Concat", x, other, axis=0)


def first_of_batch(g: Growing) -> None:
    x = g.pick(EVERYTHING, has_dimensions)
    g.add("Gather", x, g.constant(np.array(g.choose([0, [0], [0, 0], -1]))), axis=0)


def merge_by_products_of_extents(g: Growing) -> None:
    """Reshape to extents that are computed: those of two dimensions multiplied, as exporters write `flatten`."""
    x = g.pick("f", lambda value: value.rank > 1)
    extents = g.add("Shape", x)
    first, second = (g.add("Gather", extents, g.constant(np.int64(n))) for n in (0, 1))
    merged = g.add("Unsqueeze", g.add("Mul", first, second), g.integers(0))
    g.add("Reshape", x, g.add("Concat", merged, g.integers(-1), axis=0))


def same(g: Growing) -> None:
    """What exporters leave behind; also of inputs, which become outputs."""
    g.add("Identity", g.pick(EVERYTHING))


def fill(g: Growing) -> None:
    """Constants of a computed shape, and a value put over them."""
    x = g.pick("f")
    filled = g.add("ConstantOfShape", g.add("Shape", x), value=from_array(np.array([0.5], np.float32)))
    g.add("Mul", x, filled)


def compress(g: Growing) -> None:
    x = g.pick("f", has_dimensions)
    axis = g.choose(g.fixed(x))
    chosen = g.rng.random(g.shape(x)[axis] or 1) < 0.6
    g.add("Compress", x, g.constant(chosen), axis=axis)


def crop(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1)
    axes = g.some(g.fixed(x))
    sizes = [max(1, (g.shape(x)[axis] or 1) + g.whole(-3, 3)) for axis in axes]
    g.add("CenterCropPad", x, g.integers(*sizes), axes=axes)


def unfold(g: Growing) -> None:
    """Overlapping parts, by slices that are stacked."""
    x = g.pick("f", has_dimensions)
    axis = g.choose([axis for axis in g.fixed(x) if (g.shape(x)[axis] or 0) > 2])
    count, extent = g.whole(2, 3), g.shape(x)[axis] or 3
    ends = [extent - count + 1 + n for n in range(count)]
    parts = [g.add("Slice", x, g.integers(n), g.integers(end), g.integers(axis)) for n, end in enumerate(ends)]
    stacked = [g.add("Unsqueeze", part, g.integers(axis)) for part in parts]
    g.add("Concat", *stacked, axis=axis)


MOVES = (
    (slice_, 5), (concat, 4), (split, 3), (transpose, 4), (reshape, 6), (flatten, 1), (unsqueeze, 1), (squeeze, 2), (expand, 1),
    (tile, 1), (pad, 2), (gather, 3), (gather_elements, 1), (gather_by_order, 1), (gather_nd, 1), (scatter_elements, 1),
    (scatter_nd, 1), (depth_to_space, 1), (space_to_depth, 1), (roll, 1), (windows, 1), (shuffle_channels, 1), (triangle, 1),
    (reverse_sequence, 1), (reshape_by_shape, 2), (expand_like, 1), (repeat_batch, 1), (first_of_batch, 1),
    (merge_by_products_of_extents, 1), (same, 1), (fill, 1), (compress, 1), (crop, 1), (unfold, 2),
)  # fmt: skip
