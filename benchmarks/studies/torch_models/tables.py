"""Tables of what is known of models: times and ratios, errors, compile times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.report.layout import columns
from tilewright_bench.measurement.contender import TILEWRIGHT

Parts = Mapping[str, Any]


def tables(found: Mapping[str, Parts]) -> list[str]:
    """All of them, as far as something is known."""
    timed = {name: parts["times"] for name, parts in found.items() if "ms" in parts.get("times", {})}
    compiled = {name: parts["compilation"] for name, parts in found.items() if "compilation" in parts}
    lines = [*_times(timed), "", *_errors(timed)] if timed else []
    lines += ["", *_compilations(compiled)] if compiled else []
    return [*lines, *_failures(found)]


def least_ms(times: Parts) -> dict[str, float]:
    """The minimum of the rounds, by contender.

    >>> least_ms({"ms": {"eager": [2.0, 1.5]}})
    {'eager': 1.5}
    """
    return {name: min(rounds) for name, rounds in times["ms"].items()}


def ratios(times: Parts) -> dict[str, float]:
    """Our minimum over that of each peer: below 1 we are faster.

    >>> ratios({"ms": {"tilewright": [3.0], "eager": [4.0]}})
    {'eager': 0.75}
    """
    least = least_ms(times)
    return {name: least[TILEWRIGHT] / value for name, value in least.items() if name != TILEWRIGHT and TILEWRIGHT in least}


def wall_s(compilation: Parts, process: str) -> dict[str, float]:
    """Seconds of the first ("cold") or second process, by compiler."""
    return {name: one["wall_s"] for name, one in compilation[process].items() if "wall_s" in one}


def contenders(found: Mapping[str, Parts]) -> list[str]:
    """Those of any model."""
    return list(dict.fromkeys(name for times in found.values() for name in times["ms"]))


def _times(timed: Mapping[str, Parts]) -> list[str]:
    names = contenders(timed)
    peers = [name for name in names if name != TILEWRIGHT]
    rows = [["model", *(f"{name} ms" for name in names), *(f"ours/{name}" for name in peers)]]
    for name, times in timed.items():
        least, ratio = least_ms(times), ratios(times)
        rows.append([name, *(_cell(least, one, ".2f") for one in names), *(_cell(ratio, one, ".3f") for one in peers)])
    return columns(rows, right=range(1, len(rows[0])))


def _errors(timed: Mapping[str, Parts]) -> list[str]:
    names = contenders(timed)
    rows = [["error against float64", *names, "graphs", "ATen operators"]]
    for name, times in timed.items():
        eager = times["eager"].get(TILEWRIGHT, ())
        cells = [_cell(times["errors"], one, ".1e") for one in names]
        rows.append([name, *cells, str(times["graphs"].get(TILEWRIGHT, "-")), _counted(eager)])
    return columns(rows, right=range(1, len(rows[0]) - 1))


def _counted(names: list[str]) -> str:
    """The number and up to four names."""
    return f"{len(names)} {' '.join(dict.fromkeys(names[:4]))}".strip()


def _compilations(compiled: Mapping[str, Parts]) -> list[str]:
    names = list(dict.fromkeys(name for one in compiled.values() for name in one["cold"]))
    rows = [["seconds to compile", *(f"{process} {name}" for process in ("cold", "second") for name in names), "processor, cold"]]
    for model, one in compiled.items():
        cells = [_cell(wall_s(one, process), name, ".1f") for process in ("cold", "second") for name in names]
        spent = [f"{each['process_s']:.1f}+{each['children_s']:.1f}" for each in one["cold"].values() if "process_s" in each]
        rows.append([model, *cells, " ".join(spent)])
    return columns(rows, right=range(1, len(rows[0])))


def _failures(found: Mapping[str, Parts]) -> Iterator[str]:
    for model, parts in found.items():
        for part, document in parts.items():
            reports = {"": document, **document.get("cold", {}), **document.get("second", {})}
            yield from (f"{model}: {part} {name}: {one['failure']}" for name, one in reports.items() if "failure" in one)
            yield from (f"{model}: {name}: {failure}" for name, failure in document.get("failures", {}).items())


def _cell(values: Mapping[str, float], name: str, form: str) -> str:
    return format(values[name], form) if name in values else "-"
