"""Every knob of Tilewright: typed, documented, and read from the environment only here.

`tilewright knobs` prints this table. `current()` reads the environment each time, so that tests and users may change it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import TYPE_CHECKING, Any

from tilewright.errors import TilewrightError
from tilewright.records import record

if TYPE_CHECKING:
    from pathlib import Path

LOG_TOPICS = ("plan", "fuse", "codegen", "cache", "torch")
ISA_LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
VERIFICATIONS = ("off", "graphs", "results")
TRUTH = {"1": True, "on": True, "true": True, "yes": True, "0": False, "off": False, "false": False, "no": False}


def _boolean(text: str) -> bool:
    if text.lower() not in TRUTH:
        raise ValueError(f"choose from {', '.join(TRUTH)}")
    return TRUTH[text.lower()]


def _verification(text: str) -> str:
    if text.lower() in VERIFICATIONS:
        return text.lower()
    return "results" if _boolean(text) else "off"


def _positive(text: str) -> int:
    if not text.strip().lstrip("+-").isdecimal():
        raise ValueError("it is no integer")
    if int(text) < 1:
        raise ValueError("it must be at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("it is no number of seconds") from None
    if not 0 < number < float("inf"):
        raise ValueError("it must be more than 0, and finite")
    return number


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError("it is no size: write bytes, or 500M, 2G, 1.5T (powers of 1024)")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


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


def _user_cache_dir() -> Path:
    import platformdirs  # 10 ms

    return _path(platformdirs.user_cache_dir("tilewright"))


def _path(text: str) -> Path:
    from pathlib import Path  # 0.6 MB with what it imports: a process that loads packages needs none

    return Path(text)


def _knob(default: Any, variable: str, parse: Any, meaning: str) -> Any:
    """A field with this default, or one that this function gives."""
    metadata = {"variable": variable, "parse": parse, "meaning": meaning}
    return field(default_factory=default, metadata=metadata) if callable(default) else field(default=default, metadata=metadata)


@record
class Settings:
    """The value of every knob. The metadata of a field names its environment variable and says what it means."""

    cache_dir: Path = _knob(
        _user_cache_dir,
        "TILEWRIGHT_CACHE_DIR",
        _path,
        "where compiled kernels and calibrations are kept",
    )
    shared_cache_dir: Path | None = _knob(
        None, "TILEWRIGHT_SHARED_CACHE_DIR", _path, "a cache that is only read, before the other one: of a container image, say"
    )
    num_threads: int | None = _knob(
        None, "TILEWRIGHT_NUM_THREADS", _positive, "threads per call (default: the usable CPUs, by affinity and cgroup quota)"
    )
    cc: str | None = _knob(
        None, "TILEWRIGHT_CC", str, "the C compiler (default: the first that works of cc, gcc, clang, the ziglang wheel)"
    )
    cc_timeout_s: float = _knob(
        300.0, "TILEWRIGHT_CC_TIMEOUT", _seconds, "seconds after which a compiler that does not finish is given up (default: 300)"
    )
    cache_size_bytes: int = _knob(
        2 << 30,
        "TILEWRIGHT_CACHE_SIZE",
        _size,
        "files beyond this size are removed from the cache, the least recently used first (500M, 2G; default: 2G)",
    )
    max_isa: str | None = _knob(
        None, "TILEWRIGHT_MAX_ISA", _isa, f"use no instruction beyond this level ({', '.join(ISA_LEVELS)})"
    )
    log: tuple[str, ...] = _knob(
        (), "TILEWRIGHT_LOG", _topics, f"comma-separated topics to log to stderr ({', '.join(LOG_TOPICS)})"
    )
    dump_dir: Path | None = _knob(None, "TILEWRIGHT_DUMP_DIR", _path, "write what every stage produced into this directory")
    verify: str = _knob(
        "off",
        "TILEWRIGHT_VERIFY",
        _verification,
        "check every rewrite and every new kernel against the NumPy interpreter (slow); graphs: only that graphs are well formed",
    )
    full_tracebacks: bool = _knob(
        False, "TILEWRIGHT_FULL_TRACEBACKS", _boolean, "keep Tilewright's frames in the tracebacks of a user's errors"
    )
    calibrate: bool = _knob(
        True, "TILEWRIGHT_CALIBRATE", _boolean, "measure this CPU once (under 3 s); 0 plans with datasheet figures"
    )

    @property
    def cache_dirs(self) -> tuple[Path, ...]:
        """Where results are looked for, in this order."""
        return (self.cache_dir,) if self.shared_cache_dir is None else (self.shared_cache_dir, self.cache_dir)


@record
class Knob:
    """One row of `tilewright knobs`."""

    variable: str
    meaning: str
    value: Any
    """The text of the variable where that cannot be used."""
    is_set: bool
    problem: str = ""
    """Why the value cannot be used."""


def current(environment: Mapping[str, str] | None = None) -> Settings:
    """Read every knob from the environment; an unusable value raises `TilewrightError` naming the variable.

    >>> current({"TILEWRIGHT_NUM_THREADS": "2"}).num_threads
    2
    """
    environment = os.environ if environment is None else environment
    return Settings(**{knob.name: _value(knob, environment) for knob in fields(Settings)})


def value(name: str) -> Any:
    """One knob by the name of its field, read as `current` reads all.

    >>> value("verify") == current().verify
    True
    """
    return _value(next(knob for knob in fields(Settings) if knob.name == name), os.environ)


def knobs(environment: Mapping[str, str] | None = None) -> tuple[Knob, ...]:
    """Every knob with its meaning and its current value, in the order of `Settings`; unusable values are listed with the reason.

    >>> [knob.problem for knob in knobs({"TILEWRIGHT_NUM_THREADS": "many"}) if knob.is_set]
    ['it is no integer']
    """
    environment = os.environ if environment is None else environment
    return tuple(_described(knob, environment) for knob in fields(Settings))


def _described(knob: Field[Any], environment: Mapping[str, str]) -> Knob:
    variable, meaning = knob.metadata["variable"], knob.metadata["meaning"]
    text = environment.get(variable, "")
    try:
        return Knob(variable, meaning, _value(knob, environment), bool(text))
    except TilewrightError as problem:
        return Knob(variable, meaning, text, True, problem.why)


def _value(knob: Field[Any], environment: Mapping[str, str]) -> Any:
    variable = knob.metadata["variable"]
    text = environment.get(variable)
    if not text:
        return knob.default if knob.default_factory is MISSING else knob.default_factory()
    try:
        return knob.metadata["parse"](text)
    except ValueError as problem:
        raise TilewrightError(f"{variable}={text!r} cannot be used", where="environment", why=str(problem)) from problem
