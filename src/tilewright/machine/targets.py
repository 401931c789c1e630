"""Machines known by name: one file `targets/<name>.toml` each, picked up by being there.

`docs/how-to/add-a-target.md` describes the format. Peaks follow from features, vector width, multiply-adds per cycle
and frequency.

A machine with an accelerator has no vectors. In their place its file has

- `[flops_per_cycle]`: of one core outside of its units, by element type, a multiply-add counted as two; float32 at least;
- `[[units]]`: name, operands, accumulator, tile (rows, columns, depth), flops_per_cycle, and most_columns where instructions are
  of several widths;
- `[[spaces]]`: name, size_bytes, scope ("core" or "block"), holds;
- `[limits]`: those of `accelerator.LIMITS` for its device.

A unit, a space, a level (of its bandwidth), and a limit that is a table `{value = ..., source = ...}`, may say
`source = "estimate"`, and the machine `frequency_source = "estimate"`; documents that comments name have all other figures.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from importlib import resources
from typing import Any, NoReturn

from tilewright.errors import TilewrightError
from tilewright.machine import isa
from tilewright.machine.accelerator import ACCUMULATORS, LIMITS, OPERANDS, Accelerator, ProductUnit, Scope, Space, contradictions
from tilewright.machine.description import CPU, Description, Filling, MemoryLevel, Source, usable_share

SUFFIX = ".toml"
KINDS: dict[Any, type] = {"str": str, "float": float, "int": int}
FIGURES = {field.name: KINDS[field.type] for field in fields(Description) if field.type in KINDS and field.name != "name"}
"""What a file says as `Description` has it."""
MACHINE_FIELDS = FIGURES | {"features": list, "levels": list}
OPTIONAL: dict[str, Any] = {
    field.name: field.default for field in fields(Description) if field.name in FIGURES and field.default is not MISSING
}
"""Of the same, those that a file may leave out."""
LEVEL_FIELDS: dict[str, type] = {"name": str, "line_bytes": int, "shared_by_cores": int, "source": str}
MEMORY_FIELDS = LEVEL_FIELDS | {"bandwidth_bytes_per_s": float}
SOFTWARE_FIELDS = LEVEL_FIELDS | {"size_bytes": int, "bytes_per_cycle": float}
"""Of a level that `filling = "software"` says generated code fills: it has no sets."""
CACHE_FIELDS = SOFTWARE_FIELDS | {"associativity": int}
OF_VECTORS = ("vector_bits", "vector_registers", "fma_per_cycle", "parallel_region_s")
"""Fields that a machine with an accelerator has not."""
OF_ACCELERATORS = ("units", "spaces", "limits", "flops_per_cycle")
"""Tables that other machines have not."""
UNIT_FIELDS: dict[str, type] = {
    "name": str,
    "operands": str,
    "accumulator": str,
    "tile": list,
    "flops_per_cycle": float,
    "most_columns": int,
    "source": str,
}
SPACE_FIELDS: dict[str, type] = {"name": str, "size_bytes": int, "scope": str, "holds": str, "source": str}
SOURCES = (Source.DATASHEET.value, Source.ESTIMATE.value)


class UnknownTarget(TilewrightError):
    """No target machine has that name."""


class InvalidTarget(TilewrightError):
    """A target file that does not follow the schema."""


def names(device: str | None = None) -> tuple[str, ...]:
    """The names of all target machines, or of those of a device, sorted.

    >>> "cascadelake-6240" in names(), "a100" in names(), names("gpu")
    (True, True, ('a100', 'h100', 'h200'))
    """
    files = [file for file in resources.files("tilewright.machine").joinpath("targets").iterdir() if file.name.endswith(SUFFIX)]
    chosen = (file for file in files if device is None or _device(file.read_text(encoding="utf-8")) == device)
    return tuple(sorted(file.name.removesuffix(SUFFIX) for file in chosen))


def _device(text: str) -> str:
    """What a target file says that it is."""
    return str(tomllib.loads(text).get("device", CPU))


def load(name: str) -> Description:
    """The machine of `targets/<name>.toml`. Raises `UnknownTarget`, which lists near matches, or `InvalidTarget`.

    >>> load("zen4").vector_bits
    512
    """
    check_known(name)
    text = resources.files("tilewright.machine").joinpath("targets", name + SUFFIX).read_text(encoding="utf-8")
    return parse(name, text)


def check_known(name: str) -> None:
    """Raise `UnknownTarget`, which lists near matches, unless there is such a machine."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "choose one of the known names"
        raise UnknownTarget(f"no target machine is called {name!r}", why=f"known are {', '.join(known)}", hint=hint)


