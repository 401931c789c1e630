from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.machine.fake_tree import FakeCache, add_caches, add_x86, server, write
from tilewright.machine import Source, caches, calibration_store, detection, features
from tilewright.machine.calibration_store import Calibration
from tilewright.settings import Settings

EIGHT = frozenset(range(8))


def detect(root: Path, cpus: frozenset[int] = EIGHT, max_isa: str | None = None, cache_dir: Path = Path("/nonexistent")):  # type: ignore[no-untyped-def]
    configuration = Settings(max_isa=max_isa, cache_dir=cache_dir)
    return detection.detect(root, architecture="x86_64", cpus=cpus, configuration=configuration)


def test_a_server(tmp_path: Path) -> None:
    machine = detect(server(tmp_path))
    assert machine.name == "Intel Xeon Gold 6240 CPU @ 2.60GHz (x86-64-v4)"
    assert (machine.cores, machine.vector_bits, machine.vector_registers, machine.fma_per_cycle) == (8, 512, 32, 2)
    assert [(level.name, level.size_bytes, level.shared_by_cores, level.associativity) for level in machine.levels] == [
        ("L1", 32 << 10, 1, 8),
        ("L2", 1 << 20, 1, 16),
        ("L3", 25344 << 10, 8, 11),
        ("memory", 0, 8, 0),
    ]
    assert {level.size_source for level in machine.levels[:-1]} == {Source.DETECTED}
    assert machine.frequency_source is Source.DETECTED


def test_default_rates_follow_from_vectors_and_clock(tmp_path: Path) -> None:
    machine = detect(server(tmp_path))
    peaks = {"float32": 64 * 2.6e9, "float64": 32 * 2.6e9, "int16": 128 * 2.6e9, "int8": 256 * 2.6e9}
    assert dict(machine.peak_flops_per_s) == peaks
    bandwidths = [level.bandwidth_bytes_per_s for level in machine.levels]
    assert bandwidths[0] == pytest.approx(128 * 2.6e9)
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert {machine.peak_source, machine.levels[0].source, machine.parallel_region_source} == {Source.DATASHEET}


@pytest.mark.parametrize(("max_isa", "bits"), [("x86-64-v2", 128), ("x86-64-v3", 256), ("x86-64-v4", 512)])
def test_a_capped_machine_is_described_as_the_lesser_one(tmp_path: Path, max_isa: str, bits: int) -> None:
    machine = detect(server(tmp_path), max_isa=max_isa)
    assert machine.vector_bits == bits
    assert machine.name.endswith(f"({max_isa})")
    peaks = dict(machine.peak_flops_per_s)
    assert peaks.get("int8") == (2 * peaks["float32"] if "avx2" in machine.features else None)


def test_two_usable_cores_share_what_they_have_in_common(tmp_path: Path) -> None:
    machine = detect(server(tmp_path), cpus=frozenset({3, 5}))
    assert [level.shared_by_cores for level in machine.levels] == [1, 1, 2, 2]


def test_a_quota_spreads_busy_cores_over_the_mask(tmp_path: Path) -> None:
    add_x86(tmp_path)
    pairs = (FakeCache(1, "Data", "32K", "0-1"), FakeCache(3, "Unified", "32M", "0-7"))
    add_caches(tmp_path, pairs)
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(tmp_path, "sys/fs/cgroup/cpu.max", "200000 100000\n")
    machine = detect(tmp_path)
    assert machine.cores == 2
    assert [level.shared_by_cores for level in machine.levels] == [1, 2, 2]


def test_hyperthreads_share_their_first_level(tmp_path: Path) -> None:
    add_x86(tmp_path)
    add_caches(tmp_path, (FakeCache(1, "Data", "32K", "0,4"),))
    assert detect(tmp_path).level("L1").shared_by_cores == 2


