"""Every code block of the documentation runs, or is checked without its long or machine-dependent work.

| Block | What happens |
|---|---|
| `pycon`, and `python` with prompts | a doctest of the page, which pytest collects |
| `python` | the blocks of a page run one after the other, in a directory with the files of `files_of_users` |
| `sh` | cheap commands of `tilewright` run, the arguments of others are parsed; modules and paths of other programs must exist |
| `toml` | parsed; that of a target also by the reader of targets |
| `c` | `tests/kernels/test_external_kernels.py` compiles that of the how-to on micro kernels |
| `text` | output, or what a reader must adapt: not run |
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper, numpy_helper, save

from tilewright.cli.main import tilewright as command_line
from tilewright.machine import targets

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
LANGUAGES = {"pycon", "python", "sh", "toml", "c", "text"}
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
CHEAP = {"cache info", "explain", "knobs", "licences", "machine", "run"}
PROGRAMS = {"dask", "git", "lint-imports", "mkdocs", "mypy", "pip", "pre-commit", "python3", "ruff"}
FUNCTIONS = """
import numpy as np
import tilewright as tw

def attention(q, k, v):
    return tw.einsum("bml,bln->bmn", tw.softmax(tw.einsum("bmk,bkl->bml", q, k), axis=-1), v)

def block(x, w, bias, v):
    return tw.relu(x @ w + bias) @ v

def conv(x, w):
    return tw.conv2d(x, w, padding=1)
"""


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a language, without the indentation of their fences."""
    found = (match for match in FENCE.finditer(page.read_text("utf-8")) if match["language"] == language)
    return [re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE) for match in found]


def files_of_users(directory: Path) -> None:
    """What the pages take for granted: a model of two dense layers with a dynamic batch, functions, and an input."""
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((64, 32)), "v": random.standard_normal((32, 16))}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info("x", 1, ["batch", 64]), helper.make_tensor_value_info("y", 1, ["batch", 16])]
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "model", ends[:1], ends[1:], constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), str(directory / "model.onnx"))
    (directory / "model.py").write_text(FUNCTIONS)
    np.save(directory / "x.npy", np.ones((8, 64), np.float32))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files_of_users(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def having(language: str) -> list[Any]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=lambda page: page.name)
def test_every_block_names_a_language(page: Path) -> None:
    fences = [match["language"] for match in FENCE.finditer(page.read_text("utf-8"))]
    assert set(fences) <= LANGUAGES
    outside = FENCE.sub("", page.read_text("utf-8"))
    assert re.findall(r"(?<=\n\n)    \S.*", outside) == [], "indented code has no language"
    assert ">>>" not in outside


@pytest.mark.parametrize("page", having("python"))
def test_python_runs(page: Path, directory: Path) -> None:
    space: dict[str, Any] = {}
    for text in blocks(page, "python"):
        if ">>>" not in text:
            exec(compile(text, str(page), "exec"), space)


@pytest.mark.parametrize("page", having("toml"))
def test_toml_is_valid(page: Path) -> None:
    for text in blocks(page, "toml"):
        tomllib.loads(text)
        if "[[levels]]" in text:
            targets.parse("of_the_page", text)


@pytest.mark.parametrize("page", having("sh"))
def test_commands_are_known(page: Path, directory: Path) -> None:
    for text in blocks(page, "sh"):
        for words in commands(text):
            check(words)


def commands(text: str) -> Iterator[list[str]]:
    """The words of every command, without variables that are set for it."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;", line.partition(" #")[0]):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words = words[1:]
            if words:
                yield words


def check(words: list[str]) -> None:
    program, arguments = words[0].removeprefix(".venv/bin/"), words[1:]
    if program == "tilewright":
        check_tilewright(arguments)
    elif program == "python" and arguments[0] == "-m":
        assert importlib.util.find_spec(arguments[1]) is not None, words
    elif program in ("pytest", "python"):
        paths = [word for word in arguments if "/" in word and not word.startswith("-")]
        assert [path for path in paths if not (ROOT / path.partition("::")[0]).exists()] == []
    elif program.startswith("."):
        assert (ROOT / program).exists(), words
    else:
        assert program in PROGRAMS, words


def check_tilewright(arguments: list[str]) -> None:
    context = parsed(arguments)
    if context.command_path.removeprefix("tilewright ") in CHEAP:
        done = CliRunner().invoke(command_line, arguments)
        assert done.exit_code == 0, (arguments, done.output, done.exception)


def parsed(arguments: list[str]) -> click.Context:
    """The context of the innermost command. Raises `click.UsageError` for arguments that it does not take."""
    command: Any = command_line
    context = command.make_context("tilewright", list(arguments))
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context
