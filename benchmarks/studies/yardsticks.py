"""Measure generated kernels beside hand-made ones of the same shapes.

    python -m benchmarks.studies.yardsticks DIRECTORY [--cases attention_g2,decode] [--repeats 41] [--processes 3]

DIRECTORY has prototypes of one fixed shape each: `gemm_chain_g2.c`, `attention_g2.c` and `attention_g9.c` of Table IV, and in
`families/` those of MLPs, long attention, decoding, feed-forward networks and chains of convolutions. `yardstick_calls` says what
functions they have.

All arrays are dense and begin at multiples of 64 bytes; constant weights are packed ahead, for both. Prints the time of both, our
share of the peak or of a plain read, and the yardstick's time over ours. A yardstick takes no care of edges, infinities or other
shapes, ours does.
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

from benchmarks.studies.parts.yardstick_calls import YARDSTICKS, AnyCase
from tilewright_bench.benchmarks import ATTENTION, CHAINS, CONV_CHAINS, CONVOLUTIONS, MLP
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer
from tilewright_bench.run import Benchmark, Settings, measured

WARRANTS = ("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
FLAGS = ("-O2", "-march=native", "-mtune=generic", *WARRANTS, "-fPIC", "-shared")
"""Those that the prototypes were made for."""


def prepare(directory: Path, case: AnyCase, threads: int) -> Iterator[Contender]:
    """The yardstick of that case, compiled by gcc."""
    known = next(known for known in YARDSTICKS.values() if known.case == case)
    library, out = compiled(directory / known.file, known.defines), aligned(case.result_shape)
    yield Contender("yardstick", known.call(library, case, out), lambda: out)


def own(case: AnyCase, threads: int) -> Iterator[Contender]:
    """Our kernel, as the benchmark of such cases makes it."""
    match case:
        case ChainCase():
            yield from CHAINS.tilewright.prepare(case, threads)
        case AttentionCase():
            yield from ATTENTION.tilewright.prepare(case, threads)
        case ConvCase():
            yield from CONVOLUTIONS.tilewright.prepare(case, threads)
        case ConvChainCase():
            yield from CONV_CHAINS.tilewright.prepare(case, threads)
        case _:
            yield from MLP.tilewright.prepare(case, threads)


def compiled(source: Path, defines: Sequence[str] = ()) -> ctypes.CDLL:
    """The library of a C file. Raises `CalledProcessError` if gcc refuses it."""
    with TemporaryDirectory(prefix="tilewright-yardstick-") as directory:
        library = Path(directory, "yardstick.so")
        macros = [f"-D{define}" for define in defines]
        subprocess.run(["gcc", *FLAGS, *macros, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def benchmark(directory: Path) -> Benchmark[AnyCase]:
    """Our kernels with the yardsticks as the only peer."""
    note = f"hand-made prototypes of one shape each, gcc {' '.join(FLAGS)}"
    peer = Peer("yardstick", (), functools.partial(prepare, directory), note)
    return Benchmark("yardsticks", Peer(TILEWRIGHT, (), own, "constant weights are closed over"), {peer.name: peer})


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; ends the process where the directory has not all yardsticks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.yardsticks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--cases", type=lambda text: text.split(","), default=list(YARDSTICKS), help=f"of {', '.join(YARDSTICKS)}"
    )
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--processes", type=int, default=3)
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.cases if name not in YARDSTICKS]:
        parser.error(f"no such cases: {', '.join(unknown)}")
    files = dict.fromkeys(YARDSTICKS[name].file for name in options.cases)
    if missing := [file for file in files if not options.directory.joinpath(file).is_file()]:
        parser.error(f"{options.directory} has no {', '.join(missing)}")
    return options


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    options = parse(arguments)
    restart_if_unfair(1)
    settings = Settings(rounds=options.repeats, processes=options.processes)
    cases = [YARDSTICKS[name].case for name in options.cases]
    print(measured(benchmark(options.directory.resolve()), cases, settings).as_text())


if __name__ == "__main__":
    main(sys.argv[1:])