def parse(name: str, text: str) -> Description:
    """The machine that the TOML `text` describes. Raises `InvalidTarget`, which names the field and what it must be."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidTarget("a target file is not TOML", where=name + SUFFIX, why=str(problem)) from problem
    isa_level = document.pop("isa", None)
    frequency_source = _source(document.pop("frequency_source", Source.DATASHEET.value), "frequency_source", name)
    tables = {table: document.pop(table) for table in OF_ACCELERATORS if table in document}
    absent = dict.fromkeys(OF_VECTORS, 0) if tables else {}
    document = OPTIONAL | document
    _check(document, {field: kind for field, kind in MACHINE_FIELDS.items() if field not in absent}, name)
    is_cpu, clock_hz = document["device"] == CPU, float(document["frequency_hz"])
    features = _features(isa_level, document, name) if is_cpu else frozenset(map(str, document["features"]))
    levels = _levels(document["levels"], clock_hz, name)
    if document["fusion_level"] not in (bounded := ["", *(level.name for level in levels[:-1])]):
        _refuse(name, f"fusion_level is {document['fusion_level']!r}, not one of {', '.join(bounded[1:])}")
    rates = _rates(tables, name) if tables else isa.flops_per_cycle(features, _vector_unit(document))
    return Description(
        name=name,
        features=features,
        peak_flops_per_s=tuple((dtype, rate * clock_hz) for dtype, rate in rates),
        levels=levels,
        peak_source=Source.DATASHEET,
        frequency_source=frequency_source,
        accelerator=_accelerator(tables, document["device"], levels, name) if tables else None,
        **{field: kind((document | absent)[field]) for field, kind in FIGURES.items()},
    )


def _vector_unit(document: Mapping[str, Any]) -> isa.VectorUnit:
    return isa.VectorUnit(document["vector_bits"], document["vector_registers"], document["fma_per_cycle"])


def _features(isa_level: Any, document: Mapping[str, Any], name: str) -> frozenset[str]:
    """The features of the x86-64 level `isa`, where one is given, and the ones listed; each must be a known name."""
    if isa_level is not None and isa_level not in isa.LEVELS:
        _refuse(name, f"isa is {isa_level!r}, not one of {', '.join(isa.LEVELS)}")
    if document["architecture"] not in isa.INSTRUCTIONS:
        _refuse(name, f"architecture is {document['architecture']!r}, not one of {', '.join(isa.INSTRUCTIONS)}")
    listed = frozenset(map(str, document["features"]))
    known = isa.INSTRUCTIONS[document["architecture"]]
    unknown = sorted(listed - known)
    if unknown:
        _refuse(name, f"features has unknown names: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return listed | (isa.LEVELS[isa_level] if isa_level is not None else frozenset())


def _levels(tables: list[Any], clock_hz: float, name: str) -> tuple[MemoryLevel, ...]:
    if not tables or not all(isinstance(table, dict) for table in tables):
        _refuse(name, "levels is not a list of tables")
    *bounded, memory = ({"source": Source.DATASHEET.value} | table for table in tables)
    for table in (*bounded, memory):
        _check_choice(table["source"], SOURCES, "levels.source", name)
    _check(memory, MEMORY_FIELDS, name, "levels.")
    inner = (_bounded_level(table, clock_hz, name, is_nearest=table is bounded[0]) for table in bounded)
    return (*inner, _level(memory, float(memory["bandwidth_bytes_per_s"])))


def _bounded_level(table: dict[str, Any], clock_hz: float, name: str, *, is_nearest: bool) -> MemoryLevel:
    """A cache, or a memory that software fills."""
    filling = _filling(table.pop("filling", Filling.CACHE.value), name)
    _check(table, SOFTWARE_FIELDS if filling is Filling.SOFTWARE else CACHE_FIELDS, name, "levels.")
    level = _level(table, float(table["bytes_per_cycle"]) * clock_hz)
    return replace(level, usable_share=usable_share(filling, is_nearest), filling=filling)


def _level(table: Mapping[str, Any], bandwidth_bytes_per_s: float) -> MemoryLevel:
    size_bytes, line_bytes, ways = table.get("size_bytes", 0), table["line_bytes"], table.get("associativity", 0)
    sharers = table["shared_by_cores"]
    source = Source(table["source"])
    return MemoryLevel(table["name"], size_bytes, line_bytes, bandwidth_bytes_per_s, sharers, ways, source)


def _rates(tables: Mapping[str, Any], name: str) -> tuple[tuple[str, float], ...]:
    """Flops per cycle of one core outside of its units."""
    table = tables.get("flops_per_cycle")
    if not isinstance(table, dict):
        _refuse(name, "missing fields: flops_per_cycle")
    schema: dict[str, type] = dict.fromkeys(("float32", *(dtype for dtype in OPERANDS if dtype in table)), float)
    _check(table, schema, name, "flops_per_cycle.")
    return tuple((dtype, float(table[dtype])) for dtype in schema)


def _accelerator(tables: Mapping[str, Any], device: str, levels: tuple[MemoryLevel, ...], name: str) -> Accelerator:
    """The units, spaces and limits of a file, which do not contradict each other."""
    if device not in LIMITS:
        _refuse(name, f"device is {device!r}, and those with units, spaces and limits are {', '.join(LIMITS)}")
    limits = _limits(tables.get("limits", {}), device, name)
    accelerator = Accelerator(
        units=tuple(_unit(table, name) for table in _tables(tables, "units", name, least=0)),
        spaces=tuple(_space(table, name) for table in _tables(tables, "spaces", name, least=1)),
        limits=tuple((limit, value) for limit, (value, _) in limits.items()),
        estimates=tuple(limit for limit, (_, source) in limits.items() if source is Source.ESTIMATE),
    )
    software_bytes = {level.name: level.size_bytes for level in levels if level.filling is Filling.SOFTWARE}
    for problem in contradictions(accelerator, software_bytes):
        _refuse(name, problem)
    return accelerator


def _tables(tables: Mapping[str, Any], kind: str, name: str, *, least: int) -> list[dict[str, Any]]:
    found = tables.get(kind, [])
    if not isinstance(found, list) or len(found) < least or not all(isinstance(table, dict) for table in found):
        _refuse(name, f"{kind} is not a list of tables")
    return found


def _unit(table: dict[str, Any], name: str) -> ProductUnit:
    tile = table.get("tile")
    if not isinstance(tile, list) or len(tile) != 3 or not all(type(size) is int and size > 0 for size in tile):
        _refuse(name, f"units.tile is {tile!r}, not rows, columns and depth")
    table = {"most_columns": tile[1], "source": Source.DATASHEET.value} | table
    _check(table, UNIT_FIELDS, name, "units.")
    _check_choice(table["operands"], OPERANDS, "units.operands", name)
    _check_choice(table["accumulator"], ACCUMULATORS, "units.accumulator", name)
    rows, columns, depth = tile
    given = table | {"tile": (rows, columns, depth), "source": _source(table["source"], "units.source", name)}
    return ProductUnit(**given)


def _space(table: dict[str, Any], name: str) -> Space:
    table = {"source": Source.DATASHEET.value} | table
    _check(table, SPACE_FIELDS, name, "spaces.")
    _check_choice(table["scope"], tuple(Scope), "spaces.scope", name)
    return Space(**table | {"scope": Scope(table["scope"]), "source": _source(table["source"], "spaces.source", name)})


def _limits(table: Any, device: str, name: str) -> dict[str, tuple[float, Source]]:
    """Every limit of a device with its source: a plain figure is one of documents."""
    if not isinstance(table, dict):
        _refuse(name, "limits is not a table")
    figures: dict[str, Any] = {limit: one.get("value") if isinstance(one, dict) else one for limit, one in table.items()}
    words = {limit: one.get("source") if isinstance(one, dict) else Source.DATASHEET.value for limit, one in table.items()}
    _check(figures, dict.fromkeys(LIMITS[device], float), name, "limits.")
    return {limit: (float(figures[limit]), _source(words[limit], f"limits.{limit}.source", name)) for limit in LIMITS[device]}


def _source(word: Any, field: str, name: str) -> Source:
    _check_choice(word, SOURCES, field, name)
    return Source(word)


def _check_choice(word: Any, known: tuple[str, ...], field: str, name: str) -> None:
    if word not in known:
        _refuse(name, f"{field} is {word!r}, not one of {', '.join(known)}")


def _filling(word: Any, name: str) -> Filling:
    _check_choice(word, tuple(filling.value for filling in Filling), "levels.filling", name)
    return Filling(word)


def _check(table: Mapping[str, Any], schema: Mapping[str, type], name: str, prefix: str = "") -> None:
    """Exactly the fields of the schema, each of its type; numbers must be positive."""
    differing = {"missing": sorted(schema.keys() - table.keys()), "unknown": sorted(table.keys() - schema.keys())}
    if complaints := [f"{problem} fields: {', '.join(fields)}" for problem, fields in differing.items() if fields]:
        _refuse(name, "; ".join(complaints) + (f" (in {prefix.rstrip('.')})" if prefix else ""))
    for field, kind in schema.items():
        value = table[field]
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or isinstance(value, bool):
            _refuse(name, f"{prefix}{field} is {value!r}, not of type {kind.__name__}")
        if isinstance(value, int | float) and value <= 0:
            _refuse(name, f"{prefix}{field} is {value!r}, not positive")


def _refuse(name: str, why: str) -> NoReturn:
    raise InvalidTarget(
        "a target file does not follow the schema", where=name + SUFFIX, why=why, hint="see docs/how-to/add-a-target.md"
    )
