"""What a command is about: a chain of the papers by its name, or a function of a file or a module with its arguments.

What goes wrong in code that the user wrote is told with its file and line, and is no internal error.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from tilewright.cli.parameters import Spec
from tilewright.errors import InternalError, TilewrightError
from tilewright.tune.shapes import TABLE_IV, TABLE_V, chain_shape, conv_chain_shape

PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
LIBRARIES = (PACKAGE, "<frozen", *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))

BETWEEN = {shape.name: "softmax" for shape in TABLE_IV} | {shape.name: "relu" for shape in TABLE_V}
"""What may stand between the operators of a chain: G2_softmax, C3_relu."""


def subject_of(name: str, arguments: tuple[Spec, ...], dtype: str = "float32") -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """A function, and what it is called with; the chains of the papers are of elements of type `dtype`."""
    first, _, between = name.partition("_")
    chain = first.upper()
    if chain not in BETWEEN or between not in ("", BETWEEN[chain]):
        return _function(name, arguments)
    if arguments:
        raise click.UsageError(f"{name} has the shapes of a paper: --arg is for functions of a file or a module")
    return _chain_of_a_paper(chain, bool(between), dtype)


def _chain_of_a_paper(name: str, with_function: bool, dtype: str) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    """Filters are constants, as in a model: which algorithms apply, and what they do ahead of a call, depends on it."""
    from tilewright.tune import chain_functions

    if BETWEEN[name] == "softmax":
        function = chain_functions.attention if with_function else chain_functions.gemm_chain
        return function, tuple((operand, dtype) for operand in chain_shape(name).operands)
    shape = conv_chain_shape(name)
    return chain_functions.conv_chain(shape, with_relu=with_function, dtype=dtype), (((1, *shape.image), dtype),)


def _function(subject: str, arguments: tuple[Spec, ...]) -> tuple[Callable[..., Any], tuple[Spec, ...]]:
    place, colon, name = subject.rpartition(":")
    if subject.endswith(".py"):
        raise click.UsageError(f"{subject} needs the name of a function: {subject}:FUNCTION")
    if not colon or not place:
        chains = "a chain of Table IV (G1 to G12, G1_softmax) or V (C1 to C8, C1_relu)"
        raise click.UsageError(f"{subject!r} is neither MODEL.onnx, a package, FILE.py:FUNCTION or MODULE:FUNCTION nor {chains}")
    if not arguments:
        raise click.UsageError(f"{subject} needs the shape of each argument: --arg 12x512x64")
    return load(place, name), arguments


@contextmanager
def blamed(subject: str) -> Iterator[None]:
    """Exceptions that come out of the user's code become `TilewrightError`s; those out of Tilewright's own pass."""
    try:
        yield
    except (TilewrightError, InternalError):
        raise
    except (Exception, SystemExit) as problem:
        place = _place(problem)
        if not place:
            raise
        raise TilewrightError(f"{subject} raised {type(problem).__name__}: {problem}", where=place) from problem


def load(place: str, name: str) -> Callable[..., Any]:
    """The function `name` of a file or a module. Raises `TilewrightError` where there is none, or its code fails."""
    with blamed(place):
        module = _load_file(Path(place), name) if place.endswith(".py") else _load_module(place, name)
    function = getattr(module, name, None)
    if callable(function):
        return function  # type: ignore[no-any-return]
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    known = [name for name, value in own.items() if callable(value) and not name.startswith("_")]
    near = difflib.get_close_matches(name, known, n=3)
    raise TilewrightError(
        f"{place} has no function {name!r}",
        where=f"{place}:{name}",
        why=f"{name} is {function!r}" if hasattr(module, name) else f"its functions are {', '.join(known) or 'none'}",
        hint=f"did you mean {' or '.join(near)}?" if near else "write the name of one of its functions behind the colon",
    )


def check_arguments(function: Callable[..., Any], arguments: Sequence[object]) -> None:
    """Raise `TilewrightError` unless the function can be called with as many positional arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError as problem:
        raise TilewrightError(f"{function!r} is not a Python function", why=str(problem)) from problem
    try:
        signature.bind(*arguments)
    except TypeError as problem:
        code = getattr(inspect.unwrap(function), "__code__", None)
        raise TilewrightError(
            f"{getattr(function, '__name__', 'the function')} cannot be called with {len(arguments)} arguments",
            where=f"{code.co_filename}:{code.co_firstlineno}" if code else "",
            why=str(problem),
            hint=f"give one --arg for each of {', '.join(signature.parameters)}",
        ) from problem


def _place(problem: BaseException) -> str:
    """`file:line` of the innermost frame of the user, "" if the failure is Tilewright's: if one of its frames is further in."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}"
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if frame.filename.startswith(PACKAGE):
            return ""
        if not frame.filename.startswith(LIBRARIES):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def _load_file(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        raise TilewrightError(
            f"there is no file {path}",
            where=f"{path}:{name}",
            why=f"{path.absolute()} {'is a directory' if path.is_dir() else 'does not exist'}",
            hint="name a file of Python; a path without / at the front begins in the current directory",
        )
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise TilewrightError(f"{path} cannot be imported", where=f"{path}:{name}")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _load_module(name: str, function: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if not f"{name}.".startswith(f"{problem.name}."):
            raise
        raise TilewrightError(
            f"there is no module {name}",
            where=f"{name}:{function}",
            why=str(problem),
            hint="modules are looked for in the current directory and in PYTHONPATH; a file is named with its .py",
        ) from problem
    finally:
        sys.path.remove("")
