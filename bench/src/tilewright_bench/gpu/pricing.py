"""The kernel of a plan, priced again with other figures of the GPU: the same formulas, of the one candidate that was chosen."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from tilewright.backends.triton_gpu.candidates import Candidates
from tilewright.backends.triton_gpu.figures import Gpu
from tilewright.backends.triton_gpu.planner import Chosen, Kernel, chosen_of, kernels_of
from tilewright.backends.triton_gpu.price import priced
from tilewright.backends.triton_gpu.resources import Resources
from tilewright.plan.types import ModelPlan, Plan


@dataclass(frozen=True, slots=True)
class PricedKernel:
    """One candidate of the planner."""

    kernel: Kernel
    candidates: Candidates
    """The one."""
    resources: Resources
    """Of it."""

    def seconds(self, gpu: Gpu) -> float:
        """Predicted by these figures."""
        work = self.kernel.work
        trips = work.trips(self.candidates.tiles)
        return float(priced(work, self.kernel.operands, self.candidates, trips, self.resources, gpu).seconds[0])


def priced_kernels(plan: ModelPlan) -> tuple[PricedKernel, ...]:
    """Those of a graph in order."""
    return tuple(map(_of, plan.plans))


def _of(plan: Plan) -> PricedKernel:
    return _alone(chosen_of(kernels_of(plan.chain, plan.machine))[0])


def _alone(chosen: Chosen) -> PricedKernel:
    candidates, resources = chosen.kernel.candidates, chosen.kernel.resources
    here = np.arange(candidates.warps.size) == chosen.place
    return PricedKernel(
        chosen.kernel,
        candidates.where(here),
        Resources(**{field.name: getattr(resources, field.name)[here] for field in fields(resources)}),
    )
