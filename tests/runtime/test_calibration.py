from __future__ import annotations

import json
import multiprocessing
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.machine.fake_tree import server
from tilewright.errors import ToolchainError
from tilewright.machine import Machine, Source, calibration_store, detection
from tilewright.machine.calibration_store import Calibration
from tilewright.runtime import calibration, measurement
from tilewright.runtime.calibration import ensure
from tilewright.runtime.compilation.toolchain import Toolchain

MACHINE = Machine.named("cascadelake-6240")


@dataclass
class FakeMeasurer:
    """A machine with round numbers; the second round is the slower one."""

    calls: list[tuple[object, ...]] = field(default_factory=list)

    def element_types(self) -> tuple[str, ...]:
        return ("float32", "float64", "bfloat16")

    def peak_flops_per_s(self, dtype: str, seconds: float) -> float:
        return self._value(4e11 if dtype == "float32" else 2e11, "peak", dtype, seconds)

    def bandwidth_bytes_per_s(self, size_bytes: int, uncached: bool, seconds: float) -> float:
        return self._value(1e10 if uncached else 1e16 / size_bytes, "read", size_bytes, uncached, seconds)

    def parallel_region_s(self, threads: int, seconds: float) -> float:
        return 1 / self._value(1e6, "region", threads, seconds)

    def _value(self, rate: float, *call: object) -> float:
        slower = call in self.calls
        self.calls.append(call)
        return rate / 2 if slower else rate


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """A cache of its own, calibration on, a described machine, and fake loops; records for which machine loops were asked."""
    compilations: list[object] = []

    def fake(machine: Machine) -> FakeMeasurer:
        compilations.append(machine)
        return FakeMeasurer()

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEWRIGHT_CALIBRATE", "1")

    def inspect(*_: object, max_isa: str | None = None, **__: object) -> detection.Detected:
        return inspect_tree(tree, architecture="x86_64", cpus=frozenset(range(8)), max_isa=max_isa)

    tree, inspect_tree = server(tmp_path / "tree"), detection.inspect
    monkeypatch.setattr(detection, "inspect", inspect)
    monkeypatch.setattr(measurement, "compiled", fake)
    calibration.forget()
    yield compilations
    calibration.forget()


def stored_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "calibration").glob("*.json"))


def test_the_best_of_all_rounds_counts() -> None:
    measurer = FakeMeasurer()
    found = calibration.calibrate(MACHINE, measurer=measurer)
    assert found.peak_flops_per_s == (("float32", 4e11), ("float64", 2e11))
    assert dict(found.bandwidth_bytes_per_s)["memory"] == 1e10
    assert found.parallel_region_s == 1e-6
    assert found.cores == MACHINE.cores


def test_only_types_that_the_machine_has_are_measured() -> None:
    measurer = FakeMeasurer()
    calibration.calibrate(MACHINE, measurer=measurer)
    assert {call[1] for call in measurer.calls if call[0] == "peak"} == {"float32", "float64"}


def test_every_level_is_read_within_its_size_and_memory_uncached() -> None:
    measurer = FakeMeasurer()
    calibration.calibrate(MACHINE, measurer=measurer)
    reads = {call[1:3] for call in measurer.calls if call[0] == "read"}
    assert reads == {(16 << 10, False), (256 << 10, False), (8 << 20, False), (32 << 20, True)}


@pytest.mark.parametrize("budget_s", [3.0, 0.5, 0.0])
def test_what_is_asked_of_the_measurer_stays_within_the_budget(budget_s: float) -> None:
    measurer = FakeMeasurer()
    calibration.calibrate(MACHINE, measurer=measurer, budget_s=budget_s)
    seconds = [call[-1] for call in measurer.calls]
    assert all(isinstance(value, float) and value >= 0 for value in seconds)
    assert sum(value for value in seconds if isinstance(value, float)) <= budget_s


def test_working_sets_of_a_huge_last_level_stay_small() -> None:
    machine = Machine.named("neoverse-v2")
    assert dict(calibration.working_sets(machine))["L3"] == 8 << 20


