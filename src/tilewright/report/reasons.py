"""Sentences of the reasons that a plan records: what lost and why, why edges are cut, what masks and terms of a price say."""

from __future__ import annotations

import re
from math import isinf
from typing import assert_never

from tilewright.graph.expressions.scalar import Parameter
from tilewright.plan import reasons
from tilewright.plan.reasons import Barrier, Defeat
from tilewright.plan.types import Cut, Plan, Rejected, Tuned
from tilewright.report import units

DEFEATS = {
    Defeat.THROUGH_MEMORY: "intermediates go through memory",
    Defeat.MEMORY_BETWEEN: "fused it needs no memory in between",
    Defeat.THREADS_WAIT: "{blocks} on {cores} threads: {waiting} wait",
    Defeat.DOES_NOT_FIT: "does not fit its share of {beside}",
    Defeat.SLOWER: "slower",
    Defeat.SLOWER_THAN: "{beside} is faster",
    Defeat.SLOWER_AS_ONE: "apart is faster",
    Defeat.SLOWER_APART: "one kernel is faster",
    Defeat.SLOWER_WITH_NEIGHBOUR: "{beside} is faster together with its neighbour",
    Defeat.LITTLE_GAIN: "gains too little for another loop",
    Defeat.EDGES_AND_RATE: "edges and rate",
    Defeat.LATER_IN_REGISTRY: "equal, and behind it in the registry's order",
    Defeat.MAY_SATURATE: "two neighbouring products may saturate",
    Defeat.NOT_PREFETCHED: "its traffic is not prefetched",
    Defeat.LITTLE_GAIN_BY_PREFETCHES: "prefetching gains too little",
}
ALGORITHM_NAMES = {
    "windows by columns": "partial im2col",
    "row blocks": "tiled im2col",
    "filter lanes": "filters as columns",
    "pixel rows": "NHWC implicit GEMM",
    "shifted rows": "shifted GEMM",
    "sliding sums": "direct convolution (row streaming)",
    "channel lanes": "direct convolution (channel lanes)",
    "filters in place": "direct convolution (filter blocks)",
    "map of taps": "direct convolution (taps)",
    "exchanged roles": "transposed GEMM",
    "zero points apart": "zero-point compensation",
    "short integers": "int8 as int16",
    "signed bytes": "uint8 as int8",
    "pixels of bytes": "NHWC implicit GEMM (int8)",
}
"""The field's names of algorithms that are registered under others, whole or as a part of a name."""
_REGISTERED = re.compile("|".join(ALGORITHM_NAMES))

BARRIERS = {
    Barrier.SWITCHED_OFF: "fusion is switched off",
    Barrier.GRAPH_OUTPUT: "it is an output of the graph",
    Barrier.ELEMENT_TYPE: "its elements are stored as {dtype}",
    Barrier.MAPS_ALONE: "elementwise operators alone make the integers that {operators} reads, which then gains nothing",
    Barrier.EXACT_ARITHMETIC: "{operators} is computed exactly, in {dtype}",
    Barrier.MERGED_DIMENSION: "{operators} writes several axes into one dimension of it",
    Barrier.DATA_POSITIONS: "{operators} reads at positions that data gives",
    Barrier.SEVERAL_READERS: "several operators read it: {operators}",
    Barrier.OVERLAPPING_TILES: "Winograd convolution reads it in overlapping tiles",
    Barrier.LONG_GROUP: "the operators before it are as many as are planned together",
}


def algorithm_text(name: str) -> str:
    """The field's name of an algorithm, by that in the registry.

    >>> algorithm_text("zero points apart, windows by columns"), algorithm_text("im2col")
    ('zero-point compensation, partial im2col', 'im2col')
    """
    return _REGISTERED.sub(lambda found: ALGORITHM_NAMES[found[0]], name)


def alternative_text(alternative: reasons.Alternative) -> str:
    """What lost.

    >>> alternative_text(reasons.OtherKernel("matmul_generic_4x16", "scores"))
    'micro kernel matmul_generic_4x16 for scores'
    """
    match alternative:
        case reasons.EveryOperatorAlone():
            return "every operator alone"
        case reasons.OnePart(axis):
            return f"{axis} not split"
        case reasons.OtherLoops(storage, loops):
            return f"{storage.value}, {_loops_text(loops)}"
        case reasons.OtherAlgorithm(algorithm, operator):
            return f"{operator} by {algorithm_text(algorithm)}"
        case reasons.OtherAlgorithms(ways, is_one_chain):
            return f"{'one kernel' if is_one_chain else 'apart'}, {' and '.join(map(alternative_text, ways))}"
        case reasons.OtherKernel(kernel, operator):
            return f"micro kernel {kernel} for {operator}"
        case _:
            assert_never(alternative)


