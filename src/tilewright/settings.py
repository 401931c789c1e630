"""Every knob of Tilewright: typed, documented, and read from the environment only here.

`tilewright knobs` prints this table. `current()` reads the environment each time, so that tests and users may change it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from tilewright.errors import TilewrightError

LOG_TOPICS = ("plan", "fuse", "codegen", "cache")
ISA_LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
TRUTH = {"1": True, "on": True, "true": True, "yes": True, "0": False, "off": False, "false": False, "no": False}


def _boolean(text: str) -> bool:
    return TRUTH[text.lower()]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(part for part in text.split(",") if part)
    unknown = sorted(set(topics) - set(LOG_TOPICS))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: choose from {', '.join(LOG_TOPICS)}")
    return topics


def _isa(text: str) -> str:
    if text not in ISA_LEVELS:
        raise ValueError(f"choose from {', '.join(ISA_LEVELS)}")
    return text


def _knob(default: Any, variable: str, parse: Any, meaning: str) -> Any:
    return field(default=default, metadata={"variable": variable, "parse": parse, "meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of every knob. The metadata of a field names its environment variable and says what it means."""

    cache_dir: Path = _knob(
        Path(platformdirs.user_cache_dir("tilewright")),
        "TILEWRIGHT_CACHE_DIR",
        Path,
        "where compiled kernels and calibrations are kept",
    )
    num_threads: int | None = _knob(
        None, "TILEWRIGHT_NUM_THREADS", _positive, "threads per call (default: the usable CPUs, by affinity and cgroup quota)"
    )
    cc: str | None = _knob(
        None, "TILEWRIGHT_CC", str, "the C compiler (default: the first that works of cc, gcc, clang, the ziglang wheel)"
    )
    max_isa: str | None = _knob(
        None, "TILEWRIGHT_MAX_ISA", _isa, f"use no instruction beyond this level ({', '.join(ISA_LEVELS)})"
    )
    log: tuple[str, ...] = _knob(
        (), "TILEWRIGHT_LOG", _topics, f"comma-separated topics to log to stderr ({', '.join(LOG_TOPICS)})"
    )
    dump_dir: Path | None = _knob(None, "TILEWRIGHT_DUMP_DIR", Path, "write what every stage produced into this directory")
    calibrate: bool = _knob(
        True, "TILEWRIGHT_CALIBRATE", _boolean, "measure this CPU once (under 3 s); 0 plans with datasheet figures"
    )


@dataclass(frozen=True, slots=True)
class Knob:
    """One row of `tilewright knobs`."""

    variable: str
    meaning: str
    value: Any
    is_set: bool


def current(environment: Mapping[str, str] | None = None) -> Settings:
    """Read every knob from the environment; an unusable value raises `TilewrightError` naming the variable.

    >>> current({"TILEWRIGHT_NUM_THREADS": "2"}).num_threads
    2
    """
    environment = os.environ if environment is None else environment
    values = {}
    for knob in fields(Settings):
        variable = knob.metadata["variable"]
        if environment.get(variable):
            values[knob.name] = _parse(variable, knob.metadata["parse"], environment[variable])
    return Settings(**values)


def knobs(environment: Mapping[str, str] | None = None) -> tuple[Knob, ...]:
    """Every knob with its meaning and its current value, in the order of `Settings`."""
    environment = os.environ if environment is None else environment
    settings = current(environment)
    return tuple(
        Knob(
            knob.metadata["variable"],
            knob.metadata["meaning"],
            getattr(settings, knob.name),
            bool(environment.get(knob.metadata["variable"])),
        )
        for knob in fields(Settings)
    )


def _parse(variable: str, parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except (ValueError, KeyError) as problem:
        reason = str(problem) if isinstance(problem, ValueError) else f"choose from {', '.join(TRUTH)}"
        raise TilewrightError(f"{variable}={text!r} cannot be used", where="environment", why=reason) from problem
