"""Functions of torch by the front end and the NumPy interpreter, against eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tests.support.torch.tracing import arrays_of, evaluated, recorded, traced

HALVES = (torch.float16, torch.bfloat16)


def check(function: Callable[..., Any], *inputs: torch.Tensor, mode: str = "fake") -> None:
    """The results are eager's, and nothing is refused."""
    module = traced(function, *inputs, mode=mode)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(function(*inputs))
    _check_results(module, inputs, expected)


def check_call(overload: Any, *inputs: torch.Tensor | None, **options: Any) -> None:
    """The same of one call, also of an operator that tracing would take apart."""
    graph = torch.fx.Graph()
    given = [tensor for tensor in inputs if tensor is not None]
    nodes = iter([graph.placeholder(f"x{number}") for number in range(len(given))])
    for node, tensor in zip(graph.nodes, given, strict=True):
        node.meta["val"] = tensor
    call = graph.call_function(overload, tuple(None if tensor is None else next(nodes) for tensor in inputs), options)
    call.meta["val"] = expected = overload(*inputs, **options)
    graph.output(call)
    _check_results(torch.fx.GraphModule({}, graph), given, [expected])


def _check_results(module: torch.fx.GraphModule, inputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    recording = recorded(module)
    assert not recording.refused
    for found, wanted in zip(evaluated(recording, module, inputs), expected, strict=True):
        assert found.dtype == arrays_of(wanted).dtype
        halves = {"rtol": 2e-2, "atol": 1e-2} if wanted.dtype in HALVES else {}
        wide = found.astype("float32") if halves else found
        torch.testing.assert_close(torch.from_numpy(wide), wanted.float() if halves else wanted, equal_nan=True, **halves)
