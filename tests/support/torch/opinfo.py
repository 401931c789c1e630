"""PyTorch's samples of its operators (OpInfo), on CPU: results of the front end, or of the compiled backend, against eager's.

    python -m tests.support.torch.opinfo [--dtype float32] [--samples 3] [--compiled [--dynamic]] [OPERATOR ...]

By default a sample is traced to ATen and recorded, and the NumPy interpreter evaluates the graph: no compiler runs. With
`--compiled`, `torch.compile(backend="tilewright")` runs it, and strides are compared; with `--dynamic`, calls tell extents. A
sample falls back if ATen must compute a part of it. An operator counts by its worst sample. Random operators and uninitialised
results are left out.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree

from tests.support.torch.tracing import arrays_of, eager_reasons, evaluated, functional, outputs_of, recorded
from tilewright.api.torch import counting
from tilewright.frontend.torch.program import BUG
from tilewright.torch import backend

KINDS = ("wrong", "raised", "fallback", "equal", "skipped")
"""Of outcomes, the worst first."""
BY_FLOAT64 = "beyond the tolerances of eager's, as near to float64"
"""Of equal results that only the second test accepts."""
LEFT_OUT = ("empty", "new_empty", "jiterator")
"""How names of operators begin whose results have no values, or that CPUs do not have."""
SECONDS = 10.0
"""For the samples of one operator."""
NOTE_CHARACTERS = 160


@dataclass(frozen=True)
class Outcome:
    """What became of a sample, and why."""

    kind: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Call:
    """An operator's call as a function of its tensors."""

    function: Callable[..., Any]
    tensors: tuple[torch.Tensor, ...]

    def eager(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """The results of ATen."""
        return _pytree.tree_leaves(self.function(*tensors))


def as_sampled(tensor: torch.Tensor) -> torch.Tensor:
    """The sample itself."""
    return tensor


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """A copy whose first dimension is the innermost, as long as it is a matrix or more."""
    return tensor.movedim(0, -1).contiguous().movedim(-1, 0) if tensor.dim() > 1 else tensor


def stepped(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in every second element of rows, from the second one on."""
    if not tensor.dim():
        return tensor
    around = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1))
    around[..., 1::2] = tensor
    return around[..., 1::2]


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in torch's order of images or volumes; another tensor itself."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats[tensor.dim()]) if tensor.dim() in formats else tensor


Layout = Callable[[torch.Tensor], torch.Tensor]
LAYOUTS: Mapping[str, Layout] = {one.__name__: one for one in (as_sampled, transposed, stepped, channels_last)}
"""How samples lie in memory."""


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same offset and strides."""
    if tensor.is_conj() or tensor.is_neg():
        return tensor.clone()
    storage = tensor.untyped_storage().clone()
    return tensor.new_empty(0).set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


Check = Callable[[Call, torch.fx.GraphModule, Sequence[torch.Tensor]], Outcome]
"""Judges a call by its traced graph and eager's results."""


def call_of(operator: Any, sample: Any, layout: Layout) -> Call:
    """The operator called as the sample says, of tensors in a layout."""
    leaves, structure = _pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        arguments, options = _pytree.tree_unflatten(given, structure)
        return operator.op(*arguments, **options)

    tensors = [leaves[place] for place in places]
    is_plain = all(tensor.layout == torch.strided and not tensor.is_quantized for tensor in tensors)
    return Call(function, tuple(map(layout, tensors) if is_plain else tensors))


def outcome(operator: Any, sample: Any, check: Check, layout: Layout) -> Outcome:
    """What becomes of one sample."""
    call = call_of(operator, sample, layout)
    if any(tensor.layout != torch.strided or tensor.is_quantized for tensor in call.tensors):
        return Outcome("skipped", "not strided")
    try:
        expected = call.eager(call.tensors)
        traced = functional(call.function, call.tensors)
    except Exception as problem:  # torch's: where tracing depends on values, Dynamo breaks the graph
        return Outcome("skipped", f"{type(problem).__name__}: {problem}")
    if not all(isinstance(one, torch.Tensor) for one in expected):
        return Outcome("skipped", "results that are no tensors")
    traced.graph.eliminate_dead_code()
    return Outcome("skipped", "random") if is_random(traced.graph) else check(call, traced, expected)


def is_random(graph: torch.fx.Graph) -> bool:
    """Whether a node draws random numbers."""
    return any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in graph.nodes)


def interpreted(call: Call, traced: torch.fx.GraphModule, expected: Sequence[torch.Tensor]) -> Outcome:
    """The recorded graph by the NumPy interpreter."""
    recording = recorded(traced)
    if reasons := eager_reasons(recording, traced):
        return fallen_back(reasons)
    found = evaluated(recording, traced, call.tensors)
    return judged(call, found, list(map(arrays_of, expected)))


def fallen_back(reasons: Sequence[str]) -> Outcome:
    """A decision, or a defect of the lowering."""
    return Outcome("raised" if any(BUG in reason for reason in reasons) else "fallback", "; ".join(reasons))


def compiled(call: Call, traced: torch.fx.GraphModule, expected: Sequence[torch.Tensor], *, dynamic: bool = False) -> Outcome:
    """The call under torch.compile; what Dynamo cannot trace for any backend is skipped."""
    if any(tensor.layout is not torch.strided or tensor.dtype is torch.complex32 for tensor in expected):
        return Outcome("skipped", "results that NumPy does not have")
    given, changed = (list(map(copied, call.tensors)) for _ in range(2))
    call.eager(changed)
    counting.reset()
    try:
        found = _compiled(call, backend, given, dynamic)
    except Exception:
        if _fails(lambda: _compiled(call, "aot_eager", list(map(copied, call.tensors)), dynamic)):
            return Outcome("skipped", "no backend compiles it")
        raise
    if any(not is_close(*map(arrays_of, pair)) for pair in zip(given, changed, strict=True)):
        return Outcome("wrong", "an operand is not what eager makes of it")
    reasons = [f"{node.operator}: {node.reason}" for graph in counting.reports() for node in graph.eager]
    reasons += [graph.why for graph in counting.reports() if graph.why and not graph.eager]
    verdict = judged(call, list(map(arrays_of, found)), list(map(arrays_of, expected)))
    if verdict.kind != "wrong" and not has_known_strides(call, traced, found, expected, dynamic):
        verdict = Outcome("wrong", f"strides {list(map(strides, found))} for {list(map(strides, expected))}")
    return fallen_back(list(dict.fromkeys(reasons))) if reasons and verdict.kind == "equal" else verdict


def has_known_strides(
    call: Call, traced: torch.fx.GraphModule, found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], dynamic: bool
) -> bool:
    """Whether strides are eager's, or those that the operator's fakes promise, or those under another backend."""
    own = list(map(strides, found))
    if own == list(map(strides, expected)):
        return True
    promised = [node.meta["val"] if isinstance(node, torch.fx.Node) else node for node in outputs_of(traced)]
    if own == list(map(strides, promised)):
        return True
    return own == list(map(strides, _compiled(call, "aot_eager", list(map(copied, call.tensors)), dynamic)))


