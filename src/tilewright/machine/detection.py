"""This machine: features, usable cores and caches as the kernel reports them, with rates derived or measured.

Nothing is measured here. Where a calibration of this CPU is stored its rates are used, otherwise default ones: the peak follows
from vector width, multiply-adds per cycle and frequency, and bandwidths from `BANDWIDTH_SHARE`.

Every reader takes the root of the file tree, so that other machines can be described by a directory.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.machine import caches, calibration_store, cpu, fit_files, isa
from tilewright.machine.caches import Cache, Fingerprint
from tilewright.machine.calibration_store import Calibration
from tilewright.machine.cores import affinity, usable_cores
from tilewright.machine.cpu import CpuInfo
from tilewright.machine.description import Description, Filling, MemoryLevel, Source, usable_share
from tilewright.machine.features import permitted
from tilewright.records import record
from tilewright.settings import Settings, current

DEFAULT_FREQUENCY_HZ = 2.5e9
DEFAULT_ASSOCIATIVITY = 8
DEFAULT_CACHES = ((1, 32 << 10), (2, 512 << 10), (3, 4 << 20))
"""(level, size_bytes) where sysfs tells nothing: small enough for any server of the last decade."""

BANDWIDTH_SHARE = {1: 1.0, 2: 0.4, 3: 0.15}
"""Sustained read bandwidth of a level as a share of the L1's, which delivers one vector per multiply-add issue slot.