def loss_text(rejected: Rejected) -> str:
    """Why an alternative lost; of micro kernels it begins with the operator.

    >>> loss_text(Rejected(reasons.OnePart("k"), 8.0, 2.0, "s", reasons.LossReason(Defeat.THREADS_WAIT, blocks=1, cores=8)))
    '1 block on 8 threads: 7 wait'
    """
    reason = rejected.reason
    subject = f"{rejected.alternative.operator}: " if isinstance(rejected.alternative, reasons.OtherKernel) else ""
    source = f"; as for {reason.source}" if reason.source else ""
    blocks, waiting = units.quantity(reason.blocks, "blocks"), reason.cores - reason.blocks
    defeat = DEFEATS[reason.defeat].format(
        beside=algorithm_text(reason.beside), blocks=blocks, cores=reason.cores, waiting=waiting
    )
    return f"{subject}{defeat}{_bound_text(reason.is_bound)}{source}"


def rejected_text(rejected: Rejected) -> str:
    """An alternative that lost, with its figure and the winner's.

    >>> reason = reasons.LossReason(Defeat.SLOWER_THAN, "pointwise")
    >>> rejected_text(Rejected(reasons.OtherAlgorithm("im2col", "conv"), 2e-6, 1e-6, "s", reason))
    'conv by im2col: 2.00 us against 1.00 us; pointwise is faster'
    """
    figures = f"{units.quantity(rejected.figure, rejected.unit)} against {units.quantity(rejected.winner_figure, rejected.unit)}"
    return f"{alternative_text(rejected.alternative)}: {figures}; {loss_text(rejected)}"


def unfused_text(cut: Cut) -> str:
    """An edge that was not fused, with both prices where they are known, and why.

    >>> unfused_text(Cut("y", float("inf"), 1e-6, reasons.CannotFuse(Barrier.SEVERAL_READERS, ("relu", "tanh"))))
    'y: cannot be fused (unfused 1.00 us); several operators read it: relu, tanh'
    >>> unfused_text(Cut("y", 2e-6, 1e-6, reasons.SeparateFaster(), source="x"))
    'y: as x: fused 2.00 us, unfused 1.00 us; the separate plans are faster'
    >>> unfused_text(Cut("y", float("inf"), None, reasons.CannotFuse(Barrier.GRAPH_OUTPUT)))
    'y: it is an output of the graph'
    """
    source = f"as {cut.source}: " if cut.source else ""
    if cut.unfused_seconds is None:
        return f"{cut.tensor}: {source}{cut_text(cut)}"
    unfused = f"unfused {units.seconds(cut.unfused_seconds)}"
    fused = f"fused {units.seconds(cut.fused_seconds)}"
    prices = f"cannot be fused ({unfused})" if isinf(cut.fused_seconds) else f"{fused}, {unfused}"
    return f"{cut.tensor}: {source}{prices}; {cut_text(cut)}"


def cut_text(cut: Cut) -> str:
    """Why an edge is cut, and what its whole group of operators costs if that was found out.

    >>> cut_text(Cut("y", float("inf"), 1e-6, reasons.CannotFuse(Barrier.SEVERAL_READERS, ("relu", "tanh"))))
    'several operators read it: relu, tanh'
    """
    return f"{_cut_reason_text(cut.reason)}{_whole_text(cut.whole)}"


def fusion_text(plan: Plan) -> str:
    """What several operators cost as one chain and, where that is known, alone."""
    fused = f"fused {units.seconds(plan.predicted_seconds)}"
    if plan.unfused_price is None:
        return f"{fused}; operator by operator not planned"
    return f"{fused}; operator by operator {units.seconds(plan.unfused_price.seconds)}"


def taken_over_text(taken_over: reasons.TakenOver) -> str:
    """Where loops come from that were not searched, and what that may cost.

    >>> taken_over_text(reasons.TakenOver("conv_2", 0.792, 0.8))
    'loops of conv_2: 79.2% efficient, 80.0% there; a search may gain 1.0% and more'
    """
    here, there = taken_over.efficiency, taken_over.source_efficiency
    loss = f"a search may gain {100 * (there / here - 1):.1f}% and more" if here < there else "no less efficient"
    return f"loops of {taken_over.chain}: {100 * here:.1f}% efficient, {100 * there:.1f}% there; {loss}"


