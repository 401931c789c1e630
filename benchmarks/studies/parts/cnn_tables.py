"""Tables of `benchmarks.studies.cnns`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.report import units
from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.tables.means import geometric_mean

Parts = Mapping[str, Any]
FAST = f"{TILEWRIGHT} fast"
LEGEND = """\
peer/ours: the fastest library's time over ours, median within rounds; fast: with precision fast. floors: operations over the
peak of all threads; bytes of all chains over the bandwidth of the level that holds them. predicted/measured: sums over chains of
one thread."""
MEMORY_LEGEND = """\
cold: a session with a calibration and an empty cache; planning is process time. Peaks: resident memory, less that of a process
that only imports: cold of making a session, the others of making one with a full cache and running it once; fast is what that
needs more. arena, alive: bytes between chains, and the most of them at once."""


def tables(found: Mapping[str, Parts], threads: int) -> list[str]:
    """Both tables, as far as something is known."""
    timed = {name: parts["times"] for name, parts in found.items() if "times" in parts}
    sized = {name: parts["memory"] for name, parts in found.items() if "memory" in parts}
    lines = [*next(iter(timed.values()))["head"], "", *_times(timed, threads)] if timed else []
    return [*lines, *(["", *_memory(sized)] if sized else [])]


def to_own(times: Parts, contender: str = TILEWRIGHT) -> float:
    """The best library's time over that of one of our sessions; 0 without a library.

    >>> timings = [{"contender": "tilewright", "seconds": 1.0, "to_own": 1.0}]
    >>> timings.append({"contender": "torch", "seconds": 3.0, "to_own": 3.1})
    >>> to_own({"timings": timings})
    3.1
    """
    ratios = {one["contender"]: one["to_own"] for one in times["timings"] if one["seconds"] is not None}
    peers = [ratio for name, ratio in ratios.items() if name.partition(" ")[0] != TILEWRIGHT]
    return float(min(peers, default=0.0) / ratios.get(contender, float("inf")))


def _times(timed: Mapping[str, Parts], threads: int) -> Iterator[str]:
    names = list(dict.fromkeys(one["contender"] for times in timed.values() for one in times["timings"]))
    heads = ["peer/ours", "fast", "of peak", "floor: operations", "bytes", "predicted", "predicted/measured"]
    rows = [["model", *names, *heads], *(_times_row(name, times, names, threads) for name, times in timed.items())]
    yield from columns(rows, right=range(1, len(rows[0])))
    yield ""
    yield from _means(timed)
    yield from LEGEND.splitlines()
    for name, times in timed.items():
        yield from (f"{name}: {one['contender']}: {one['failure']}" for one in times["timings"] if one["failure"])


def _times_row(name: str, times: Parts, names: Sequence[str], threads: int) -> list[str]:
    seconds = {one["contender"]: one["seconds"] for one in times["timings"]}
    share = next(one["share"] for one in times["timings"] if one["contender"] == TILEWRIGHT)
    prediction = times["prediction"]
    return [
        name,
        *(units.seconds(seconds[each]) if seconds.get(each) is not None else "-" for each in names),
        f"{to_own(times):.2f}",
        f"{to_own(times, FAST):.2f}",
        "-" if share is None else units.percent(share),
        units.seconds(times["flops"] / times["peak_flops_per_s"] / threads),
        units.seconds(times["moved_bytes"] / times["bandwidth_bytes_per_s"] / threads),
        units.seconds(prediction["predicted_s"]) if prediction else "-",
        f"{prediction['predicted_s'] / prediction['measured_s']:.2f}" if prediction else "-",
    ]


def _means(timed: Mapping[str, Parts]) -> Iterator[str]:
    for title, contender in (("peer/ours", TILEWRIGHT), ("peer/fast", FAST)):
        ratios = [ratio for times in timed.values() if (ratio := to_own(times, contender)) > 0]
        if ratios:
            yield f"geometric mean of {title}: {geometric_mean(ratios):.3f}, least {min(ratios):.2f} ({len(ratios)} models)"
    predictions = [times["prediction"] for times in timed.values() if times["prediction"]]
    ratios = [one["predicted_s"] / one["measured_s"] for one in predictions]
    if ratios:
        within = sum(abs(ratio - 1) <= 0.2 for ratio in ratios)
        yield f"geometric mean of predicted/measured: {geometric_mean(ratios):.3f}; {within} of {len(ratios)} within 20%"


def _memory(sized: Mapping[str, Parts]) -> Iterator[str]:
    heads = ["planning", "cold", "file", "peak, cold", "warm", "fast", "onnxruntime's", "warm/onnxruntime's", "arena", "alive"]
    rows = [["model", *heads], *(_memory_row(name, sizes) for name, sizes in sized.items())]
    yield from columns(rows, right=range(1, len(rows[0])))
    yield ""
    ratios = [sizes["own_bytes"] / sizes["onnxruntime_bytes"] for sizes in sized.values()]
    yield f"geometric mean of warm/onnxruntime's: {geometric_mean(ratios):.3f}, most {max(ratios):.2f}"
    yield from MEMORY_LEGEND.splitlines()


def _memory_row(name: str, sizes: Parts) -> list[str]:
    return [
        name,
        f"{sizes['planning_s']:.2f} s",
        f"{sizes['cold_s']:.2f} s",
        _mebibytes(sizes["file_bytes"]),
        _mebibytes(sizes["cold_bytes"]),
        _mebibytes(sizes["own_bytes"]),
        f"{(sizes['fast_bytes'] - sizes['own_bytes']) / 2**20:+.1f} MiB",
        _mebibytes(sizes["onnxruntime_bytes"]),
        f"{sizes['own_bytes'] / sizes['onnxruntime_bytes']:.2f}",
        _mebibytes(sizes["arena"]),
        _mebibytes(sizes["alive"]),
    ]


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"
