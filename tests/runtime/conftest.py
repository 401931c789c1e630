"""Compilers by name; a test that needs one that is not there is skipped, visibly."""

from __future__ import annotations

import os

import pytest

from tilewright.runtime import toolchain


@pytest.fixture(params=["gcc", "clang", "zig"])
def compiler(request: pytest.FixtureRequest) -> toolchain.Toolchain:
    """Every C compiler of this machine."""
    candidates = {
        "gcc": toolchain._which("gcc", os.environ["PATH"]),
        "clang": toolchain._which("clang", os.environ["PATH"]),
        "zig": toolchain._ziglang(),
    }
    command = candidates[request.param]
    if command is None:
        pytest.skip(f"{request.param} is not installed")
    return toolchain.Toolchain(command, request.param, toolchain._version(command))
