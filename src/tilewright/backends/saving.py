"""Kernels in packages: what runs first, the constants that calls pass, and the kernel that computes calls with NaN again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tilewright.backends.checked import Checked, Loaded
from tilewright.errors import TilewrightError
from tilewright.graph import data_format
from tilewright.records import record
from tilewright.runtime.executable import Built, Executable
from tilewright.runtime.packages.entry_points import SavedEntryPoint, restored, saved
from tilewright.runtime.packages.layout import refused
from tilewright.runtime.packages.reading import Package, StoredArray

if TYPE_CHECKING:
    from tilewright.backends.backend import Runnable
    from tilewright.runtime.packages.writing import PackageWriter


@record
class SavedKernel:
    """A loaded kernel."""

    entry: SavedEntryPoint
    constants: tuple[StoredArray, ...]
    """That calls pass behind the inputs."""
    strict: int | None
    """The section of a kernel of the same graph, for calls that report NaN or infinities."""
    input_count: int
    """As in `Checked`, if there is a strict one."""


def save_kernel(loaded: Loaded, writer: PackageWriter) -> SavedKernel:
    """The record of a kernel, whose sections are written. Raises `TilewrightError` for those of other backends."""
    runnable, constants = loaded
    first = runnable.fast if isinstance(runnable, Checked) else runnable
    if not isinstance(first, (Executable, Built)):
        raise TilewrightError(
            "a kernel of this device cannot be saved",
            where="save",
            why="packages hold libraries for CPUs",
            hint="lower(...).source is the text of the kernel",
        )
    kernel = SavedKernel(saved(first, writer), tuple(map(writer.array, constants)), None, 0)
    if not isinstance(runnable, Checked):
        return kernel
    strict = data_format.encode(save_kernel(runnable.loaded_strict(), writer), SavedKernel)
    return replace(kernel, strict=writer.section(strict), input_count=runnable.input_count)


def load_kernel(found: SavedKernel, package: Package, threads: int | None) -> Loaded:
    """Load a kernel, and the strict one when a call needs it. Raises `InvalidPackage`."""
    loaded, constants = restored(found.entry, package, threads), tuple(map(package.array, found.constants))
    strict = found.strict
    if strict is None:
        return loaded, constants
    checked = Checked(loaded, lambda: _load_strict(strict, package, threads), found.input_count)
    return cast("Runnable", checked), constants


def _load_strict(section: int, package: Package, threads: int | None) -> Loaded:
    found = package.decoded(section, SavedKernel)
    if found.strict is not None:
        raise refused(package.path, "a kernel that reports nothing has another one behind it")
    return load_kernel(found, package, threads)
