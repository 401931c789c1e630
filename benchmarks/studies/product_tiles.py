"""Register tiles of products, as tile programs in assembly and in C, against the peak of the core, and what their text costs.

Every tile multiplies panels of A and B of 32 KiB together, which stay in L1; shares are of the rate of a loop of the same
instructions in registers, in the same rounds. Best of interleaved rounds. `--cost` counts the processor time of 48 tiles: the
programs, the text and one `as`, against the C compiler's for the kernels' C.

    python benchmarks/studies/product_tiles.py [--runs 3] [--cost]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import product as pairs
from pathlib import Path
from typing import TypeVar

import numpy as np

from tilewright.kernels import registered
from tilewright.render.assembly.function import assembly, unit
from tilewright.render.c.kernel_sources import rendered
from tilewright.render.c.tiles.rendering import TileTexts
from tilewright.runtime.compilation import toolchain
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.products.arithmetic import F32, Arithmetic, of_dots, of_elements
from tilewright.tile.products.tile import Shape, product
from tilewright.tile.program import TileProgram

Result = TypeVar("Result")
PANEL_BYTES = 32768
ROUNDS, SECONDS_EACH = 40, 1e-3
PEAK_TRIPS = 1000
ARGUMENTS = 13
HARNESS = """
#include <time.h>
typedef void function(long, long, long, long, long, long, long, long, long, long, long, long, long);
__attribute__((visibility("default"))) double seconds(function *f, const long *a, long calls) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (long i = 0; i < calls; i++) f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
  clock_gettime(CLOCK_MONOTONIC, &to);
  return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}
