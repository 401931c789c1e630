"""Images of bytes, arithmetic and conversions of every element type: our time beside PyTorch's, eager and compiled.

    python -m benchmarks.studies.images [images|conversions|all] [--cases planes_224,crop_224] [--rounds 31] [--peers eager]

`planes`: height x width x 3 uint8 becomes normalised 3 x height x width float32. `crop`: an image of twice the size is resized by
half (mean of 2 x 2 pixels), its middle is cut out, and normalised. Arithmetic is of 65,536 elements, and so are conversions, of
each type into each other one. All take turns in one process, on one thread, warmed up; times are the least CPU times of a call.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.dtypes import dtype_named
from tilewright.report.layout import columns
from tilewright_bench.tables.means import geometric_mean

ELEMENTS = 65_536
ROUNDS = 31
PEERS = ("eager", "compiled")
SECONDS = 2e-3
"""Of the calls of one turn."""
TYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A function for us and one for PyTorch, of the same arrays."""

    name: str
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    arrays: tuple[Any, ...]


def numbers(name: str) -> Any:
    """Small whole numbers, which all types hold."""
    return np.random.default_rng(0).integers(0, 2 if name == "bool" else 100, ELEMENTS).astype(dtype_named(name))


def images() -> Iterator[Case]:
    """Pixels become planes of normalised numbers."""
    import torch

    rng = np.random.default_rng(0)
    scale, bias = (rng.random((3, 1, 1)).astype(np.float32) for _ in range(2))

    def image(size: int) -> Any:
        return rng.integers(0, 256, (size, size, 3), dtype=np.uint8)

    def planes(x: Any, s: Any, b: Any) -> Any:
        return tw.transpose(x, (2, 0, 1)).astype(np.float32) * s + b

    def crop(x: Any, s: Any, b: Any) -> Any:
        pixels = x.shape[0] // 2
        edge = pixels // 8
        small = tw.mean(tw.reshape(x, (pixels, 2, pixels, 2, 3)).astype(np.float32), axis=(1, 3))
        return tw.transpose(small[edge : pixels - edge, edge : pixels - edge], (2, 0, 1)) * s + b

    def torch_planes(x: Any, s: Any, b: Any) -> Any:
        return (x.permute(2, 0, 1).to(torch.float32) * s + b).contiguous()

    def torch_crop(x: Any, s: Any, b: Any) -> Any:
        pixels = x.shape[0] // 2
        edge = pixels // 8
        small = x.reshape(pixels, 2, pixels, 2, 3).to(torch.float32).mean(dim=(1, 3))
        return (small[edge : pixels - edge, edge : pixels - edge].permute(2, 0, 1) * s + b).contiguous()

    yield from (Case(f"planes_{size}", planes, torch_planes, (image(size), scale, bias)) for size in (224, 640))
    yield Case("crop_224", crop, torch_crop, (image(448), scale, bias))


def arithmetic() -> Iterator[Case]:
    """Functions of whole numbers and doubles."""
    import torch

    def affine(x: Any, y: Any) -> Any:
        return x * y + x

    yield from (
        Case(f"{name} x * y + x", affine, affine, (numbers(name),) * 2) for name in ("int16", "int32", "int64", "float64")
    )
    yield Case("uint8 maximum", tw.maximum, torch.maximum, (numbers("uint8"),) * 2)


def conversions() -> Iterator[Case]:
    """Every type into every other one."""
    import torch

    for source, target in itertools.permutations(TYPES, 2):
        ours, theirs = dtype_named(target), getattr(torch, target)
        yield Case(f"{source} to {target}", lambda x, t=ours: x.astype(t), lambda x, t=theirs: x.to(t), (numbers(source),))


def tensor_of(array: Any) -> Any:
    """PyTorch's view of an array."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def seconds(call: Callable[[], Any], calls: int) -> float:
    """The CPU time of a call, the mean of a few in a row."""
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls


def measured(case: Case, rounds: int, peers: Sequence[str]) -> dict[str, float]:
    """The least time of each contender. Raises `AssertionError` where results differ."""
    import torch

    tensors = [tensor_of(array) for array in case.arrays]
    ours, compiled = tw.jit(case.ours, threads=1), torch.compile(case.torch)
    every = {"eager": lambda: case.torch(*tensors), "compiled": lambda: compiled(*tensors)}
    contenders: dict[str, Callable[[], Any]] = {"ours": lambda: ours(*case.arrays), **{peer: every[peer] for peer in peers}}
    expected = case.torch(*tensors).to(torch.float64).numpy()
    if not np.allclose(ours(*case.arrays).astype(float), expected, rtol=1e-5, atol=1e-4):
        raise AssertionError(f"{case.name}: results differ")
    calls = {name: max(1, int(SECONDS / max(seconds(call, 3), 1e-6))) for name, call in contenders.items()}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, call in contenders.items():
            best[name] = min(best[name], seconds(call, calls[name]))
    torch.compiler.reset()
    return best


def rows_of(found: dict[str, dict[str, float]]) -> list[list[str]]:
    """A line a case."""
    peers = [peer for peer in PEERS if all(peer in best for best in found.values())]
    rows = [["case", "us", *(f"{peer} / ours" for peer in peers)]]
    for name, best in found.items():
        ratios = [f"{best[peer] / best['ours']:.2f}" for peer in peers]
        rows.append([name, f"{best['ours'] * 1e6:.1f}", *ratios])
    return rows


def matrix_of(found: dict[str, dict[str, float]]) -> list[list[str]]:
    """A line a source: of each target the faster peer's time over ours."""
    rows = [["from / to", *TYPES]]
    for source in TYPES:
        each = (found.get(f"{source} to {target}") for target in TYPES)
        rows.append([source, *("" if best is None else f"{peer_of(best) / best['ours']:.2f}" for best in each)])
    return rows


def peer_of(best: dict[str, float]) -> float:
    """The faster peer's time."""
    return min(best[peer] for peer in PEERS if peer in best)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a case, and a matrix of conversions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("images", "conversions", "all"), default="images")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--peers", default=",".join(PEERS), help="those to measure, with commas")
    parser.add_argument("--cases", default="", help="names, with commas")
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    wanted = [name for name in options.cases.split(",") if name]
    groups = {"images": (*images(), *arithmetic()), "conversions": (*conversions(),)}
    for name, cases in groups.items():
        found = {
            case.name: measured(case, options.rounds, options.peers.split(","))
            for case in cases
            if options.what in (name, "all") and (not wanted or case.name in wanted)
        }
        if found:
            print("\n".join(columns(rows_of(found) if name == "images" else matrix_of(found))))
            mean = geometric_mean([peer_of(best) / best["ours"] for best in found.values()])
            print(f"geometric mean of the faster peer / ours: {mean:.3f}", flush=True)


if __name__ == "__main__":
    main()
