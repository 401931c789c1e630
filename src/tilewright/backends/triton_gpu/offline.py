"""Offline compilation: a Triton kernel to machine code for a GPU that is not here, and the resources that the code takes.

Nothing is mocked: Triton's compiler takes a target in place of a device. What a driver would report when it loads the code
(registers, spills) is read from the code itself: `cuobjdump` and `nvdisasm` are part of Triton's wheel. Every compilation has a
new, empty cache, so that its time is that of a compilation.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module, util
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from tilewright.errors import TilewrightError, ToolchainError, UnsupportedOperation, needs_packages
from tilewright.records import record

VERSION = "3.9.0"
"""Of Triton: the rules of shared memory and the patterns below were seen in its code."""
WARP_THREADS = 32
ALIGNMENT = 16
"""Bytes that addresses of arguments are multiples of; without, every load is of one element."""
DATA = ("LAUNCHES", "BETWEEN")
"""What a rendered module has beside its kernels."""
MODULE = "tilewright_offline_kernel"
REASON_LINES = 12
"""Of a compiler's message."""
FAILURES = (Exception,)
"""What Triton raises: errors of its own for its language, `RuntimeError` where a pass or the assembler fails, others for bugs."""

INSTRUCTIONS = {
    "spill_stores": r"\bSTL\b",
    "spill_loads": r"\bLDL\b",
    "asynchronous_copies": r"\bLDGSTS\b",
    "wide_loads": r"\bLDG(?:STS)?\.[\w.]*\b128\b",
}
"""Counted in machine code (`nvdisasm`): local memory, copies from memory to shared memory, loads of 16 bytes."""
PRODUCTS = {"mma_sync": r"\bmma\.sync\b", "wgmma": r"\bwgmma\.mma_async\b"}
"""Counted in PTX."""
PRODUCT_TILE = re.compile(r"\b(?:mma\.sync|wgmma\.mma_async)[\w.]*?\.(m\d+n\d+k\d+)\b")
USAGE = {"registers": r"\bREG:(\d+)", "stack_bytes": r"\bSTACK:(\d+)", "local_bytes": r"\bLOCAL:(\d+)"}
"""In what `cuobjdump -res-usage` prints."""


@record
class OfflineKernel:
    """A kernel to compile: a module's text, the function in it, and what its arguments are."""

    text: str
    function: str
    types: tuple[tuple[str, str], ...]
    """Triton's types of arguments by name: ("a", "*fp16"), ("length", "i32")."""
    constants: tuple[tuple[str, Any], ...] = ()
    """Values of the arguments that are `tl.constexpr` and have no default."""
    warps: int = 4
    stages: int = 3


@record
class Facts:
    """What machine code takes and holds."""

    architecture: str
    registers: int
    """Of a thread, 32 bits each. Of a kernel that spills they say nothing of its demand: the assembler may leave most of them
    unused (128 x 128 sums of one warp: 64 registers, 3 KB of stack)."""
    stack_bytes: int
    local_bytes: int
    shared_bytes: int
    """Of a block, the launch's included."""
    spill_stores: int
    spill_loads: int
    mma_sync: int
    wgmma: int
    tiles: tuple[str, ...]
    """Of tensor-core instructions, as PTX names them: ("m16n8k16",)."""
    asynchronous_copies: int
    wide_loads: int

    @property
    def spills(self) -> bool:
        """Whether anything of a thread lies in local memory."""
        return any((self.stack_bytes, self.local_bytes, self.spill_stores, self.spill_loads))


@record
class Compiled:
    """Machine code and its PTX, their facts, and the CPU seconds of the compiler and its children."""

    cubin: bytes
    ptx: str
    facts: Facts
    cpu_s: float


