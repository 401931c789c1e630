"""Traces of a session's runs, as onnxruntime writes them: a list of events that chrome://tracing and Perfetto open."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import Any

from tilewright.api.compiled import Compiled
from tilewright.api.onnx.options import PROVIDER
from tilewright.api.onnx.running import RunningStep
from tilewright.api.onnx.values import Values
from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.model import Array, Node


class Trace:
    """The events of a session, written by `end`: one for every run, every chain of it, and every node that ran as NumPy.

    It is the clock of its runs. A library says how long its chains took: they stand one after the other from the beginning of
    their part of a run.
    """

    def __init__(self, session: object, prefix: str) -> None:
        """It is written at the latest when the session is not used any more, or the program ends."""
        weakref.finalize(session, self.end)
        now = datetime.now()
        self.path = Path(f"{prefix}_{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000}.json")
        self.begin_ns, self._begin = time_ns(), perf_counter_ns()
        self._events: list[dict[str, Any]] = []
        self._lock, self._is_open = threading.Lock(), True

    def now_ns(self) -> int:
        """Since the trace began."""
        return perf_counter_ns() - self._begin

    def add(self, category: str, name: str, begin_ns: int, duration_ns: float, **args: Any) -> None:
        """One event; after the end there are no more."""
        event = {"cat": category, "pid": os.getpid(), "tid": threading.get_native_id(), "ph": "X", "name": name, "args": args}
        with self._lock:
            if self._is_open:
                self._events.append({**event, "ts": begin_ns // 1000, "dur": round(duration_ns / 1000, 3)})

    def end(self) -> str:
        """Write the file, and return its name; "" if that was done before. Raises `TilewrightError` if it cannot be written."""
        with self._lock:
            if not self._is_open:
                return ""
            self._is_open = False
        try:
            self.path.write_text("[\n" + ",\n".join(map(json.dumps, self._events)) + "\n]\n")
        except OSError as problem:
            why, hint = str(problem), "set SessionOptions.profile_file_prefix"
            raise TilewrightError(f"{self.path} cannot be written", where="end_profiling", why=why, hint=hint) from problem
        return str(self.path)

    def run(self, step: RunningStep, values: Values) -> None:
        """Run a step with a clock."""
        begin = self.now_ns()
        step.run(values, self)
        self.add("Session", "model_run", begin, self.now_ns() - begin)

    def graph(self, step: RunningStep, compiled: Compiled, values: Values, inputs: Sequence[Array]) -> list[Array]:
        """Run the graph of a step with the library's clocks."""
        begin = self.now_ns()
        outputs, measured = compiled.profile(inputs)
        for chain, seconds in measured:
            self.add("Node", f"{chain}_kernel_time", begin, 1e9 * seconds, op_name=chain, provider=PROVIDER)
            begin += round(1e9 * seconds)
        return outputs

    def node(self, node: Node, seconds: float) -> None:
        """A node that ran as NumPy."""
        duration = 1e9 * seconds
        begin = self.now_ns() - round(duration)
        self.add("Node", f"{node.label}_kernel_time", begin, duration, op_name=node.operator, provider="NumPy")
