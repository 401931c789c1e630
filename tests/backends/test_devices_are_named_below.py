"""Devices, instruction sets, compilers and languages are named by backends, machines, kernels, leaves and renderers alone.

Prose may name the product on which a figure was measured, code may not.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/tilewright"
NEUTRAL = ("graph", "plan", "lower", "block", "frontend", "tune", "report", "api")
"""Packages that serve every device."""
FILES = ("compiler.py", "coefficients.py", "arrays.py", "verification.py")

INSTRUCTION_SETS = (
    r"avx\w*|sse[2-4]?|vnni\w*|amx\w*|neon|sve2?|asimd\w*|vsx|altivec|mma|simd|fma"
    r"|x86\w*|aarch64|ppc64\w*|power(?:9|10)|riscv\w*|rvv"
)
LANGUAGES = r"gcc|clang|zig|nvcc|cuda|ptx|opencl|triton|c_text|c_types?|to_c"
PRODUCTS = r"xeon|epyc|zen[ _]?[2-5]|intel|amd|nvidia|cascadelake\w*|neoverse\w*|cpus?|gpus?|npus?"
ANYWHERE = re.compile(rf"(?<![a-z0-9_])(?:{INSTRUCTION_SETS}|{LANGUAGES})(?![a-z0-9_])", re.IGNORECASE)
IN_CODE = re.compile(rf"{ANYWHERE.pattern}|(?<![a-z0-9])(?:{PRODUCTS})(?![a-z0-9])", re.IGNORECASE)
C = re.compile(
    r"\b(?:plain|generated|emits?|writes?|to|is) C\b(?! ?[\[(=+*])"
    r"|\bC (?:code|compiler|file|type|text|source|function|library)s?\b"
)
TARGETS = re.compile(r"(?:named\(|target=|--target )[\"']?[\w-]+[\"']?")
"""Target files in examples."""

ALLOWED = {
    ("api/onnx/", "cpu"): "the provider and the device of onnxruntime's interface",
    ("api/onnx/", "cpus"): "the same",
}
"""(File or folder, word) -> why it stays."""


def files() -> list[Path]:
    inside = [path for folder in NEUTRAL for path in (SOURCE / folder).rglob("*.py")]
    return sorted([*inside, *(SOURCE / name for name in FILES)])


def words(text: str) -> Iterator[tuple[int, str]]:
    """(Line, word) of everything that names a device."""
    if not IN_CODE.search(text) and not C.search(text):
        return
    prose = {node.value.lineno: node.value.end_lineno for node in ast.walk(ast.parse(text)) if _is_docstring(node)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        is_prose = token.type == tokenize.COMMENT or (token.type == tokenize.STRING and line in prose)
        if token.type in (tokenize.COMMENT, tokenize.STRING, tokenize.NAME):
            content = TARGETS.sub("", token.string)
            for pattern in (ANYWHERE, C) if is_prose else (IN_CODE, C):
                for found in pattern.finditer(content):
                    yield line + content.count("\n", 0, found.start()), found[0]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_allowed(path: str, word: str) -> bool:
    return any(path.startswith(place) and word.lower() == known for place, known in ALLOWED)


def test_packages_for_every_device_name_none() -> None:
    named = [
        f"{path.relative_to(SOURCE)}:{line}: {word}"
        for path in files()
        for line, word in words(path.read_text())
        if not is_allowed(str(path.relative_to(SOURCE)), word)
    ]
    assert not named, "\n".join(["move what asks for it below, or behind a property of the machine or backend:", *named])


@pytest.mark.parametrize("text", ['f("avx512f")', "x = has_fma\nfma = 1", "# gcc 12 spills", '"""In plain C."""', 'd = "cpu"'])
def test_names_are_found(text: str) -> None:
    assert list(words(text))


@pytest.mark.parametrize("text", ['"""Measured: 3 us (Zen 3)."""', '"""C += A B, rows of C."""', "power = fma_per_cycle"])
def test_measured_products_and_operations_may_be_named(text: str) -> None:
    assert not list(words(text))
