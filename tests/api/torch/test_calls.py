"""What calls of compiled graphs give beside numbers: views of results, whatever torch's compiler says of memory and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tilewright.torch import backend  # noqa: E402

pytestmark = pytest.mark.ci


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    with torch.no_grad():
        yield


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16])
def test_views_as_another_type_have_it(dtype: Any) -> None:
    def bits(x: Any) -> Any:
        return (x + 1).view(dtype), x.neg()

    x = torch.randn(3, 4)
    got, expected = torch.compile(bits, backend=backend)(x), bits(x)
    assert got[0].dtype == dtype
    assert all(map(torch.equal, got, expected))


def test_views_of_results_share_memory_where_a_number_varies() -> None:
    def scaled(x: Any, k: float) -> Any:
        y = x / k
        return y, y[:1].expand(3, 4)

    run = torch.compile(scaled, backend=backend)
    for k in (0.5, 1.5, 2.5):
        whole, view = run(torch.randn(2, 4), k)
        assert view.data_ptr() == whole.data_ptr()


def test_integers_that_vary_may_be_negative() -> None:
    def moved(x: Any, k: int) -> Any:
        return torch.relu(x) * 2 + k

    run, x = torch.compile(moved, backend=backend), torch.randn(3, 4)
    assert all(torch.equal(run(x, k), moved(x, k)) for k in (2, 3, -1, 0, -(1 << 40), 1 << 40))
