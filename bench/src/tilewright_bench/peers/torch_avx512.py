"""PyTorch with an MKL that is told to use AVX-512 on a CPU of another maker than Intel, which it does not do by itself.

MKL asks `mkl_serv_intel_cpu_true` before it takes its AVX-512 code. PyTorch's library exports that function and calls it through
the linker, so a library that is loaded before it can answer: in a process of its own, since it would speed up stock PyTorch, too.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.machine import cpu as processor
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store import cache as kernel_cache
from tilewright_bench.measurement import worker
from tilewright_bench.measurement.contender import CaseT, Contender, Peer, installed
from tilewright_bench.peers import torch

NAME = "torch-avx512"
ANSWER = '__attribute__((visibility("default"))) int mkl_serv_intel_cpu_true(void) { return 1; }\n'


def peer(stock: Peer[CaseT]) -> Peer[CaseT]:
    """The same contenders as those of stock PyTorch, named `avx512 torch`..., in a worker."""
    note = "torch in a process of its own, where MKL is told that it may use AVX-512"
    return Peer(NAME, stock.packages, partial(prepare, stock), note, prepacked_note="as torch", matters=matters)


def prepare(stock: Peer[CaseT], case: CaseT, threads: int) -> Iterator[Contender]:
    """The worker starts with the first case."""
    yield from _worker().contenders(stock, case, threads, "avx512 {}".format)


def matters() -> bool:
    """Whether PyTorch's MKL leaves out AVX-512 although the CPU has it."""
    return installed("torch") is not None and lacks_avx512()


def lacks_avx512() -> bool:
    """Whether an MKL that is told nothing leaves out AVX-512 although the CPU has it."""
    if platform.machine() != "x86_64":
        return False
    cpu = processor.read(Path("/"), platform.machine())
    return cpu.vendor != "GenuineIntel" and "avx512f" in cpu.features


@lru_cache(maxsize=1)
def _worker() -> worker.Worker:
    artifact = Artifact("mkl_serv_intel_cpu_true", ANSWER, (), platform.machine(), frozenset(), Signature((), (), ()))
    return worker.start({"LD_PRELOAD": str(libraries.build(artifact, toolchain.find(), kernel_cache.default()))})


WITHOUT_MKL = ("conv",)
"""Benchmarks of what PyTorch leaves to oneDNN, which takes AVX-512 wherever the CPU has it."""
PEERS: dict[str, Peer[Any]] = {name: peer(stock) for name, stock in torch.PEERS.items() if name not in WITHOUT_MKL}
