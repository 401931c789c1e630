"""What torch.compile makes of a model with this backend, for a person: graphs, parts, calls in eager mode, weights, plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from tilewright.api import torch_internals as internals
from tilewright.api.torch.backend import backend
from tilewright.api.torch.counting import EagerNode, GraphReport
from tilewright.api.torch.graphs import watched
from tilewright.api.torch.units import Unit
from tilewright.records import record
from tilewright.report import units
from tilewright.report.explain import explain as explain_plan


@record(eq=False)
class _Seen:
    report: GraphReport
    units: Sequence[Unit]


def explain(
    model: Callable[..., Any], *args: Any, options: Mapping[str, Any] | None = None, full: bool = False, **kwargs: Any
) -> str:
    """Compile a module or function for these arguments, call it once without gradients, and say what it became.

    The text has the graphs and where torch broke them, the calls that stay in eager mode with reason and place in the source, the
    bytes of frozen and of packed weights, the extents that calls tell, and the plan of every part with its price. `options` are
    the backend's; `full` leaves out nothing of the plans. Like `torch._dynamo.explain`, it makes torch forget compiled code:
    other compiled functions are compiled again in their next call.

    >>> print(explain(torch.nn.Linear(3, 2), torch.ones(4, 3)))
    Linear: 1 graph, 0 graph breaks, ... operators in 1 part, 0 calls in eager mode
    ...
    """
    original = getattr(model, "_orig_mod", model)
    seen: list[_Seen] = []

    def watching(module: Any, examples: Any) -> Any:
        return backend(module, examples, options=options)

    internals.reset()
    with torch.no_grad(), watched(lambda report, found: seen.append(_Seen(report, found))):
        torch.compile(original, backend=watching)(*args, **kwargs)
    breaks = internals.graph_breaks()
    if len(seen) - 1 > sum(breaks.values()):
        breaks["where torch gives no reason (TORCH_LOGS=graph_breaks does)"] = len(seen) - 1 - sum(breaks.values())
    internals.reset()
    name = type(original).__name__ if isinstance(original, torch.nn.Module) else getattr(original, "__name__", "function")
    return "\n".join(_lines(name, seen, breaks, full))


def _lines(name: str, seen: Sequence[_Seen], breaks: Mapping[str, int], full: bool) -> Iterator[str]:
    made = [unit for one in seen for unit in one.units]
    eager = [node for one in seen for node in one.report.eager]
    plans = [unit.library.planned() for unit in made]
    yield f"{name}: {', '.join(_counts(seen, made, eager, sum(breaks.values())))}"
    if plans:
        seconds = units.seconds(sum(plan.predicted_seconds for plan in plans))
        yield f"predicted: {seconds} a call on one thread, without calls in eager mode"
    yield from _weights(made)
    yield from (f"extent: {one.name} in {one.low}..{one.high}" for one in _dimensions(made))
    yield from (f"graph break: {reason}" for reason in breaks)
    if not seen:
        yield "no graph reached the backend: see TORCH_LOGS=graph_breaks; recurrent layers need torch._dynamo.config.allow_rnn"
    yield from (f"graph in eager mode: {one.report.why}" for one in seen if one.report.why)
    yield from _eager(eager)
    for number, plan in enumerate(plans, 1):
        yield from ("", f"part {number} of {len(plans)}", explain_plan(plan, full=full))


def _counts(seen: Sequence[_Seen], made: Sequence[Unit], eager: Sequence[EagerNode], breaks: int) -> Iterator[str]:
    yield units.quantity(len(seen), "graphs")
    yield units.quantity(breaks, "graph breaks")
    operators = units.quantity(sum(unit.operators for unit in made), "operators")
    yield f"{operators} in {units.quantity(len(made), 'parts')}"
    yield f"{units.quantity(len(eager), 'calls')} in eager mode"


def _weights(made: Sequence[Unit]) -> Iterator[str]:
    libraries = [unit.library for unit in made if unit.library.weights]
    if libraries:
        count = sum(len(library.weights) for library in libraries)
        frozen, packed, read = (
            units.size(sum(getattr(library, kind) for library in libraries))
            for kind in ("frozen_bytes", "packed_bytes", "read_bytes")
        )
        yield f"weights: {count} frozen, {frozen}; {packed} packed, {read} read as they are"


def _dimensions(made: Sequence[Unit]) -> list[Any]:
    return list({one.name: one for unit in made for one in unit.library.dimensions}.values())


def _eager(nodes: Sequence[EagerNode]) -> Iterator[str]:
    for node in nodes:
        place = f" ({node.place})" if node.place else ""
        yield f"in eager mode: {node.operator}{place}: {node.reason}"
