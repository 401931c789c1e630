"""What follows language models: penalties, temperature, masks of what may be chosen, top k and top p, choices, beams, positions.

Logits are [sequences, tokens]; ids are [sequences, length].
"""

from __future__ import annotations

import numpy as np

from onnx import TensorProto
from tests.support.random.onnx.detections import number
from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Value

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
SMALL = (-np.inf, -np.inf, -1e4, -100.0)
"""Logits of what must not be chosen."""


def is_logits(value: Value) -> bool:
    return value.rank == 2 and value.shape[1] is not None and value.shape[1] > 1 and value.size <= 4000


def tokens(g: Growing, x: str) -> int:
    return g.shape(x)[-1] or 1


def forbidden(g: Growing, x: str, is_forbidden: str) -> str:
    """x where a condition fails, and very small where it holds."""
    return str(g.add("Where", is_forbidden, number(g, g.choose(SMALL)), x, is_masked=True))


def ids_of(g: Growing, logits: str) -> str:
    """Known ids of the same sequences, all of them tokens."""
    sequences = g.values[logits].names[0]
    ids = g.pick("i", lambda v: v.rank == 2 and v.names[0] == sequences and v.dtype in (np.int32, np.int64))
    known = g.add("Mod", ids, g.constant(np.array(tokens(g, logits), g.values[ids].dtype)))
    return str(g.add("Cast", known, to=INT32) if g.chance(0.2) else known)


def temperature(g: Growing) -> None:
    x = g.pick("f", is_logits)
    warmth = g.choose([0.5, 0.7, 1.3, 3.0])
    scaled = g.add(*g.choose([("Div", x, number(g, warmth)), ("Mul", x, number(g, 1 / warmth))]), terms=1)
    if g.chance(0.5):
        g.add(g.choose(["Softmax", "LogSoftmax"]), scaled, terms=64, axis=-1)


def repetition_penalty(g: Growing) -> None:
    """Logits of tokens that were there, divided or multiplied by their sign, and put back."""
    x = g.pick("f", is_logits)
    ids, penalty = ids_of(g, x), number(g, g.choose([1.1, 1.3]))
    score = g.add("GatherElements", x, ids, axis=1)
    less = g.add("Less", score, number(g, 0))
    changed = g.add("Where", less, g.add("Mul", score, penalty, terms=1), g.add("Div", score, penalty, terms=1))
    g.add("ScatterElements", x, ids, changed, axis=g.choose([1, -1]))


def frequency_penalty(g: Growing) -> None:
    """Less for every time that a token was there: one-hot rows, summed."""
    x = g.pick("f", is_logits)
    ids, depth = ids_of(g, x), tokens(g, x)
    if g.chance(0.5):
        shown = g.add("OneHot", ids, g.constant(np.int64(depth)), g.constant(np.array([0, 1], np.float32)), axis=-1)
    else:
        kinds = g.constant(np.arange(depth, dtype=g.values[ids].dtype))
        shown = g.add("Cast", g.add("Equal", g.add("Unsqueeze", ids, g.integers(2)), kinds), to=FLOAT)
    counts = g.add("ReduceSum", shown, g.integers(1), keepdims=0)
    was_there = g.add("Cast", g.add("Greater", counts, number(g, 0)), to=FLOAT)
    penalty = g.add("Mul", g.choose([counts, was_there]), number(g, 0.3), terms=1)
    g.add("Sub", x, penalty, terms=1)


def forbidden_tokens(g: Growing) -> None:
    """Some tokens, by a constant mask, by their numbers, or at their places."""
    x = g.pick("f", is_logits)
    count = tokens(g, x)
    chosen = np.sort(g.rng.permutation(count)[: g.whole(1, min(3, count - 1))])
    match g.whole(0, 2):
        case 0:
            forbidden(g, x, g.constant(np.isin(np.arange(count), chosen)[None]))
        case 1:
            line = g.add("Range", *(g.constant(np.int64(n)) for n in (0, count, 1)))
            forbidden(g, x, g.add("Equal", line, g.constant(np.int64(chosen[0]))))
        case _:
            columns = g.add("Transpose", x, perm=[1, 0])
            shape = g.add("Concat", g.integers(len(chosen)), g.add("Shape", x, start=0, end=1), axis=0)
            filled = g.add("Expand", g.constant(np.float32(-100)), shape)
            g.add("Transpose", g.add("ScatterND", columns, g.constant(chosen[:, None]), filled), perm=[1, 0])


