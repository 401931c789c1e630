"""Weights that change under a compiled model: each call equals eager mode, a change packs once, the next calls pack nothing."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

import tilewright.torch  # noqa: E402
from tests.support.torch.threads import in_threads  # noqa: E402
from tilewright.api.building import Options  # noqa: E402
from tilewright.api.torch import weights  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

WIDTH = 72


class Model(nn.Module):
    """Two layers whose weights are packed, statistics of a norm between them, and an embedding, which is read as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, WIDTH)
        self.first, self.norm, self.second = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, WIDTH)
        for statistic in (self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias):
            nn.init.uniform_(statistic, 0.5, 1.5)

    def forward(self, tokens: Any) -> Any:
        return self.second(torch.relu(self.norm(self.first(self.embedding(tokens)))))


def _call(model: Any, tokens: Any) -> Any:
    return model(tokens)


compiled = torch.compile(_call, backend=tilewright.torch.backend, fullgraph=True)
"""One graph for all models."""
Change = Callable[[Model], Any]


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def _model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


def _tokens() -> Any:
    return torch.randint(0, 100, (5,))


def _error(model: Any, call: Callable[..., Any] = compiled) -> float:
    tokens = _tokens()
    got, wanted = call(model, tokens), model(tokens)
    assert got.dtype == wanted.dtype
    return float((got - wanted).abs().max() / wanted.abs().max())


def _packings(model: Any, calls: int = 1, call: Callable[..., Any] = compiled) -> int:
    """What right calls pack."""
    before = weights.packings()
    tolerance = 1e-4 if next(model.parameters()).dtype in (torch.float32, torch.float64) else 0.05
    assert max(_error(model, call) for _ in range(calls)) < tolerance
    return weights.packings() - before


def _shifted(model: Model) -> dict[str, Any]:
    return {name: value + 1 if value.is_floating_point() else value for name, value in model.state_dict().items()}


def _optimizer_step(model: Model) -> None:
    with torch.enable_grad():
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        model(_tokens()).sum().backward()
        optimizer.step()


def _fused_step(model: Model) -> None:
    """One row alone has a gradient; no version is counted."""
    optimizer = torch.optim.SGD(model.parameters(), 1.0, fused=True)
    with torch.enable_grad():
        (model.first.weight[17] * torch.randn(WIDTH)).sum().backward()
    optimizer.step()


def _statistics(model: Model) -> None:
    """No version is counted."""
    model.norm.train()(torch.randn(20, WIDTH) * 3 + 1)
    model.norm.eval()


def _inference_mode_write(model: Model) -> None:
    with torch.inference_mode():
        model.first.weight.mul_(2)


def _merge_adapter(model: Model) -> None:
    model.first.weight += torch.randn(WIDTH, 4) @ torch.randn(4, WIDTH)


def _tie(model: Model) -> None:
    model.second.weight = model.first.weight


def _quantise(model: Model) -> None:
    for layer in (model.first, model.second):
        scale = layer.weight.abs().amax(1, keepdim=True) / 127
        layer.weight.copy_((layer.weight / scale).round().clamp(-128, 127) * scale)


