"""What all tests share: one Hypothesis profile, one private kernel cache per run, and visible skips for missing instructions.

`pytest` alone proves what may differ between machines, in ten minutes on two cores: that every operator, micro kernel and front
end computes what it should, sessions, faults, documentation. `.ci/run` proves more: `tests/support/samples.py`, the marker `ci`.

In all tests every stage's graph is verified (TILEWRIGHT_VERIFY=graphs). A tenth of those that draw no examples runs with semantic
verification, but for `pytest` alone: it says the same everywhere. All tests do under `TILEWRIGHT_VERIFY=1 pytest`.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(
        name, "1"
    )  # before NumPy and torch start threads: those of two workers would wait for each other, spinning

os.environ.setdefault("TILEWRIGHT_VERIFY", "graphs")

from tests.support import samples  # noqa: E402
from tests.support.targets import executable_features  # noqa: E402
from tilewright.machine import Machine, fit_files  # noqa: E402
from tilewright.plan.planner import forget_plans  # noqa: E402
from tilewright.plan.search.core import library as core_library  # noqa: E402
from tilewright.runtime import calibration, search_core  # noqa: E402

ALONE = "not sweep and not rest and not ci"
"""The choice of markers of pyproject.toml."""
settings.register_profile(
    "tilewright",
    deadline=None,
    derandomize=True,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tilewright")


def pytest_configure(config: pytest.Config) -> None:
    """Who names files gets all of their tests but the sweeps. Workers are told by the process that starts them."""
    is_named = config.args_source is pytest.Config.ArgsSource.ARGS and not hasattr(config, "workerinput")
    if is_named and config.option.markexpr == ALONE:
        config.option.markexpr = "not sweep"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what only `.ci/run` runs, whose imports take seconds, where tests marked `ci` are left out."""
    return True if config.option.markexpr == ALONE and samples.is_only_in_ci(collection_path) else None


@pytest.fixture(autouse=True)
def _numbers_of_torch() -> None:
    """Those that tests draw from torch are the same in every run."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels of this run are cached in a directory of its own, which all xdist workers share; nothing is calibrated."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory = run / "kernel-cache"
    directory.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(directory))
        patch.setenv("TILEWRIGHT_CALIBRATE", "0")
        core_library.use(search_core.opened)
        core_library.core(builds=True)
        yield directory


@pytest.fixture(scope="session", autouse=True)
def named_default_machine() -> Iterator[None]:
    """Without a target, everything is planned for the machine that every x86-64 server is: plans never depend on this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "ensure", lambda **_: Machine.named("x86-64-v2"))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_fits_of_cpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Machines that are detected have the coefficients of their family, whether the package has a fit of this CPU or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_files, "DIRECTORY", tmp_path_factory.mktemp("cpu_fits"))
        yield


@pytest.fixture(autouse=True)
def verified_tenth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets TILEWRIGHT_VERIFY for every tenth test, by its name; never for those that watch what is planned and compiled."""
    if request.node.get_closest_marker("unverified"):
        monkeypatch.setenv("TILEWRIGHT_VERIFY", "graphs")
    elif request.config.option.markexpr != ALONE and is_tenth(request.node) and os.environ["TILEWRIGHT_VERIFY"] == "graphs":
        monkeypatch.setenv("TILEWRIGHT_VERIFY", "1")


def is_tenth(test: pytest.Item) -> bool:
    """Of those that do not draw examples."""
    draws = getattr(getattr(test, "obj", None), "is_hypothesis_test", False)
    return zlib.crc32(test.nodeid.encode()) % 10 == 0 and not draws


@pytest.fixture(autouse=True)
def nothing_planned() -> None:
    """Every test plans by itself: what others did to the planner is not remembered."""
    forget_plans()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests live as long as the process: garbage is looked for neither while they are made nor among them later."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what only `.ci/run` runs, and skip what this CPU cannot execute; the reasons are counted in the summary."""
    for item, marker in samples.left_out(items):
        item.add_marker(marker)
    flags = executable_features()
    for item in items:
        for marker in item.iter_markers("needs"):
            missing = sorted(set(marker.args) - flags)
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"this CPU lacks {', '.join(missing)}"))
