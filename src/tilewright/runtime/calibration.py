"""Calibration: this CPU's peaks, bandwidths and region cost, measured once in under three seconds and kept on disk.

`machine/calibration_store.py` says what the file looks like and what it changes; this measures and writes it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from tilewright import settings
from tilewright.errors import CacheError, TilewrightError, ToolchainError
from tilewright.machine import calibration_store, detection, fit_files
from tilewright.machine.calibration_store import Calibration
from tilewright.machine.cores import affinity
from tilewright.machine.detection import Detected
from tilewright.machine.machine import Machine
from tilewright.runtime import measurement
from tilewright.runtime.measurement import Measurer
from tilewright.runtime.store.directories import check_private, write_atomically

LOG = logging.getLogger("tilewright.calibration")
MEASURE_S = 0.09
"""Spent on one figure in one round, unless the budget leaves less."""
ROUNDS = 2
"""All figures are measured so many times over and the best counts: another process's burst then spoils none for good."""
RESERVE = 0.7
"""Share of the remaining budget that may be spent: samples overrun their deadline, and buffers must be filled."""
MEMORY_SET_BYTES = 32 << 20
OUTER_SET_LIMIT = 8
"""A cache is measured with half its size, but at most so many times the size of the one before it: a virtual machine reports
the whole socket's last level, of which one core's share is unknown, and a larger set would measure page walks."""
LOCK_TIMEOUT_S = 10.0

Rates = dict[str, float]


def calibrate(machine: Machine, *, budget_s: float = 3.0, measurer: Measurer | None = None) -> Calibration:
    """Measure this CPU within `budget_s` seconds, compiling included; nothing is stored.

    `machine` says which levels there are. `measurer` replaces the compiled loops. Peaks are in flops per
    second and bandwidths in bytes per second of one core; the region's cost is in seconds over all cores.
    Raises `ToolchainError` or `CacheError` when the loops cannot be compiled or loaded.
    """
    begin = time.perf_counter()
    measurer = measurer or measurement.compiled(machine)
    budget_left_s = RESERVE * (budget_s - (time.perf_counter() - begin))
    rounds = (_round(measurer, machine, budget_left_s / ROUNDS) for _ in range(ROUNDS))
    peaks, bandwidths, regions_s = zip(*rounds, strict=True)
    return Calibration(_best(peaks), _best(bandwidths), min(regions_s), machine.cores, time.perf_counter() - begin)


def _round(measurer: Measurer, machine: Machine, budget_s: float) -> tuple[Rates, Rates, float]:
    """Every figure once: peaks, bandwidths, seconds of a region."""
    known = dict(machine.peak_flops_per_s)
    dtypes = [dtype for dtype in measurer.element_types() if dtype in known]
    seconds = max(0.0, min(MEASURE_S, budget_s / (len(dtypes) + len(machine.levels) + 1)))
    peaks = {dtype: measurer.peak_flops_per_s(dtype, seconds) for dtype in dtypes}
    bandwidths = {
        name: measurer.bandwidth_bytes_per_s(size_bytes, name == "memory", seconds) for name, size_bytes in working_sets(machine)
    }
    return peaks, bandwidths, measurer.parallel_region_s(machine.cores, seconds)


def _best(rounds: Sequence[Rates]) -> tuple[tuple[str, float], ...]:
    return tuple((name, max(rates[name] for rates in rounds)) for name in rounds[0])


