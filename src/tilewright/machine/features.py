"""The features that this process may use: those of the CPU, as far as Linux and TILEWRIGHT_MAX_ISA permit them."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

from tilewright import settings
from tilewright.machine import cpu, isa

ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA = 158, 0x1023, 18
TILES = frozenset(("amx_bf16", "amx_int8", "amx_tile"))


def usable_features() -> frozenset[str]:
    """The features that code may use in this process: those of the CPU, as far as TILEWRIGHT_MAX_ISA leaves them."""
    return permitted(isa.capped(cpu.read("/", platform.machine()).features, settings.value("max_isa")))


@cache
def may_use_tiles() -> bool:
    """Ask for Linux's permission to use AMX, once; only for x86-64.

    The state of tiles is large: a process asks before its first instruction on them, for all of its threads and its children
    (Documentation/arch/x86/xstate.rst of Linux).
    """
    return bool(ctypes.CDLL(None).syscall(ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)


def permitted(features: frozenset[str]) -> frozenset[str]:
    """Of the features of this machine, those that this process may use.

    >>> sorted(permitted(frozenset({"avx2"})))
    ['avx2']
    """
    return features - TILES if features & TILES and not may_use_tiles() else features
