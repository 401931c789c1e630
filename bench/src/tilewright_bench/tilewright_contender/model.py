"""Tilewright on models: a session of the file, called as a script calls it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer


def prepare(case: ModelCase, threads: int) -> Iterator[Contender]:
    """`InferenceSession.run`, which makes the outputs."""
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session, last = ort.InferenceSession(case.path, options), list[Any]()

    def call() -> None:
        last[:] = session.run(None, case.feeds)

    yield Contender(TILEWRIGHT, call, lambda: joined(last))


PEER = Peer(TILEWRIGHT, (), prepare, "session.run(None, feeds); outputs are made by every call", may_fail=False)
