"""Calls of jitted functions are operators in torch's graphs, whatever compiles them, and equal what they are outside."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as tw

torch = pytest.importorskip("torch")

from torch._dynamo.utils import counters  # noqa: E402

from tilewright.api.torch import counting  # noqa: E402
from tilewright.api.torch_operators import calls, entries, structures  # noqa: E402
from tilewright.torch import backend  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

TABLE = np.linspace(0, 1, 5, dtype=np.float32)
BACKENDS = ("eager", "aot_eager", pytest.param(backend, id="tilewright"), pytest.param("inductor", marks=pytest.mark.ci))


class Mode(Enum):
    SUM = "sum"
    PRODUCT = "product"


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Norm:
    value: Any
    mode: Any


@tw.jit
def product(x: Any, w: Any) -> Any:
    return tw.relu(tw.matmul(x, w))


@tw.jit(static_argnames=("mode",))
def several(x: Any, rest: Any, scale: float = 2.0, *, mode: Mode = Mode.SUM, axis: None = None) -> Any:
    y = x * scale + rest[0] if mode is Mode.SUM else x * scale * rest[0]
    return {"pair": Pair(tw.softmax(y, axis=-1), [tw.sum(y, axis=0), mode]), "norm": Norm(tw.max(y), 3)}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    counters.clear()
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def graphs() -> int:
    assert not counters["graph_break"]
    return counters["stats"]["unique_graphs"]


def of_several(x: Any, y: Any) -> Any:
    first = several(x.relu(), (y, {"unused": x}), mode=Mode.PRODUCT)
    second = several(x, [y], x.shape[0] / 2, mode=Mode.SUM)
    return first["pair"].first + 1, first["pair"].second[0], second["norm"], second["pair"], first["norm"].value * 2


@pytest.mark.parametrize("compiler", BACKENDS)
def test_structures_statics_defaults_and_several_outputs_in_one_graph_of_any_extents(compiler: Any) -> None:
    compiled = torch.compile(of_several, backend=compiler, fullgraph=True)
    for rows in (5, 7, 9):
        x, y = torch.randn(rows, 8), torch.randn(rows, 8)
        expected, given = of_several(x, y), compiled(x, y)
        assert given[2].mode == 3
        assert given[3].second[1] is Mode.SUM
        assert type(given[3]) is Pair
        for one, other in zip((*expected[:2], expected[2].value), (*given[:2], given[2].value), strict=True):
            torch.testing.assert_close(one, other)
    assert graphs() == 2


def test_functions_that_differ_in_numbers_and_results_only_are_told_apart() -> None:
    def differ(x: Any) -> Any:
        return product(x, x), [tw_plus(x, number) for number in (1, 2, 1.5)], [function(x)[1] for function in named]

    tw_plus = tw.jit(lambda x, number: x + number)
    named = [tw.jit(lambda x, name=name: (x, name)) for name in ("a", "b")]
    x = torch.rand(4, 4)
    given = torch.compile(differ, backend="aot_eager", fullgraph=True)(x)
    for one, number in zip(given[1], (1, 2, 1.5), strict=True):
        torch.testing.assert_close(one, x + number)
    assert given[2] == ["a", "b"]


@pytest.mark.parametrize("compiler", ["aot_eager", pytest.param(backend, id="tilewright")])
def test_arguments_by_name_in_any_order_are_told_apart(compiler: Any) -> None:
    subtract = tw.jit(lambda x, y, *, scale=2: x - y * scale)
    x, y = torch.rand(3, 4), torch.rand(3, 4)

    def both(x: Any, y: Any) -> Any:
        return subtract(x, y), subtract(y=x, x=y), subtract(scale=3, y=y, x=x), subtract(x, scale=x, y=y)

    given = torch.compile(both, backend=compiler, fullgraph=True)(x, y)
    for one, expected in zip(given, (x - y * 2, y - x * 2, x - y * 3, x - y * x), strict=True):
        torch.testing.assert_close(one, expected)


def test_another_function_at_the_same_place_is_another_graph() -> None:
    compiled = torch.compile(lambda function, x: function(x) + 1, backend="aot_eager", fullgraph=True)
    x = torch.rand(4)
    for factor in (2, 3, 2):
        function = tw.jit(lambda x, factor=factor: x * factor)
        torch.testing.assert_close(compiled(function, x), x * factor + 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int32"])
def test_the_operator_passes_the_checks_of_torch(dtype: str) -> None:
    x, w = (torch.randint(-4, 4, shape).to(getattr(torch, dtype)) for shape in ((3, 4), (4, 5)))
    entry = entries.traced(product, structures.taken_apart(((x, w), {}), []), (x, w))
    key = entries.entered(entry)
    torch.library.opcheck(calls.call, (key, [x, w]))
    torch.testing.assert_close(calls.call(key, [x, w])[0], torch.relu(x @ w))


def test_tilewright_fuses_the_operators_of_a_function_with_its_neighbours() -> None:
    counting.reset()
    scaled = tw.jit(lambda x, y, scale: (tw.softmax(x * scale + y + TABLE, axis=-1), tw.sum(x, axis=0)))

    def network(x: Any, y: Any) -> Any:
        shares, total = scaled(x.relu(), y, 3)
        return shares + 1, total * 2

    compiled = torch.compile(network, backend=backend, fullgraph=True)
    for rows in (4, 6, 7):
        x, y = torch.rand(rows, 5), torch.rand(rows, 5)
        for one, other in zip(compiled(x, y), network(x, y), strict=True):
            torch.testing.assert_close(one, other)
    assert [(report.parts, report.eager) for report in counting.reports()] == [(1, ()), (1, ())]


def test_tilewright_leaves_functions_with_options_of_their_own_alone() -> None:
    counting.reset()
    strict = tw.jit(lambda x: tw.softmax(x, axis=-1), precision="strict")
    x = torch.rand(3, 4)
    torch.testing.assert_close(torch.compile(strict, backend=backend, fullgraph=True)(x), torch.softmax(x, -1))
    (reason,) = counting.reasons()
    assert "of its own" in reason


def test_shapes_that_must_fit_each_other_are_guarded_as_torch_guards_them() -> None:
    add = tw.jit(lambda x, y: x + y)
    compiled = torch.compile(lambda x, y: add(x, y) * 2, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (4, 6, 9):
        torch.testing.assert_close(compiled(torch.ones(rows, 3), torch.ones(rows, 3)), torch.full((rows, 3), 4.0))
    assert graphs() == 1


def test_questions_about_extents_make_a_graph_for_each_answer() -> None:
    halves = tw.jit(lambda x: x[: x.shape[0] // 2] * 2 if x.shape[0] > 6 else x)
    compiled = torch.compile(halves, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (4, 10, 9):
        torch.testing.assert_close(compiled(torch.ones(rows, 3)), halves(torch.ones(rows, 3)))


def test_a_gradient_is_refused_and_what_needs_none_is_not() -> None:
    x, w = torch.rand(3, 4), torch.nn.Parameter(torch.rand(4, 5))
    with torch.enable_grad():
        with pytest.raises(tw.UnsupportedOperation, match="requires a gradient"):
            torch.compile(lambda x, w: product(x, w) + 1, backend="aot_eager")(x, w)
        with pytest.raises(Exception, match=r"torch\.no_grad"):
            torch.compile(lambda x, w: product(x, w) + 1, backend="aot_eager", fullgraph=True)(x, w)
        torch.compile(lambda x, w: (product(x, x.T) @ x @ w).sum(), backend="aot_eager", fullgraph=True)(x, w).backward()
    assert w.grad is not None
    compiled = torch.compile(lambda x, w: product(x, w) + 1, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, w), torch.relu(x @ w) + 1)


@pytest.mark.parametrize("call", [lambda x: product(x.numpy(), x.numpy()), lambda x: product(x, x, out=torch.empty(4, 4))])
def test_other_calls_end_a_graph_and_run_outside(call: Callable[[Any], Any]) -> None:
    x = torch.rand(4, 4)
    np.testing.assert_allclose(torch.compile(call, backend="eager")(x), torch.relu(x @ x), rtol=1e-5)


def test_errors_are_those_of_the_call() -> None:
    with pytest.raises(tw.ShapeError):
        torch.compile(lambda x: product(x, x) + 1, backend="aot_eager")(torch.rand(3, 4))


def test_tracers_outside_of_dynamo_record_the_operator() -> None:
    x = torch.rand(3, 4)

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return product(x + 1, x.T)

    exported = torch.export.export(Model(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("rows")}})
    called = [node for node in exported.graph.nodes if node.target is torch.ops.tilewright.call.default]
    assert len(called) == 1
    many = torch.rand(7, 4)
    torch.testing.assert_close(exported.module()(many), torch.relu((many + 1) @ many.T))


def test_a_key_of_another_process_is_refused() -> None:
    with pytest.raises(tw.TilewrightError, match="nothing is known"):
        calls.call("function_0", [torch.ones(1)])


def test_functions_that_no_graph_has_are_let_go() -> None:
    from tilewright.api import dynamo

    before = len(dynamo.named)
    functions = [tw.jit(lambda x: x) for _ in range(3)]
    assert len(dynamo.named) == before + len(functions)
    del functions
    gc.collect()
    assert len(dynamo.named) == before