def test_first_use_measures_announces_and_stores(
    tmp_path: Path, compiled: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = ensure()
    assert machine.peak("float32") == 4e11
    assert machine.peak_source is Source.MEASURED
    (path,) = stored_files(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "TILEWRIGHT_CALIBRATE=0" in captured.err
    assert Machine.detect() == machine


def test_later_uses_read_what_was_stored(compiled: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    first = ensure()
    calibration.forget()
    capsys.readouterr()
    assert ensure() == first
    assert len(compiled) == 1
    assert capsys.readouterr().err == ""


def test_switched_off(tmp_path: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CALIBRATE", "0")
    assert ensure().peak_source is Source.DATASHEET
    assert not compiled
    assert not stored_files(tmp_path)


def test_recalibration_measures_again_even_when_switched_off(compiled: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    ensure()
    monkeypatch.setenv("TILEWRIGHT_CALIBRATE", "0")
    assert ensure(recalibrate=True).peak_source is Source.MEASURED
    assert ensure(recalibrate=True).peak_source is Source.MEASURED
    assert len(compiled) == 3


def test_a_capped_machine_has_a_calibration_of_its_own(
    tmp_path: Path, compiled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure()
    monkeypatch.setenv("TILEWRIGHT_MAX_ISA", "x86-64-v2")
    ensure()
    assert len(stored_files(tmp_path)) == 2


def test_a_damaged_file_is_replaced(tmp_path: Path, compiled: list[object], caplog: pytest.LogCaptureFixture) -> None:
    ensure()
    (path,) = stored_files(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    calibration.forget()
    assert ensure().peak_source is Source.MEASURED
    assert "cannot be used" in caplog.text
    json.loads(path.read_bytes())


def test_without_a_compiler_default_rates_serve(
    compiled: list[object], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(*_: object) -> FakeMeasurer:
        raise ToolchainError("no working C compiler was found")

    monkeypatch.setattr(measurement, "compiled", none)
    assert ensure().peak_source is Source.DATASHEET
    assert "no working C compiler was found" in caplog.text


def test_an_unusable_directory_costs_the_store_not_the_result(
    tmp_path: Path, compiled: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    assert ensure().peak_source is Source.MEASURED
    assert "could not be stored" in caplog.text


def test_a_directory_that_others_can_write_to_is_refused(
    tmp_path: Path, compiled: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert ensure().peak_source is Source.MEASURED
    assert "not safe" in caplog.text
    assert not stored_files(tmp_path)


def _write_often(path: Path, number: int) -> None:
    for _ in range(50):
        calibration.store(path, Calibration((("float32", 1e11 + number),), (), 1e-6, 2, 1.0))


def test_concurrent_writers_leave_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "calibration" / "key.json"
    calibration.store(path, Calibration((("float32", 1e11),), (), 1e-6, 2, 1.0))
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(path, number)) for number in range(2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert calibration_store.read(path) is not None
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [entry.name for entry in path.parent.iterdir()] == ["key.json"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are those of x86-64")
@pytest.mark.parametrize(
    "level",
    [
        "x86-64-v2",
        pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
        pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512vl")),
    ],
)
def test_the_compiled_loops_run(level: str) -> None:
    """Which rates there are, and that they can be stored; no figure is judged."""
    machine = replace(Machine.named(level), cores=2)
    found = calibration.calibrate(machine, budget_s=0.0)
    expected = ["float32", "float64", *(["int8"] if "avx2" in machine.features else [])]
    assert [dtype for dtype, _ in found.peak_flops_per_s] == expected
    assert [name for name, _ in found.bandwidth_bytes_per_s] == [level.name for level in machine.levels]
    assert calibration_store.decode(calibration_store.encode(found, "key"), "key") == found


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        ("x86-64-v2", ["float32", "float64"]),
        ("x86-64-v3", ["float32", "float64", "int8"]),
        ("cascadelake-6240", ["float32", "float64", "int8"]),
        ("sapphirerapids", ["float32", "float64", "float16", "bfloat16", "int8"]),
        ("neoverse-v2", ["float32", "float64", "float16", "bfloat16", "int8"]),
        ("power10", ["float32", "float64"]),
    ],
)
def test_the_loops_compile_for_every_architecture(name: str, dtypes: list[str], zig: Toolchain) -> None:
    machine = Machine.named(name)
    library = zig.compile(measurement.text(), architecture=machine.architecture, features=machine.features)
    known = ["float32", "float64", "float16", "bfloat16", "int8"]
    assert [dtype for dtype in known if f"peak_{dtype}\0".encode() in library] == dtypes
