"""Linear layers of int8 weights by torch.compile, with few rows: time beside float32 weights and inductor, and bytes of weights.

    python -m benchmarks.studies.torch_weights_of_bytes [--width 2048] [--hidden 5632] [--rows 1,4,8,16] [--rounds 31]

A feed-forward block of two layers with a SiLU between them. "int8" has a scale for every column; "int8 in groups" one for every
128 steps of a column, as torchao's modules have. One thread and CPU time, in rounds in which all take turns; the minima count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

import tilewright.torch
from tilewright.api.torch.graphs import watched

GROUP, OWN = 128, "tilewright"


class Linear(nn.Module):  # type: ignore[misc]
    """int8 weights with scales (columns, groups)."""

    def __init__(self, weight: Any, groups: int) -> None:
        super().__init__()
        parts = weight.reshape(weight.shape[0], groups, -1)
        scales = parts.abs().amax(2, keepdim=True) / 127
        self.register_buffer("bytes", (parts / scales).round().to(torch.int8).reshape(weight.shape))
        self.register_buffer("scales", scales)

    def forward(self, x: Any) -> Any:
        columns, groups, _ = self.scales.shape
        if groups == 1:
            return nn.functional.linear(x, self.bytes.to(x.dtype)) * self.scales.reshape(columns)
        weight = self.bytes.reshape(columns, groups, -1).to(x.dtype) * self.scales
        return nn.functional.linear(x, weight.reshape(columns, -1))


def block(width: int, hidden: int, form: str) -> nn.Module:
    """The block, with random weights."""
    torch.manual_seed(0)
    layers = [nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)]
    if form != "float32":
        layers = [Linear(one.weight.detach(), one.in_features // GROUP if "groups" in form else 1) for one in layers]
    return nn.Sequential(layers[0], nn.SiLU(), layers[1]).eval()


def interleaved(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of each in milliseconds."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time_ns()
            call()
            least[name] = min(least[name], (time.process_time_ns() - start) / 1e6)
    return least


def line(form: str, model: nn.Module, x: Any, contenders: Sequence[str], rounds: int) -> str:
    """What one form takes with the rows of x."""
    torch._dynamo.reset()
    units: list[Any] = []
    backends = {name: tilewright.torch.backend if name == OWN else name for name in contenders}
    calls = {name: torch.compile(model, backend=backend, fullgraph=True, dynamic=False) for name, backend in backends.items()}
    with torch.no_grad(), watched(lambda report, found: units.extend(found)):
        results = [call(x) for call in calls.values()]
        times = interleaved({name: partial(call, x) for name, call in calls.items()}, rounds)
        exact = model.double()(x.double())
        model.float()
    (library,) = [unit.library for unit in units]
    errors = "  ".join(f"{float((result - exact).abs().max() / exact.abs().max()):.1e}" for result in results)
    size, read = library.frozen_bytes, library.packed_bytes + library.read_bytes
    figures = "  ".join(f"{name} {ms:.2f}" for name, ms in times.items())
    return f"{form:15} {len(x):3} rows  {figures} ms  errors {errors}  {size / 1e6:.1f} MB, read {read / size:.3f} of it"


def main(arguments: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=5632)
    parser.add_argument("--rows", type=lambda text: [int(part) for part in text.split(",")], default=[1, 4, 8, 16])
    parser.add_argument("--contenders", type=lambda text: text.split(","), default=[OWN, "inductor"])
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for form in ("float32", "int8", "int8 in groups"):
        model = block(options.width, options.hidden, form)
        for rows in options.rows:
            print(line(form, model, torch.randn(rows, options.width), options.contenders, options.rounds), flush=True)


if __name__ == "__main__":
    main()
