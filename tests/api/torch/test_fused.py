"""Public operators: equal to torch's, eagerly and in graphs of any backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.nn import functional  # noqa: E402

from tilewright.api.torch import counting  # noqa: E402
from tilewright.torch import attention, backend, mlp  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

BACKENDS = ("aot_eager", pytest.param(backend, id="tilewright"), pytest.param("inductor", marks=pytest.mark.ci))
ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def heads(rows: int = 5, dtype: Any = torch.float32) -> tuple[Any, Any, Any]:
    """q of four heads, k and v of two."""
    shapes = ((2, 4, rows, 8), (2, 2, 7, 8), (2, 2, 7, 6))
    q, k, v = (torch.randn(shape).to(dtype) for shape in shapes)
    return q, k, v


def layers(dtype: Any = torch.float32) -> tuple[Any, ...]:
    return tuple(torch.randn(shape).to(dtype) for shape in ((5, 4), (5,), (6, 5), (6,)))


def expected_attention(q: Any, k: Any, v: Any, mask: Any, softcap: float) -> Any:
    scores = q @ k.repeat_interleave(2, 1).mT / 8**0.5
    scores = softcap * torch.tanh(scores / softcap)
    return torch.softmax(scores.where(mask, -torch.inf), -1) @ v.repeat_interleave(2, 1)


def network(q: Any, k: Any, v: Any, mask: Any, x: Any, weights: Any) -> Any:
    attended = attention(q * 2, k, v, mask, softcap=5.0, enable_gqa=True) + 1
    return attended, mlp(x, *weights, activation="gelu") * 2


@pytest.mark.parametrize("compiler", BACKENDS)
def test_one_graph_for_all_rows_equals_torch(compiler: Any) -> None:
    counting.reset()
    compiled, weights = torch.compile(network, backend=compiler, fullgraph=True), layers()
    for rows in (5, 6, 8):
        q, k, v = heads(rows)
        mask, x = torch.arange(7) < torch.randint(1, 7, (2, 1, rows, 1)), torch.randn(rows, 3, 4)
        attended, mapped = compiled(q, k, v, mask, x, weights)
        torch.testing.assert_close(attended, expected_attention(q * 2, k, v, mask, 5.0) + 1)
        torch.testing.assert_close(mapped, expected_mlp(x, *weights, "gelu") * 2)
    if compiler is backend:
        assert [(report.parts, report.eager) for report in counting.reports()] == [(1, ()), (1, ())]


def expected_mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, activation: str) -> Any:
    return functional.linear(ACTIVATIONS[activation](functional.linear(x, w1, b1)), w2, b2)


@pytest.mark.parametrize("activation", [*ACTIVATIONS])
def test_mlp_has_the_layers_of_torch(activation: str) -> None:
    x, (w1, b1, w2, b2) = torch.randn(2, 3, 4), layers()
    torch.testing.assert_close(mlp(x, w1, b1, w2, b2, activation), expected_mlp(x, w1, b1, w2, b2, activation))
    torch.testing.assert_close(mlp(x[0, 0], w1, None, w2, None), expected_mlp(x[0, 0], w1, None, w2, None, "gelu"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_operators_pass_the_checks_of_torch(dtype: Any) -> None:
    lengths = torch.tensor([3, 7])
    calls = [*heads(dtype=dtype), None, lengths, True, "bottom-right", 2, None, 5.0, 0.3, True]
    torch.library.opcheck(torch.ops.tilewright.attention.default, tuple(calls))
    torch.library.opcheck(torch.ops.tilewright.mlp.default, (torch.randn(2, 3, 4).to(dtype), *layers(dtype), "silu"))


def test_tracers_see_the_operators() -> None:
    (q, k, v), weights, x = heads(), layers(), torch.randn(3, 4)

    def network(q: Any, k: Any, v: Any, x: Any, *weights: Any) -> Any:
        return attention(q, k, v, enable_gqa=True), mlp(x, *weights)

    for mode in ("real", "fake"):
        graph = make_fx(network, tracing_mode=mode)(q, k, v, x, *weights)
        called = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
        assert called >= {"tilewright.attention.default", "tilewright.mlp.default"}
        torch.testing.assert_close(graph(q * 2, k, v, x, *weights), network(q * 2, k, v, x, *weights))


def test_windows_and_lengths_are_those_of_the_function() -> None:
    q, k, v = heads()
    options: dict[str, Any] = {"window": (2, 1), "causal_alignment": "bottom-right", "scale": 0.2, "enable_gqa": True}
    lengths = torch.tensor([6, 7])
    function = tw.jit(lambda q, k, v, lengths: tw.scaled_dot_product_attention(q, k, v, key_lengths=lengths, **options))
    torch.testing.assert_close(attention(q, k, v, key_lengths=lengths, **options), function(q, k, v, lengths))


def test_gradients_types_and_shapes_that_do_not_fit_are_refused() -> None:
    (q, k, v), weights, x = heads(), layers(), torch.randn(3, 4)
    weights[0].requires_grad_()
    torch.testing.assert_close(mlp(x, *weights), expected_mlp(x, *weights, "gelu"))
    with torch.enable_grad(), pytest.raises(tw.UnsupportedOperation, match="requires a gradient"):
        mlp(x, *weights)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, q)
        for called in (attention, tw.jit(lambda q, k, v: q * 2)):
            with pytest.raises(tw.UnsupportedOperation, match="tangent"):
                called(dual, k, v)
        with pytest.raises(Exception, match="differentiates forward"):
            torch.compile(attention, backend="aot_eager")(dual, k, v, enable_gqa=True)
    with pytest.raises(tw.ShapeError, match="b1 has 2 dimensions"):
        mlp(x, weights[0], weights[1][None], *weights[2:])
    with pytest.raises(tw.DTypeError, match="float64"):
        attention(q.double(), k, v)
    with pytest.raises(tw.ShapeError, match="wide"):
        attention(q, k[..., :3], v)
    with pytest.raises(tw.TilewrightError, match="choose from none, relu"):
        mlp(x, *weights, activation="mish")