def top_k(g: Growing) -> None:
    """Nothing below the k-th best."""
    x = g.pick("f", is_logits)
    best, _ = g.add("TopK", x, g.integers(g.whole(1, tokens(g, x))), results=2, axis=-1, is_masked=True)
    if g.chance(0.5):
        last = g.add("Gather", best, g.integers(-1), axis=1)
    else:
        last = g.add("Slice", best, g.integers(-1), g.integers(2**63 - 1), g.integers(1))
    forbidden(g, x, g.add("Less", x, last))


def top_p(g: Growing) -> None:
    """The most likely tokens that have a share of p together: sorted, summed, and put back in order."""
    x = g.pick("f", is_logits)
    count, share = tokens(g, x), g.choose([0.3, 0.55, 0.9])
    best, order = g.add("TopK", x, g.integers(count), results=2, axis=-1, largest=1)
    chances = g.add("Softmax", best, terms=count, axis=-1)
    if g.chance(0.5):
        sums = g.add("CumSum", chances, g.constant(np.int64(1)), terms=count, exclusive=1)
        is_rest = g.add(g.choose(["Greater", "GreaterOrEqual"]), sums, number(g, share))
    else:
        sums = g.add("CumSum", chances, g.constant(np.int64(g.choose([1, -1]))), terms=count)
        beyond = g.add("Greater", sums, number(g, share))
        earlier = g.add("Slice", beyond, g.integers(0), g.integers(-1), g.integers(1))
        shape = g.add("Concat", g.add("Shape", x, start=0, end=1), g.integers(1), axis=0)
        is_rest = g.add("Concat", g.add("Cast", g.add("ConstantOfShape", shape), to=TensorProto.BOOL), earlier, axis=1)
    if g.chance(0.5):
        forbidden(g, x, g.add("ScatterElements", is_rest, order, is_rest, axis=1))
        return
    kept = forbidden(g, best, is_rest)
    g.add("GatherElements", order, g.add("ArgMax", kept, axis=1, keepdims=1), axis=1)


def min_p(g: Growing) -> None:
    """Nothing less likely than a share of the most likely."""
    x = g.pick("f", is_logits)
    chances = g.add("Softmax", x, terms=tokens(g, x), axis=-1)
    most = g.add("ReduceMax", chances, g.integers(-1))
    forbidden(g, x, g.add("Less", chances, g.add("Mul", most, number(g, 0.2), terms=1)))


def drawn(g: Growing) -> None:
    """The first token at which the running sum of chances passes a number between 0 and 1."""
    x = g.pick("f", is_logits)
    sums = g.add("CumSum", g.add("Softmax", x, terms=tokens(g, x), axis=-1), g.constant(np.int64(1)), terms=tokens(g, x))
    is_past = g.add("Greater", sums, g.constant(g.rng.random((1, 1)).astype(np.float32)))
    if g.chance(0.5):
        g.add("ArgMax", g.add("Cast", is_past, to=g.choose([FLOAT, INT32])), axis=1, keepdims=g.whole(0, 1))
        return
    below = g.add("Cast", g.add("Not", is_past), to=g.choose([INT32, INT64]))
    token = g.add("ReduceSum", below, g.integers(1), keepdims=1)
    g.add("Min", token, g.constant(np.array(tokens(g, x) - 1, g.values[token].dtype)))


def greedy(g: Growing) -> None:
    """The best token, and what was said so far with it at the end; ended sequences take padding."""
    x = g.pick("f", is_logits)
    best = g.add("ArgMax", x, axis=-1, keepdims=1)
    ids = g.pick("i", lambda v: v.rank == 2 and v.names[0] == g.values[x].names[0] and v.dtype == np.int64)
    if g.chance(0.5):
        last = g.add("Gather", ids, g.integers(-1), axis=1)
        best = g.add("Where", g.add("Equal", last, g.constant(np.int64(0))), g.constant(np.int64(1)), best)
    g.add("Concat", ids, best, axis=1)


def beams(g: Growing) -> None:
    """The best pairs of a beam and a token; the ids of those beams."""
    x = g.pick("f", lambda v: is_logits(v) and v.shape[0] is not None)
    rows, count = (extent or 1 for extent in g.shape(x))
    sums = g.add("Add", g.add("LogSoftmax", x, terms=count, axis=-1), g.floats(rows, 1), terms=1)
    flat = g.add("Reshape", sums, g.integers(1, -1))
    _, order = g.add("TopK", flat, g.integers(min(rows, 4)), results=2, axis=1)
    by = g.constant(np.int64(count))
    beam, token = (g.add("Squeeze", g.add(name, order, by), g.integers(0)) for name in ("Div", "Mod"))
    ids = g.pick("i", lambda v: v.rank == 2 and v.names[0] == rows and v.dtype == np.int64)
    g.add("Concat", g.add("Gather", ids, beam, axis=0), g.add("Unsqueeze", token, g.integers(1)), axis=1)


