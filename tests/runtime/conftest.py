"""Compilers by name; a test that needs one that is not there is skipped, visibly."""

from __future__ import annotations

import pytest

from tilewright.runtime.compilation import toolchain


@pytest.fixture(scope="session", params=["gcc", "clang", "ziglang"])
def compiler(request: pytest.FixtureRequest) -> toolchain.Toolchain:
    """Every C compiler of this machine."""
    return installed(request.param)


@pytest.fixture(scope="session")
def zig() -> toolchain.Toolchain:
    """The compiler in a wheel."""
    return installed("ziglang")


def installed(name: str) -> toolchain.Toolchain:
    found = toolchain.named(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