def working_sets(machine: Machine) -> tuple[tuple[str, int], ...]:
    """(level name, bytes to read) to measure each level with; memory is read after its lines were flushed from all caches.

    >>> working_sets(Machine.named("cascadelake-6240"))
    (('L1', 16384), ('L2', 262144), ('L3', 8388608), ('memory', 33554432))
    """
    sets, inner_bytes = [], 0
    for level in machine.levels:
        if level.size_bytes == 0:
            sets.append((level.name, MEMORY_SET_BYTES))
            continue
        limit = OUTER_SET_LIMIT * inner_bytes or level.size_bytes
        sets.append((level.name, max(inner_bytes, min(level.size_bytes // 2, limit))))
        inner_bytes = level.size_bytes
    return tuple(sets)


def ensure(*, recalibrate: bool = False) -> Machine:
    """This machine with measured rates: from the store, else measured now (announced on stderr) and stored.

    With TILEWRIGHT_CALIBRATE=0, or without a working compiler, the rates are default ones (the latter with a warning).
    `recalibrate` measures although there is a stored calibration, and whatever TILEWRIGHT_CALIBRATE says.
    """
    if recalibrate:
        forget()
    return _ensure(settings.current(), affinity(), recalibrate)


def forget() -> None:
    """Drop what this process knows of machines: the next `ensure` reads the store."""
    _ensure.cache_clear()


def store_fit(text: str) -> Path:
    """Keep the text of a fit for this user and this CPU, whole or not at all; plans from here on are priced by it.

    Raises `CacheError` or `OSError` when the directory cannot be used.
    """
    knobs = settings.current()
    fingerprint = detection.inspect(max_isa=knobs.max_isa).fingerprint
    path = fit_files.path_of(knobs.cache_dir, fingerprint)
    _write(path, fit_files.of_cpu(text, fingerprint).encode())
    forget()
    return path


def ship_fit(text: str) -> Path:
    """Write the text of a fit into the package, for all CPUs of this model. Raises `OSError` where it is read-only."""
    cpu = detection.inspect(max_isa=settings.current().max_isa)
    path = fit_files.shipped_path(cpu.fingerprint, cpu.machine.vector_bits)
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, text.encode())
    path.chmod(0o644)
    forget()
    return path


def as_shipped(machine: Machine) -> Machine:
    """This machine as the package knows it: with the fit of its CPU's model, if there is one, and not with that of the user."""
    cpu = detection.inspect(max_isa=settings.current().max_isa)
    return replace(machine, fitted=fit_files.shipped(cpu.fingerprint, cpu.machine.vector_bits))


def store(path: Path, calibration: Calibration) -> None:
    """Write the file whole or not at all. Raises `CacheError` or `OSError` when the directory cannot be used."""
    _write(path, calibration_store.encode(calibration, path.stem))


def _write(path: Path, content: bytes) -> None:
    check_private(path.parent.parent)
    check_private(path.parent)
    write_atomically(path, content)


@lru_cache(maxsize=8)
def _ensure(knobs: settings.Settings, cpus: frozenset[int], recalibrate: bool) -> Machine:
    detected = detection.inspect(cpus=cpus, max_isa=knobs.max_isa)
    path = calibration_store.path_of(knobs.cache_dir, detected.fingerprint)
    calibration = None if recalibrate else calibration_store.find(knobs.cache_dirs, detected.fingerprint)
    if calibration is None and (knobs.calibrate or recalibrate):
        calibration = _measure_once(detected, path, recalibrate)
    return Machine.of(detected.rated(calibration, knobs.cache_dirs))


def _measure_once(detected: Detected, path: Path, recalibrate: bool) -> Calibration | None:
    """Measure and store, one process at a time: others wait and read what it wrote. None where there is no compiler."""
    import filelock  # 5 ms: not for the path of every import

    try:
        check_private(path.parent.parent)
        check_private(path.parent)
        with filelock.FileLock(path.with_suffix(".lock"), timeout=LOCK_TIMEOUT_S):
            found = None if recalibrate else calibration_store.read(path)
            return found or _measure(Machine.of(detected.machine), path)
    except (OSError, CacheError):  # no usable directory, or a lock that does not come free: measure for this process alone
        return _measure(Machine.of(detected.machine), path)


def _measure(machine: Machine, path: Path) -> Calibration | None:
    print("tilewright: measuring this CPU once (about 2 s; TILEWRIGHT_CALIBRATE=0 turns it off)", file=sys.stderr)
    try:
        calibration = calibrate(machine)
    except (ToolchainError, CacheError) as problem:
        LOG.warning("this CPU was not measured, default rates are used: %s", problem)
        return None
    try:
        store(path, calibration)
    except (OSError, TilewrightError) as problem:
        LOG.warning("the calibration could not be stored and will be measured again by the next process: %s", problem)
    return calibration
