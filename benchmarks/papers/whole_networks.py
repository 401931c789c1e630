"""Whole networks with fusion and without, and where the time goes: Table I and the networks of Chimera's evaluation.

    python -m benchmarks.papers.whole_networks [--only bert_small,vit_base] [--rounds N] [--threads N] [--out FILE.json]

Encoders at published sizes with random weights (Transformer: 512 tokens of width 256, 512, 1024; BERT: 512 tokens; ViT: images of
224 x 224). Layers of the largest have one set of weights, so that the file stays below the 2 GB of protobuf: `SHARED` names them.
Sessions of one process take turns: ours by price, ours with `fuse=False`, and onnxruntime. Then one call with `fuse=False`
is profiled: chains without products are memory-intensive; of products, those of two operands that a call makes (attention's) are
the batch GEMMs of the paper, and all others compute-intensive. Beside them stand the paper's shares (section I, Table I).

The file is written after every network, and networks that it has are not measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from torch import nn

import tilewright.onnx as ort
from benchmarks.onnx_models.cases import ModelCase, image_case
from benchmarks.onnx_models.exporting import export
from benchmarks.onnx_models.transformers import Encoder, Vit
from tilewright.api.onnx.reports import ChainTime
from tilewright.machine import Machine
from tilewright.report.layout import columns

MEMORY, COMPUTE, BATCHED = "memory-intensive", "compute-intensive", "batch GEMM"
KINDS = (MEMORY, COMPUTE, BATCHED)
PAPER = {"transformer_base": (19.45, 40.51, 40.04), "bert_base": (30.56, 42.79, 26.65), "vit_huge": (15.63, 50.85, 33.52)}
"""Percent of the time on an A100 (Zheng et al., Chimera, HPCA 2023, Table I)."""
LEAST_S = 0.05
"""Of a turn."""
SHARED = ("vit_huge",)
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Network:
    """A network by its published size."""

    layers: int
    width: int
    heads: int
    patch: int = 0
    """Pixels of the side of a patch; 0 for encoders of 512 tokens."""

    def case(self, *, is_shared: bool) -> ModelCase:
        """The network with random weights."""
        if not self.patch:
            encoder = Encoder(layers=self.layers, width=self.width, heads=self.heads)
            return ModelCase(encoder, (torch.randn(1, 512, self.width),), ("x",), ("y",))
        module = Vit(layers=1 if is_shared else self.layers, width=self.width, heads=self.heads, patch=self.patch, is_fused=False)
        if is_shared:
            module.layers = nn.ModuleList([module.layers[0]] * self.layers)
        return image_case(module, 224)


NETWORKS = {
    "transformer_small": Network(2, 256, 4),
    "transformer_base": Network(6, 512, 8),
    "transformer_large": Network(6, 1024, 16),
    "bert_small": Network(4, 512, 8),
    "bert_base": Network(12, 768, 12),
    "bert_large": Network(24, 1024, 16),
    "vit_base": Network(12, 768, 12, 16),
    "vit_large": Network(24, 1024, 16, 16),
    "vit_huge": Network(32, 1280, 16, 14),
}
"""Encoders (A. Vaswani et al., arXiv:1706.03762; the small one as in Tensor2Tensor), J. Devlin et al., arXiv:1810.04805 (the
small one: I. Turc et al., arXiv:1908.08962), A. Dosovitskiy et al., arXiv:2010.11929."""


def measured(name: str, rounds: int, threads: int) -> Document:
    """Seconds of a network by contender, and the seconds of every kind of operators without fusion."""
    with TemporaryDirectory(prefix="tilewright-networks-") as directory, torch.no_grad():
        path = Path(directory, f"{name}.onnx")
        case = NETWORKS[name].case(is_shared=name in SHARED)
        case.module.eval()
        export(case, path, exporter="torchscript")
        feeds, options = case.feeds(), ort.SessionOptions()
        options.intra_op_num_threads = threads
        fused, apart = (ort.InferenceSession(path, options, fuse=fuse) for fuse in (None, False))
        calls = {"fused": fused, "apart": apart, "onnxruntime": _onnxruntime(path, threads)}
        seconds = _in_turns({kind: _call(session, feeds) for kind, session in calls.items()}, rounds)
        return seconds | {"shares": _shares(apart, feeds, rounds), "machine": Machine.detect().name, "threads": threads}


def _onnxruntime(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _call(session: Any, feeds: Document) -> Callable[[], object]:
    return lambda: session.run(None, feeds)


def _in_turns(calls: dict[str, Callable[[], object]], rounds: int) -> Document:
    """Medians of the seconds of a call, contenders one after the other in every round."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            begin, count = perf_counter(), 0
            while perf_counter() - begin < LEAST_S or not count:
                call()
                count += 1
            found[name] += [(perf_counter() - begin) / count] if number else []
    return {name: median(times) for name, times in found.items()}


def _shares(session: ort.InferenceSession, feeds: Document, rounds: int) -> Document:
    """The share of every kind of operators in the time of a call, of the chains' median times."""
    profiles = [session.profile(feeds).chains for _ in range(rounds)]
    seconds = dict.fromkeys(KINDS, 0.0)
    for of_chain in zip(*profiles, strict=True):
        seconds[kind_of(of_chain[0])] += median(time.seconds for time in of_chain)
    return {kind: 100 * spent / sum(seconds.values()) for kind, spent in seconds.items()}


def kind_of(chain: ChainTime) -> str:
    """Whether a chain has products, and whether all their operands are made in a call."""
    if not chain.has_products:
        return MEMORY
    return COMPUTE if chain.has_weights else BATCHED


def table(found: Document) -> str:
    """One line for each network, and the means."""
    rows = [["network", "fused ms", "apart ms", "apart/fused", "onnxruntime/fused", *(f"% {kind}" for kind in KINDS), "paper"]]
    for name, one in found.items():
        shares = [f"{one['shares'][kind]:.1f}" for kind in KINDS]
        paper = " / ".join(map(str, PAPER[name])) if name in PAPER else ""
        ratios = [f"{one['apart'] / one['fused']:.3f}", f"{one['onnxruntime'] / one['fused']:.3f}"]
        rows.append([name, f"{one['fused'] * 1e3:.2f}", f"{one['apart'] * 1e3:.2f}", *ratios, *shares, paper])
    means = [geometric_mean(one[kind] / one["fused"] for one in found.values()) for kind in ("apart", "onnxruntime")]
    return "\n".join([*columns(rows), "", f"geometric means: apart/fused {means[0]:.3f}, onnxruntime/fused {means[1]:.3f}"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the file does not have, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    found: Document = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    for name in options.only.split(","):
        if name not in found:
            found[name] = measured(name, options.rounds, options.threads)
            if options.out:
                options.out.write_text(json.dumps(found, indent=2) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
