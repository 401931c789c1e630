"""`tilewright tune --fit` the whole way, with a clock and times that the test tells: what it prints, what it writes, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.tune.fit.test_fitting import synthetic
from tilewright.cli.tune import tune
from tilewright.coefficients import coefficients_for, parse, to_text
from tilewright.errors import TilewrightError
from tilewright.machine import Machine, Source, detection, fit_files, targets
from tilewright.machine.fit_files import FITTED
from tilewright.runtime import calibration
from tilewright.tune.fit import convolutions, session
from tilewright.tune.fit.convolutions import Convolution
from tilewright.tune.fit.fitting import NAMES, Kernel, prices, values_of
from tilewright.tune.schedules import timing
from tilewright.tune.schedules.cases import Case, product

MEASURED = replace(Machine.named("x86-64-v2"), peak_source=Source.MEASURED)
CASES = (Case("P1", product, ((31, 47), (47, 29))), Case("P2", product, ((64, 33), (33, 95))))
SHIPPED = sorted((Path(fit_files.__file__).parent / "cpu_fits").glob("*.toml"))
LAYERS = (Convolution(8, 9, 16, 3), Convolution(16, 7, 8, 1))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, a machine of measured rates, and a package without fits of CPUs."""
    monkeypatch.setattr(fit_files, "DIRECTORY", tmp_path / "shipped")
    fit_files._warn.cache_clear()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(calibration, "ensure", lambda **_: MEASURED)
    return tmp_path / "cache"


