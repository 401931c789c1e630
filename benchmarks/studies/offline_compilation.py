"""What offline compilation takes: CPU seconds, registers, shared memory and instructions of Triton kernels for GPUs not here.

    python -m benchmarks.studies.offline_compilation [--kernels FILE] [--only TEXT,TEXT] [--architectures sm_80,sm_90]

The kernels are hand-written ones of a prototype, which generated ones are measured by. Nothing is run: there is no GPU. CPU
seconds are those of a compilation with an empty cache, disassembly included, imports left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from tilewright.backends.triton_gpu.offline import Compiled, OfflineKernel, compile_offline, compiler, cpu_s

PROTOTYPE = "shared/prototypes/gpu/kernels/kernels.py"
"""Beside the repository, or beside a folder that holds it."""
ROOT = Path(__file__).parents[2]
G2 = {"M": 512, "N": 64, "K": 64, "L": 512}
TILES = {
    "gemm_chain": ((64, 64, 4, 2), (128, 64, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2), (256, 64, 8, 2)),
    "softmax_chain": ((64, 64, 4, 2), (128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2)),
}
"""Rows and columns of C in a block, warps, stages."""
FIELDS = ("registers", "shared_bytes", "mma_sync", "wgmma", "asynchronous_copies", "wide_loads")


@dataclass(frozen=True)
class Case:
    """A hand-written kernel with its extents and tiles."""

    label: str
    function: str
    pointers: str
    """Names of its pointers, all to float16."""
    constants: dict[str, int | float | bool]
    warps: int
    stages: int

    def kernel(self, text: str) -> OfflineKernel:
        """The kernel in a module of this text."""
        types = tuple((name, "*fp16") for name in self.pointers.split())
        return OfflineKernel(text, self.function, types, tuple(self.constants.items()), self.warps, self.stages)


def cases() -> Iterator[Case]:
    """Chains of the paper's G2, attention, an MLP, two chains of convolutions, two products."""
    for function, tiles in TILES.items():
        for rows, columns, warps, stages in tiles:
            constants = {**G2, "BM": rows, "BL": columns, "BK": 64, "BN": 64}
            yield Case(f"G2 {function} {rows}x{columns}", function, "A B D E", dict(constants), warps, stages)
    heads = {"H": 32, "G": 4, "T": 2048}
    for width, scale, warps in ((128, 0.1275, 8), (64, 0.18, 4)):
        attention: dict[str, int | float | bool] = {**heads, "DH": width, "SCALE": scale, "BM": 128, "BL": 64, "BD": width}
        yield Case(f"causal GQA {width}", "causal_gqa", "Q K_ V_ O", attention, warps, 3)
    mlp = {"M": 16384, "K": 128, "H": 512, "N": 128, "BM": 128, "BH": 64, "BK": 128, "BN": 128}
    yield Case("MLP 16384x128x512x128", "mlp_gelu", "X W1 B1 W2 B2 Y", dict(mlp), 8, 2)
    image = {"IC": 64, "OH": 56, "OW": 56, "KS": 3, "PAD": 1, "RELU": True}
    first = {"IH": 112, "IW": 112, "OC1": 192, "OC2": 128, "ST": 2, "BM": 128, "BL": 64, "BK": 32, "BN": 128}
    third = {"IH": 56, "IW": 56, "OC1": 128, "OC2": 64, "ST": 1, "BM": 64, "BL": 128, "BK": 64, "BN": 64}
    yield Case("C1 conv_chain", "conv_chain", "X W1 W2 Y", {**image, **first}, 8, 3)
    yield Case("C3 conv_chain", "conv_chain", "X W1 W2 Y", {**image, **third}, 8, 3)
    for columns, depth, stages in ((128, 32, 4), (256, 64, 3)):
        gemm = {"M": 2048, "N": 2048, "K": 2048, "BM": 128, "BN": columns, "BK": depth, "GROUP": 8}
        yield Case(f"GEMM 128x{columns}x{depth}", "gemm", "A B C", dict(gemm), 8, stages)


def main() -> None:
    """A line per kernel and architecture, then the figures that generated kernels are compared with."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kernels", type=Path, default=None, metavar="FILE", help="a module with the kernels; default: the prototype"
    )
    parser.add_argument("--only", default="", help="cases whose labels have one of these texts")
    parser.add_argument("--architectures", default="sm_80,sm_90")
    given = parser.parse_args()
    file = given.kernels or prototype()
    if file is None:
        print(f"no {PROTOTYPE} beside {ROOT}: name a module with the kernels by --kernels")
        return
    text = file.read_text()
    compiler()
    wanted = [case for case in cases() if any(part in case.label for part in given.only.split(","))]
    print(f"{'kernel':28}{'':7}{'CPU s':>7}{'':3}{'spills':7}{'  '.join(FIELDS)}")
    seconds: dict[str, list[float]] = {}
    for case in wanted:
        for architecture in given.architectures.split(","):
            compiled, taken = timed(case.kernel(text), architecture)
            seconds.setdefault(case.function, []).append(taken)
            print(line(case.label, architecture, compiled, taken), flush=True)
    for function, found in seconds.items():
        print(
            f"{function}: {len(found)} kernels, CPU s median {median(found):.2f}, mean {mean(found):.2f}, most {max(found):.2f}"
        )


def prototype() -> Path | None:
    """The prototype's kernels; None where they are not beside the repository."""
    return next((parent / PROTOTYPE for parent in ROOT.parents if (parent / PROTOTYPE).exists()), None)


def timed(kernel: OfflineKernel, architecture: str) -> tuple[Compiled, float]:
    """What offline compilation gives, and its CPU seconds with disassembly."""
    begin = cpu_s()
    compiled = compile_offline(kernel, architecture)
    return compiled, cpu_s() - begin


def line(label: str, architecture: str, compiled: Compiled, seconds: float) -> str:
    """The figures of a kernel."""
    facts = compiled.facts
    values = "".join(f"{getattr(facts, name):>{len(name)}}  " for name in FIELDS)
    return f"{label:28}{architecture:7}{seconds:7.2f}{'':3}{'yes' if facts.spills else 'no':7}{values}{' '.join(facts.tiles)}"


if __name__ == "__main__":
    main()
