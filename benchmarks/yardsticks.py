"""Measure generated kernels beside hand-made ones of the same shapes.

    python -m benchmarks.yardsticks DIRECTORY [--repeats 41] [--processes 3]

DIRECTORY has `gemm_chain_g2.c`, `attention_g2.c` and `attention_g9.c`, prototypes of one fixed shape of Table IV each:

    long attn_ws(void);                                                  bytes of workspace
    void attn(long batch, const float *a, const float *b, const float *d, float *e, void *workspace);

All arrays are dense and begin at multiples of 64 bytes. Prints the time of both, their share of the peak, and the yardstick's
time over that of the generated kernel. An attention yardstick takes no care of edges, infinities or other shapes, ours does.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.cli.bench.cases import ChainCase, aligned
from tilewright.cli.bench.contender import Contender, Peer
from tilewright.cli.bench.environment import restart_if_unfair
from tilewright.cli.bench.peers import tilewright
from tilewright.cli.bench.run import Benchmark, Settings, measured
from tilewright.cli.shapes import chain_shape

CASES = {
    "gemm_chain_g2": ChainCase(chain_shape("G2"), softmax=False),
    "attention_g2": ChainCase(chain_shape("G2"), softmax=True),
    "attention_g9": ChainCase(chain_shape("G9"), softmax=True),
}
WARRANTS = ("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
FLAGS = ("-O2", "-march=native", "-mtune=generic", *WARRANTS, "-fPIC", "-shared")
"""Those that the prototypes were made for."""


def prepare(directory: Path, case: ChainCase, threads: int) -> Iterator[Contender]:
    """The yardstick of that shape, compiled by gcc."""
    name = next(name for name, known in CASES.items() if known == case)
    library = compiled(directory / f"{name}.c")
    library.attn_ws.restype = ctypes.c_long
    workspace, out = aligned((library.attn_ws() // 4 + 1024,)), aligned(case.result_shape)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*case.operands, out, workspace)]
    batch = ctypes.c_long(case.shape.batch)
    yield Contender("yardstick", lambda: (library.attn(batch, *pointers), workspace)[0], lambda: out)


def compiled(source: Path) -> ctypes.CDLL:
    """The library of a C file. Raises `CalledProcessError` if gcc refuses it."""
    with TemporaryDirectory(prefix="tilewright-yardstick-") as directory:
        library = Path(directory, "yardstick.so")
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def benchmark(directory: Path) -> Benchmark[ChainCase]:
    """Our kernels with the yardsticks as the only peer."""
    note = f"hand-made prototypes of one shape each, gcc {' '.join(FLAGS)}"
    peer = Peer("yardstick", (), functools.partial(prepare, directory), note)
    return Benchmark("yardsticks", tilewright.PEER, {peer.name: peer})


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; ends the process where the directory has not all three yardsticks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.yardsticks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--processes", type=int, default=3)
    options = parser.parse_args(arguments)
    missing = [f"{name}.c" for name in CASES if not options.directory.joinpath(f"{name}.c").is_file()]
    if missing:
        parser.error(f"{options.directory} has no {', '.join(missing)}")
    return options


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    options = parse(arguments)
    restart_if_unfair(1)
    settings = Settings(rounds=options.repeats, processes=options.processes)
    print(measured(benchmark(options.directory.resolve()), list(CASES.values()), settings).as_text())


if __name__ == "__main__":
    main(sys.argv[1:])
