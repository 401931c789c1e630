"""The environment that a fair measurement needs: thread counts set before any library loads, no presets that cripple one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
CRIPPLING_PREFIX = "OPENBLAS_"
"""OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, preset in some images, halve NumPy's speed."""


def fair(environment: Mapping[str, str], threads: int) -> dict[str, str]:
    """The environment without OpenBLAS's presets, with that many threads for every library.

    >>> fair({"OPENBLAS_CORETYPE": "Prescott", "HOME": "/"}, 1)["OPENBLAS_NUM_THREADS"]
    '1'
    """
    kept = {name: value for name, value in environment.items() if not name.startswith(CRIPPLING_PREFIX)}
    return {**kept, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def restart_if_unfair(threads: int) -> None:
    """Replace this process by one with a fair environment, saying why; return if it has one already."""
    wanted = fair(os.environ, threads)
    if wanted == dict(os.environ):
        return
    dropped = sorted(name for name in os.environ if name.startswith(CRIPPLING_PREFIX) and name not in THREAD_VARIABLES)
    if dropped:
        click.echo(f"restarting without {', '.join(dropped)}: it would slow NumPy down", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)