def tuned_text(tuned: Tuned) -> str:
    """What a plan of the tuning database won by.

    >>> tuned_text(Tuned(0.9e-3, 1e-3, 100))
    'measured 900 us, the choice of the planner 1.00 ms; best of 100 measured plans'
    """
    here, planned = units.seconds(tuned.seconds), units.seconds(tuned.planned_seconds)
    return f"measured {here}, the choice of the planner {planned}; best of {tuned.measured} measured plans"


def _bound_text(is_bound: bool) -> str:
    return "; the least it can cost" if is_bound else ""


def _cut_reason_text(reason: reasons.CutReason) -> str:
    match reason:
        case reasons.CannotFuse(barrier, operators, dtype):
            return BARRIERS[barrier].format(operators=", ".join(operators), dtype=dtype)
        case reasons.NotExecutable(operators):
            return f"{', '.join(operators)} as one chain cannot be executed"
        case reasons.NoMicroKernel(operator):
            return f"no micro kernel can compute {operator}"
        case reasons.SeparateFaster(is_bound):
            return f"the separate plans are faster{_bound_text(is_bound)}"
        case reasons.FewerBlocks(cores, fused_s, separate_s, is_bound):
            times = f"{_microseconds(fused_s)}{_on(cores)}, unfused {_microseconds(separate_s)}"
            return f"fused, it has fewer blocks for threads: {times}{_bound_text(is_bound)}"
        case _:
            assert_never(reason)


def note_text(note: reasons.PriceNote | None) -> str:
    """What a term of a price says of itself; nothing without a note.

    >>> note_text(reasons.ParallelBlocks(72, 18, 1.0, 2e-6))
    '72 blocks; on 18 cores 1.00 x an even share, 2.0 us more'
    """
    match note:
        case None:
            return ""
        case reasons.BeyondShare(excess_bytes, level):
            return f"{excess_bytes} bytes beyond the share of {level}"
        case reasons.CombinedParts(parts):
            return f"of {parts} partial results, in a second parallel region"
        case reasons.ParallelBlocks(blocks, cores, imbalance, region_s):
            count = units.quantity(blocks, "blocks")
            return f"{count}; on {cores} cores {imbalance:.2f} x an even share, {_microseconds(region_s)} more"
        case reasons.UnreadLines():
            return "lines of the output are not read"
        case _:
            assert_never(note)


def limit_text(limit: reasons.KeyLimit) -> str:
    """What holds where a mask lets a row see a key.

    >>> from tilewright.graph.expressions.conditions import Constraint
    >>> from tilewright.graph.expressions.index import axis
    >>> limit_text(reasons.KeyLimit(Constraint(axis("m") - axis("l"))))
    '-1*l + m >= 0'
    """
    leaves = ((datum.sign, datum.leaf) for datum in limit.constraint.data)
    named = ((sign, leaf.name if isinstance(leaf, Parameter) else limit.tensor) for sign, leaf in leaves)
    return " ".join([str(limit.constraint.index), *(f"{'+' if sign > 0 else '-'} {name}" for sign, name in named), ">= 0"])


def _loops_text(loops: reasons.Loops) -> str:
    shared = _tiles_text(loops.outer) or "no shared loop"
    buffered = ", ".join(loops.line_buffered)
    along = [f"{buffered} in a circular line buffer along {loops.outer[-1][0]}"] if buffered else []
    around = [f"{_tiles_text(tiles)} around {', '.join(operators)}" for tiles, operators in loops.groups]
    below = [f"{operator}: {', '.join(axes)}" for operator, axes in loops.inner]
    return "; ".join([shared, *along, *around, *below])


def _tiles_text(tiles: reasons.Tiles) -> str:
    return ", ".join(f"{axis} by {tile}" for axis, tile in tiles)


def _whole_text(whole: reasons.WholeGroup | None) -> str:
    if whole is None:
        return ""
    times = f"{_microseconds(whole.whole_s)}{_on(whole.cores)}, as divided here {_microseconds(whole.parts_s)}"
    return f"; all {whole.operators} operators of its fusion group as one chain: {times}"


def _on(cores: int) -> str:
    """Where a time is of; a device has no cores to choose from."""
    return "" if units.predicts() else f" on {cores} cores"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us{' predicted' if units.predicts() else ''}"
