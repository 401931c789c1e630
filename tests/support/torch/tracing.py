"""ATen graphs through the front end and the NumPy interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.dtypes import BITS, dtype_named
from tilewright.frontend.torch.program import Computed, Recording
from tilewright.graph.interpreter import evaluate


def traced(function: Callable[..., Any], *tensors: torch.Tensor, mode: str = "fake") -> GraphModule:
    """The calls of ATen that a function makes of tensors, without those that nobody needs; extents are symbols if `mode` says."""
    with torch.no_grad():
        module = make_fx(function, tracing_mode=mode, _allow_non_fake_inputs=True)(*tensors)
    module.graph.eliminate_dead_code()
    return module


def functional(function: Callable[..., Any], tensors: Sequence[torch.Tensor], mode: str = "fake") -> GraphModule:
    """The traced calls, none of which changes an operand: those of which ATen composes operators may, in a first trace."""
    traced = make_fx(torch.func.functionalize(function), tracing_mode=mode)(*tensors)
    if any(getattr(getattr(node.target, "_schema", None), "is_mutable", False) for node in traced.graph.nodes):
        traced = make_fx(torch.func.functionalize(traced), tracing_mode=mode)(*tensors)
    return traced


def recorded(module: GraphModule, constants: Mapping[str, torch.Tensor] | None = None) -> Recording:
    """What the front end makes of a traced graph."""
    return Recording.of(module, constants or {}, "traced")


def outputs_of(module: GraphModule) -> list[Any]:
    """What the graph returns: nodes, or values that are none."""
    return torch.utils._pytree.tree_leaves(module.graph.output_node().args[0])


def eager_reasons(recording: Recording, module: GraphModule) -> list[str]:
    """Why the results cannot be computed without ATen: operator and reason of each refused node that they need, once."""
    needed = _ancestors([one for one in outputs_of(module) if isinstance(one, Node)])
    refused = [(node, reason) for node, reason in recording.refused.items() if node in needed]
    return list(dict.fromkeys(f"{node.target}: {reason}" for node, reason in refused))


def evaluated(recording: Recording, module: GraphModule, tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The graph's results for the values of its placeholders, by the NumPy interpreter."""
    placeholders = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, map(arrays_of, tensors), strict=True))
    program = recording.program(outputs_of(module))
    inputs = {name: values[placeholder] for name, placeholder in zip(program.graph.inputs, program.inputs, strict=True)}
    computed = evaluate(program.graph, inputs) if program.graph.outputs else {}
    results = []
    for result in program.results:
        is_computed = isinstance(result, Computed)
        results.append(computed[program.graph.outputs[result.number]] if is_computed else _given(result.value, values))
    return results


def _given(value: Any, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The value of a placeholder, by its name, or a value as it is."""
    if isinstance(value, str):
        return values[value]
    return arrays_of(value) if isinstance(value, torch.Tensor) else np.asarray(value)


def arrays_of(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's values; types that NumPy does not know are those of ml_dtypes."""
    plain, name = tensor.detach().resolve_conj().resolve_neg(), str(tensor.dtype).removeprefix("torch.")
    if name in BITS:
        return plain.contiguous().view(getattr(torch, BITS[name])).numpy().view(dtype_named(name))
    return plain.numpy()


def _ancestors(nodes: Sequence[Node]) -> set[Node]:
    found, waiting = set(nodes), list(nodes)
    while waiting:
        fresh = [one for one in waiting.pop().all_input_nodes if one not in found]
        found.update(fresh)
        waiting.extend(fresh)
    return found
