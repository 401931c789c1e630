"""`tilewright machine`: what was detected and measured, or what a target file says."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from typing import Any

import click

from tilewright.cli import parameters
from tilewright.errors import TilewrightError
from tilewright.machine import Machine, MemoryLevel, detection, isa, targets
from tilewright.machine.accelerator import Accelerator, ProductUnit
from tilewright.report.layout import columns, section, wrapped


@click.command()
@click.option(
    "--target", metavar="NAME", callback=parameters.target, help=f"Show a machine known by name: {', '.join(targets.names())}."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--recalibrate", is_flag=True, help="Measure this CPU again (about 2 s).")
def machine(target: str | None, as_json: bool, recalibrate: bool) -> None:
    """Show this machine: instructions, cores, caches, bandwidths, peaks, and where each figure comes from."""
    if target is not None and recalibrate:
        raise click.UsageError("--recalibrate measures this CPU: it cannot be combined with --target")
    described = _this_machine(recalibrate) if target is None else Machine.named(target)
    if as_json:
        click.echo(json.dumps(as_record(described), indent=2))
    else:
        click.echo(render(described, "" if target is not None else detection.microarchitecture()))


def render(machine: Machine, microarchitecture: str = "") -> str:
    """The machine for a person: plain text, at most 120 columns wide. `microarchitecture` is one whose instructions it has.

    >>> print(render(Machine.named("zen4"), "zen2").splitlines()[0])
    zen4, with all instructions of zen2
    """
    lines = [f"{machine.name}, with all instructions of {microarchitecture}" if microarchitecture else machine.name]
    lines += section("ISA", wrapped(_isa(machine)))
    lines += _vectors(machine) if machine.accelerator is None else _accelerator(machine.accelerator)
    lines += section("cores", [f"{machine.cores} usable"])
    lines += section("clock", [f"{machine.frequency_hz / 1e9:.2f} GHz ({machine.frequency_source.value})"])
    lines += section("peak", _peaks(machine))
    lines += section("memory", columns([_HEADER, *map(_level, machine.levels)], right=range(1, 7)))
    region = f"{machine.parallel_region_s * 1e6:.2f} us for an empty region ({machine.parallel_region_source.value})"
    lines += section("threads", [region] if machine.accelerator is None else [])
    if machine.fitted:
        lines += section("price", [f"{len(machine.fitted)} coefficients fitted on such a CPU (tilewright tune --fit)"])
    return "\n".join(lines)


def as_record(machine: Machine) -> dict[str, Any]:
    """The machine for a program: the fields of `Machine` and `MemoryLevel`, with sources as words.

    >>> as_record(Machine.named("zen4"))["levels"][0]["size_bytes"]
    32768
    """
    record = {name: value for name, value in asdict(machine).items() if name != "accelerator"} | {
        "features": sorted(machine.features),
        "peak_flops_per_s": dict(machine.peak_flops_per_s),
        "fitted_coefficients": dict(machine.fitted),
        "levels": [_level_record(level) for level in machine.levels],
    }
    del record["fitted"]
    if machine.accelerator is not None:
        record["accelerator"] = _accelerator_record(machine.accelerator)
    return _with_words(record)


def _accelerator_record(accelerator: Accelerator) -> dict[str, Any]:
    return {
        "units": [_with_words(asdict(unit)) for unit in accelerator.units],
        "spaces": [_with_words(asdict(space)) for space in accelerator.spaces],
        "limits": {name: {"value": value, "source": accelerator.source_of(name).value} for name, value in accelerator.limits},
    }


_HEADER = ["", "size", "usable", "line", "ways", "cores", "GB/s", "", ""]


def _this_machine(recalibrate: bool) -> Machine:
    from tilewright.runtime import calibration

    if not recalibrate:
        return calibration.ensure()
    machine = calibration.ensure(recalibrate=True)
    if machine.peak_source.value != "measured":
        raise TilewrightError("this CPU could not be measured", why="see the warning above")
    return machine


def _isa(machine: Machine) -> str:
    """The level of the architecture, and the features beyond it; all of them where it has no levels."""
    level = isa.level_of(machine.features)
    beyond = machine.features - (isa.LEVELS[level] if level else frozenset())
    names = " ".join(sorted(beyond))
    return f"{machine.architecture}: {level or ''} {names}".replace("  ", " ").strip(" :")


def _vectors(machine: Machine) -> list[str]:
    vectors = (
        f"{machine.vector_registers} registers of {machine.vector_bits} bits, {machine.fma_per_cycle} multiply-adds per cycle"
    )
    return [*section("vectors", [vectors]), *section("core", [_core(machine)])]


def _accelerator(accelerator: Accelerator) -> list[str]:
    """What a core has in place of vectors."""
    units = [
        [
            unit.name,
            unit.operands,
            f"to {unit.accumulator}",
            _tile(unit),
            f"{unit.flops_per_cycle:g} flops per cycle ({unit.source.value})",
        ]
        for unit in accelerator.units
    ]
    spaces = [[space.name, _size(space.size_bytes), f"of a {space.scope}", space.holds] for space in accelerator.spaces]
    limits = [[name, f"{value:g}", f"({accelerator.source_of(name).value})"] for name, value in accelerator.limits]
    return [
        *section("units", columns(units)),
        *section("spaces", columns(spaces, right=[1])),
        *section("limits", columns(limits, right=[1])),
    ]


def _tile(unit: ProductUnit) -> str:
    """Rows, columns and depth of an instruction."""
    rows, columns_, depth = unit.tile
    widths = f"{columns_}..{unit.most_columns}" if unit.most_columns > columns_ else str(columns_)
    return f"{rows} x {widths} x {depth}"


def _core(machine: Machine) -> str:
    """What is neither vectors nor caches."""
    loads = f"{machine.loads_per_cycle} vector loads per cycle, a multiply-add takes {machine.fma_latency_cycles} cycles"
    return f"{loads}; pages of {_size(machine.page_bytes)}, {machine.tlb_entries} of them in the TLB"


def _peaks(machine: Machine) -> list[str]:
    rows = [[dtype, f"{rate / 1e9:.1f}"] for dtype, rate in machine.peak_flops_per_s]
    unit = f"GFLOP/s per core ({machine.peak_source.value})"
    return [f"{line} {unit}" for line in columns(rows, right=[1])]


def _level(level: MemoryLevel) -> list[str]:
    return [
        level.name,
        _size(level.size_bytes),
        _size(int(level.usable_bytes)),
        f"{level.line_bytes} B",
        str(level.associativity or "-"),
        str(level.shared_by_cores),
        f"{level.bandwidth_bytes_per_s / 1e9:.1f}",
        f"read per core ({level.source.value})",
        f"size {level.size_source.value}" if level.size_bytes else "",
    ]


def _size(size_bytes: int) -> str:
    if size_bytes == 0:
        return "-"
    return f"{size_bytes / 1024:.0f} KiB" if size_bytes < 1 << 20 else f"{size_bytes / (1 << 20):.4g} MiB"


def _level_record(level: MemoryLevel) -> dict[str, Any]:
    record = asdict(level) | {"usable_bytes": int(level.usable_bytes), "bandwidth_source": level.source}
    del record["usable_share"], record["source"]
    return _with_words(record)


def _with_words(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value.value if isinstance(value, Enum) else value for name, value in record.items()}