def strides(tensor: torch.Tensor) -> tuple[tuple[int, int], ...]:
    """Dimension and stride of the extents above 1; none of an empty tensor."""
    pairs = enumerate(zip(tensor.shape, tensor.stride(), strict=True))
    return tuple((number, stride) for number, (extent, stride) in pairs if extent > 1) if tensor.numel() else ()


def _compiled(call: Call, backend: Any, tensors: Sequence[torch.Tensor], dynamic: bool) -> list[Any]:
    torch._dynamo.reset()
    return _pytree.tree_leaves(torch.compile(call.function, backend=backend, dynamic=dynamic)(*tensors))


def _fails(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except Exception:
        return True
    return False


def judged(call: Call, found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> Outcome:
    """Shapes, types, and values: within torch.testing's tolerances of eager's, or as near to float64 as twice eager's error."""
    note = ""
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.shape != other.shape:
            return Outcome("wrong", f"shape {one.shape} for {other.shape}")
        if one.dtype != other.dtype:
            return Outcome("wrong", f"type {one.dtype} for {other.dtype}")
        if not is_close(one, other):
            if not is_as_exact(call, number, one, other):
                return Outcome("wrong", f"result {number} differs by {largest_difference(one, other):.2e}")
            note = BY_FLOAT64
    return Outcome("equal", note)


def is_close(one: np.ndarray, other: np.ndarray) -> bool:
    """Integers: equality; NaN equals NaN."""
    if is_exact(other):
        return np.array_equal(one, other)
    relative, absolute = torch.testing._comparison.default_tolerances(getattr(torch, str(other.dtype)))
    return np.allclose(wide(one), wide(other), rtol=relative, atol=absolute, equal_nan=True)


def is_as_exact(call: Call, number: int, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether the error against float64 is at most twice eager's, or four roundings of the largest result, as sums in another
    order have; no, where float64 gives no such result, or eager overflows and float64 does not.
    """
    if is_exact(other) or str(other.dtype) == "float64":
        return False
    try:
        given = [tensor.double() if tensor.is_floating_point() else tensor.clone() for tensor in call.tensors]
        exact = wide(arrays_of(call.eager(given)[number]))
    except Exception:
        return False
    if exact.shape != other.shape:
        return False
    roundings = 4 * torch.finfo(getattr(torch, str(other.dtype))).eps * np.abs(exact).max(initial=0.0)
    eagers = largest_difference(other, exact)
    return bool(np.isfinite(eagers) and largest_difference(one, exact) <= max(2 * eagers, roundings))


def is_exact(array: np.ndarray) -> bool:
    """Whether values are integers or bool."""
    return array.dtype.kind in "biu"


def wide(array: np.ndarray) -> np.ndarray:
    """In float64 or complex128."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def largest_difference(one: np.ndarray, other: np.ndarray) -> float:
    """Infinite where only one of them is a number; equal values differ by nothing."""
    left, right = wide(one), wide(other)
    with np.errstate(all="ignore"):
        apart = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0.0, np.abs(left - right))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def outcomes(operator: Any, dtype: torch.dtype, samples: int, check: Check, layout: Layout) -> Iterator[Outcome]:
    """Of the first samples, as far as the time goes; a fault of ours is an outcome, too."""
    torch.manual_seed(0)
    deadline = time.monotonic() + SECONDS
    for sample in itertools.islice(operator.sample_inputs("cpu", dtype, requires_grad=False), samples):
        try:
            yield outcome(operator, sample, check, layout)
        except Exception as problem:
            yield Outcome("raised", f"{type(problem).__name__}: {problem}")
        if time.monotonic() > deadline:
            return


def worst(found: Iterable[Outcome]) -> Outcome:
    """The first of the worst kind; equal ones with a note come before others."""
    return min(found, key=lambda one: (KINDS.index(one.kind), not one.note), default=Outcome("skipped", "no sample"))


def operators(dtype: torch.dtype, names: Sequence[str]) -> list[Any]:
    """Those of that type, or of them those named."""
    from torch.testing._internal.common_methods_invocations import op_db

    known = [one for one in op_db if dtype in one.dtypes and not one.name.startswith(LEFT_OUT)]
    return [one for one in known if not names or one.name in names or one.full_name in names]


def verdicts(
    dtype: str, names: Sequence[str], samples: int, check: Check, layout: Layout = as_sampled
) -> Iterator[tuple[str, Outcome]]:
    """Each operator's worst outcome, by name."""
    for operator in operators(getattr(torch, dtype), names):
        yield operator.full_name, worst(outcomes(operator, getattr(torch, dtype), samples, check, layout))


def report(found: Mapping[str, Outcome]) -> Iterator[str]:
    """Counts, then why operators fall back, by frequency."""
    counts = Counter(one.kind for one in found.values())
    yield ", ".join(f"{counts[kind]} {kind}" for kind in ("equal", "fallback", "wrong", "raised", "skipped"))
    noted = [name for name, one in found.items() if one == Outcome("equal", BY_FLOAT64)]
    if noted:
        yield f"of the equal ones {len(noted)} are {BY_FLOAT64}: {', '.join(noted)}"
    names = defaultdict(list)
    for name, one in found.items():
        if one.kind == "fallback":
            names[one.note.split("; ")[0][:NOTE_CHARACTERS]].append(name)
    for reason, group in sorted(names.items(), key=lambda item: -len(item[1])):
        yield f"{len(group):4}  {reason}  ({', '.join(group[:4])}{', ...' if len(group) > 4 else ''})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.torch.opinfo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operators", nargs="*", help="names; by default all of the type")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=3, help="of each operator, at most")
    parser.add_argument("--compiled", action="store_true", help="run torch.compile instead of the NumPy interpreter")
    parser.add_argument("--dynamic", action="store_true", help="compile with dynamic=True")
    parser.add_argument("--layout", choices=LAYOUTS, default="as_sampled", help="of samples in memory")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    found: dict[str, Outcome] = {}
    check = partial(compiled, dynamic=options.dynamic) if options.compiled else interpreted
    for name, verdict in verdicts(options.dtype, options.operators, options.samples, check, LAYOUTS[options.layout]):
        found[name] = verdict
        if verdict.kind in ("wrong", "raised") or (options.operators and verdict.note):
            print(f"{name}: {verdict.kind}: {verdict.note[:NOTE_CHARACTERS]}", flush=True)
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
