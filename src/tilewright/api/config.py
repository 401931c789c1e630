"""`tw.show_config()`: what an error report should contain."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib import metadata

import numpy as np

from tilewright import settings
from tilewright.errors import TilewrightError


def show_config() -> None:
    """Print versions, machine, compiler and cache."""
    for label, text in config_lines():
        print(f"{label + ':':<12}{text}")


def config_lines() -> list[tuple[str, str]]:
    """The lines of `show_config`: a label and a text each. What cannot be found out is said to be so."""
    return [
        ("tilewright", version_of("tilewright")),
        ("python", f"{platform.python_version()} on {platform.platform()}"),
        ("numpy", np.__version__),
        ("torch", version_of("torch")),
        ("machine", _attempt(_machine)),
        ("compiler", _attempt(_compiler)),
        ("cache", str(settings.current().cache_dir)),
        ("threads", str(settings.current().num_threads or "all usable cores")),
    ]


def version_of(package: str) -> str:
    """Of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _attempt(describe: Callable[[], str]) -> str:
    try:
        return describe()
    except TilewrightError as error:
        return f"unavailable: {error.message}"


def _machine() -> str:
    from tilewright.machine.machine import Machine

    machine = Machine.detect()
    return f"{machine.name}, {machine.cores} cores, {machine.vector_bits}-bit vectors"


def _compiler() -> str:
    from tilewright.runtime.compilation import toolchain

    found = toolchain.find()
    return f"{' '.join(found.command)} ({found.version})"
