"""What becomes of a program: compiled, called, and compared with eager mode call by call.

Results, arguments and weights after the call: values, types, shapes, strides, and who shares memory with whom. Values may be off
by so much as other roundings move them; an element that those decide otherwise is not compared. Where AOTAutograd without a
compiler (`aot_eager`) differs as well, the difference is torch's, and the program is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.utils import _pytree

from tests.support.random.torch.program import NAMES, Called, Program
from tests.support.random.torch.rounding import Checked, Noisy
from tests.support.sweeps import EQUAL, INTERNAL, SKIPPED, WRONG, Outcome
from tilewright.api.torch import counting
from tilewright.frontend.torch.program import BUG
from tilewright.torch import backend

TWINS = 6
SPREADS = 16.0
"""Results may be off by so many times what other roundings change."""
UNITS = 16.0
"""Of an element, in units in the last place, beside it."""


@dataclass
class Ran:
    """What a call gave: its outputs, all tensors that it may have written to, or why it raised."""

    outputs: list[Any]
    tensors: list[torch.Tensor]
    problem: Exception | None = None


def outcome(program: Program) -> Outcome:
    """Compiled, run, and compared."""
    found = _compared(program, backend)
    if not found.is_failure:
        return found
    without = _compared(program, "aot_eager")
    return Outcome(SKIPPED, f"torch: {without.reason}") if without.is_failure else found


def _compared(program: Program, compiler: Any) -> Outcome:
    torch._dynamo.reset()
    torch.set_num_threads(program.options.threads)
    chosen = {"fuse": program.options.fuse, "freeze": program.options.freeze} if compiler is backend else None
    chosen = chosen and {name: value for name, value in chosen.items() if value is not None}
    eager, model = program.module(), program.module()
    compiled = torch.compile(model, backend=compiler, dynamic=program.options.dynamic, options=chosen or None)
    for number, call in enumerate(program.calls):
        wanted, found = _ran(program, call, eager, eager), _ran(program, call, model, compiled)
        if (
            not found.problem
            and _strides_of(found) not in (_strides_of(wanted), [])
            and _is_promised(found, program, call, eager)
        ):
            return Outcome(SKIPPED, "torch: fakes promise other strides than eager mode has")
        if problem := _difference(found, wanted, partial(_twins, program, number)):
            return Outcome(INTERNAL if found.problem else WRONG, f"{problem} (call {number})")
        if wanted.problem:
            return Outcome(EQUAL)
    return _defects()


def _strides_of(ran: Ran) -> list[list[int]]:
    return [_strides(one) for one in ran.outputs if isinstance(one, torch.Tensor)]


def _is_promised(found: Ran, program: Program, call: Called, module: Any) -> bool:
    """Whether strides are those that the outputs of fake tensors have, by which torch compiles what is around a graph."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        inputs = [mode.from_tensor(one) for one in program.inputs(call)]
        try:
            outputs = _pytree.tree_leaves(module(*inputs, call.number))
        except Exception:  # of values that fakes do not have
            return False
    return _strides_of(found) == [_strides(one) for one in outputs if isinstance(one, torch.Tensor)]


def _twins(program: Program, number: int) -> list[Ran]:
    """What a call gives in eager mode with other roundings in it and in those before."""
    modules = [program.module() for _ in range(TWINS)]
    made: list[Ran] = []
    for place, call in enumerate(program.calls[: number + 1]):
        made = []
        for seed, module in enumerate(modules):
            with Checked(), Noisy(100 * place + seed):
                made.append(_ran(program, call, module, module))
    return made


def _defects() -> Outcome:
    """Reasons of eager calls that are no decisions."""
    reports = counting.reports()
    reasons = [node.reason for report in reports for node in report.eager] + [report.why for report in reports]
    found = next((reason for reason in reasons if BUG in reason), "")
    return Outcome(INTERNAL, found) if found else Outcome(EQUAL)


def _ran(program: Program, call: Called, model: Any, run: Any) -> Ran:
    inputs = program.inputs(call)
    try:
        with torch.no_grad():
            if call.change:
                exec(call.change, {**NAMES, "model": model})
        with torch.inference_mode() if program.options.is_inference_mode else torch.no_grad():
            outputs = _pytree.tree_leaves(run(*inputs, call.number))
    except Exception as problem:
        return Ran([], [], problem)
    weights = [*model.parameters(), *model.buffers()]
    return Ran(outputs, [*(one for one in outputs if isinstance(one, torch.Tensor)), *inputs, *weights])


