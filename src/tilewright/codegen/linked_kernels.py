"""Micro kernels that a library links for a chain, found from the plan of the chain alone, before the library has a text.

Their text depends on tile shapes, types and epilogues, not on where tensors lie, nor on other chains of the library.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.emit_c.c_file import File
from tilewright.codegen.emit_c.kernel_functions import kernel_functions
from tilewright.codegen.emit_c.nest import kernel_calls
from tilewright.codegen.lower.chain import lower
from tilewright.codegen.lower.storage import Stored
from tilewright.codegen.names import identifier, stride
from tilewright.graph.types import Tensor
from tilewright.kernels.contract import KernelSource
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.registry import by_name, dialect_for
from tilewright.plan.types import Plan


@dataclass(frozen=True, slots=True)
class LinkedKernels:
    """Translation units, and the CPU that they are for."""

    units: tuple[KernelSource, ...]
    architecture: str
    features: frozenset[str]


def linked_kernels(plan: Plan) -> LinkedKernels:
    """The kernels of a chain that are not inlined; none of a chain that C code cannot compute."""
    machine = plan.machine
    dialect = dialect_for(machine.architecture, machine.features)
    kernels = by_name()
    used = [part for part in plan.operators if part.micro_kernel is not None]
    features = dialect.features.union(*(kernels[part.micro_kernel].features for part in used if part.micro_kernel is not None))
    if all(part.calls.inlined for part in used) or any(tensor.dtype not in C_TYPES for tensor in plan.chain.tensors):
        return LinkedKernels((), machine.architecture, features)
    tensors = [plan.chain.tensor(name) for name in (*plan.chain.inputs, plan.chain.output)]
    nests = lower(plan, kernels, dialect.lanes, {tensor.name: _stored(tensor) for tensor in tensors}, ())
    calls = [call for nest in nests for call in kernel_calls(nest)]
    file = File("", (), dialect, kernels, (), (), 0)
    return LinkedKernels(kernel_functions(file, calls).linked, machine.architecture, features)


def _stored(tensor: Tensor) -> Stored:
    """With rows of any length."""
    last = len(tensor.shape) - 1
    strides = tuple(1 if dimension == last else stride(tensor.name, dimension) for dimension in range(last + 1))
    return Stored(identifier(tensor.name), strides, (0,) * len(strides), dtype=tensor.dtype)
