"""Tables of `benchmarks.studies.convolution_list`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tilewright.report.layout import columns
from tilewright_bench.tables.means import geometric_mean

Row = dict[str, Any]
SLOW, VERY_SLOW = 0.95, 0.85
LEGEND = """\
ours, kernels, peer: microseconds, least of all rounds; kernels by profile(); call: what a call takes beyond them. ratio: the best
peer's time over ours. peak: the kernels' share of the peak of the same rounds, taps in the padding included. error: the predicted
share of the machine's peak over the share measured, minus 1. below: cases whose ratio is below 0.95, and below 0.85."""


def tables(rows: Sequence[Row]) -> str:
    """A line for each convolution, one for each kind, and one for all."""
    heads = ["kind", "convolution", "ours", "kernels", "call", "predicted", "peer", "", "ratio", "peak", "error", "algorithm"]
    cases = columns([heads, *map(_line, rows)], right=(2, 3, 4, 5, 6, 8, 9, 10))
    kinds = ["kind", "cases", "ratio", "of kernels", "least", "below 0.95", "0.85", "peak", "error", "call"]
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    summaries = [_summary(kind, some) for kind, some in [*groups.items(), ("all", list(rows))]]
    failures = [f"{row['kind']} {row['case']}: {row['failure']}" for row in rows if row["failure"]]
    lines = [*cases, "", *columns([kinds, *summaries], right=range(1, len(kinds))), "", *LEGEND.splitlines(), *failures]
    return "\n".join(lines)


def ratio(row: Row) -> float | None:
    """The best peer's time over ours; None where one of them has none.

    >>> ratio({"ours_s": 2.0, "peers_s": {"onnxruntime": 3.0, "openvino": 4.0}})
    1.5
    """
    return min(row["peers_s"].values()) / row["ours_s"] if row["peers_s"] and row["ours_s"] else None


def share(row: Row) -> float:
    """Of the kernels, of the peak that was measured beside them."""
    return float(row["flops"] / row["kernels_s"] / row["peak_flops_per_s"])


def error(row: Row) -> float:
    """Of the prediction, each time taken as a share of the peak of its own: the machine's, and that of the rounds.

    >>> round(error({"predicted_s": 1.0, "kernels_s": 1.0, "machine_flops_per_s": 100e9, "peak_flops_per_s": 80e9}), 3)
    -0.2
    """
    predicted, kernels = row["predicted_s"] * row["machine_flops_per_s"], row["kernels_s"] * row["peak_flops_per_s"]
    return float(kernels / predicted - 1) if predicted else 0.0


def _line(row: Row) -> list[str]:
    if not row["ours_s"]:
        return [row["kind"], row["case"], "-", "", "", "", "", "", "", "", "", row["failure"]]
    own, kernels = row["ours_s"], row["kernels_s"]
    peer = min(row["peers_s"], key=lambda name: float(row["peers_s"][name]), default="")
    found = ratio(row)
    return [
        row["kind"],
        row["case"],
        *(f"{seconds * 1e6:.1f}" for seconds in (own, kernels, own - kernels, row["predicted_s"])),
        f"{row['peers_s'][peer] * 1e6:.1f}" if peer else "-",
        peer,
        "-" if found is None else f"{found:.2f}",
        f"{share(row):.0%}",
        f"{error(row):+.0%}",
        row["algorithm"],
    ]


def _summary(kind: str, rows: Sequence[Row]) -> list[str]:
    timed = [row for row in rows if row["ours_s"]]
    ratios = [found for row in timed if (found := ratio(row)) is not None]
    if not ratios:
        return [kind, str(len(rows)), *["-"] * 8]
    of_kernels = [found * row["ours_s"] / row["kernels_s"] for row in timed if (found := ratio(row)) is not None]
    return [
        kind,
        str(len(rows)),
        f"{geometric_mean(ratios):.3f}",
        f"{geometric_mean(of_kernels):.3f}",
        f"{min(ratios):.2f}",
        *(str(sum(found < bound for found in ratios)) for bound in (SLOW, VERY_SLOW)),
        *_medians(timed),
    ]


def _medians(rows: Sequence[Row]) -> Iterator[str]:
    """Of the share of the peak, of the error's size, and of a call's time beyond the kernels."""
    yield f"{median(map(share, rows)):.0%}"
    yield f"{median(abs(error(row)) for row in rows):.0%}"
    yield f"{median(row['ours_s'] - row['kernels_s'] for row in rows) * 1e6:.1f} us"
