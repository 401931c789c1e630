"""A case with its contenders: our kernels fused and apart, PyTorch eager, torch.compile; compiled, called once, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tilewright.machine import Machine
from tilewright_bench.gpu.cases import Array, GpuCase
from tilewright_bench.gpu.device import Call, Device
from tilewright_bench.gpu.failures import FAILURES, told
from tilewright_bench.gpu.kernels import APART, OURS, Own, own
from tilewright_bench.gpu.results import Checked

EAGER, COMPILED = "PyTorch", "torch.compile"


@dataclass(slots=True)
class Prepared:
    """A case, and what is to be timed of it."""

    case: GpuCase
    tensors: Sequence[Any]
    owns: list[Own] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    checked: list[Checked] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add_peer(self, contender: str, function: Any, device: Device) -> None:
        """A function of PyTorch's tensors, called once: `torch.compile` compiles then. What it raises is kept in words."""
        call = partial(function, *self.tensors)
        try:
            call()
            device.synchronise()
        except FAILURES as problem:
            self.problems.append(f"{contender}: {told(problem)}")
        else:
            self.calls[contender] = call


def prepared(case: GpuCase, machine: Machine, device: Device) -> Prepared:
    """Our kernels, checked against NumPy in float64, and PyTorch eager."""
    arguments = case.arguments()
    try:
        found = Prepared(case, [device.tensor(array) for array in arguments])
    except FAILURES as problem:
        return Prepared(case, (), problems=[f"arguments: {told(problem)}"])
    expected = case.expected(arguments)
    for contender in (OURS, APART):
        try:
            _add_own(found, contender, machine, device, expected)
        except FAILURES as problem:
            found.problems.append(f"{contender}: {told(problem)}")
    found.add_peer(EAGER, case.eager, device)
    return found


def add_compiled(found: Prepared, device: Device) -> None:
    """torch.compile of the same function, for these shapes."""
    found.add_peer(COMPILED, device.torch.compile(found.case.eager, dynamic=False), device)


def _add_own(found: Prepared, contender: str, machine: Machine, device: Device, expected: Array) -> None:
    made = own(found.case, contender, machine, device, found.tensors)
    result = device.array(made(*found.tensors))
    found.owns.append(made)
    found.checked.append(Checked(contender, relative_error(result, expected)))
    found.calls[contender] = partial(made, *found.tensors)


def relative_error(result: Array, expected: Array) -> float:
    """Of the Frobenius norm.

    >>> relative_error(np.array([3.0, 0.0]), np.array([3.0, 4.0]))
    0.8
    """
    return float(np.linalg.norm(result.astype(np.float64) - expected) / (np.linalg.norm(expected) or 1.0))


def own_calls(found: Prepared) -> Mapping[str, Call]:
    """Those of our kernels and of PyTorch eager, whose bytes are counted."""
    return {name: call for name, call in found.calls.items() if name != COMPILED}
