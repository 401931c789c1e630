"""MKL on products of integers, through its C API, in a process of its own: PyTorch brings another MKL with the same symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tilewright_bench.cases.case import aligned_of
from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.cases.int16 import Int16Case
from tilewright_bench.measurement import call_loops, worker
from tilewright_bench.measurement.contender import CaseT, Contender, Peer, always
from tilewright_bench.peers.mkl import library as mkl_library

NAME = "mkl"
NOTE = "cblas_gemm_s8u8s32 and cblas_gemm_s16s16s32 in a loop in C, in a process of its own"
Variables = tuple[tuple[str, str], ...]
"""Of an environment, with their values."""


def bytes_in_worker(case: Int8Case, threads: int) -> Iterator[Contender]:
    """The number of threads was set in the environment of the worker."""
    yield _contender(*case.operands, case.prepacked, case.flops, ZERO)


def words_in_worker(case: Int16Case, threads: int) -> Iterator[Contender]:
    """The same of 16-bit integers."""
    yield _contender(*case.operands, case.prepacked, case.flops)


def _contender(a: Any, b: Any, prepacked: bool, flops: int, zero: int = 0) -> Contender:
    runs, out = call_loops.executions(flops), aligned_of((len(a), b.shape[1]), np.dtype(np.int32))
    run = mkl_library.product(a, b, out, prepacked=prepacked, zero=zero)
    return Contender(NAME, lambda: run(runs), lambda: out, runs)


def peer(name: str, variables: Variables, note: str, matters: Callable[[], bool] = always) -> dict[str, Peer[Any]]:
    """MKL with these variables in its environment, by benchmark."""

    def made(prepare: Callable[[CaseT, int], Iterator[Contender]], packed: str = "") -> Peer[CaseT]:
        remote = partial(_remote, prepare, name, variables)
        return Peer(name, (mkl_library.PACKAGE,), remote, note, packed, mkl_library.HINT, matters)

    packed = "packed ahead, for cblas_gemm_..._compute"
    of_bytes, of_words = made(bytes_in_worker, packed), made(words_in_worker, packed)
    return {"int8": of_bytes, "int8-unpacked": made(bytes_in_worker), "int16": of_words}


def _remote(
    prepare: Callable[[CaseT, int], Iterator[Contender]], name: str, variables: Variables, case: CaseT, threads: int
) -> Iterator[Contender]:
    """The contenders of a function that runs in the worker, which starts with the first case."""
    layer = (("MKL_THREADING_LAYER", "SEQUENTIAL"),) if threads == 1 else ()
    there = Peer(name, (), prepare, NOTE)
    yield from _worker((*variables, *layer)).contenders(there, case, threads, lambda _: name)


@lru_cache(maxsize=2)
def _worker(variables: Variables) -> worker.Worker:
    return worker.start(dict(variables))


PEERS = peer(NAME, (), f"as it ships: {NOTE}")
