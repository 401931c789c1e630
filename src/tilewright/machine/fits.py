"""Coefficients of the price that were fitted on a CPU: those of the user's cache, else those that the package has for its model.

`tilewright tune --fit` writes the files; `plan.model.coefficients` has the meaning of every figure. A fit belongs to a CPU that
was measured: a target that is known by name has none, and is planned by the fit of its family.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.machine.fingerprint import Fingerprint

Fitted = tuple[tuple[str, float], ...]
"""Values by name, sorted."""
DIRECTORY = Path(__file__).parent / "fits"
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


def find(cache_dir: Path, fingerprint: Fingerprint, vector_bits: int) -> Fitted:
    """The coefficients fitted on such a CPU; empty where there are none: those of its family then count."""
    return read(path_of(cache_dir, fingerprint)) or read(shipped_path(fingerprint, vector_bits))


def read(file: Path) -> Fitted:
    """The coefficients in a fit's file; empty where there is none, or (with a warning) none that can be trusted."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as problem:
        LOG.warning("the fit %s cannot be read (%s): the coefficients of the family are used", file, problem)
        return ()
    try:
        return decode(text)
    except (ValueError, RecursionError) as problem:
        LOG.warning("the fit %s is damaged (%s): the coefficients of the family are used", file, problem)
        return ()


def decode(text: str) -> Fitted:
    """The coefficients in a fit's text. Raises `ValueError` that says what is wrong with it.

    >>> decode("[coefficients.arithmetic]\\nvalue = 0.98\\n")
    (('arithmetic', 0.98),)
    """
    import tomllib  # 2 ms: not for the path of every import

    coefficients = tomllib.loads(text).get("coefficients")
    if not isinstance(coefficients, dict) or not coefficients:
        raise ValueError("it has no coefficients")
    return tuple(sorted((name, _value(name, entry)) for name, entry in coefficients.items()))


def _value(name: str, entry: Any) -> float:
    value = entry.get("value") if isinstance(entry, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value!r}, not a number of at least 0")
    return float(value)
