"""Compile kernels for tests and measurements, independently of the runtime's toolchain: with GCC, or with ziglang's Clang."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import filelock

from tilewright import settings
from tilewright.kernels import KernelSource, MicroKernel, SourceKind
from tilewright.kernels.contract import matrix_parameters
from tilewright.kernels.tile_ending import Case, dispatch_text
from tilewright.render.c.kernel_sources import rendered
from tilewright.runtime.compilation.flags import BY_FAMILY, COMMON, X86_64

FLAGS = [*COMMON, "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
"""Those of the runtime, so that what is checked is what users run; warnings are errors, but of values that nobody uses."""
EXPORT = '__attribute__((visibility("default")))'
SANITIZER = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Undefined behaviour ends the process, without a library that would report it."""
SUFFIXES = {SourceKind.C: ".c", SourceKind.ASSEMBLY: ".s", SourceKind.OBJECT: ".o"}
COMPILERS = ("gcc", "zig")
ASSEMBLER = "as"
"""In the place of a compiler: functions of single shapes as they are linked."""
CROSS = {"ppc64le": "powerpc64le-linux-gnu-gcc"}
"""Debian's cross compilers, by architecture."""
Shapes = Callable[[MicroKernel], list[tuple[int, int]]]
"""The tiles of a kernel that are compiled."""


@cache
def command(compiler: str) -> tuple[str, ...] | None:
    """How to start a compiler, or None where it is missing."""
    if compiler in ("gcc", ASSEMBLER):
        path = shutil.which("gcc")
        return (path, *BY_FAMILY["gcc"]) if path else None
    spec = find_spec("ziglang")
    return (str(Path(str(spec.origin)).parent / "zig"), "cc", *BY_FAMILY["zig"]) if spec else None


def build(sources: Sequence[KernelSource], features: frozenset[str], compiler: str, extra: Sequence[str] = ()) -> Path:
    """A shared library of these translation units; warnings are errors."""
    start = command(compiler)
    assert start is not None, f"{compiler} is missing"
    return linked([*start, *FLAGS, *_machine(compiler, features, extra), *extra], sources)


def linked(words: Sequence[str], sources: Sequence[KernelSource]) -> Path:
    """What a command makes of these translation units. All workers of a test run share what one has compiled."""
    sources = list(map(rendered, sources))
    contents = [source.octets for source in sources]
    key = hashlib.sha256(repr((words, [source.kind for source in sources], contents)).encode()).hexdigest()
    library = _workspace() / f"{key}.so"
    with filelock.FileLock(library.with_suffix(".lock")):
        if not library.exists():
            _compile(words, [SUFFIXES[source.kind] for source in sources], contents, library)
    return library


