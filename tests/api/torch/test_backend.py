"""Models under torch.compile: one graph, results as in eager mode, and what a user may do to tensors and options around it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from tests.support.torch.threads import in_threads  # noqa: E402
from tilewright.api.torch import counting  # noqa: E402
from tilewright.errors import TilewrightError  # noqa: E402
from tilewright.torch import backend  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    counting.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return torch.compile(function, backend=backend, fullgraph=True, options=options or None)


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 8)).eval()


def same(got: Any, expected: Any) -> bool:
    """Equal but for rounding, of equal strides and types."""
    is_alike = got.stride() == expected.stride() and got.dtype == expected.dtype and got.shape == expected.shape
    return is_alike and torch.allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_model_is_one_graph_without_eager_calls_and_as_exact_as_eager() -> None:
    model, x = perceptron(), torch.randn(5, 16)
    got = compiled(model)(x)
    (report,) = counting.reports()
    exact = model.double()(x.double())
    errors = [float((result.double() - exact).abs().max()) for result in (got, model.float()(x))]
    assert (report.parts, report.eager) == (1, ())
    assert errors[0] <= 2 * errors[1] + 1e-7


def test_changed_weights_count_without_another_compilation() -> None:
    model, x = perceptron(), torch.randn(5, 16)
    run = compiled(model)
    run(x)
    model[0].weight.mul_(2)
    assert same(run(x), model(x))
    model[2].bias = nn.Parameter(torch.randn(8))
    assert same(run(x), model(x))
    assert len(counting.reports()) == 1


def test_lengths_that_vary_are_two_graphs() -> None:
    model = perceptron()
    run = compiled(model)
    assert all(same(run(x), model(x)) for x in map(torch.randn, (4, 7, 33, 9), 4 * (16,)))
    assert len(counting.reports()) == 2


def test_options_that_there_are_not_are_refused() -> None:
    for options, words in (
        ({"thread": 2}, "did you mean 'threads'"),
        ({"threads": 0}, "threads=0"),
        ({"precision": "half"}, "precision='half'"),
        ({"fuse": 1}, "fuse=1"),
        ({"freeze": None}, "freeze=None"),
    ):
        with pytest.raises(TilewrightError, match=words):
            backend(None, [], options=options)
    with pytest.raises(TilewrightError, match="no mode 'max-autotune'"):
        backend(None, [], mode="max-autotune")


def test_gradients_are_those_of_eager_mode_with_one_warning() -> None:
    model, x = perceptron(), torch.randn(5, 16, requires_grad=True)

    def gradients(function: Callable[..., Any]) -> Any:
        return torch.autograd.grad(function(x).square().sum(), [x, *model.parameters()])

    with torch.enable_grad():
        with pytest.warns(UserWarning, match=r"torch.no_grad\(\)") as warned:
            got = gradients(compiled(model))
        expected = gradients(model)
    assert len(warned) == 1
    assert all(map(torch.equal, got, expected))


def test_outputs_that_share_memory_share_it() -> None:
    def views(x: Any) -> Any:
        y = x * 2
        return y.T, y[1:, :2], y.view(-1), x.view(-1), y.sum(), 3

    x = torch.randn(4, 6)
    got, expected = compiled(views)(x), views(x)
    assert all(map(same, got[:5], expected[:5]))
    assert got[5] == 3
    assert got[0].data_ptr() == got[2].data_ptr() != got[1].data_ptr()
    assert got[3].data_ptr() == x.data_ptr()


def test_four_threads_get_the_same_bits() -> None:
    model, x, results = perceptron(), torch.randn(64, 16), []
    run = compiled(model)
    expected = run(x)

    def work(number: int) -> None:
        with torch.no_grad():
            results.extend(torch.equal(run(x), expected) for _ in range(20))

    in_threads(work)
    assert results == [True] * 80


def test_tensors_can_be_swapped_and_replaced_ones_are_freed() -> None:
    model, x = perceptron(), torch.randn(5, 16)
    run = compiled(model)
    run(x)
    freed = weakref.ref(model[0].weight.untyped_storage())
    torch.utils.swap_tensors(model[0].weight, nn.Parameter(torch.randn(96, 16)))
    assert same(run(x), model(x))
    gc.collect()
    assert freed() is None


class Counter(nn.Module):  # type: ignore[misc]
    """Writes to a buffer, and to its argument."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        x.mul_(2)
        return x + self.calls, x


def test_buffers_and_arguments_that_a_graph_writes_to() -> None:
    model, other, x = Counter(), Counter(), torch.randn(3, 4)
    run, y = compiled(model), x.clone()
    for _ in range(3):
        got, expected = run(x), other(y)
        assert torch.equal(got[0], expected[0])
        assert got[1] is x
    assert torch.equal(model.calls, other.calls)


@pytest.mark.ci
def test_memory_formats_and_element_types_are_torch_s() -> None:
    image = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
    convolution = nn.Conv2d(4, 8, 3, padding=1).eval()
    assert same(compiled(convolution)(image), convolution(image))
    for dtype, tolerance in ((torch.bfloat16, 0.05), (torch.float16, 5e-3), (torch.float64, 1e-12)):
        model, x = perceptron().to(dtype), torch.randn(5, 16).to(dtype)
        got, expected = compiled(model)(x), model(x)
        assert got.dtype == dtype
        assert torch.allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_random_numbers_are_drawn_by_torch_in_its_order() -> None:
    model, x = (
        nn.Sequential(nn.Linear(16, 256), nn.Dropout(), nn.ReLU(), nn.Linear(256, 8), nn.Dropout()).train(),
        torch.randn(4, 16),
    )
    run = compiled(model)
    torch.manual_seed(1)
    got = run(x)
    torch.manual_seed(1)
    assert same(got, model(x))
    (report,) = counting.reports()
    assert report.parts == len(report.eager) == 2