def last_of_length(g: Growing) -> None:
    """The row of the last token that counts: its place is the sum of the mask, less 1."""
    mask = g.pick("b", lambda v: v.rank == 2 and v.shape[1] is not None)
    x = g.pick("f", lambda v: v.rank == 3 and v.names[:2] == g.values[mask].names)
    count = g.add("ReduceSum", g.add("Cast", mask, to=g.choose([INT32, INT64])), g.integers(1), keepdims=1)
    one = g.constant(np.array(1, g.values[count].dtype))
    place = g.add("Cast", g.add("Max", g.add("Sub", count, one), g.constant(np.array(0, g.values[count].dtype))), to=INT64)
    if g.chance(0.5):
        g.add("GatherND", x, place, batch_dims=1)
    else:
        shape = g.add("Concat", g.integers(1, 1), g.add("Shape", x, start=2), axis=0)
        wide = g.add("Expand", g.add("Unsqueeze", place, g.integers(2)), shape)
        g.add("GatherElements", x, wide, axis=1)


def mask_of_lengths(g: Growing) -> None:
    """Which places lie before the end of each sequence: causal, in a window, or both."""
    ids = g.pick("i", lambda v: v.rank == 2 and v.shape[1] is not None and v.shape[1] > 0)
    dtype, length = g.values[ids].dtype, g.shape(ids)[1] or 1
    if dtype not in (np.int32, np.int64):
        raise Unfit
    line = g.constant(np.arange(length, dtype=dtype)[None])
    ends = g.add("Mod", g.add("ReduceMax", ids, g.integers(1)), g.constant(np.array(length + 1, dtype)))
    before = g.add("Less", line, ends)
    down = g.constant(np.arange(length, dtype=dtype)[:, None])
    seen = g.add("LessOrEqual", line, down)
    if g.chance(0.5):
        seen = g.add("And", seen, g.add("Less", g.add("Sub", down, line), g.constant(np.array(g.whole(1, 3), dtype))))
    both = g.add("And", g.add("Unsqueeze", before, g.integers(1)), g.add("Unsqueeze", seen, g.integers(0)))
    g.add("Where", both, number(g, 0), number(g, g.choose(SMALL)), is_masked=True)


def likelihood(g: Growing) -> None:
    """The log of the chance of given tokens, and its mean."""
    x = g.pick("f", is_logits)
    ids = ids_of(g, x)
    score = g.add("GatherElements", g.add("LogSoftmax", x, terms=tokens(g, x), axis=-1), ids, axis=1)
    mean = g.add("ReduceMean", score, g.integers(1), terms=64, keepdims=0)
    g.add("Exp", g.add("Neg", mean), terms=1)


def chances(g: Growing) -> None:
    x = g.pick("f", is_logits)
    g.add(g.choose(["Softmax", "Softmax", "LogSoftmax"]), x, terms=tokens(g, x), axis=g.choose([-1, 1]))


def last_logits(g: Growing) -> None:
    """Of the last place of [sequences, length, tokens]."""
    x = g.pick("f", lambda v: v.rank == 3)
    match g.whole(0, 1):
        case 0:
            g.add("Gather", x, g.constant(np.int64(-1)), axis=1)
        case _:
            end = g.add("Slice", x, g.integers(-1), g.integers(g.choose([2**31 - 1, 2**63 - 1])), g.integers(1))
            g.add("Squeeze", end, g.integers(1))


def other_integers(g: Growing) -> None:
    """Ids in another type: as they are, or held to its range."""
    ids = g.pick("i", lambda v: v.rank == 2)
    g.add("Cast", ids, to=g.choose([INT32, INT64]))


SAMPLING = (
    (temperature, 2), (repetition_penalty, 3), (frequency_penalty, 2), (forbidden_tokens, 2), (top_k, 3), (top_p, 4), (min_p, 2),
    (drawn, 3), (greedy, 3), (beams, 2), (last_of_length, 2), (mask_of_lengths, 2), (likelihood, 2), (chances, 1),
    (last_logits, 2), (other_integers, 1),
)  # fmt: skip