Cascade Lake: 0.41 and 0.12 (Intel Optimization Reference Manual, cache parameters of Skylake Server); Zen 5 measured 0.37, 0.22.
"""
MEMORY_BANDWIDTH_BYTES_PER_S = 12e9
"""One core of a server with DDR4."""
PARALLEL_REGION_S = 1e-6


@record
class Detected:
    """The machine with default rates, and the key under which its measured ones are stored."""

    machine: Description
    fingerprint: Fingerprint

    def rated(self, calibration: Calibration | None, cache_dirs: Sequence[Path]) -> Description:
        """The machine with measured rates, if there are any, and with the coefficients that were fitted on such a CPU."""
        machine = self.machine if calibration is None else calibration_store.merge(self.machine, calibration)
        return replace(machine, fitted=fit_files.find(cache_dirs, self.fingerprint, machine.vector_bits))


def detect(
    root: Path = Path("/"),
    *,
    architecture: str | None = None,
    cpus: frozenset[int] | None = None,
    configuration: Settings | None = None,
) -> Description:
    """The machine of the file tree `root` (`proc`, `sys`), with measured rates where a calibration is stored.

    `architecture` (as in `platform.machine()`) and `cpus` (usable logical CPUs) default to this process's own;
    `configuration` gives the feature cap and the cache directory.
    """
    knobs = current() if configuration is None else configuration
    detected = inspect(root, architecture=architecture, cpus=cpus, max_isa=knobs.max_isa)
    calibration = calibration_store.find(knobs.cache_dirs, detected.fingerprint)
    return detected.rated(calibration, knobs.cache_dirs)


def inspect(
    root: Path = Path("/"), *, architecture: str | None = None, cpus: frozenset[int] | None = None, max_isa: str | None = None
) -> Detected:
    """What the kernel says about the machine of the file tree `root`; arguments as in `detect`."""
    info = cpu.read(root, architecture or platform.machine())
    cpus = affinity() if cpus is None else cpus
    features = isa.capped(info.features, max_isa)
    if root == Path("/"):
        features = permitted(features)
    reported = caches.caches(root, min(cpus))
    identity = info.architecture, info.vendor, info.family, info.model, info.stepping
    sizes = tuple((cache.level, cache.size_bytes) for cache in reported)
    fingerprint = Fingerprint(*identity, tuple(sorted(features)), sizes)
    return Detected(_machine(info, features, reported, cpus, root), fingerprint)


def microarchitecture() -> str:
    """The newest microarchitecture ("zen4", "icelake") all of whose instructions archspec finds here; only for people.

    The CPU may be a later one: virtual machines hide instructions (a Zen 3 without `pku` is found to be a Zen 2).
    """
    import archspec.cpu  # 50 ms: not for the path of every import

    return str(archspec.cpu.host().name)


def _machine(
    info: CpuInfo, features: frozenset[str], reported: tuple[Cache, ...], cpus: frozenset[int], root: Path
) -> Description:
    cores = usable_cores(root, cpus)
    unit = isa.vector_unit(info.architecture, features, vendor=info.vendor, family=info.family)
    frequency_hz = _frequency(info, root, min(cpus))
    clock_hz = frequency_hz or DEFAULT_FREQUENCY_HZ
    rates = isa.flops_per_cycle(features, unit)
    return Description(
        name=_name(info, features),
        architecture=info.architecture,
        features=features,
        cores=cores,
        vector_bits=unit.bits,
        vector_registers=unit.registers,
        fma_per_cycle=unit.fma_per_cycle,
        frequency_hz=clock_hz,
        peak_flops_per_s=tuple((dtype, rate * clock_hz) for dtype, rate in rates),
        parallel_region_s=PARALLEL_REGION_S,
        levels=_levels(reported, cpus, cores, unit.bits / 8 * unit.fma_per_cycle * clock_hz),
        peak_source=Source.DATASHEET,
        frequency_source=Source.DETECTED if frequency_hz else Source.DATASHEET,
        page_bytes=os.sysconf("SC_PAGE_SIZE"),
    )


def _name(info: CpuInfo, features: frozenset[str]) -> str:
    """The model name, and the x86-64 level in use where there is one."""
    model = " ".join(info.model_name.replace("(R)", "").replace("(TM)", "").split()) or info.architecture
    level = isa.level_of(features)
    return f"{model} ({level})" if level else model


def _frequency(info: CpuInfo, root: Path, cpu: int) -> float | None:
    """The highest clock that cpufreq allows, else what /proc/cpuinfo says: its own figure changes with load."""
    try:
        text = (root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq").read_text(encoding="ascii")
        return float(int(text)) * 1e3 or info.frequency_hz
    except (OSError, ValueError):
        return info.frequency_hz


def _levels(reported: tuple[Cache, ...], cpus: frozenset[int], cores: int, l1_bytes_per_s: float) -> tuple[MemoryLevel, ...]:
    source = Source.DETECTED if reported else Source.DATASHEET
    caches = reported or tuple(_default_cache(level, size_bytes, cpus) for level, size_bytes in DEFAULT_CACHES)
    levels = tuple(
        MemoryLevel(
            f"L{cache.level}",
            cache.size_bytes,
            cache.line_bytes,
            l1_bytes_per_s * BANDWIDTH_SHARE.get(cache.level, BANDWIDTH_SHARE[3]),
            _sharers(cache.cpus, cpus, cores),
            cache.associativity or DEFAULT_ASSOCIATIVITY,
            Source.DATASHEET,
            source,
            usable_share=usable_share(Filling.CACHE, is_nearest=cache is caches[0]),
        )
        for cache in caches
    )
    memory = MemoryLevel("memory", 0, caches[-1].line_bytes, MEMORY_BANDWIDTH_BYTES_PER_S, cores, 0, Source.DATASHEET)
    return (*levels, memory)


def _default_cache(level: int, size_bytes: int, cpus: frozenset[int]) -> Cache:
    return Cache(level, size_bytes, 64, DEFAULT_ASSOCIATIVITY, cpus if level >= 3 else frozenset({min(cpus)}))


def _sharers(behind: frozenset[int], cpus: frozenset[int], cores: int) -> int:
    """How many of `cores` busy cores share a cache that the logical CPUs `behind` have in common.

    A quota leaves fewer busy cores than CPUs in the mask; the scheduler spreads them evenly.
    """
    return max(1, math.ceil(len(behind & cpus) * cores / len(cpus)))