TYPES = {"bool": "*i1", "float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "float64": "*fp64"}
"""Triton's types of pointers by NumPy's names of elements; integers are "*i8", "*u32", ..."""


def kernels_of(text: str, element_types: Mapping[str, str]) -> tuple[OfflineKernel, ...]:
    """The launches of a rendered module (`render/triton/module.py`), in order; `element_types` are those of the arguments of
    the model, by name. Raises `TilewrightError` for a text that is no such module."""
    tree = ast.parse(text)
    data = {
        one.targets[0].id: ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id in DATA
    }
    if set(data) != set(DATA):
        raise TilewrightError("no module of kernels", where="offline compilation", why=f"it lacks {' or '.join(DATA)}")
    functions = {one.name: [of.arg for of in one.args.args] for one in tree.body if isinstance(one, ast.FunctionDef)}
    known = {**element_types, **{name: dtype for name, (_, dtype) in data["BETWEEN"].items()}}
    return tuple(
        OfflineKernel(text, kernel, _pointers(functions[kernel], [known[name] for name in tensors]), (), warps, stages)
        for kernel, _, tensors, warps, stages in data["LAUNCHES"]
    )


def _pointers(parameters: Sequence[str], element_types: Sequence[str]) -> tuple[tuple[str, str], ...]:
    types = [TYPES.get(of) or f"*{of.replace('uint', 'u').replace('int', 'i')}" for of in element_types]
    return tuple(zip(parameters, types, strict=True))


def compile_offline(kernel: OfflineKernel, architecture: str) -> Compiled:
    """Compile a kernel for an architecture such as "sm_80".

    Raises `TilewrightError` where Triton is missing, has another version or interprets, and where text and arguments do not fit
    together; `UnsupportedOperation` for other architectures; `ToolchainError` where its compiler or a disassembler fails.
    """
    number = _number(architecture)
    triton = compiler()
    begin = cpu_s()
    with TemporaryDirectory(prefix="tilewright-offline-") as directory, _new_cache(triton, Path(directory) / "cache"):
        function = _function(kernel, Path(directory), triton)
        result = _compiled(kernel, function, number, triton)
        cubin, ptx, shared = result.asm["cubin"], result.asm["ptx"], result.metadata.shared
    end = cpu_s()
    return Compiled(cubin, ptx, facts_of(cubin, ptx, shared, architecture, triton), end - begin)


def compiler() -> ModuleType:
    """The pinned Triton, able to compile. Raises `TilewrightError` as `compile_offline` does."""
    where = "offline compilation"
    with needs_packages("compiling kernels of GPUs", "gpu", where):
        triton = import_module("triton")
    if triton.__version__ != VERSION:
        why, hint = f"Triton {triton.__version__} is installed", f"pip install triton=={VERSION}"
        raise TilewrightError(f"compiling kernels of GPUs needs Triton {VERSION}", where=where, why=why, hint=hint)
    if triton.knobs.runtime.interpret:
        why = "TRITON_INTERPRET is set: kernels are interpreted, and have no machine code"
        raise TilewrightError("Triton does not compile here", where=where, why=why, hint="unset TRITON_INTERPRET")
    return triton


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def facts_of(cubin: bytes, ptx: str, shared_bytes: int, architecture: str, triton: ModuleType) -> Facts:
    """The facts of machine code. `shared_bytes` are those that Triton asks of the launch."""
    with TemporaryDirectory(prefix="tilewright-offline-") as directory:
        file = Path(directory) / "kernel.cubin"
        file.write_bytes(cubin)
        usage = _printed(triton, "cuobjdump", "-res-usage", str(file))
        code = _printed(triton, "nvdisasm", "-c", str(file))
    return Facts(
        architecture=architecture,
        shared_bytes=shared_bytes,
        tiles=tuple(sorted(set(PRODUCT_TILE.findall(ptx)))),
        **{name: _used(usage, name, pattern) for name, pattern in USAGE.items()},
        **{name: len(re.findall(pattern, code)) for name, pattern in INSTRUCTIONS.items()},
        **{name: len(re.findall(pattern, ptx)) for name, pattern in PRODUCTS.items()},
    )


def _number(architecture: str) -> int:
    found = re.fullmatch(r"sm_(\d+)", architecture)
    if found is None:
        why = "the architectures that Triton compiles for offline are called sm_80, sm_90, ..."
        raise UnsupportedOperation(f"no compiler for {architecture}", where="offline compilation", why=why)
    return int(found[1])


@contextmanager
def _new_cache(triton: ModuleType, directory: Path) -> Iterator[None]:
    """Triton's cache is a new directory: compiled kernels are found neither there nor later."""
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(directory)
        yield


def _function(kernel: OfflineKernel, directory: Path, triton: ModuleType) -> Any:
    """The function of the module. Triton reads the source of its functions from files."""
    file = directory / f"{MODULE}.py"
    file.write_text(kernel.text)
    spec = util.spec_from_file_location(MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    where = f"kernel {kernel.function}"
    try:
        spec.loader.exec_module(module)
    except FAILURES as problem:
        raise ToolchainError("the module of a kernel cannot be imported", where=where, why=_reason(problem)) from problem
    function = getattr(module, kernel.function, None)
    if not isinstance(function, triton.runtime.JITFunction):
        raise TilewrightError("no kernel of this name in the module", where=where, hint="write @triton.jit above it")
    _check_arguments(kernel, function)
    return function


def _check_arguments(kernel: OfflineKernel, function: Any) -> None:
    given = {name for name, _ in (*kernel.types, *kernel.constants)}
    parameters = signature(function.fn).parameters
    missing = [name for name, one in parameters.items() if name not in given and one.default is one.empty]
    unknown = sorted(given - set(parameters))
    if missing or unknown:
        why = "; ".join(f"{what} {', '.join(names)}" for what, names in (("without", missing), ("unknown", unknown)) if names)
        raise TilewrightError("types and constants do not fit the kernel's arguments", where=f"kernel {kernel.function}", why=why)


def _compiled(kernel: OfflineKernel, function: Any, number: int, triton: ModuleType) -> Any:
    """What Triton's compiler makes of it. Arguments without a type are constants."""
    types, places = dict(kernel.types), {name: (place,) for place, name in enumerate(function.arg_names)}
    defaults = {one.name: one.default for one in signature(function.fn).parameters.values() if one.default is not one.empty}
    constants = {name: value for name, value in {**defaults, **dict(kernel.constants)}.items() if name not in types}
    source = triton.compiler.ASTSource(
        fn=function,
        signature={name: types.get(name, "constexpr") for name in function.arg_names},
        constexprs={places[name]: value for name, value in constants.items()},
        attrs={places[name]: [["tt.divisibility", ALIGNMENT]] for name, of in types.items() if of.startswith("*")},
    )
    options = {"num_warps": kernel.warps, "num_stages": kernel.stages, "enable_fp_fusion": True}
    target = import_module("triton.backends.compiler").GPUTarget("cuda", number, WARP_THREADS)
    try:
        return triton.compile(source, target=target, options=options)
    except FAILURES as problem:
        where = f"kernel {kernel.function}, {kernel.warps} warps, {kernel.stages} stages"
        raise ToolchainError(f"Triton cannot compile it for sm_{number}", where=where, why=_reason(problem)) from problem


def _reason(problem: Exception) -> str:
    """The beginning of a message."""
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return "\n".join((f"{type(problem).__name__}: {lines[0] if lines else ''}", *lines[1:REASON_LINES]))


def _printed(triton: ModuleType, tool: str, *arguments: str) -> str:
    """What a tool of Triton's wheel prints."""
    path = Path(str(triton.__file__)).parent / "backends" / "nvidia" / "bin" / tool
    try:
        return subprocess.run([str(path), *arguments], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as problem:
        raise ToolchainError(f"{tool} is missing", where=str(path), hint="Triton's wheels for Linux have it") from problem
    except (OSError, subprocess.CalledProcessError) as problem:
        why = str(getattr(problem, "stderr", "") or problem).strip()
        raise ToolchainError(f"{tool} failed", where=str(path), why=why) from problem


def _used(usage: str, name: str, pattern: str) -> int:
    found = re.search(pattern, usage)
    if found is None:
        raise ToolchainError(f"no {name} in what cuobjdump printed", where="cuobjdump -res-usage", why=usage.strip()[:200])
    return int(found[1])
