"""Measured rates of a CPU as a JSON file: its schema, how it is read and checked, and how it changes a `Machine`.

The runtime measures and writes; this reads. The file is `<cache_dir>/calibration/<fingerprint key>.json`:

    {"schema": 1, "checksum": "<SHA-256 of the canonical JSON of calibration>",
     "calibration": {"cpu": "<fingerprint key>", ...}}

A file that does not match schema, checksum or CPU is ignored with a warning: default rates then describe the machine.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tilewright.machine.caches import Fingerprint
from tilewright.machine.description import Description, MemoryLevel, Source
from tilewright.records import record

SCHEMA = 1
RATES = ("peak_flops_per_s", "bandwidth_bytes_per_s")
LOG = logging.getLogger("tilewright.calibration")


@record
class Calibration:
    """What was measured on one core, and the cost of an empty parallel region over `cores` cores."""

    peak_flops_per_s: tuple[tuple[str, float], ...]
    bandwidth_bytes_per_s: tuple[tuple[str, float], ...]
    """Read bandwidth by level name."""
    parallel_region_s: float
    cores: int
    duration_s: float
    """How long the measurement took."""


def path_of(cache_dir: Path, fingerprint: Fingerprint) -> Path:
    """Where the calibration of such a CPU is kept."""
    return cache_dir / "calibration" / f"{fingerprint.key}.json"


def find(directories: Iterable[Path], fingerprint: Fingerprint) -> Calibration | None:
    """The calibration of such a CPU in the first of some cache directories that has one."""
    found = (read(path_of(directory, fingerprint)) for directory in directories)
    return next((calibration for calibration in found if calibration is not None), None)


def read(path: Path) -> Calibration | None:
    """The stored calibration; None where there is none, or (with a warning) none that can be trusted."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        LOG.warning("the calibration %s cannot be read (%s): default rates are used", path, problem)
        return None
    try:
        return decode(content, path.stem)
    except (ValueError, TypeError, LookupError, RecursionError) as problem:
        LOG.warning("the calibration %s cannot be used (%s): it is ignored", path, problem)
        return None


def encode(calibration: Calibration, cpu: str) -> bytes:
    """The content of the file of a CPU, which is the key of its fingerprint; `decode` is its inverse.

    >>> c = Calibration((("float32", 1e11),), (("L1", 4e11),), 1e-6, 2, 0.5)
    >>> decode(encode(c, "0123"), "0123") == c
    True
    """
    rates = {name: dict(getattr(calibration, name)) for name in RATES}
    record = {"cpu": cpu, **asdict(calibration), **rates}
    return json.dumps({"schema": SCHEMA, "checksum": checksum(record), "calibration": record}, indent=1).encode()


def decode(content: bytes, cpu: str) -> Calibration:
    """The calibration that `encode` wrote for a CPU. Raises `ValueError` that says what is wrong with the content."""
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError("the file is not a JSON object")
    if document.get("schema") != SCHEMA:
        raise ValueError(f"schema is {document.get('schema')!r}, not {SCHEMA}")
    record = document.get("calibration")
    if record is None or document.get("checksum") != checksum(record):
        raise ValueError("the checksum does not match")
    if "cpu" not in record:
        raise ValueError("it names no CPU: an earlier release wrote it")
    if record.pop("cpu") != cpu:
        raise ValueError(f"it is of another CPU, not {cpu!r}")
    return Calibration(**record | {name: tuple(record[name].items()) for name in RATES})


def merge(machine: Description, calibration: Calibration) -> Description:
    """The machine with measured rates in place of default ones.

    Types that were not measured are scaled like float32. A clock that is too slow for the measured peak (virtual machines
    report the nominal one) becomes the slowest that reaches it. The region's cost counts only for the number of cores it was
    measured with.
    """
    rates = dict(calibration.peak_flops_per_s)
    defaults = dict(machine.peak_flops_per_s)
    scale = rates.get("float32", defaults["float32"]) / defaults["float32"]
    measured = replace(
        machine,
        frequency_hz=machine.frequency_hz * max(scale, 1.0),
        frequency_source=Source.MEASURED if scale > 1 else machine.frequency_source,
        peak_flops_per_s=tuple((dtype, rates.get(dtype, default * scale)) for dtype, default in defaults.items()),
        peak_source=Source.MEASURED if "float32" in rates else machine.peak_source,
        levels=tuple(_merge_level(level, dict(calibration.bandwidth_bytes_per_s)) for level in machine.levels),
    )
    if calibration.cores != machine.cores:
        return measured
    return replace(measured, parallel_region_s=calibration.parallel_region_s, parallel_region_source=Source.MEASURED)


def _merge_level(level: MemoryLevel, bandwidths: Mapping[str, float]) -> MemoryLevel:
    if level.name not in bandwidths:
        return level
    return replace(level, bandwidth_bytes_per_s=bandwidths[level.name], source=Source.MEASURED)


def checksum(record: Mapping[str, Any]) -> str:
    """Of the calibration in a file, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
