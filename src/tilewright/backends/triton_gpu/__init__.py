"""The backend of GPUs: a plan becomes a module of Triton, a kernel for each chain, which Triton compiles when it is first called.

Without a GPU `compile(runner="interpreter")` runs the same text in Triton's interpreter, on the CPU. What plans, renders and
launches is imported where it is used: neither Triton nor PyTorch comes with Tilewright.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilewright.artifact import Artifact
from tilewright.backends.backend import Backend
from tilewright.machine.machine import Machine
from tilewright.precision import Precision

if TYPE_CHECKING:
    from tilewright.backends.triton_gpu.launch import Loaded
    from tilewright.backends.triton_gpu.program import Program
    from tilewright.graph.rewrites import Rewrite
    from tilewright.graph.types import Graph
    from tilewright.plan.chain_planner import ChainPlanner
    from tilewright.plan.types import ModelPlan

GPU = "gpu"
"""The device of the machines that it serves."""
INTERPRETER = "interpreter"
"""The runner on the CPU."""
HALVES = ("float16", "bfloat16")


class TritonForGpus(Backend["Program"]):
    """One module of Triton per graph."""

    name = "triton_gpu"
    suffix = "py"
    element_types = ("float32", *HALVES, "int8", "int32")
    takes_tensors = True
    pads_rows = False
    stores_halves = True
    precisions = (Precision.FLOAT32, Precision.TF32, Precision.STRICT, Precision.FAST)
    runners = (INTERPRETER,)

    def serves(self, machine: Machine) -> bool:
        """GPUs with a streaming-multiprocessor architecture: sm_80, sm_90."""
        return machine.device == GPU

    def product_types(self, machine: Machine) -> frozenset[tuple[str, str]]:
        """Those that `tl.dot` takes."""
        return frozenset((dtype, dtype) for dtype in (*HALVES, "int8"))

    def rewrites(self, steps: tuple[Rewrite, ...], precision: Precision) -> tuple[Rewrite, ...]:
        """Those of all, and products of operands of 16 bits with intermediates."""
        from tilewright.backends.triton_gpu.rewrites import MixedProducts
        from tilewright.graph.rewrites.redundancy import DeadCode

        return (*steps, MixedProducts(), DeadCode())

    def with_merged_arguments(self, graph: Graph) -> tuple[Graph, Mapping[str, tuple[int, ...]]]:
        """The pixels of an image as one axis: rows of products of windows."""
        from tilewright.graph.rewrites.index_changes.flatten_tensors import with_merged_arguments
        from tilewright.graph.rewrites.index_changes.pixels import with_joined_pixels

        joined, dimensions = with_joined_pixels(graph)
        return (joined, dimensions) if joined is not graph else with_merged_arguments(graph)

    def chain_planner(self, precision: Precision) -> ChainPlanner:
        """One kernel of each chain, its tiles chosen by price."""
        from tilewright.backends.triton_gpu.planner import GpuPlanner

        return GpuPlanner(is_tf32=precision is Precision.TF32)

    def lower(self, model_plan: ModelPlan) -> Program:
        """The block program of every chain, and its kernel. Raises `UnsupportedOperation` for what Triton cannot say."""
        from tilewright.backends.triton_gpu.program import lower_program

        return lower_program(model_plan)

    def emit(self, program: Program) -> Artifact:
        """The module."""
        from tilewright.backends.triton_gpu.program import emit_program

        return emit_program(program)

    def lacking(self, artifact: Artifact) -> tuple[str, ...]:
        """A GPU, or a package."""
        from tilewright.backends.triton_gpu.launch import lacking

        return lacking(artifact.architecture)

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None, runner: str = "") -> Loaded:
        """The module, whose kernels are compiled by their first calls. Raises `TilewrightError` without Triton or PyTorch."""
        from tilewright.backends.triton_gpu.launch import load

        return load(artifact, is_interpreted=runner == INTERPRETER)


BACKEND = TritonForGpus()