CHANGES: dict[str, Change] = {
    "in place": lambda m: m.first.weight.mul_(2),
    "in place, an embedding": lambda m: m.embedding.weight.mul_(2),
    "in place, a buffer": lambda m: m.norm.running_mean.add_(1),
    "to zeros": lambda m: m.second.bias.zero_(),
    "a state": lambda m: m.load_state_dict(_shifted(m)),
    "an assigned state": lambda m: m.load_state_dict(_shifted(m), assign=True),
    "a new parameter": lambda m: setattr(m.first, "weight", nn.Parameter(torch.randn(WIDTH, WIDTH))),
    "a new buffer": lambda m: setattr(m.norm, "running_mean", torch.randn(WIDTH)),
    "new data": lambda m: setattr(m.first.weight, "data", torch.randn(WIDTH, WIDTH)),
    "a detached write": lambda m: m.first.weight.detach().mul_(2),
    "a step of an optimizer": _optimizer_step,
    "a fused step": _fused_step,
    "statistics": _statistics,
    "all elements through data": lambda m: m.first.weight.data.mul_(2),
    "swapped tensors": lambda m: torch.utils.swap_tensors(m.first.weight, nn.Parameter(torch.randn(WIDTH, WIDTH))),
    "a vector": lambda m: nn.utils.vector_to_parameters(torch.randn(sum(p.numel() for p in m.parameters())) / 10, m.parameters()),
    "a write in inference mode": _inference_mode_write,
    "an adapter is merged": _merge_adapter,
    "quantised in place": _quantise,
    "to float64 and back": lambda m: m.double().float(),
    "shared memory": lambda m: m.share_memory(),
    "tied weights": _tie,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_packs_once(change: Change) -> None:
    model = _model()
    assert _packings(model) <= 1
    for _ in range(2):
        change(model)
        assert _packings(model) <= 1
        assert _packings(model, calls=2) == 0


def test_what_changes_no_values_packs_nothing() -> None:
    model = _model()
    _packings(model)
    model.train().eval()
    assert _packings(model, calls=2) == 0
    model.requires_grad_(False)  # Dynamo compiles a graph for it
    assert _packings(model) <= 1
    assert _packings(model, calls=2) == 0


def test_writes_that_torch_does_not_show_need_a_refresh() -> None:
    model = _model()
    _packings(model)
    model.first.weight.data[1:3].mul_(1000)
    assert _error(model) > 1e-2
    tilewright.torch.refresh()
    assert _packings(model) == 1
    model.first.weight.detach().numpy()[5:7] *= 1000
    assert _error(model) > 1e-2
    tilewright.torch.refresh()
    assert (_packings(model), _packings(model)) == (1, 0)


def test_averaged_weights_are_swapped_back_and_forth() -> None:
    model, in_place = _model(), _model()
    trained, averaged = dict(model.named_parameters()), {n: nn.Parameter(2 * p) for n, p in model.named_parameters()}
    _packings(model)
    counts = []
    for state in (averaged, trained, averaged, trained):
        for name, parameter in state.items():
            owner, _, attribute = name.rpartition(".")
            setattr(model.get_submodule(owner), attribute, parameter)
        counts.append(_packings(model, calls=2))
    assert counts == [1, 0, 0, 0]
    _packings(in_place)
    for state in (averaged, trained, averaged, trained):
        for name, parameter in in_place.named_parameters():
            parameter.copy_(state[name])
        assert (_packings(in_place), _packings(in_place)) == (1, 0)


def test_functional_call() -> None:
    model = _model()
    call = torch.compile(
        lambda given, tokens: torch.func.functional_call(model, given, (tokens,)), backend=tilewright.torch.backend
    )
    for scale in (1, 2, 3):
        given = {name: scale * parameter for name, parameter in model.named_parameters()}
        for _ in range(2):
            tokens = _tokens()
            wanted = torch.func.functional_call(model, given, (tokens,))
            torch.testing.assert_close(call(given, tokens), wanted, rtol=1e-4, atol=1e-4)


def test_functional_call_of_a_compiled_module() -> None:
    model = _model()
    wrapped = torch.compile(model, backend=tilewright.torch.backend)
    for scale in (1, 2, 3):
        given = {name: scale * parameter for name, parameter in model.named_parameters()}
        for _ in range(2):
            tokens = _tokens()
            wanted = torch.func.functional_call(model, given, (tokens,))
            got = torch.func.functional_call(wrapped, {f"_orig_mod.{name}": value for name, value in given.items()}, (tokens,))
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(wrapped(tokens), model(tokens), rtol=1e-4, atol=1e-4)


def test_deepcopy_of_a_compiled_module() -> None:
    wrapped = torch.compile(_model(), backend=tilewright.torch.backend)
    wrapped(_tokens())
    other = copy.deepcopy(wrapped)
    other.first.weight.mul_(3)
    for module in (wrapped, other, wrapped):
        tokens = _tokens()
        torch.testing.assert_close(module(tokens), module._orig_mod(tokens), rtol=1e-4, atol=1e-4)
    assert not torch.equal(wrapped(tokens), other(tokens))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_another_type(dtype: Any) -> None:
    model = _model()
    _packings(model)
    model.to(dtype)
    _packings(model)
    assert _packings(model, calls=2) == 0
    model.float()
    _packings(model)
    assert _packings(model, calls=2) == 0


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.layer(x))


def test_layers_of_regional_compilation_share_a_graph() -> None:
    """The blocks are called in turn, each with its weights."""
    model = nn.Sequential(*[Block() for _ in range(3)]).eval()
    wanted = copy.deepcopy(model)
    for block in model:
        block.compile(backend=tilewright.torch.backend)
    x = torch.randn(5, WIDTH)
    before = weights.packings()
    for _ in range(2):
        torch.testing.assert_close(model(x), wanted(x), rtol=1e-4, atol=1e-4)
    assert weights.packings() - before == 3
    for changed in (model, wanted):
        changed[1].layer.weight.mul_(2)
    torch.testing.assert_close(model(x), wanted(x), rtol=1e-4, atol=1e-4)
    assert weights.packings() - before == 4


def test_a_loop_that_trains_and_evaluates_stops_packing() -> None:
    model = _model()
    call = torch.compile(lambda tokens: model(tokens), backend=tilewright.torch.backend)
    before = weights.packings()
    for _ in range(8):
        _optimizer_step(model)
        tokens = _tokens()
        torch.testing.assert_close(call(tokens), model(tokens), rtol=1e-3, atol=1e-3)
    assert weights.packings() - before <= 4