def _difference(found: Ran, wanted: Ran, twins: Callable[[], list[Ran]]) -> str:
    if found.problem or wanted.problem:
        return _difference_of_problems(found.problem, wanted.problem)
    if [type(one) for one in found.outputs] != [type(one) for one in wanted.outputs]:
        return f"outputs of types {[type(one) for one in found.outputs]} for {[type(one) for one in wanted.outputs]}"
    plain = [pair for pair in zip(found.outputs, wanted.outputs, strict=True) if not isinstance(pair[0], torch.Tensor)]
    if any(one != other for one, other in plain):
        return f"a number {plain}"
    if _shared(found.tensors) != _shared(wanted.tensors):
        return f"memory is shared as {_shared(found.tensors)} for {_shared(wanted.tensors)}"
    if not _difference_of_values(found, wanted, [wanted]):
        return ""
    moved = twins()
    return "" if any(one.problem for one in moved) else _difference_of_values(found, wanted, moved)


def _difference_of_values(found: Ran, wanted: Ran, moved: Sequence[Ran]) -> str:
    for number, (one, other) in enumerate(zip(found.tensors, wanted.tensors, strict=True)):
        twins = [twin.tensors[number].detach() for twin in moved]
        if problem := _difference_of_tensors(one.detach(), other.detach(), twins):
            place = f"output {number}" if number < len(wanted.outputs) else f"argument or weight {number - len(wanted.outputs)}"
            return f"{place}: {problem}"
    return ""


def _difference_of_problems(found: Exception | None, wanted: Exception | None) -> str:
    if found and wanted:
        return ""
    if found:
        return f"raises {type(found).__name__}: {' '.join(str(found).split())[:300]}"
    return f"does not raise {type(wanted).__name__}: {str(wanted)[:100]}"


def _shared(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """Of each, the first tensor with its memory, how far behind that it begins, and whether it is the same object."""
    firsts: dict[int, int] = {}
    made: list[Any] = []
    for number, one in enumerate(tensors):
        if not one.numel():
            made.append(None)
            continue
        first = firsts.setdefault(one.untyped_storage().data_ptr(), number)
        same = next(place for place, other in enumerate(tensors) if other is one)
        made.append((first, one.data_ptr() - tensors[first].data_ptr(), same))
    return made


def _difference_of_tensors(found: torch.Tensor, wanted: torch.Tensor, twins: Sequence[torch.Tensor]) -> str:
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{list(found.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if _strides(found) != _strides(wanted):
        return f"strides {found.stride()} for {wanted.stride()} of {list(wanted.shape)}"
    if any(twin.shape != wanted.shape for twin in twins):
        return ""
    if not wanted.is_floating_point():
        wrong = (found != wanted) & _all([twin == wanted for twin in twins])
    else:
        wrong = _wrong_floats(found, wanted, twins)
    if not bool(wrong.any()):
        return ""
    examples = f"{found[wrong].flatten()[:3].tolist()} for {wanted[wrong].flatten()[:3].tolist()}"
    return f"{int(wrong.sum())} of {wanted.numel()} elements ({wanted.dtype}) are off: {examples}"


def _wrong_floats(found: torch.Tensor, wanted: torch.Tensor, twins: Sequence[torch.Tensor]) -> torch.Tensor:
    limits = torch.finfo(wanted.dtype)
    exact, given = wanted.double(), found.double()
    is_stable = _all([(twin.isnan() == wanted.isnan()) & (twin.isinf() == wanted.isinf()) for twin in twins])
    spread = torch.stack([(twin.double() - exact).abs() for twin in twins]).amax(0)
    allowed = SPREADS * spread + UNITS * limits.eps * exact.abs() + 4 * limits.tiny * limits.eps
    is_same = (given == exact) | (given.isnan() & exact.isnan())
    return ~is_same & ~((given - exact).abs() <= allowed) & is_stable


def _all(conditions: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack(list(conditions)).all(0)


def _strides(x: torch.Tensor) -> list[int]:
    """Of the extents above 1; none of an empty tensor."""
    return [stride for extent, stride in zip(x.shape, x.stride(), strict=True) if extent > 1] if x.numel() else []
