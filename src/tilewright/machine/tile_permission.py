"""Linux's permission to use AMX: the tiles' state is large, and a process asks for it before its first instruction on tiles.

The permission holds for all threads of the process, and for its children. Source: Documentation/arch/x86/xstate.rst of Linux.
"""

from __future__ import annotations

import ctypes
from functools import cache

ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA = 158, 0x1023, 18
TILES = frozenset(("amx_bf16", "amx_int8", "amx_tile"))


@cache
def is_granted() -> bool:
    """Ask for the permission, once. Only for Linux on x86-64."""
    return bool(ctypes.CDLL(None).syscall(ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0)


def permitted(features: frozenset[str]) -> frozenset[str]:
    """Of the features of this machine, those that this process may use.

    >>> sorted(permitted(frozenset({"avx2"})))
    ['avx2']
    """
    return features - TILES if features & TILES and not is_granted() else features
