"""Lowerings of index changes, creation, joins, gathers and scatters: extents at run time, empties, positions out of range."""

from __future__ import annotations

import pytest
import torch

from tests.support.torch.tracing import arrays_of, evaluated, functional, recorded
from tilewright.errors import PositionError

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


def functionalized(function, *inputs, mode="fake"):
    with torch.no_grad():
        module = functional(function, inputs, mode)
    module.graph.eliminate_dead_code()
    return module


def is_equal(function, *inputs, others=()):
    """Whether a program gives eager's elements; with `others`, extents are symbols, and it is called with those, too."""
    module = functionalized(function, *inputs, mode="symbolic" if others else "fake")
    recording = recorded(module)
    assert not recording.refused, recording.refused
    for given in (inputs, *others):
        (found,) = evaluated(recording, module, given)
        expected = arrays_of(function(*given))
        if found.shape != expected.shape or found.dtype != expected.dtype or found.tobytes() != expected.tobytes():
            return False
    return True


SEEDED = torch.Generator().manual_seed(0)
LONG, SHORT = torch.randn(7, 4, generator=SEEDED), torch.randn(5, 4, generator=SEEDED)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cat([x, x[:1]]),
        lambda x: torch.cat([x, x], 1)[:, 2:],
        lambda x: x[1:].transpose(0, 1).flatten(),
        lambda x: x[-2:],
        lambda x: x[:, None].expand(x.shape[0], 3, 4).reshape(-1, 4),
        lambda x: torch.arange(x.shape[0]) + 0,
        lambda x: torch.arange(2, x.shape[0] + 2).to(torch.float32),
        lambda x: torch.full((x.shape[0],), x.shape[0]),
        lambda x: x.flip(0),
        lambda x: x.roll(2, 0),
        lambda x: x.roll(-1, 1),
        lambda x: x.tril(),
        lambda x: torch.ones(x.shape[0], x.shape[0]).tril(1),
        lambda x: torch.stack([x, x], 1),
        lambda x: x.repeat(2, 1),
        lambda x: x.repeat_interleave(2, 0),
        lambda x: x.unfold(0, 2, 1),
        lambda x: torch.diag_embed(x[:, 0]),
        lambda x: x[torch.arange(x.shape[0]), 1],
        lambda x: torch.nn.functional.pad(x, (1, 0, 2, 1)),
        lambda x: x.split([1, x.shape[0] - 1])[1],
        lambda x: x.unbind(1)[2],
        lambda x: x.select(0, -1),
        lambda x: x.index_copy(0, torch.tensor([1]), x[:1]),
        lambda x: x.masked_scatter((x[:, 0] > 0)[:, None].expand_as(x), x.flip(0)),
    ],
)
def test_extents_at_run_time(function):
    assert is_equal(function, LONG, others=[(SHORT,)])


def test_a_cache_of_keys_grows_by_one():
    def grown(cache, new):
        return torch.cat([cache, new], 2)[:, :, -4:]

    others = [(torch.randn(1, 2, past, 3), torch.randn(1, 2, 1, 3)) for past in (5, 12)]
    assert is_equal(grown, torch.randn(1, 2, 8, 3), torch.randn(1, 2, 1, 3), others=others)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.as_strided((2, 3), (1, 4), 2),
        lambda x: x.transpose(0, 1).as_strided((2, 2), (4, 1)),
        lambda x: x.diagonal(-1),
        lambda x: x.rot90(3),
        lambda x: x[[2, -1], [0, 3]],
        lambda x: x[:, None][[2, -1], :, [0, 3]],
        lambda x: x[2:2],
        lambda x: torch.nn.functional.pad(x, (-1, 2), value=-3),
        lambda x: torch.nn.functional.pad(x[None].float(), (2, 1), mode="reflect"),
        lambda x: torch.nn.functional.pad(x, (2, 1), mode="circular"),
        lambda x: torch.cat([x, torch.zeros(0), x.to(torch.float64)]),
        lambda x: x.slice_scatter(x[:2] * 2, 0, 1, 5, 2),
        lambda x: x.diagonal_scatter(x[0, :4], 0),
        lambda x: x.index_put((torch.tensor([0, -1]), torch.tensor([1, 2])), x[0, :2]),
        lambda x: x.index_put((x.to(torch.bool),), torch.ones((), dtype=x.dtype)),
        lambda x: x.scatter(1, torch.tensor([[0], [3], [1], [0], [2], [2], [1]]), 2),
        lambda x: x.scatter_add(1, torch.tensor([[0, 0], [3, -0], [1, 2]]), x),
        lambda x: x.index_add(0, torch.tensor([6, 1, 6]), x[:3], alpha=2),
        lambda x: x.index_put((torch.tensor([0, -7]), torch.tensor([1, 1])), x[0, :2], accumulate=True),
        lambda x: x.scatter_reduce(0, torch.tensor([[2, 2, 0, 1], [2, 0, 0, 1]]), x, "amax", include_self=False),
        lambda x: x.masked_scatter(x > 1, x.flip(0)),
        lambda x: x.masked_scatter(x[:, :1] > 1, x.flip(1)),
        lambda x: x.put(torch.tensor([[3], [-1]]), x[0, :2]),
        lambda x: x.gather(1, torch.tensor([[3, 3], [0, 1]])),
        lambda x: torch.bucketize(x, torch.tensor([float("nan"), 1.0, 4.0, float("nan")]).to(x.dtype), right=True),
        lambda x: torch.full((2,), 2**62 + 1, dtype=torch.int64),
        lambda x: torch.linspace(0, 1, 7),
        lambda x: torch.arange(0, 1, 0.1),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_elements_are_those_of_eager(function, dtype):
    whole = (LONG * 9).round() + 0.0  # without -0, whose sign sums do not promise
    assert is_equal(function, whole.to(dtype))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, ids: torch.nn.functional.embedding(ids, x),
        lambda x, ids: x.index_select(0, ids),
        lambda x, ids: x.gather(0, ids[:, None]),
        lambda x, ids: x[ids],
        lambda x, ids: x.index_copy(0, ids, x[: len(ids)]),
        lambda x, ids: x.masked_scatter(torch.ones(7, 1) > ids[1], x[:1]),
    ],
)
@pytest.mark.parametrize("position", [7, -8, -1])
def test_positions_that_torch_refuses_are_errors(function, position):
    ids = torch.tensor([0, position])
    module = functionalized(function, LONG, torch.tensor([0, 1]))
    recording = recorded(module)
    try:
        expected = function(LONG, ids)
    except (IndexError, RuntimeError):
        with pytest.raises(PositionError):
            evaluated(recording, module, (LONG, ids))
    else:
        assert torch.equal(torch.from_numpy(evaluated(recording, module, (LONG, ids))[0]), expected)
