"""All tests here are sweeps. Thousands of cases are not collected where all sweeps are left out, as they are without `-m`."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules of this folder, unless another choice of markers was made."""
    return True if "not sweep" in config.option.markexpr else None