def _compile(words: Sequence[str], suffixes: Sequence[str], contents: Sequence[bytes], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as directory:
        paths = [Path(directory) / f"source{number}{suffix}" for number, suffix in enumerate(suffixes)]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        output = Path(directory) / "library.so"
        result = subprocess.run([*words, *map(str, paths), "-o", str(output)], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        output.rename(library)


def _machine(compiler: str, features: frozenset[str], extra: Sequence[str]) -> list[str]:
    """Exactly these features: with neither a CPU nor a target by name zig compiles for the CPU at hand."""
    if compiler == "zig" and platform.machine() == "x86_64" and "-target" not in extra:
        names = (X86_64[feature].removeprefix("-m").replace(".", "_").replace("-", "_") for feature in sorted(features))
        return ["-mcpu=" + "+".join(["x86_64", *names])]
    return [X86_64.get(feature, f"-m{feature}") for feature in sorted(features)]


@cache
def _workspace() -> Path:
    """Beside the kernels that the test run caches."""
    directory = settings.current().cache_dir / "tests"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def shapes(kernel: MicroKernel) -> list[tuple[int, int]]:
    """(rows, vectors) of every tile up to rows x columns, and of some that have more rows in place of columns."""
    vectors = -(-kernel.columns // kernel.lanes)
    found = [(m, v) for v in range(1, vectors + 1) for m in range(1, kernel.rows + 1)]
    most = [(v, kernel.rows_for(v * kernel.lanes)) for v in range(1, vectors + 1)]
    return sorted({*found, *((m, v) for v, rows in most for m in (rows, rows - 1, (kernel.rows + rows) // 2) if m >= 1)})


def outer_shapes(kernel: MicroKernel) -> list[tuple[int, int]]:
    """Of these the tiles of one row or all rows, and of one vector or all vectors; and the one of most rows."""
    vectors = -(-kernel.columns // kernel.lanes)
    return sorted({max(shapes(kernel)), *((m, v) for m in (1, kernel.rows) for v in (1, vectors))})


def parameters(kernel: MicroKernel) -> dict[str, str]:
    """The parameters of a kernel's function in order, each with its C type."""
    return matrix_parameters(kernel.element_types, kernel.reduction_loops)


def argument_types(kernel: MicroKernel) -> list[type[ctypes.c_void_p | ctypes.c_long]]:
    """The same for ctypes: pointers are given as addresses."""
    return [ctypes.c_void_p if "*" in c_type else ctypes.c_long for c_type in parameters(kernel).values()]


def caller(kernel: MicroKernel) -> str:
    """C of an exported function `call` that calls `kernel_under_test`."""
    called = f"kernel_under_test({', '.join(parameters(kernel))});"
    return f"{kernel.declaration('kernel_under_test')}\n{EXPORT} {kernel.signature('call')} {{ {called} }}\n"


@cache
def kernel_library(kernel: MicroKernel, compiler: str, extra: tuple[str, ...] = (), tiles: Shapes = shapes) -> Path:
    """The kernel with all its shapes, behind an exported function `call` of the contract's type. Compiled once per compiler."""
    if compiler == ASSEMBLER:
        return build(assembled(kernel, tiles), kernel.features, "gcc", extra)
    source = kernel.emit("kernel_under_test", frozenset(tiles(kernel)))
    return build([source, KernelSource(SourceKind.C, caller(kernel))], kernel.features, compiler, extra)


def assembles(kernel: MicroKernel) -> bool:
    """Whether functions of single shapes are assembly."""
    return kernel.emit_shape is not None and rendered(kernel.emit_shape("f", 1, 1, None, False)).kind is SourceKind.ASSEMBLY


def assembled(kernel: MicroKernel, tiles: Shapes) -> list[KernelSource]:
    """The functions of all shapes, most of them in assembly, and the function `call` that chooses among them."""
    assert kernel.emit_shape is not None
    assert kernel.of_shape is not None
    sizes = [(m, v * kernel.lanes - rest) for m, v in tiles(kernel) for rest in (0, *((1,) if kernel.lanes > 1 else ()))]
    sources = [rendered(kernel.emit_shape("kernel_under_test", m, n, None, False)) for m, n in sizes]
    arguments = ", ".join(name for name in parameters(kernel) if name not in ("m", "n"))
    cases: list[Case] = []
    for m, n in sizes:
        function, last = kernel.of_shape("kernel_under_test", m, n)
        cases.append((m, -(-n // kernel.lanes), bool(last), f"{function}({arguments}{', last' * bool(last)})"))
    declarations = [f"extern {kernel.shape_signature('kernel_under_test', m, n)};" for m, n in sizes]
    text = "\n".join([*declarations, dispatch_text(f"{EXPORT} {kernel.signature('call')}", cases, kernel.lanes)])
    return [KernelSource(SourceKind.C, text), *sources]


def load(kernel: MicroKernel, compiler: str, extra: tuple[str, ...] = (), tiles: Shapes = shapes) -> Callable[..., None]:
    """`call` of `kernel_library`, with its argument types."""
    function = ctypes.CDLL(str(kernel_library(kernel, compiler, extra, tiles))).call
    function.argtypes = argument_types(kernel)
    function.restype = None
    return function


@cache
def c_library(features: frozenset[str], body: str) -> ctypes.CDLL:
    """`body` compiled by gcc for CPUs with these features; EXPORT there marks what is exported."""
    text = f"#define EXPORT {EXPORT}\n{body}"
    return ctypes.CDLL(str(build([KernelSource(SourceKind.C, text)], features, "gcc")))