def test_no_caches_in_sysfs(tmp_path: Path) -> None:
    add_x86(tmp_path)
    machine = detect(tmp_path)
    assert [level.name for level in machine.levels] == ["L1", "L2", "L3", "memory"]
    assert machine.levels[0].size_source is Source.DATASHEET
    assert [level.shared_by_cores for level in machine.levels] == [1, 1, 8, 8]


def test_nothing_is_known_at_all(tmp_path: Path) -> None:
    machine = detect(tmp_path, cpus=frozenset({0}))
    assert machine.name == "x86_64"
    assert machine.frequency_source is Source.DATASHEET
    assert machine.peak("float32") > 0


def test_the_highest_clock_of_cpufreq_counts(tmp_path: Path) -> None:
    server(tmp_path)
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3900000\n")
    assert detect(tmp_path).frequency_hz == 3.9e9


def test_damaged_cache_entries_are_left_out(tmp_path: Path) -> None:
    add_caches(tmp_path, cpus=1)
    write(tmp_path, "sys/devices/system/cpu/cpu0/cache/index2/size", "large\n")
    write(tmp_path, "sys/devices/system/cpu/cpu0/cache/index3/size", "0K\n")
    (tmp_path / "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity").unlink()
    (found,) = caches.caches(tmp_path, 0)
    assert (found.level, found.size_bytes, found.associativity) == (1, 32768, 0)


def test_the_fingerprint_ignores_clocks_and_follows_what_matters(tmp_path: Path) -> None:
    def key(**arguments: object) -> str:
        return detection.inspect(tmp_path, architecture="x86_64", cpus=EIGHT, **arguments).fingerprint.key  # type: ignore[arg-type]

    server(tmp_path)
    first = key()
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3900000\n")
    assert key() == first
    assert key(max_isa="x86-64-v3") != first
    add_x86(tmp_path, model=106)
    assert key() != first
    add_x86(tmp_path)
    write(tmp_path, "sys/devices/system/cpu/cpu0/cache/index3/size", "16M\n")
    assert key() != first


def test_a_stored_calibration_replaces_default_rates(tmp_path: Path) -> None:
    server(tmp_path)
    fingerprint = detection.inspect(tmp_path, architecture="x86_64", cpus=EIGHT).fingerprint
    path = calibration_store.path_of(tmp_path / "cache", fingerprint)
    path.parent.mkdir(parents=True)
    measured = Calibration((("float32", 1.5e11),), (("L1", 3e11), ("memory", 9e9)), 7e-7, 8, 1.0)
    path.write_bytes(calibration_store.encode(measured, fingerprint.key))
    machine = detect(tmp_path, cache_dir=tmp_path / "cache")
    assert machine.peak("float32") == 1.5e11
    assert machine.peak("float64") == pytest.approx(0.75e11)
    assert machine.peak_source is Source.MEASURED
    assert [level.source for level in machine.levels] == [Source.MEASURED, Source.DATASHEET, Source.DATASHEET, Source.MEASURED]
    assert machine.level("memory").bandwidth_bytes_per_s == 9e9
    assert (machine.parallel_region_s, machine.parallel_region_source) == (7e-7, Source.MEASURED)


def test_a_region_measured_with_other_cores_does_not_count(tmp_path: Path) -> None:
    machine = detect(server(tmp_path))
    measured = Calibration((), (), 7e-7, 4, 1.0)
    assert calibration_store.merge(machine, measured) == machine
    assert calibration_store.merge(machine, replace(measured, cores=8)).parallel_region_s == 7e-7


@pytest.mark.parametrize(("granted", "left"), [(True, {"avx2", "amx_tile", "amx_int8"}), (False, {"avx2"})])
def test_tiles_need_a_permission(granted: bool, left: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "may_use_tiles", lambda: granted)
    assert features.permitted(frozenset(("avx2", "amx_tile", "amx_int8"))) == left


def test_nobody_is_asked_without_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "may_use_tiles", lambda: pytest.fail("asked"))
    assert features.permitted(frozenset(("avx2",))) == {"avx2"}
