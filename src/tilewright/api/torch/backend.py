"""The backend of torch.compile: Dynamo's graph becomes ATen calls without decompositions, and these become libraries.

Without gradients, parameters and buffers are constants that are packed once. With gradients, forward and backward run in eager
mode.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from tilewright.api import logs
from tilewright.api import torch_internals as internals
from tilewright.api.torch import counting
from tilewright.api.torch.counting import GraphReport
from tilewright.api.torch.graphs import NAME, compiled, in_eager_mode
from tilewright.api.torch.options import checked_options
from tilewright.frontend.torch.element_types import NAMES
from tilewright.runtime import search_core, workers
from tilewright.runtime.native import weights

NO_GRADIENTS = "gradients are wanted"
WARNING = (
    "tilewright compiles inference only: gradients are wanted here, so that forward and backward run in eager mode, no faster "
    "than without torch.compile. Call the model under torch.no_grad() or torch.inference_mode()."
)
_warned: list[str] = []


def backend(
    gm: GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Callable[..., Any]:
    """`torch.compile(model, backend="tilewright", options={...})` calls it, with a graph and examples of its inputs.

    Options are `threads` (None: as many as torch has when it is called), `precision` and `fuse` as `tilewright.jit` takes them,
    and `freeze` (True: parameters and buffers are packed once, and again when they have changed).

    Operators that are not compiled run in eager mode inside the graph, which never breaks for them. Raises `TilewrightError` for
    options that there are not, and `ToolchainError` where no compiler works.
    """
    logs.configure()
    internals.register("tilewright", backend)
    chosen = checked_options(options, mode)
    _begin(gm)
    static = _static(example_inputs) if chosen.freeze else {}
    counts = [len(internals.inner_tensors(example)) for example in example_inputs]

    def inference(module: GraphModule, examples: Sequence[Any]) -> Callable[[list[Any]], Any]:
        return compiled(module, _frozen(module, static, counts) if chosen.freeze else {}, chosen)

    try:
        return internals.through_autograd(gm, example_inputs, inference=inference, gradients=_with_gradients)
    finally:
        static.clear()  # else replaced weights would live on


def reset() -> None:
    """What `torch._dynamo.reset()` calls: reports are forgotten, and the warning is given again."""
    counting.reset()
    _warned.clear()


backend.reset = reset  # type: ignore[attr-defined]


def _begin(module: GraphModule) -> None:
    """Compile what planning and calls will need, while AOTAutograd works."""
    if torch.is_grad_enabled():
        return
    beside = workers.pool(1)
    search_core.begin(sum(node.op.startswith("call") for node in module.graph.nodes), beside.submit)
    beside.submit(weights.library)


def _with_gradients(module: GraphModule, examples: Sequence[Any]) -> Callable[[list[Any]], Any]:
    if not _warned:
        _warned.append(WARNING)
        warnings.warn(WARNING, UserWarning, stacklevel=2)
    counting.add(GraphReport(NAME, 0, 0, (), NO_GRADIENTS))
    return in_eager_mode(module)


def _static(examples: Sequence[Any]) -> dict[int, torch.Tensor]:
    """Parameters and buffers among the inputs of Dynamo's graph, by their places."""
    return {
        place: example
        for place, example in enumerate(examples)
        if isinstance(example, torch.nn.Parameter) or internals.static_kind(example) is not None
    }


def _frozen(module: GraphModule, static: Mapping[int, torch.Tensor], counts: Sequence[int]) -> dict[str, torch.Tensor]:
    """What is frozen of a graph's placeholders, by their names. `counts` are the tensors that inputs are made of.

    Those that the graph writes to are not: their versions change in every call. Nor is what counts no versions, and subclasses;
    of these, what they are made of is. Should places have moved, calls find other tensors there than these, and pack those.
    """
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    changed, lifted = internals.changed_inputs(), internals.lifted_parameters()
    parts = [*map(internals.inner_tensors, lifted)]
    parts += [internals.inner_tensors(static[place]) if place in static else [None] * count for place, count in enumerate(counts)]
    candidates = [tensor for some in parts for tensor in some]
    has_subclasses = len(candidates) > len(parts)
    if changed is None or len(placeholders) != len(candidates) or (changed and has_subclasses):
        return {}
    return {
        node.name: tensor
        for place, (node, tensor) in enumerate(zip(placeholders, candidates, strict=True))
        if place not in changed and tensor is not None and _can_be_frozen(tensor, node.meta.get("val"))
    }


def _can_be_frozen(tensor: Any, example: Any) -> bool:
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not isinstance(example, torch.Tensor):
        return False
    if tensor.is_inference() or tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.dtype not in NAMES:
        return False
    is_same = tuple(tensor.shape) == tuple(example.shape) and tensor.dtype == example.dtype
    return is_same and not (tensor.is_conj() or tensor.is_neg())
