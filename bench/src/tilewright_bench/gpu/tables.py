"""What a person reads of a run: times beside the paper's averages, resources, the contract, fitted estimates, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tilewright.report import units
from tilewright.report.layout import columns
from tilewright_bench.gpu import paper
from tilewright_bench.gpu.fit import Coefficient
from tilewright_bench.gpu.kernels import APART, OURS, KernelRow
from tilewright_bench.gpu.prepared import COMPILED, EAGER
from tilewright_bench.gpu.results import CaseResult, GpuReport
from tilewright_bench.tables.means import geometric_mean

OTHERS = (APART, EAGER, COMPILED)
HEADING = (
    "case",
    "kernels",
    "error",
    "predicted",
    "measured",
    "predicted/measured",
    *(f"{name}/ours" for name in OTHERS),
    "DRAM",
)
NONE = "-"
MOST_NAMES = 8
"""Of cases in a line."""


def report_lines(report: GpuReport) -> Iterator[str]:
    """Everything."""
    yield from _head(report)
    for group in paper.GROUPS:
        cases = [case for case in report.cases if case.group == group]
        if cases:
            yield from ("", f"{group}:", *_table(cases), *_means(group, cases))
    yield from ("", *_resources(report), "", *_contract(report), "", *_fit(report))
    yield from _missing(report)


def _head(report: GpuReport) -> Iterator[str]:
    card = report.card
    major, minor = card.capability
    yield f"{card.card}, compute capability {major}.{minor}, driver {card.driver}; {card.target_note}"
    versions = ", ".join(f"{name} {number}" for name, number in card.versions)
    yield f"{versions}{f'; commit {card.commit}' if card.commit else ''}; {report.seconds:.0f} s"
    yield "float16; times are medians over rounds, of calls recorded as a CUDA graph, warm; ratios are medians of pairs, above 1"
    yield "ours is faster; error: Frobenius norm, against NumPy in float64, the larger of fused and apart; DRAM: of our bytes"
    yield "fewer than PyTorch's"


def _table(cases: Sequence[CaseResult]) -> list[str]:
    return columns([list(HEADING), *map(_row, cases)], right=range(1, len(HEADING)))


def _row(case: CaseResult) -> list[str]:
    ours = case.time_of(OURS)
    kernels = [row for row in case.kernels if row.contender == OURS]
    predicted = sum(row.predicted_s for row in kernels)
    errors = [one.error for one in case.checked]
    return [
        case.case,
        str(len(kernels)),
        f"{max(errors):.1e}" if errors else NONE,
        units.seconds(predicted) if kernels else NONE,
        units.seconds(ours.seconds) if ours else NONE,
        f"{predicted / ours.seconds:.2f}" if ours else NONE,
        *(_ratio(case, name) for name in OTHERS),
        _fewer(case),
    ]


def _ratio(case: CaseResult, contender: str) -> str:
    found = case.time_of(contender)
    return NONE if found is None else f"{found.to_own:.2f}"


def _fewer(case: CaseResult) -> str:
    share = fewer_bytes(case)
    return NONE if share is None else units.percent(share)


def fewer_bytes(case: CaseResult) -> float | None:
    """The share of PyTorch's bytes of DRAM that our kernels save; None where nothing counted."""
    counted = dict(case.dram_bytes)
    return 1 - counted[OURS] / counted[EAGER] if counted.get(EAGER) and OURS in counted else None


def _means(group: str, cases: Sequence[CaseResult]) -> Iterator[str]:
    """Ours, and the paper's on its A100."""
    found = [(name, [one.to_own for case in cases if (one := case.time_of(name)) and one.to_own > 0]) for name in OTHERS]
    ours = ", ".join(f"{name}/ours {geometric_mean(ratios):.2f}" for name, ratios in found if ratios)
    if ours:
        yield f"geometric means: {ours}"
    if averages := paper.AVERAGES.get(group):
        yield f"Chimera's averages on A100: {', '.join(f'{name} {ratio:.2f}' for name, ratio in averages)}"
    shares = [share for case in cases if (share := fewer_bytes(case)) is not None]
    if group == paper.CHAINS and shares:
        least, most = map(units.percent, paper.FEWER_BYTES)
        yield f"bytes of DRAM fewer by {units.percent(min(shares))} to {units.percent(max(shares))}; paper {least} to {most}"


def _resources(report: GpuReport) -> Iterator[str]:
    rows = [(case.case, row) for case in report.cases for row in case.kernels if row.registers is not None]
    if not rows:
        yield "registers, spills and shared memory: this device does not tell"
        return
    name, most = max(rows, key=lambda one: one[1].registers or 0)
    spilling = [case for case, row in rows if row.spills]
    yield f"{len(rows)} kernels; most registers {most.registers} ({name}); kernels that spill: {_listed(spilling)}"
    yield _shared(report, rows)


def _shared(report: GpuReport, rows: Sequence[tuple[str, KernelRow]]) -> str:
    if not report.compares_shared:
        return f"shared bytes are not compared: plans know the rules of another Triton than {report.card.triton}"
    other = [case for case, row in rows if row.shared_bytes != row.predicted_shared_bytes]
    return f"shared bytes as planned: {len(rows) - len(other)} of {len(rows)}; others: {_listed(other)}"


def _contract(report: GpuReport) -> Iterator[str]:
    if not report.lowerings:
        yield "contract of the replaceable product: no lowering serves this target"
    for one in report.lowerings:
        verdict = "; ".join(one.problems) if one.problems else f"{one.blocks} blocks right"
        used = "" if one.registers is None else f", {one.registers} registers, {one.shared_bytes} bytes of shared memory"
        yield f"lowering {one.lowering}: {verdict}{used}"


def _fit(report: GpuReport) -> Iterator[str]:
    found = report.fit
    if found is None:
        yield "estimates of the price: no times to fit them to"
        return
    yield f"estimates of the price, fitted to {found.observations} times:"
    rows = [["figure", f"target {report.card.target}", "fitted"], *map(_coefficient, found.coefficients)]
    yield from columns(rows, right=range(1, 3))
    yield f"median relative error of predictions {found.error_before:.3f}, fitted {found.error_after:.3f}"


def _coefficient(one: Coefficient) -> list[str]:
    return [one.name, f"{one.estimate:.4g}", "no price depends on it" if one.fitted is None else f"{one.fitted:.4g}"]


def _missing(report: GpuReport) -> Iterator[str]:
    problems = [f"{case.case}: {problem}" for case in report.cases for problem in case.problems]
    if problems or report.left_out:
        yield ""
    yield from problems
    kinds = dict[str, list[str]]()
    for text in report.left_out:
        kind, _, name = text.partition(" of ") if text.startswith((f"{COMPILED} of ", "times of ")) else (text, "", "")
        kinds.setdefault(kind, []).append(name)
    for kind, names in kinds.items():
        yield f"left out: {kind}" if names == [""] else f"left out, no time was left: {kind} of {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """The first of them, each once.

    >>> _listed(["C1", "C1", "C2"]), _listed([])
    ('C1, C2', 'none')
    """
    known = list(Counter(names))
    rest = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return ", ".join(known[:MOST_NAMES]) + rest if known else "none"
