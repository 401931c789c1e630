"""Devices, instruction sets, compilers and languages are named by backends, machines, kernels, leaves and renderers alone.

Of these, kernels and leaves name instruction sets in dialects and in files of the kernels of one instruction set alone. Prose may
name the product on which a figure was measured, code may not.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

Patterns: TypeAlias = tuple[re.Pattern[str], ...]
SOURCE = Path(__file__).parents[2] / "src/tilewright"
NEUTRAL = ("graph", "plan", "lower", "block", "frontend", "tune", "report", "api")
"""Packages that serve every device."""
FILES = ("compiler.py", "coefficients.py", "arrays.py", "verification.py")
OF_ALL_ISAS = ("kernels", "c_text", "leaves", "cli", "settings.py")
"""Packages that may name languages and compilers, but no instruction set."""
OF_ONE_ISA = re.compile(r"kernels/(?:dialects/|f32/(?:x86_\w+|power10)\.|other_types/(?:x86_\w+|amx)\.)|leaves/(?:gpu|npu)/")
"""Dialects, the micro kernels of one instruction set, and the leaves of one device."""

INSTRUCTION_SETS = (
    r"avx\w*|sse[2-4]?|vnni\w*|amx\w*|neon|sve2?|asimd\w*|vsx|altivec|mma|simd|fma"
    r"|x86\w*|aarch64|ppc64\w*|power(?:9|10)|riscv\w*|rvv"
)
LANGUAGES = r"gcc|clang|zig|nvcc|cuda|ptx|opencl|triton|c_text|c_types?|to_c"
PRODUCTS = r"xeon|epyc|zen[ _]?[2-5]|intel|amd|nvidia|cascadelake\w*|neoverse\w*|cpus?|gpus?|npus?"


def _word(alternatives: str) -> str:
    return rf"(?<![a-z0-9_])(?:{alternatives})(?![a-z0-9_])"


PRODUCT = rf"(?<![a-z0-9])(?:{PRODUCTS})(?![a-z0-9])"
ANYWHERE = re.compile(_word(f"{INSTRUCTION_SETS}|{LANGUAGES}"), re.IGNORECASE)
IN_CODE = re.compile(rf"{ANYWHERE.pattern}|{PRODUCT}", re.IGNORECASE)
C = re.compile(
    r"\b(?:plain|generated|emits?|writes?|to|is) C\b(?! ?[\[(=+*])"
    r"|\bC (?:code|compiler|file|type|text|source|function|library)s?\b"
)
NEUTRAL_WORDS = (ANYWHERE, C), (IN_CODE, C)
"""What neither prose nor code names."""
CONDITIONS = re.compile(r"defined\(__|\bTW_DIALECT_|__builtin_ia32|__asm__ ?(?:volatile ?)?\(\"[a-z%]")
"""Macros of compilers for an ISA, and its instructions, in C."""
ISA = re.compile(_word(INSTRUCTION_SETS), re.IGNORECASE)
ISA_WORDS = (ISA, CONDITIONS), (re.compile(rf"{ISA.pattern}|{PRODUCT}", re.IGNORECASE), CONDITIONS)
"""The same for C of all instruction sets."""
TARGETS = re.compile(r"(?:named\(|target=|--target )[\"']?[\w-]+[\"']?")
"""Target files in examples."""

ALLOWED = {
    ("api/onnx/", "cpu"): "the provider and the device of onnxruntime's interface",
    ("api/onnx/", "cpus"): "the same",
    ("api/torch/", "cpu"): "the device of torch's tensors, and its operators that have the name of it",
    ("frontend/torch/", "cpu"): "the same",
    ("cli/", "cpu"): "what `tilewright machine` measures, and `tune --fit` fits, in the words of their help",
    ("cli/", "cpus"): "the same",
    ("settings.py", "cpu"): "the same of TILEWRIGHT_CALIBRATE",
    ("settings.py", "cpus"): "what TILEWRIGHT_NUM_THREADS counts",
    ("settings.py", "x86"): "the levels that TILEWRIGHT_MAX_ISA takes; `machine/isa.py`, which has them, is above",
}
"""(File or folder, word) -> why it stays."""


def files(places: Iterable[str], ending: str) -> list[Path]:
    """The files of packages and the modules of that names, but for those of one instruction set."""
    inside = (path for place in places for path in [*(SOURCE / place).rglob(f"*{ending}"), SOURCE / place])
    return sorted(path for path in inside if path.name.endswith(ending) and not OF_ONE_ISA.match(_name(path)))


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def words_of_c(text: str) -> Iterator[tuple[int, str]]:
    """(Line, word) of everything in C that names an instruction set."""
    for line, content in enumerate(text.splitlines(), 1):
        yield from ((line, found[0]) for pattern in ISA_WORDS[0] for found in pattern.finditer(content))


def words(text: str, known: tuple[Patterns, Patterns] = NEUTRAL_WORDS) -> Iterator[tuple[int, str]]:
    """(Line, word) of everything that names a device; `known` is what prose and code may not name."""
    of_prose, of_code = known
    if not any(pattern.search(text) for pattern in of_code):
        return
    prose = {node.value.lineno: node.value.end_lineno for node in ast.walk(ast.parse(text)) if _is_docstring(node)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        is_prose = token.type == tokenize.COMMENT or (token.type == tokenize.STRING and line in prose)
        if token.type in (tokenize.COMMENT, tokenize.STRING, tokenize.NAME):
            content = TARGETS.sub("", token.string)
            for pattern in of_prose if is_prose else of_code:
                for found in pattern.finditer(content):
                    yield line + content.count("\n", 0, found.start()), found[0]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_allowed(path: str, word: str) -> bool:
    return any(path.startswith(place) and word.lower() == known for place, known in ALLOWED)


def named(paths: Iterable[Path], words_in: Callable[[str], Iterator[tuple[int, str]]]) -> list[str]:
    """Places and words that are not allowed."""
    found = ((_name(path), *place) for path in paths for place in words_in(path.read_text()))
    return [f"{path}:{line}: {word}" for path, line, word in found if not is_allowed(path, word)]


def test_packages_for_every_device_name_none() -> None:
    found = named(files((*NEUTRAL, *FILES), ".py"), words)
    assert not found, "\n".join(["move what asks for it below, or behind a property of the machine or backend:", *found])


def test_kernels_and_leaves_name_instruction_sets_in_files_of_one_alone() -> None:
    found = named(files(OF_ALL_ISAS, ".py"), partial(words, known=ISA_WORDS)) + named(files(OF_ALL_ISAS, ".c"), words_of_c)
    assert not found, "\n".join(["make it a part of the dialect, or of the instructions beside it (kernels/dialects):", *found])


@pytest.mark.parametrize("text", ["#if defined(__AVX__)", '__asm__("vmaxps %0" : : )', "/* AVX-512 has it */"])
def test_instruction_sets_in_c_are_found(text: str) -> None:
    assert list(words_of_c(text))


@pytest.mark.parametrize("text", ['f("avx512f")', "x = has_fma\nfma = 1", "# gcc 12 spills", '"""In plain C."""', 'd = "cpu"'])
def test_names_are_found(text: str) -> None:
    assert list(words(text))


@pytest.mark.parametrize("text", ['"""Measured: 3 us (Zen 3)."""', '"""C += A B, rows of C."""', "power = fma_per_cycle"])
def test_measured_products_and_operations_may_be_named(text: str) -> None:
    assert not list(words(text))
