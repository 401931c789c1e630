"""Calls of models with dynamic dimensions: libraries, waiting, the longest call after the first, and bits of fresh sessions.

    python -m benchmarks.studies.dynamic_models [--models bert,encoder] [--dynamo] [--pairs 100]

Every model is exported by torch with random weights (`--dynamo`: by torch.export) and starts with an empty cache. Batches are 1
to 8, of convolutions 1 to 16, lengths 1 to 128, and images of the detector have ten sizes from 256 x 256 to 640 x 640, in random
order. Results are compared with onnxruntime's, and bit by bit with those of a session that meets the last values first. Waiting
is what calls take above the time that the same calls take later. The machine is not calibrated: that would be waited for, too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.studies.parts.exported_models import ENCODER_LENGTH, MODELS, ExportedModel, Feeds

MOST_BATCHES = {"convolutions": 16}
SIZES = ((8, 8), (8, 12), (10, 10), (10, 15), (12, 16), (13, 13), (15, 20), (20, 12), (16, 16), (20, 20))
"""Heights and widths of the detector's images, in steps of 32."""
LENGTHS = 128
WARM_CALLS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What calls of all values took, in seconds, and how far results are from those of onnxruntime."""

    libraries: int
    first_s: float
    waiting_s: float
    """What all calls took above their warm times."""
    excess_s: float
    """The longest call after the first, above the time that the same call takes later."""
    difference: float
    same_bits: bool

    def __str__(self) -> str:
        bits = "the bits of a fresh session" if self.same_bits else "BITS DIFFER"
        later = f"longest later call {self.excess_s * 1e3:.1f} ms above its warm time"
        waiting = f"first call {self.first_s:.1f} s, {self.waiting_s:.1f} s of waiting in all"
        return f"{self.libraries} libraries, {waiting}, {later}, difference {self.difference:.1e}, {bits}"


def measured(model: ExportedModel, values: Sequence[Sequence[int]]) -> Found:
    """Calls for all values by one session, and for the same in reversed order by another one."""
    import onnxruntime

    import tilewright.onnx

    session = tilewright.onnx.InferenceSession(model.octets)
    reference = onnxruntime.InferenceSession(model.octets, providers=["CPUExecutionProvider"])
    calls = [model.feeds(np.random.default_rng(number), found) for number, found in enumerate(values)]
    seconds, results = zip(*(_timed(session, feeds) for feeds in calls), strict=True)
    warm = [min(_timed(session, feeds)[0] for _ in range(WARM_CALLS)) for feeds in calls]
    expected = [reference.run(None, feeds)[0] for feeds in calls]
    fresh = tilewright.onnx.InferenceSession(model.octets)
    same = [np.array_equal(fresh.run(None, feeds)[0], result) for feeds, result in zip(calls[::-1], results[::-1], strict=True)]
    above = [cold - later for cold, later in zip(seconds, warm, strict=True)]
    difference = max(float(np.abs(a - b).max()) for a, b in zip(results, expected, strict=True))
    return Found(session.compilation_count, seconds[0], sum(above), max(above[1:], default=0.0), difference, all(same))


def pairs(name: str, count: int, *, dynamo: bool) -> list[tuple[int, int]]:
    """Random batches and lengths, or heights and widths; the TorchScript exporter's encoder has a single length."""
    generator = np.random.default_rng(0)
    if name.endswith("detector"):
        return [SIZES[number] for number in generator.integers(0, len(SIZES), count)]
    batches = generator.integers(1, MOST_BATCHES.get(name, 8) + 1, count)
    lengths = generator.integers(1, LENGTHS + 1, count)
    if name == "encoder" and not dynamo:
        lengths[:] = ENCODER_LENGTH
    return [(int(batch), int(length)) for batch, length in zip(batches, lengths, strict=True)]


def _timed(session: Any, feeds: Feeds) -> tuple[float, Any]:
    begin = perf_counter()
    result = session.run(None, feeds)[0]
    return perf_counter() - begin, result


def main() -> None:
    """Print a line per model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--dynamo", action="store_true")
    parser.add_argument("--pairs", type=int, default=100)
    arguments = parser.parse_args()
    os.environ["TILEWRIGHT_CALIBRATE"] = "0"
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as directory:
            os.environ["TILEWRIGHT_CACHE_DIR"] = directory
            values = pairs(name, arguments.pairs, dynamo=arguments.dynamo)
            print(f"{name}: {measured(MODELS[name](dynamo=arguments.dynamo), values)}", flush=True)


if __name__ == "__main__":
    main()
