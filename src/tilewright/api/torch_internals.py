"""Everything of torch that torch calls private, in one place: what may change with its next version (this is for 2.13).

Symbolic extents are read in `frontend/torch/extents.py` and `torch_operators/extents.py`; `dynamo.py` speaks to Dynamo without
importing torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias

import torch
from torch._dynamo.backends import registry
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch._guards import TracingContext
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode,
    is_traceable_wrapper_subclass,
)

Compiler: TypeAlias = Callable[[GraphModule, Sequence[Any]], Callable[[list[Any]], Any]]
"""Gets a graph of ATen calls and examples of its inputs; gives a function of one list of arguments, which it clears."""
_PYTHON_KEYS = frozenset((torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd))
_resizing_lock = threading.RLock()


def through_autograd(
    module: GraphModule, examples: Sequence[Any], *, inference: Compiler, gradients: Compiler
) -> Callable[..., Any]:
    """Let AOTAutograd make a graph functional, and hand its ATen calls, none of them decomposed, to a compiler: to `inference`
    where nobody wants gradients, else those of forward and backward to `gradients`."""
    with _whole_resizing() if _has_known_extents(examples) else nullcontext():
        made: Callable[..., Any] = aot_autograd(
            fw_compiler=gradients, bw_compiler=gradients, inference_compiler=inference, decompositions={}
        )(module, examples)
    _forget_module(made)
    return made


def _has_known_extents(examples: Sequence[Any]) -> bool:
    """Whether no extent is known at run time only."""
    extents = [extent for example in examples for extent in getattr(example, "shape", (example,))]
    return not any(isinstance(extent, torch.SymInt) for extent in extents)


@contextmanager
def _whole_resizing() -> Iterator[None]:
    """Inside, resizing of images is one call, as in eager mode: torch's compiler takes it apart by implementations in Python.

    Those of C++, which are used in their place, do not take extents of run time.
    """
    operators = [overload for overload in _resizing() if not _PYTHON_KEYS.isdisjoint(overload.py_kernels)]
    with _resizing_lock:
        kept = [{key: overload.py_kernels.pop(key) for key in _PYTHON_KEYS & {*overload.py_kernels}} for overload in operators]
        _forget_dispatch(operators)
        try:
            yield
        finally:
            for overload, kernels in zip(operators, kept, strict=True):
                overload.py_kernels.update(kernels)
            _forget_dispatch(operators)


def _resizing() -> Iterator[Any]:
    for name in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d"):
        for full in (f"upsample_{name}", f"_upsample_nearest_exact{name.removeprefix('nearest')}"):
            packet = getattr(torch.ops.aten, full, None)
            yield from () if packet is None else (getattr(packet, overload) for overload in ("default", "vec"))


def _forget_dispatch(operators: Sequence[Any]) -> None:
    for overload in operators:
        overload._dispatch_cache.clear()


def _forget_module(function: Any) -> None:
    """AOTAutograd gives its functions methods of the module, which would keep all that was known while it was compiled."""
    while function is not None:
        for name in ("zero_grad", "named_parameters", "named_buffers"):
            vars(function).pop(name, None)
        function = vars(function).get("_torchdynamo_orig_callable")


def register(name: str, backend: Any) -> None:
    """Make a backend known by a name, if it is not: of others Dynamo keeps weak references to parameters, and `swap_tensors` does
    not take tensors that have any."""
    if name not in registry._COMPILER_FNS:
        registry.register_backend(backend, name=name)


traced_loosely = torch._dynamo.nonstrict_trace
"""A decorator of functions that Dynamo calls with fake tensors, and does not look into."""


def is_watched() -> bool:
    """Whether Python sees the calls of operators: torch records them, or computes with other tensors than are given."""
    return _get_current_dispatch_mode() is not None


def has_no_elements(tensor: torch.Tensor) -> bool:
    """Whether a tensor stands for another: a fake one, or one that is being traced."""
    return type(tensor).__module__.startswith("torch._subclasses")


def real_tensors() -> AbstractContextManager[Any]:
    """Inside, tensors are real: a compiler runs where all that it touches becomes fake."""
    found: AbstractContextManager[Any] = _disable_current_modes()
    return found


def static_kind(example: Any) -> str | None:
    """How Dynamo has marked a tensor that belongs to a module or the like; None for what changes from call to call."""
    kind: str | None = getattr(example, "_dynamo_static_input_type", None)
    return kind


def lifted_parameters() -> list[Any]:
    """The tensors that AOTAutograd puts before the inputs of the graph that is being compiled."""
    context = TracingContext.try_get()
    return [] if context is None or context.params_flat is None else list(context.params_flat)


def inner_tensors(value: Any) -> list[Any]:
    """The tensors that graphs have in the place of an input: those that a subclass is made of, else the input itself."""
    if not is_traceable_wrapper_subclass(value):
        return [value]
    names, _ = value.__tensor_flatten__()
    return [inner for name in names for inner in inner_tensors(getattr(value, name))]


def changed_inputs() -> frozenset[int] | None:
    """Places of the inputs that the graph being compiled writes to; None where nothing is known."""
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return None
    inputs = enumerate(context.fw_metadata.input_info)
    return frozenset(place for place, known in inputs if known.mutates_data or known.mutates_metadata)


def boxed(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Tell AOTAutograd that a function, or a method, takes one list, which it clears."""
    vars(getattr(function, "__func__", function))["_boxed_call"] = True
    return function


def storage_of(example: Any) -> int:
    """The identity of the memory of a fake tensor: views have their base's."""
    identity: int = example.untyped_storage()._cdata
    return identity


class _Chosen(OperatorSupportBase):  # type: ignore[misc]
    def __init__(self, nodes: Collection[Node]) -> None:
        self._nodes = nodes

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node in self._nodes


def parts_of(module: GraphModule, supported: Collection[Node]) -> list[list[Node]]:
    """Supported nodes in few groups, each of which can be computed at once, in the order of the graph."""
    partitioner = CapabilityBasedPartitioner(module, _Chosen(supported), allows_single_node_partition=True)
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    return [sorted(part.nodes, key=places.__getitem__) for part in partitioner.propose_partitions()]


def with_modules(module: GraphModule, parts: Sequence[Sequence[Node]], prefix: str) -> GraphModule:
    """The module, changed: every part is a call of a submodule `<prefix><number>`, which gives a tuple."""
    from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

    fused: GraphModule = fuse_by_partitions(
        module, [dict.fromkeys(part) for part in parts], prefix=prefix, always_return_tuple=True
    )
    return fused


def computes(target: Any) -> bool:
    """Whether a node calls an operator of ATen or the like that gives new elements: no view, and no function of Python."""
    return isinstance(target, torch._ops.OpOverload) and not target.is_view


def reset() -> None:
    """Make torch forget all compiled code, and what it has counted."""
    torch._dynamo.reset()
    counters.clear()


def graph_breaks() -> dict[str, int]:
    """Why torch ended graphs since the last `reset`, and how often."""
    return {str(reason).split("\n", 1)[0]: count for reason, count in counters["graph_break"].items()}


def is_random(target: Any) -> bool:
    """Whether a node calls an operator that draws random numbers."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def elements_function() -> int:
    """The address of a function in C that tells where the elements of a tensor are, as `data_ptr` does; 0 if torch has none."""
    found = getattr(getattr(torch._C._dynamo, "guards", None), "_torchinductor_pyobject_tensor_data_ptr", 0)
    return found if isinstance(found, int) else 0