@pytest.fixture
def fake_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call takes 1 us more than the call before it."""
    numbers = iter(range(1, 1 << 30))

    def seconds(call: Callable[[], object], turn_s: float) -> float:
        call()
        return 1e-4 + 1e-6 * next(numbers)

    monkeypatch.setattr(timing, "seconds_per_call", seconds)
    monkeypatch.setattr(timing, "peak_flops_per_s", lambda: MEASURED.peak("float32"))
    for count in ("UNIFORM", "BEST", "NEIGHBOURS", "ROUNDS"):
        monkeypatch.setattr(session, count, 1)
    monkeypatch.setattr(session, "CASES", CASES)
    monkeypatch.setattr(convolutions, "CONVOLUTIONS", LAYERS)


def times_twice_as_long() -> list[Kernel]:
    """Kernels that take what twice some coefficients say: the coefficients in use are wrong, and a fit is right."""
    return synthetic(2 * values_of(coefficients_for(MEASURED)))


def given(monkeypatch: pytest.MonkeyPatch, kernels: list[Kernel]) -> None:
    monkeypatch.setattr(session, "measured", lambda *_: kernels)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tune, arguments)


def kept_fits(cache: Path) -> Iterator[Path]:
    return cache.rglob("*fit*")


def test_chains_and_convolutions_are_measured_in_turns_and_fitted(fake_times: None) -> None:
    result = CliRunner().invoke(tune, ["--fit", "--dry-run"], catch_exceptions=False)
    lines = result.stderr.splitlines()
    assert ["P1" in lines[0], "conv 8x9x9" in lines[1], "P2" in lines[2], "conv 16x7x7" in lines[3]] == [True] * 4
    assert lines[0].startswith("[1/4, ")
    assert all(name in result.stdout for name in FITTED)
    assert "convolutions (2 cases)" in result.stdout
    assert "regret" in result.stdout


def test_the_price_of_a_layers_features_is_the_price_that_it_is_chosen_by() -> None:
    for _, graph in convolutions.graphs(LAYERS[0].graph(), MEASURED):
        model_plan = convolutions.compiler.plan(graph, MEASURED)
        rows = convolutions.rows_of(model_plan)
        if rows is None:
            continue
        own = coefficients_for(MEASURED)
        called_s = own.call_s * len(model_plan.plans)
        found = prices([Kernel("", 1.0, rows)], values_of(own), called_s)[0]
        assert found == pytest.approx(sum(plan.price.seconds for plan in model_plan.plans), rel=1e-6)


def test_no_case_begins_that_would_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.0, 40.0, 40.0, 50.0, 50.0])
    told: list[str] = []
    cases = [(f"case {number}", lambda: [Kernel("", 1.0, ())]) for number in range(5)]
    monkeypatch.setattr(session, "_cases", lambda machine: iter(cases))
    found = session.measured(MEASURED, 80.0, told.append, lambda: next(now))
    assert len(found) == 2
    assert told[-1] == "the time is over: 3 cases are left out"


def test_a_better_fit_is_kept_and_planning_reads_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, times_twice_as_long())
    in_use = values_of(coefficients_for(MEASURED))
    monkeypatch.setattr(session.Outcome, "is_better", True)
    result = run("--fit")
    assert result.exit_code == 0, result.output
    (path,) = kept_fits(cache)
    assert str(path) in result.stdout
    machine = Machine.detect()
    assert machine.fitted == fit_files.read(path) != ()
    assert values_of(coefficients_for(machine)) == pytest.approx(2 * in_use, rel=0.15, abs=0.01)


def test_a_fit_that_is_not_better_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, synthetic(values_of(coefficients_for(MEASURED))))
    result = run("--fit")
    assert "the coefficients in use are kept" in result.stdout
    assert not list(kept_fits(cache))


def test_nothing_is_left_of_an_interrupted_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> list[Kernel]:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "measured", interrupted)
    assert run("--fit").exit_code == 1
    assert not list(kept_fits(cache))


def test_an_interrupted_write_leaves_the_old_fit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = times_twice_as_long()
    path = calibration.store_fit(to_text(session.outcome(MEASURED, kernels).fit))
    old = path.read_bytes()

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.rename", broken)
    with pytest.raises(KeyboardInterrupt):
        calibration.store_fit(to_text(session.outcome(MEASURED, kernels).fit))
    assert [file.read_bytes() for file in path.parent.iterdir()] == [old]


def test_errors_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--fit" in run().stderr
    assert run("--fit", "--minutes", "0").exit_code == 2
    given(monkeypatch, synthetic(np.ones(len(NAMES)))[:3])
    with pytest.raises(TilewrightError, match="too few cases for a fit"):
        CliRunner().invoke(tune, ["--fit"], catch_exceptions=False)
    monkeypatch.setattr(calibration, "ensure", lambda **_: Machine.named("x86-64-v2"))
    with pytest.raises(TilewrightError, match="measured rates"):
        CliRunner().invoke(tune, ["--fit"], catch_exceptions=False)


def test_a_shipped_fit_counts_where_the_user_has_none(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_text(session.outcome(MEASURED, times_twice_as_long()).fit)
    shipped = calibration.ship_fit(text)
    assert shipped.parent == tmp_path / "shipped"
    assert Machine.detect().fitted == fit_files.read(shipped) != ()
    users = text.replace("value = ", "value = 1")
    stored = calibration.store_fit(users)
    assert Machine.detect().fitted == fit_files.read(stored) != fit_files.read(shipped)


@pytest.mark.parametrize("name", targets.names())
def test_targets_known_by_name_have_no_fit_of_a_cpu(name: str) -> None:
    """So no golden plan depends on a CPU that was measured."""
    assert Machine.named(name).fitted == ()


DAMAGED = ("", "[", "[coefficients.arithmetic]\nvalue = -1", '[coefficients.arithmetic]\nvalue = "1"')


def fit_text(names: Iterable[str] = FITTED, value: object = 0.5) -> str:
    return "".join(f"[coefficients.{name}]\nvalue = {value}\n" for name in names)


def write_users_fit(cache: Path, text: str) -> Path:
    path = fit_files.path_of(cache, detection.inspect().fingerprint)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [*DAMAGED, fit_text(value=-1), fit_text(value='"1"'), fit_text(value="inf")])
def test_a_damaged_fit_counts_as_none(text: str, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_users_fit(cache, text)
    assert fit_files.read(path) == ()
    assert "ignored" in caplog.text


@pytest.mark.parametrize("names", [tuple(FITTED)[1:], (*FITTED, "luck"), (*tuple(FITTED)[1:], "luck")])
def test_a_users_fit_of_other_names_is_ignored_with_one_warning(
    names: tuple[str, ...], cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Values of two fits are never mixed: they were fitted together."""
    shipped = calibration.ship_fit(fit_text(value=0.25))
    write_users_fit(cache, fit_text(names))
    assert (
        Machine.detect().fitted == Machine.detect().fitted == fit_files.read(shipped) == tuple(sorted((n, 0.25) for n in FITTED))
    )
    (warning,) = caplog.messages
    assert "luck" in warning or "arithmetic" in warning
    assert "tune --fit" in warning
    shipped.unlink()
    assert Machine.detect().fitted == ()


def test_a_shipped_fit_counts_for_cpus_that_have_all_features_of_the_measured() -> None:
    cpu = detection.inspect()
    known = cpu.fingerprint.features
    calibration.ship_fit(f'features = "{" ".join(known)}"\n{fit_text()}')
    assert fit_files.shipped(cpu.fingerprint, cpu.machine.vector_bits) != ()
    assert fit_files.shipped(replace(cpu.fingerprint, features=known[1:]), cpu.machine.vector_bits) == ()
    assert fit_files.shipped(replace(cpu.fingerprint, features=(*known, "more")), cpu.machine.vector_bits) != ()


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_fits_of_the_package_say_what_was_measured(file: Path) -> None:
    fit = parse(file.name, file.read_text(encoding="utf-8"))
    assert dict(fit_files.read(file, frozenset(fit.features.split()))) == fit.values
    assert fit.features
    assert file.name.startswith(fit.architecture)
    assert file.stem.endswith(f"-{fit.vector_bits}")
    assert fit.kernels >= 100
    assert 0 < fit.median_error <= 0.15
    assert 0 <= fit.regret <= 0.1


def test_a_fit_is_compared_with_the_package_and_not_with_an_earlier_fit_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "ensure", lambda **_: replace(MEASURED, fitted=(("arithmetic", 77.0),)))
    given(monkeypatch, times_twice_as_long())
    assert "77" not in run("--fit", "--dry-run").stdout
