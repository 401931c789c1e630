"""What is predicted of chains of Table IV on a named machine: fused against operator by operator, in seconds and in bytes.

Nothing is compiled or run. On devices with product units the operands are float16, as in the paper; on others float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tilewright as tw
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan
from tilewright.report import units
from tilewright.report.layout import columns
from tilewright.tune import chain_functions
from tilewright.tune.shapes import ChainShape, chain_shape
from tilewright_bench.cases.chains import KINDS
from tilewright_bench.tables.means import geometric_mean

HALF, SINGLE = "float16", "float32"
HEADING = ("case", "kernels", "chosen", "apart", "apart/chosen", "bytes chosen", "bytes apart", "fewer")


@dataclass(frozen=True, slots=True)
class PredictedChain:
    """One chain: the plan that the price chose beside that of every operator alone."""

    case: str
    softmax: bool
    kernels: int
    seconds: float
    apart_s: float
    compulsory_bytes: int
    """Inputs and results of every kernel, each once: what memory must move at least."""
    apart_bytes: int

    @property
    def fewer_bytes(self) -> float:
        """The share of the bytes apart that the chosen plan saves."""
        return 1 - self.compulsory_bytes / self.apart_bytes


@dataclass(frozen=True, slots=True)
class PredictedChains:
    """All chains of a run, for one machine."""

    machine: Machine
    dtype: str
    chains: tuple[PredictedChain, ...]

    def as_document(self) -> dict[str, Any]:
        """Everything, ready for JSON; times are predicted seconds."""
        chains = [asdict(chain) for chain in self.chains]
        return {"machine": self.machine.name, "dtype": self.dtype, "predicted": True, "chains": chains}

    def as_text(self) -> str:
        """A table for each kind, with the means of both ratios."""
        lines = [
            f"{self.machine.name}, {self.dtype}: all times are predicted; bytes are those of memory, each tensor of a kernel once"
        ]
        for softmax in dict.fromkeys(chain.softmax for chain in self.chains):
            chains = [chain for chain in self.chains if chain.softmax is softmax]
            lines += ["", "chains with softmax, predicted:" if softmax else "plain chains, predicted:", *_table(chains)]
        return "\n".join(lines)

    def wrong(self) -> tuple[str, ...]:
        """Nothing runs."""
        return ()


def predicted(names: Sequence[str], kind: str, target: str) -> PredictedChains:
    """Plan chains by name for a machine by name. Raises `PlanningError` where one has no plan."""
    machine = Machine.named(target)
    dtype = HALF if machine.accelerator is not None else SINGLE
    chains = tuple(_predicted(chain_shape(name), softmax, machine, dtype) for softmax in KINDS[kind] for name in names)
    return PredictedChains(machine, dtype, chains)


def _predicted(shape: ChainShape, softmax: bool, machine: Machine, dtype: str) -> PredictedChain:
    function: Callable[..., Any] = chain_functions.attention if softmax else chain_functions.gemm_chain
    specs = [tw.spec(operand, dtype) for operand in shape.operands]
    chosen, apart = (tw.jit(function, target=machine, fuse=fuse).lower(*specs).model_plan for fuse in (None, False))
    return PredictedChain(
        shape.name, softmax, len(chosen.plans), _seconds(chosen), _seconds(apart), _moved_bytes(chosen), _moved_bytes(apart)
    )


def _seconds(plan: ModelPlan) -> float:
    """On all cores."""
    return sum(chain.price.on(chain.machine.cores) for chain in plan.plans)


def _moved_bytes(plan: ModelPlan) -> int:
    return sum(chain.floor.compulsory_bytes for chain in plan.plans)


def _table(chains: Sequence[PredictedChain]) -> list[str]:
    rows = [list(HEADING), *map(_row, chains)]
    means = f"geometric mean of apart/chosen {geometric_mean([chain.apart_s / chain.seconds for chain in chains]):.2f}"
    least, most = (units.percent(pick(chain.fewer_bytes for chain in chains)) for pick in (min, max))
    return [*columns(rows, right=range(1, len(HEADING))), f"{means}; bytes fewer by {least} to {most}"]


def _row(chain: PredictedChain) -> list[str]:
    return [
        chain.case,
        str(chain.kernels),
        units.seconds(chain.seconds),
        units.seconds(chain.apart_s),
        f"{chain.apart_s / chain.seconds:.2f}",
        units.exact(chain.compulsory_bytes),
        units.exact(chain.apart_bytes),
        units.percent(chain.fewer_bytes),
    ]