"""
F64, S32 = of_elements("float64"), of_elements("int32")
S16, U8S8 = of_dots("int16", "int16"), of_dots("uint8", "int8")
FMA, DOT = "vfmadd231{} {{r}}, {{x}}, {{y}}", "{} {{r}}, {{x}}, {{y}}"
TILES = (
    ("f32", F32, "avx512", (6, 4), (FMA.format("ps"),), "matmul_avx512_f32_6x64"),
    ("f32", F32, "avx512", (8, 3), (FMA.format("ps"),), "matmul_avx512_f32_8x48"),
    ("f32", F32, "avx512", (14, 2), (FMA.format("ps"),), "matmul_avx512_f32_14x32"),
    ("f32", F32, "avx512", (28, 1), (FMA.format("ps"),), "matmul_avx512_f32_28x16"),
    ("f64", F64, "avx512", (8, 3), (FMA.format("pd"),), "matmul_avx512_f64_8x24"),
    ("f64", F64, "avx512", (6, 4), (FMA.format("pd"),), "matmul_avx512_f64_6x32"),
    ("s32", S32, "avx512", (6, 4), ("vpmulld {z}, {x}, {y}", "vpaddd {r}, {r}, {z}"), "matmul_avx512_s32_6x64"),
    ("s16", S16, "avx512_vnni", (6, 4), (DOT.format("vpdpwssd"),), "matmul_avx512_s16s16vnni_6x64"),
    ("u8s8", U8S8, "avx512_vnni", (6, 4), (DOT.format("vpdpbusd"),), "matmul_avx512_u8s8vnni_6x64"),
    ("f32", F32, "avx2", (6, 2), (FMA.format("ps"),), "matmul_avx2_f32_6x16"),
    ("f32", F32, "avx2", (12, 1), (FMA.format("ps"),), "matmul_avx2_f32_12x8"),
    ("f64", F64, "avx2", (6, 2), (FMA.format("pd"),), "matmul_avx2_f64_6x8"),
    ("s32", S32, "avx2", (5, 2), ("vpmulld {z}, {x}, {y}", "vpaddd {r}, {r}, {z}"), "matmul_avx2_s32_5x16"),
    ("s16", S16, "avx2", (5, 2), ("vpmaddwd {z}, {x}, {y}", "vpaddd {r}, {r}, {z}"), "matmul_avx2_s16s16_5x16"),
)
"""Name, arithmetic, dialect, rows and vectors, the instructions of the peak, and the kernel that is registered."""


class Timed:
    """A loaded function with its arguments: seconds of a call."""

    def __init__(self, library: ctypes.CDLL, harness: ctypes.CDLL, name: str, *arguments: np.ndarray | int) -> None:
        self.kept = library, harness, arguments
        values = [int(one.ctypes.data) if isinstance(one, np.ndarray) else one for one in arguments]
        self.arguments = np.array([*values, *[0] * (ARGUMENTS - len(values))], np.int64)
        self.function = ctypes.cast(getattr(library, name), ctypes.c_void_p)
        self.seconds = harness.seconds
        self.seconds.restype, self.seconds.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
        self.calls = 1
        while self._of(self.calls) < SECONDS_EACH:
            self.calls *= 2

    def __call__(self) -> float:
        """One call to warm up, for what ran before has left its own data in the caches."""
        self._of(1)
        return self._of(self.calls) / self.calls

    def _of(self, calls: int) -> float:
        return float(self.seconds(self.function, self.arguments.ctypes.data, calls))


def assembled(texts: Iterable[str], directory: Path, name: str) -> ctypes.CDLL:
    """A library of functions."""
    source = directory / f"{name}.s"
    source.write_text("".join(texts).replace("\t.hidden", "\t.protected"))
    subprocess.run(["as", "-o", f"{source}.o", str(source)], check=True)
    subprocess.run(["ld", "-shared", "-z", "noexecstack", "-o", f"{source}.so", f"{source}.o"], check=True)
    return ctypes.CDLL(f"{source}.so")


def exported(texts: TileTexts, program: TileProgram) -> str:
    """A file of a function."""
    function = texts.function(program, '__attribute__((visibility("default"))) ')
    return f"{texts.definitions()}{function}\n"


def compiled(text: str, features: frozenset[str], directory: Path, name: str) -> ctypes.CDLL:
    """A library of C, with the flags of the runtime."""
    path = directory / f"{name}.so"
    path.write_bytes(toolchain.find().compile(text, architecture="x86_64", features=features))
    return ctypes.CDLL(str(path))


def peak_text(lines: tuple[str, ...], is_wide: bool) -> tuple[str, int]:
    """A loop of independent groups of instructions in registers, and how many groups it has in all."""
    letter, groups, last = ("z", 24, 31) if is_wide else ("y", 12, 15)
    names = {key: f"{letter}mm{last - number}" for number, key in enumerate("xyz")}
    body = "\n".join(line.format(r=f"{letter}mm{number}", **names) for number in range(groups) for line in lines)
    zeros = "\n".join(f"vpxor{'d' * is_wide} {letter}mm{r}, {letter}mm{r}, {letter}mm{r}" for r in range(last + 1))
    text = f"{zeros}\nmov rax, {PEAK_TRIPS}\n.p2align 6\n1:\n{body}\ndec rax\njnz 1b\nvzeroupper\nret\n"
    return f".intel_syntax noprefix\n.globl peak\npeak:\n{text}", PEAK_TRIPS * groups


def shares(run: int, directory: Path) -> None:
    """A line for every tile."""
    harness = compiled(HARNESS, frozenset(), directory, f"harness{run}")
    by_name = {kernel.name: kernel for kernel in registered()}
    for number, (name, how, dialect_name, (rows, vectors), lines, other) in enumerate(TILES):
        dialect = dialects()[dialect_name]
        shape = Shape(rows, vectors, dialect.lanes(how.total))
        key = f"{run}_{number}"
        text, groups = peak_text(lines, dialect.vector_bits == 512)
        timed = {"peak": Timed(assembled([text], directory, f"peak{key}"), harness, "peak")}
        work = {"peak": float(groups * shape.lanes)}
        library = assembled([unit([assembly(product("tile", how, shape), dialect)])], directory, f"tile{key}")
        timed["as"], work["as"] = tile_call(library, harness, "tile", how, shape, by_abi=False)
        in_c = compiled(exported(TileTexts(dialect), product("tile", how, shape)), dialect.features, directory, f"gcc{key}")
        timed["cc"], work["cc"] = tile_call(in_c, harness, "tile", how, shape, by_abi=False)
        kernel = by_name.get(other)
        if kernel is not None:
            of_kernel = Shape(kernel.rows, kernel.columns // kernel.lanes, kernel.lanes)
            source = rendered(kernel.emit("tile", frozenset({(of_kernel.rows, of_kernel.vectors)})))
            text = "#pragma GCC visibility push(default)\n" + str(source.content)
            own = compiled(text, kernel.features, directory, f"own{key}")
            timed["kernel"], work["kernel"] = tile_call(own, harness, "tile", how, of_kernel, by_abi=True)
        best = interleaved(timed)
        rate = {one: work[one] / best[one] for one in timed}
        found = "  ".join(f"{one} {rate[one] / rate['peak']:.3f}" for one in timed if one != "peak")
        print(
            f"{name:5}{rows}x{vectors * shape.lanes:<4}{dialect_name:12} {2e-9 * rate['peak'] * how.group:6.0f} GOP/s  {found}",
            flush=True,
        )


def tile_call(
    library: ctypes.CDLL, harness: ctypes.CDLL, name: str, how: Arithmetic, shape: Shape, *, by_abi: bool
) -> tuple[Timed, float]:
    """A tile times a panel, and the multiply-adds of lanes in it."""
    random = np.random.default_rng(0)
    columns = shape.vectors * shape.lanes
    types = [np.dtype(one) for one in (how.left, how.right, how.total)]
    k = PANEL_BYTES // (columns * types[1].itemsize + shape.rows * types[0].itemsize)
    k -= k % how.group
    a = random.integers(0, 9, (shape.rows, k)).astype(types[0])
    b = random.integers(0, 9, (k, columns)).astype(types[1])
    c = np.zeros((shape.rows, columns), types[2])
    shape_given = (shape.rows, columns) if by_abi else ()
    arguments = (k, a, k, 1, b, columns * how.group, c, columns, *shape_given, 0)
    return Timed(library, harness, name, *arguments), k / how.group * shape.rows * columns


def interleaved(timed: dict[str, Timed]) -> dict[str, float]:
    """The least time of each over rounds in which every one has its turn."""
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(ROUNDS):
        for name, call in timed.items():
            best[name] = min(best[name], call())
    return best


def cost(directory: Path) -> None:
    """Processor time of 48 tiles of 1 to 6 rows and 1 to 4 vectors, with a last vector in part or whole."""
    shapes = [Shape(*one) for one in pairs(range(1, 7), range(1, 5), (16,), (False, True))]
    kernel = next(one for one in registered() if one.name == "matmul_avx512_f32_6x64")
    programs = spent("programs", lambda: [product(f"tile_{one.suffix}", F32, one) for one in shapes])
    texts = spent("text", lambda: [assembly(one, dialects()["avx512"]) for one in programs])
    (directory / "all.s").write_text(unit(texts))
    spent("as", lambda: subprocess.run(["as", "-o", directory / "all.o", directory / "all.s"], check=True))
    in_c = TileTexts(dialects()["avx512"])
    functions = spent("C text", lambda: [in_c.function(one) for one in programs])
    for name, text in (
        ("cc", f"{in_c.definitions()}{''.join(functions)}"),
        ("cc of kernel", str(rendered(kernel.emit("tile", None)).content)),
    ):
        words = command_for(text, kernel.features, directory)
        spent(name, lambda: subprocess.run(words, check=True))  # noqa: B023


def command_for(text: str, features: frozenset[str], directory: Path) -> list[str]:
    """What makes an object of C."""
    source = directory / "all.c"
    source.write_text(text)
    command = toolchain.find()
    flags = [one for one in command.flags("x86_64", features) if one != "-shared"]
    return [*command.command, *flags, "-c", "-o", str(directory / "c.o"), str(source)]


def spent(name: str, work: Callable[[], Result]) -> Result:
    """What some work gives; its processor time is printed."""
    before = processor_s()
    result = work()
    print(f"{name:13}{1e3 * (processor_s() - before):8.1f} ms")
    return result


def processor_s() -> float:
    """Of this process and of what it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    """Print a line a tile, as often as asked for, or costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--cost", action="store_true", help="processor time instead of speed")
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as directory:
        if given.cost:
            cost(Path(directory))
        else:
            for run in range(given.runs):
                shares(run, Path(directory))


if __name__ == "__main__":
    main()
