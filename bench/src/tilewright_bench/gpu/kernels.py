"""Our own kernels of a case: planned for the card as the price chose, or operator by operator; compiled; and what they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tilewright as tw
from tilewright import compiler
from tilewright.backends.loading import check_runs_here
from tilewright.backends.triton_gpu.launch import Loaded, Resources, load
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan, Plan
from tilewright_bench.gpu.cases import HALF, GpuCase
from tilewright_bench.gpu.device import Device
from tilewright_bench.gpu.pricing import PricedKernel, priced_kernels

OURS, APART = "tilewright", "tilewright apart"
FUSE: dict[str, bool | None] = {OURS: None, APART: False}
"""By contender: whether chains are fused; None where the price decides."""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel beside its plan; None for what the device does not tell."""

    contender: str
    kernel: str
    predicted_s: float
    predicted_shared_bytes: int
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Own:
    """A compiled function, ready to be called with tensors of the device."""

    contender: str
    loaded: Loaded
    plan: ModelPlan
    rows: tuple[KernelRow, ...]

    def __call__(self, *tensors: Any) -> Any:
        """The result, a new tensor as PyTorch's are."""
        outputs = self.loaded.new_outputs(tensors)
        self.loaded.run(tensors, outputs)
        return outputs[0]

    @property
    def predicted_s(self) -> float:
        """Of all kernels."""
        return sum(row.predicted_s for row in self.rows)

    @property
    def compulsory_bytes(self) -> int:
        """Inputs and results of every kernel, each once."""
        return sum(plan.floor.compulsory_bytes for plan in self.plan.plans)

    def priced(self) -> tuple[PricedKernel, ...]:
        """For the fit."""
        return priced_kernels(self.plan)


def own(case: GpuCase, contender: str, machine: Machine, device: Device, tensors: Sequence[Any]) -> Own:
    """Plan and compile a case. Raises `TilewrightError` where it cannot be planned or compiled."""
    jitted = tw.jit(case.function, target=machine, fuse=FUSE[contender])
    plan = jitted.lower(*(tw.spec(shape, HALF) for shape in case.shapes)).model_plan
    artifact = compiler.generate(plan)
    if not device.runner:
        check_runs_here(artifact, machine)
    loaded = load(artifact, is_interpreted=bool(device.runner))
    found = {one.kernel: one for one in loaded.resources(tensors)} if device.has_resources else {}
    names = [launch[0] for launch in loaded.launches]
    rows = tuple(_row(contender, name, one, found.get(name)) for name, one in zip(names, plan.plans, strict=True))
    return Own(contender, loaded, plan, rows)


def _row(contender: str, name: str, plan: Plan, found: Resources | None) -> KernelRow:
    shared = next(int(level.used_bytes) for level in plan.levels if level.level == "shared")
    if found is None:
        return KernelRow(contender, name, plan.price.seconds, shared)
    return KernelRow(contender, name, plan.price.seconds, shared, found.registers, found.spills, found.shared_bytes)
