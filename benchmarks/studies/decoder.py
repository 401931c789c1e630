"""One token of a decoder with weights of 4 bits, beside onnxruntime and a plain read of the same bytes.

    python -m benchmarks.studies.decoder [--levels 0,1,4] [--tokens 1] [--layers 6] [--bits 4] [--block 32] [--rounds 12]

A round has a turn of each: a loop of wide loads over as many bytes as the weights take (scales included), onnxruntime, and ours,
on one thread. Figures are medians over rounds of what a round gives, so that what else the machine does hits all of a round.
Weights are larger than the caches: each turn finds them in memory.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import tilewright.onnx
from benchmarks.onnx_models.packed_decoder import DecoderShape, feeds, packed_decoder

READ = """\
typedef long four __attribute__((vector_size(32), aligned(1), may_alias));
long read_all(const char *p, long size) {
  four a = {0}, b = {0}, c = {0}, d = {0};
  for (long i = 0; i + 128 <= size; i += 128) {
    a += *(const four *)(p + i), b += *(const four *)(p + i + 32);
    c += *(const four *)(p + i + 64), d += *(const four *)(p + i + 96);
  }
  a += b + c + d;
  return a[0] + a[1] + a[2] + a[3];
}
"""


def main() -> None:
    """Print a line for every accuracy level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--levels", default="0,1,4")
    parser.add_argument("--tokens", type=int, default=1)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--zeros", action="store_true", help="with zero points")
    chosen = parser.parse_args()
    for level in map(int, chosen.levels.split(",")):
        shape = DecoderShape(
            layers=chosen.layers,
            tokens=chosen.tokens,
            bits=chosen.bits,
            block=chosen.block,
            level=level,
            has_zeros=chosen.zeros,
        )
        print(f"level {level}, {chosen.tokens} tokens: {line(shape, chosen.rounds)}", flush=True)


def line(shape: DecoderShape, rounds: int) -> str:
    """Times, the share of the plain read that ours reaches, and how often it is as fast as onnxruntime."""
    model, operands = packed_decoder(shape).SerializeToString(), feeds(shape)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ours_options = tilewright.onnx.SessionOptions()
    ours_options.intra_op_num_threads = 1
    ours = tilewright.onnx.InferenceSession(model, ours_options)
    results = [one.run(None, operands)[0] for one in (peer, ours)]
    apart = float(np.abs(results[0] - results[1]).max() / np.abs(results[0]).max())
    turns: dict[str, Callable[[], object]] = {
        "read": plain_read(shape.weight_bytes),
        "onnxruntime": lambda: peer.run(None, operands),
        "ours": lambda: ours.run(None, operands),
    }
    taken = [{name: seconds(call) for name, call in turns.items()} for _ in range(rounds)]
    middle = {name: statistics.median(one[name] for one in taken) for name in turns}
    share = statistics.median(one["read"] / one["ours"] for one in taken)
    gain = statistics.median(one["onnxruntime"] / one["ours"] for one in taken)
    times = ", ".join(f"{name} {value * 1e3:.2f} ms" for name, value in middle.items())
    rate = shape.weight_bytes / middle["read"] / 1e9
    return f"{times}; read {rate:.1f} GB/s; ours is {share:.0%} of the read, {gain:.2f} x onnxruntime; {apart:.1e} apart"


def plain_read(size_bytes: int) -> Callable[[], Any]:
    """A loop that loads so many bytes, and does nothing with them but add them up."""
    with tempfile.TemporaryDirectory() as directory:
        source, library = Path(directory, "read.c"), Path(directory, "read.so")
        source.write_text(READ)
        subprocess.run(["cc", "-O2", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
        function = ctypes.CDLL(str(library)).read_all
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_long], ctypes.c_long
    held = np.ones(size_bytes, np.uint8)
    return lambda: function(held.ctypes.data, held.nbytes)


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
