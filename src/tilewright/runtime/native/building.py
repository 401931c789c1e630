"""Compilation of the C part of the runtime."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.runtime.compilation import libraries
from tilewright.runtime.native import SOURCES, source
from tilewright.runtime.store import cache as kernel_cache


def runtime_library(exported: Sequence[str]) -> ctypes.PyDLL:
    """The library of pool and launcher, compiled or from the cache. Raises `ToolchainError` or `CacheError`."""
    return libraries.opened(_runtime(), kernel_cache.default(), exported, ctypes.PyDLL)[1]


def runtime_content() -> bytes:
    """The file of the same library. Raises as `runtime_library`."""
    return kernel_cache.without_trailer(libraries.available(_runtime(), kernel_cache.default()).read_bytes())


def _runtime() -> Artifact:
    first, *others = map(source, SOURCES)
    linked = [KernelSource(SourceKind.C, text) for text in others]
    return artifact("tw_function", first, platform.machine(), frozenset(), *linked)


def artifact(entry_point: str, text: str, architecture: str, features: frozenset[str], *linked: KernelSource) -> Artifact:
    """C text of ours, which no plan is behind."""
    return Artifact(entry_point, text, linked, architecture, features, Signature((), (), ()))
