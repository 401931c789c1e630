"""Machines known by name: one file `targets/<name>.toml` each, picked up by being there.

`docs/how-to/add-a-target.md` describes the format. Peaks follow from features, vector width, multiply-adds per cycle
and frequency.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from importlib import resources
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.machine import isa
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
LEVEL_FIELDS: dict[str, type] = {"name": str, "line_bytes": int, "shared_by_cores": int}
MEMORY_FIELDS = LEVEL_FIELDS | {"bandwidth_bytes_per_s": float}
SOFTWARE_FIELDS = LEVEL_FIELDS | {"size_bytes": int, "bytes_per_cycle": float}
"""Of a level that `filling = "software"` says generated code fills: it has no sets."""
CACHE_FIELDS = SOFTWARE_FIELDS | {"associativity": int}


class UnknownTarget(TilewrightError):
    """No target machine has that name."""


class InvalidTarget(TilewrightError):
    """A target file that does not follow the schema."""


def names() -> tuple[str, ...]:
    """The names of all target machines, sorted.

    >>> "cascadelake-6240" in names()
    True
    """
    files = resources.files("tilewright.machine").joinpath("targets").iterdir()
    return tuple(sorted(file.name.removesuffix(SUFFIX) for file in files if file.name.endswith(SUFFIX)))


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
    document = OPTIONAL | document
    _check(document, MACHINE_FIELDS, name)
    features = _features(isa_level, document, name) if document["device"] == CPU else frozenset(map(str, document["features"]))
    unit = isa.VectorUnit(document["vector_bits"], document["vector_registers"], document["fma_per_cycle"])
    clock_hz = float(document["frequency_hz"])
    levels = _levels(document["levels"], clock_hz, name)
    if document["fusion_level"] not in (bounded := ["", *(level.name for level in levels[:-1])]):
        _refuse(name, f"fusion_level is {document['fusion_level']!r}, not one of {', '.join(bounded[1:])}")
    return Description(
        name=name,
        features=features,
        peak_flops_per_s=tuple((dtype, rate * clock_hz) for dtype, rate in isa.flops_per_cycle(features, unit)),
        levels=levels,
        peak_source=Source.DATASHEET,
        **{field: kind(document[field]) for field, kind in FIGURES.items()},
    )


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
    *bounded, memory = tables
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
    return MemoryLevel(table["name"], size_bytes, line_bytes, bandwidth_bytes_per_s, sharers, ways, Source.DATASHEET)


def _filling(word: Any, name: str) -> Filling:
    known = [filling.value for filling in Filling]
    if word not in known:
        _refuse(name, f"levels.filling is {word!r}, not one of {', '.join(known)}")
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
        if kind in (int, float) and value <= 0:
            _refuse(name, f"{prefix}{field} is {value!r}, not positive")


def _refuse(name: str, why: str) -> None:
    raise InvalidTarget(
        "a target file does not follow the schema", where=name + SUFFIX, why=why, hint="see docs/how-to/add-a-target.md"
    )