def test_one_call_is_a_part_if_it_is_large_and_else_counted() -> None:
    for count, parts, left in ((16, 1, 2), (4096, 2, 1)):
        run = compiled(lambda x: nn.functional.dropout(x.relu() + 1, 0.5).tanh())
        run(torch.randn(count))
        report = counting.reports()[-1]
        assert (report.parts, len(report.eager)) == (parts, left)


def test_autocast_is_part_of_the_graph() -> None:
    def cast(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    model, x = perceptron(), torch.randn(5, 16)
    got, expected = compiled(cast)(x), cast(x)
    assert got.dtype == torch.bfloat16
    assert torch.allclose(got.float(), expected.float(), rtol=0.02, atol=0.02)


@pytest.mark.ci
@pytest.mark.parametrize("function", [
    lambda x: (x[1:], x[: x.shape[0] // 2] * 2, x.relu().T, x.expand(3, *x.shape)),
    lambda x: (torch.topk(x.exp() + 1, 2)[0].log() * 3 + 1, x.shape[0] * 2),
    lambda x: (x.view(-1) * 2, x[:, None] * x[None]),
])  # fmt: skip
def test_lengths_from_the_first_call_on(function: Any) -> None:
    run = torch.compile(function, backend=backend, fullgraph=True, dynamic=True)
    for x in map(torch.randn, (7, 12), (5, 5)):
        assert all(same(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(run(x), function(x), strict=True))
    assert len(counting.reports()) == 1


def test_threads_follow_torch_and_change_no_bit() -> None:
    model, x, before = perceptron(), torch.randn(300, 16), torch.get_num_threads()
    run = compiled(model)
    try:
        results = [run(x) for count in (1, 2, 4) if torch.set_num_threads(count) is None]
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(result, results[0]) for result in results)
    assert torch.equal(compiled(model, threads=3)(x), results[0])


class Positions(nn.Module):  # type: ignore[misc]
    """Rows of a table, at positions that a buffer holds."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4)
        self.register_buffer("positions", torch.tensor([0, 8, 3]))

    def forward(self, x: Any) -> Any:
        return self.table(self.positions) + x


def test_values_of_buffers_decide_nothing() -> None:
    model, x = Positions(), torch.randn(3, 4)
    run = compiled(model)
    run(x)
    model.positions.copy_(torch.tensor([5, 1, 1]))
    assert torch.equal(run(x), model(x))
    model.positions[1] = -1
    with pytest.raises(IndexError):
        run(x)


def test_tensors_can_be_resized_after_a_call() -> None:
    x = torch.randn(3, 4)
    y = compiled(lambda x: x.T * 2)(x)
    assert y.resize_(5, 7).shape == x.resize_(5, 7).shape


@pytest.mark.parametrize(("mode", "operators"), [("nearest", 1), ("bilinear", 2)])
def test_images_are_resized_by_one_call_as_in_eager_mode(mode: str, operators: int) -> None:
    def resized(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(x, scale_factor=2, mode=mode)

    torch._dynamo.reset()
    x = torch.randn(1, 3, 6, 7)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(resized, backend=backend)(x), resized(x))
    (report,) = counting.reports()
    assert (report.parts, report.eager, report.operators) == (1, (), operators)


def test_numbers_and_lengths_that_kernels_do_not_take_are_compiled_again() -> None:
    def scaled(x: Any, k: int) -> Any:
        return x * k + 1, x[:2].relu() - k

    run = compiled(scaled)
    for k in (3, 5, 9, -7, 1 << 40, 4):
        assert all(map(same, run(torch.ones(4, 6), k), scaled(torch.ones(4, 6), k)))
    assert len(counting.reports()) == 3
    longer = compiled(lambda x: x * 2 + 1)
    assert all(same(longer(x), x * 2 + 1) for x in map(torch.ones, (8, 9, (1 << 20) + 1)))


def test_memory_is_the_cpu_s_whatever_the_default_device() -> None:
    model, x = perceptron(), torch.randn(5, 16)
    run = compiled(model)
    with torch.device("meta"):
        got = [run(x), run(x)]
    assert all(same(one, model(x)) for one in got)


def test_views_of_results_that_lie_in_another_order_than_their_operator_tells() -> None:
    with torch.library._scoped_library("tilewright_tests", "FRAGMENT") as library:
        library.define("columns(Tensor x) -> Tensor")
        library.impl("columns", lambda x: x.t().contiguous().t(), "CPU")
        torch.library.register_fake("tilewright_tests::columns", torch.empty_like, lib=library)

        def views(x: Any) -> Any:
            y = torch.ops.tilewright_tests.columns(x)
            return y[1:], y[1:] * 2 + 1, y.split(2)[1], y.split(2)[1].exp() + 1

        x = torch.randn(4, 6)
        assert all(map(torch.allclose, compiled(views)(x), views(x)))
        assert counting.reports()[0].parts == 1
