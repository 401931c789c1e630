"""Coefficients of the price that were fitted on a CPU: those of the user's cache, else those of the package for its model.

`tilewright tune --fit` writes the files; `coefficients` has the meaning of every figure. A fit belongs to a CPU that
was measured: a target that is known by name has none, and is planned by the fit of its family (`machine/family_fits`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tilewright import package_files
from tilewright.machine.caches import Fingerprint

Fitted = tuple[tuple[str, float], ...]
"""Values by name, sorted."""
FITTED: Mapping[str, str] = {
    "arithmetic": "seconds per second",
    "visible_l1_traffic": "seconds per second",
    "visible_traffic": "seconds per second",
    "tile_end_cycles": "cycles",
    "block_cycles": "cycles",
    "pass_cycles_per_vector": "cycles per vector",
    "row_cycles": "cycles",
    "exp_cycles": "cycles per vector",
    "pack_cycles_per_vector": "cycles per vector",
    "transpose_cycles_per_vector": "cycles per vector",
    "page_cycles": "cycles",
    "far_page_cycles": "cycles",
    "lookup_cycles": "cycles",
}
"""Units of the coefficients of every fit, by name."""
DIRECTORY = Path(__file__).parent / "cpu_fits"
"""Fits of the package, a file for each model of a CPU."""
LOG = logging.getLogger("tilewright.calibration")


def path_of(cache_dir: Path, fingerprint: Fingerprint) -> Path:
    """Where the coefficients that a user fitted on such a CPU are kept."""
    return cache_dir / "calibration" / f"{fingerprint.key}.fit.toml"


def shipped_path(fingerprint: Fingerprint, vector_bits: int) -> Path:
    """The file of the package for such a CPU: steppings and sizes of caches share it.

    >>> shipped_path(Fingerprint("x86_64", "AuthenticAMD", "26", "2", "1", (), ()), 512).name
    'x86_64-AuthenticAMD-26-2-512.toml'
    """
    known = fingerprint.architecture, fingerprint.vendor, fingerprint.family, fingerprint.model, str(vector_bits)
    return DIRECTORY / ("-".join(word for word in known if word) + ".toml")


def find(cache_dirs: Iterable[Path], fingerprint: Fingerprint, vector_bits: int) -> Fitted:
    """The coefficients fitted on such a CPU; empty where there are none: those of its family then count."""
    found = (users(directory, fingerprint) for directory in cache_dirs)
    return next(filter(None, found), ()) or shipped(fingerprint, vector_bits)


def users(cache_dir: Path, fingerprint: Fingerprint) -> Fitted:
    """The coefficients that a user fitted on such a CPU; empty where there are none."""
    return read(path_of(cache_dir, fingerprint), cpu=fingerprint.key)


def of_cpu(text: str, fingerprint: Fingerprint) -> str:
    """The text of a fit for a user's cache: it names the CPU that it belongs to."""
    return f'cpu = "{fingerprint.key}"\n{text}'


def shipped(fingerprint: Fingerprint, vector_bits: int) -> Fitted:
    """The coefficients of the package for such a CPU; empty where there are none.

    Virtual machines show model numbers of other CPUs: a fit counts where no feature of the CPU that was measured is missing.
    """
    return read(shipped_path(fingerprint, vector_bits), frozenset(fingerprint.features))


def read(file: Path, features: frozenset[str] | None = None, cpu: str = "") -> Fitted:
    """The coefficients in a fit's file; empty where there is none, or (with one warning) none that can be used.

    Where `features` are given, a fit of a CPU that has others counts as none; where `cpu` is given, one that names another cannot
    be used.
    """
    try:
        document = _document(package_files.read_text(file))
        if cpu and (found := document.get("cpu", cpu)) != cpu:
            raise ValueError(f"it is of the CPU {found!r}, not {cpu!r}")
        needed = frozenset(str(document.get("features", "")).split())
        return _coefficients(document) if features is None or needed <= features else ()
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as problem:
        _warn(f"the fit {file} cannot be read ({problem}) and is ignored")
    except (ValueError, RecursionError) as problem:
        _warn(f"the fit {file} is ignored ({problem}): `tilewright tune --fit` makes a new one")
    return ()


def _coefficients(document: Mapping[str, Any]) -> Fitted:
    coefficients = document.get("coefficients")
    if not isinstance(coefficients, dict) or not coefficients:
        raise ValueError("it is damaged: it has no coefficients")
    if coefficients.keys() != FITTED.keys():
        differing = ", ".join(sorted(coefficients.keys() ^ FITTED.keys()))
        raise ValueError(f"it is of another version: the names of its coefficients differ by {differing}")
    return tuple(sorted((name, _value(name, entry)) for name, entry in coefficients.items()))


def _document(text: str) -> dict[str, Any]:
    import tomllib  # 2 ms: not for the path of every import

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"it is damaged: {problem}") from problem


def _value(name: str, entry: Any) -> float:
    value = entry.get("value") if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"it is damaged: {name} is {value!r}, not a number of at least 0")
    return float(value)


@cache
def _warn(text: str) -> None:
    """Once a process: files are read whenever a machine is detected."""
    LOG.warning("%s", text)
