"""A program: a module of torch with its lines, and the calls that are made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from tests.support.random.torch.values import Given

NAMES: dict[str, Any] = {"torch": torch, "nn": nn, "F": nn.functional, "inf": float("inf"), "nan": float("nan")}


@dataclass(frozen=True)
class Line:
    """A result that gets a name, or a statement."""

    name: str
    text: str
    dtype: str = ""
    shape: tuple[int, ...] = ()

    @property
    def statement(self) -> str:
        return f"{self.name} = {self.text}" if self.name else self.text


@dataclass(frozen=True)
class Called:
    """A call: values of lengths, the number `k`, and what is done to `model` before."""

    lengths: tuple[tuple[str, int], ...]
    number: float
    seed: int
    change: str = ""


@dataclass(frozen=True)
class Options:
    """Of torch.compile."""

    dynamic: bool | None = False
    fuse: bool | None = None
    freeze: bool = True
    threads: int = 1
    is_inference_mode: bool = False


@dataclass(frozen=True)
class Program:
    """A module, how it is compiled, and its calls."""

    seed: int
    arguments: tuple[Given, ...]
    parameters: tuple[Given, ...]
    buffers: tuple[Given, ...]
    lines: tuple[Line, ...]
    outputs: tuple[str, ...]
    calls: tuple[Called, ...]
    options: Options = Options()

    def source(self) -> str:
        """The method that is compiled."""
        names = [*(f"self.{one.name}" for one in (*self.parameters, *self.buffers))]
        lines = [f"{name.removeprefix('self.')} = {name}" for name in names]
        lines += [line.statement for line in self.lines]
        lines += [f"return {', '.join(self.outputs)},"]
        parameters = ", ".join(["self", *(one.name for one in self.arguments), "k"])
        return f"def forward({parameters}):\n    " + "\n    ".join(lines) + "\n"

    def module(self) -> nn.Module:
        """A new module, with weights of its own."""
        names = {**NAMES}
        exec(self.source(), names)
        made = type("Model", (nn.Module,), {"forward": names["forward"]})()
        for one in self.parameters:
            setattr(made, one.name, nn.Parameter(one.made({}, self.seed, {})))
        for one in self.buffers:
            made.register_buffer(one.name, one.made({}, self.seed, {}))
        return made.eval()

    def inputs(self, call: Called) -> tuple[torch.Tensor, ...]:
        """New tensors for a call."""
        made: dict[str, torch.Tensor] = {}
        for one in self.arguments:
            made[one.name] = one.made(dict(call.lengths), call.seed, made)
        return tuple(made.values())

    def text(self) -> str:
        given = [f"{one.name}: {one.text}" for one in (*self.arguments, *self.parameters, *self.buffers)]
        return "\n".join([*given, self.source(), str(self.options), *map(str, self.calls)])

    def with_lines(self, lines: tuple[Line, ...], outputs: tuple[str, ...] | None = None) -> Program:
        """The same with other lines, and perhaps other outputs."""
        return replace(self, lines=lines, outputs=self.outputs if outputs is None else outputs)
