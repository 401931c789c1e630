"""The public surface, one name a line: packages and classes, options of functions, commands with their options, environment.

`python -m tests.support.public_names` prints it; `tests/golden/public_names.txt` has what is meant to be there.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

import click

import tilewright
import tilewright.onnx
import tilewright.onnx.backend
from tilewright import settings
from tilewright.cli.main import tilewright as command
from tilewright.onnx.capi import onnxruntime_pybind11_state


def lines() -> list[str]:
    """All names, sorted within each kind."""
    modules = (tilewright, tilewright.onnx, tilewright.onnx.backend, onnxruntime_pybind11_state)
    known: dict[Any, str] = {}
    names = sorted({line for module in modules for line in _of_module(module, known)})
    knobs = sorted(knob.variable for knob in settings.knobs())
    return [*names, *_of_command(command, "tilewright"), *knobs]


def _of_module(module: ModuleType, known: dict[Any, str]) -> Iterator[str]:
    """What a module exports; classes that another one has exported before are not described again."""
    public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in public:
        value = getattr(module, name)
        if not isinstance(value, ModuleType) and not getattr(value, "__module__", "").startswith(("typing", "__future__")):
            full = f"{module.__name__}.{name}"
            yield from [full] if isinstance(value, type) and known.setdefault(value, full) != full else _of_value(full, value)


def _of_value(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type):
        yield name
        yield from (f"{name}.{member}" for member in _members(value))
    elif callable(value):
        yield f"{name}({', '.join(_parameters(value))})"
    else:
        yield name


def _members(kind: type) -> Iterator[str]:
    """Public attributes that a class or one of ours above it defines, methods with their parameters."""
    if issubclass(kind, Enum):
        yield from (member.name for member in kind)
        return
    ours = [base for base in kind.__mro__ if base.__module__.startswith("tilewright")]
    known = {name: base for base in reversed(ours) for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    for name, base in known.items():
        if not name.startswith("_") or name == "__call__" or (name == "__init__" and "onnx" in kind.__module__):
            value = inspect.getattr_static(base, name, None)
            value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            yield f"{name}({', '.join(_parameters(value))})" if inspect.isfunction(value) else name


def _parameters(function: Any) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in ("self", "cls"):
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            yield stars + parameter.name


def _of_command(found: click.Command, name: str) -> Iterator[str]:
    yield name
    for parameter in found.params:
        yield f"{name} {'/'.join(parameter.opts) if isinstance(parameter, click.Option) else parameter.human_readable_name}"
    if isinstance(found, click.Group):
        context = click.Context(found)
        for inner in found.list_commands(context):
            yield from _of_command(found.get_command(context, inner), f"{name} {inner}")  # type: ignore[arg-type]


if __name__ == "__main__":
    print("\n".join(lines()))