class Counter(nn.Module):
    """A buffer that the graph changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(WIDTH))
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        self.count.add_(1)
        return self.layer(x) + self.count


def test_a_buffer_that_the_graph_changes_is_packed_once() -> None:
    model, x = Counter().eval(), torch.randn(5, WIDTH)
    call = torch.compile(model, backend=tilewright.torch.backend)
    before = weights.packings()
    for number in range(1, 5):
        torch.testing.assert_close(call(x), model.layer(x) + number, rtol=1e-4, atol=1e-4)
    assert (weights.packings() - before, float(model.count[0])) == (1, 4.0)


def test_the_memory_of_a_deleted_model_comes_back() -> None:
    """Of its weights and of what was packed, although the compiled code stays for other models."""
    gc.collect()
    sets = sum(one.sets for one in weights.living())
    model = _model()
    _packings(model)
    assert sum(one.sets for one in weights.living()) > sets
    storages = [weakref.ref(p.untyped_storage()) for p in (*model.parameters(), *model.buffers())]
    del model
    gc.collect()
    assert [storage() for storage in storages] == [None] * len(storages)
    assert sum(one.sets for one in weights.living()) == sets


def test_replaced_weights_are_freed() -> None:
    model = _model()
    _packings(model)
    replaced = weakref.ref(model.first.weight.untyped_storage())
    model.first.weight = nn.Parameter(torch.randn(WIDTH, WIDTH))
    gc.collect()
    assert replaced() is None
    assert _packings(model) == 1


def test_four_threads_while_weights_change() -> None:
    """A layer whose weights all have one value gives results of one value: that of the weights which it had at the call."""
    model, wrong = nn.Linear(WIDTH, WIDTH).eval(), []
    call = torch.compile(lambda x: model(x), backend=tilewright.torch.backend)
    nn.init.zeros_(model.weight)
    number, changing = [0], threading.Lock()

    def change() -> None:
        with changing:
            number[0] += 1
            model.bias = nn.Parameter(torch.full((WIDTH,), float(number[0])))

    def work(seed: int) -> None:
        with torch.no_grad():
            for turn in range(60):
                if turn % 20 == 5 * seed:
                    change()
                begin = number[0]
                result = call(torch.ones(3, WIDTH))
                if not begin - 1 <= float(result[0, 0]) <= number[0] or (result != result[0, 0]).any():
                    wrong.append((begin, result))

    change()
    call(torch.ones(3, WIDTH))
    in_threads(work)
    assert wrong == []
    assert torch.equal(call(torch.ones(3, WIDTH)), model(torch.ones(3, WIDTH)))


def test_weights_that_share_memory_and_part() -> None:
    """Code that was made while they shared it tells them apart: here, and in other processes, which find it in the cache."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).eval()
    nn.init.uniform_(model[0].weight)
    for name, parameter in model[0].named_parameters():
        setattr(model[2], name, nn.Parameter(parameter.detach()))
    call = torch.compile(lambda x: model(x), backend=tilewright.torch.backend, fullgraph=True)
    for part in (lambda: None, lambda: setattr(model[2], "weight", nn.Parameter(torch.randn(WIDTH, WIDTH)))):
        part()
        x = torch.randn(5, WIDTH)
        torch.testing.assert_close(call(x), model(x), rtol=1e-4, atol=1e-4)


class Small(nn.Module):
    """Weights of few elements, zeros among them, and positions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positions", torch.arange(70) % 9)
        self.embedding, self.norm, self.layer = nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 8)
        nn.init.zeros_(self.layer.bias)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Any) -> Any:
        return self.layer(self.norm(x + self.embedding(self.positions))) * self.scale


def test_small_weights_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes is packed again without being planned again."""
    model, x = Small().eval(), torch.randn(70, 8)
    call = torch.compile(lambda x: model(x), backend=tilewright.torch.backend, fullgraph=True)
    torch.testing.assert_close(call(x), model(x), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(Options, "artifact", None)
    for tensor in (*model.parameters(), model.positions):
        tensor.copy_(torch.randint(1, 9, tensor.shape))
        torch.testing.assert_close(call(x), model(x), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(call(x), model(x), rtol=1e-4, atol=1e-4)


class Bytes(nn.Module):
    """A linear layer of bytes, as PT2E writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (WIDTH, WIDTH), dtype=torch.int8))
        self.register_buffer("scales", torch.full((WIDTH,), 0.02))
        self.register_buffer("zeros", torch.zeros(WIDTH, dtype=torch.int64))

    def forward(self, x: Any) -> Any:
        ops = torch.ops.quantized_decomposed
        x = ops.quantize_per_tensor(x, 0.02, 127, 0, 255, torch.uint8)
        x = ops.dequantize_per_tensor(x, 0.02, 127, 0, 255, torch.uint8)
        w = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -128, 127, torch.int8)
        return nn.functional.linear(x, w)


def test_scales_and_zero_points() -> None:
    """Products of bytes are made for them: others need other code, and get it."""
    import torch.ao.quantization.fx._decomposed

    model, x = Bytes(), torch.randn(5, WIDTH)
    call = torch.compile(lambda x: model(x), backend=tilewright.torch.backend, fullgraph=True)
    for change in (lambda: None, lambda: model.zeros.add_(3), lambda: model.scales.mul_(0.5), lambda: model.weight.neg_()):
        change()
        torch.testing.assert_close(call(x), model(x), rtol=1e-3, atol=1e-2)
