"""Frozen weights alone: what is packed when, what is dropped, and that results are never those of other weights."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.support.torch.threads import in_threads  # noqa: E402
from tilewright.api import torch_internals as internals  # noqa: E402
from tilewright.api.torch import weights as module  # noqa: E402
from tilewright.api.torch.weights import FrozenWeights  # noqa: E402

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


class Graph:
    """x @ w + b, whose weights are packed by copying them."""

    def __init__(self) -> None:
        self.weights = FrozenWeights([1, 2], self.build)
        self.given: list[tuple[bool, ...]] = []
        self.packed: weakref.WeakSet[Any] = weakref.WeakSet()

    def build(self, tensors: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
        self.given.append(tuple(tensor is not None for tensor in tensors))
        copies = [None if tensor is None else tensor.clone() for tensor in tensors]
        self.packed.update(copy for copy in copies if copy is not None)

        def run(arguments: list[Any]) -> list[Any]:
            x, *inputs = arguments
            arguments.clear()
            w, b = (given if copy is None else copy for copy, given in zip(copies, inputs, strict=True))
            return [x @ w + b]

        return run

    def packings_of(self, layer: Layer, calls: int = 3) -> int:
        """What so many calls pack; their results are right."""
        before = self.weights.packings
        for _ in range(calls):
            x = torch.randn(2, 4)
            arguments = [x, *layer.tensors]
            assert torch.equal(self.weights(arguments)[0], layer(x))
            assert arguments == []
        return self.weights.packings - before


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = torch.nn.Parameter(torch.randn(4, 4)), torch.nn.Parameter(torch.randn(4))

    def forward(self, x: Any) -> Any:
        return x @ self.w + self.b

    @property
    def tensors(self) -> tuple[Any, Any]:
        return self.w, self.b


def _in_place(layer: Layer) -> None:
    layer.w.mul_(2)


def _new_parameter(layer: Layer) -> None:
    layer.w = torch.nn.Parameter(torch.randn(4, 4))


def _same_memory(layer: Layer) -> None:
    layer.w.mul_(3)
    layer.w = torch.nn.Parameter(layer.w.data)


def _new_data(layer: Layer) -> None:
    layer.w.data = torch.randn(4, 4)


def _detached_write(layer: Layer) -> None:
    layer.b.detach().add_(1)


def _swap(layer: Layer) -> None:
    torch.utils.swap_tensors(layer.w, torch.nn.Parameter(torch.randn(4, 4)))


def _state(layer: Layer) -> None:
    layer.load_state_dict({name: value + 1 for name, value in layer.state_dict().items()})


def _assigned_state(layer: Layer) -> None:
    layer.load_state_dict({name: value + 1 for name, value in layer.state_dict().items()}, assign=True)


def _hidden(layer: Layer) -> None:
    layer.w.data.t().mul_(2)


def _vector(layer: Layer) -> None:
    torch.nn.utils.vector_to_parameters(torch.randn(20), layer.parameters())


CHANGES = (_in_place, _new_parameter, _same_memory, _new_data, _detached_write, _swap, _state, _assigned_state, _hidden, _vector)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_packs_once(change: Callable[[Layer], None]) -> None:
    graph, layer = Graph(), Layer()
    assert graph.packings_of(layer) == 1
    for _ in range(9):
        change(layer)
        assert graph.packings_of(layer) == 1
    assert graph.weights.sets == 1
    assert graph.weights.frozen == (1, 2)


def test_what_changes_nothing_packs_nothing() -> None:
    graph, layer = Graph(), Layer()
    graph.packings_of(layer)
    layer.requires_grad_(False).train().eval()
    assert graph.packings_of(layer) == 0


def test_many_layers_share_one_graph() -> None:
    graph, layers = Graph(), [Layer() for _ in range(5)]
    assert [graph.packings_of(layer, 1) for layer in layers] == [1] * 5
    assert [graph.packings_of(layer, 1) for layer in layers] == [0] * 5
    layers[3].w.add_(1)
    assert [graph.packings_of(layer, 1) for layer in layers] == [0, 0, 0, 1, 0]


def test_tensors_that_are_swapped_are_found_again() -> None:
    graph, layer = Graph(), Layer()
    trained, averaged = layer.w, torch.nn.Parameter(torch.randn(4, 4))
    graph.packings_of(layer)
    layer.w = averaged
    assert graph.packings_of(layer, 1) == 1
    for layer.w in [trained, averaged] * 5:
        assert graph.packings_of(layer, 1) == 0


def test_writes_that_do_not_show_need_a_refresh() -> None:
    graph, layer = Graph(), Layer()
    graph.packings_of(layer)
    layer.w.data[1, 2] += 9
    x = torch.randn(2, 4)
    assert not torch.equal(graph.weights([x, *layer.tensors])[0], layer(x))
    module.refresh()
    assert graph.packings_of(layer) == 1


def test_what_changes_before_every_call_becomes_an_input() -> None:
    graph, layer = Graph(), Layer()
    graph.packings_of(layer, 1)
    for _ in range(9):
        layer.w.add_(1)
        graph.packings_of(layer, 1)
    assert graph.weights.frozen == (2,)
    assert graph.given == [(True, True)] * 3 + [(False, True)]
    layer.b.add_(1)
    assert graph.packings_of(layer) == 1


def test_a_change_now_and_then_packs_for_ever() -> None:
    graph, layer = Graph(), Layer()
    for _ in range(40):
        layer.w.add_(1)
        assert graph.packings_of(layer, 1 + module.PAYING_CALLS) == 1


def test_few_calls_between_changes_pack_a_bounded_number_of_times() -> None:
    graph, layer = Graph(), Layer()
    for _ in range(60):
        layer.w.add_(1)
        graph.packings_of(layer, 2)
    assert graph.weights.packings <= 35
    assert graph.weights.frozen == (2,)


def test_new_tensors_at_every_call_become_inputs() -> None:
    graph = Graph()
    for _ in range(20):
        graph.packings_of(Layer(), 1)
        gc.collect()
    assert graph.weights.frozen == ()
    assert graph.weights.packings < 20
    assert len(graph.packed) == 0


def test_tensors_of_inference_mode_become_inputs() -> None:
    graph, layer = Graph(), Layer()
    graph.packings_of(layer, 1)
    with torch.inference_mode():
        torch.utils.swap_tensors(layer.w, torch.nn.Parameter(torch.randn(4, 4)))
    assert graph.packings_of(layer) == 1
    assert graph.weights.frozen == (2,)
    with torch.inference_mode():
        layer.w.mul_(2)
    assert graph.packings_of(layer) == 0


def test_tied_weights() -> None:
    graph, layer = Graph(), Layer()
    layer.b = torch.nn.Parameter(layer.w[0])
    assert graph.packings_of(layer) == 1
    layer.w.mul_(2)
    assert graph.packings_of(layer) == 1


def test_packed_weights_die_with_their_storages() -> None:
    graph, layer = Graph(), Layer()
    graph.packings_of(layer)
    freed = weakref.ref(layer.w.untyped_storage())
    view = layer.w.detach()
    del layer
    gc.collect()
    assert freed() is None or graph.weights.sets == 0
    del view
    gc.collect()
    assert (freed(), graph.weights.sets, len(graph.packed)) == (None, 0, 0)


def test_what_is_replaced_is_freed_before_it_is_packed_again() -> None:
    graph, layer = Graph(), Layer()
    kept = []
    build = graph.weights._build
    graph.weights._build = lambda tensors: (kept.append(len(graph.packed)), build(tensors))[1]
    for change in (_in_place, _new_data, _new_parameter, _in_place):
        graph.packings_of(layer)
        change(layer)
    assert kept == [0] * 4


def test_a_build_that_fails_is_tried_again() -> None:
    layer, fails = Layer(), [True, False]

    def build(tensors: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
        if fails.pop(0):
            raise ValueError("no compiler")
        return lambda arguments: [1]

    weights = FrozenWeights([1, 2], build)
    with pytest.raises(ValueError, match="no compiler"):
        weights([0, *layer.tensors])
    assert weights([0, *layer.tensors]) == [1]


def test_a_graph_without_weights() -> None:
    weights = FrozenWeights([], lambda tensors: lambda arguments: [len(tensors), *arguments])
    assert (weights([5]), weights([6]), weights.packings) == ([0, 5], [0, 6], 0)


def test_a_change_while_weights_are_packed_shows_in_the_next_call() -> None:
    layer = Layer()

    def build(tensors: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
        copy = tensors[0].clone()
        if len(builds) == 0:
            layer.w.mul_(2)
        builds.append(copy)
        return lambda arguments: [copy]

    builds: list[Any] = []
    weights = FrozenWeights([0], build)
    weights([layer.w])
    assert torch.equal(weights([layer.w])[0], layer.w)
    assert len(builds) == 2


def test_four_threads_and_weights_that_change() -> None:
    """Every result is that of weights which the layer had between begin and end of the call."""
    graph, layer, wrong = Graph(), Layer(), []
    layer.w = torch.nn.Parameter(torch.zeros(4, 4))
    layer.b = torch.nn.Parameter(torch.zeros(4))
    number, changing = [0], threading.Lock()

    def change(by: int) -> None:
        with changing:
            number[0] += 1  # before anybody can see the weights
            if by % 3:
                layer.b = torch.nn.Parameter(torch.full((4,), float(number[0])))
            else:
                layer.b.add_(1)

    def work(seed: int) -> None:
        with torch.no_grad():
            for turn in range(300):
                if turn % 20 == 5 * seed:
                    change(turn // 20)
                with changing:
                    tensors = layer.tensors
                begin = float(tensors[1][0])
                result = graph.weights([torch.zeros(1, 4), *tensors])[0]
                if not begin <= float(result[0, 0]) <= number[0] or (result != result[0, 0]).any():
                    wrong.append((begin, result))

    in_threads(work)
    assert wrong == []
    assert graph.packings_of(layer) <= 1


def test_models_of_one_class_owe_nothing_for_each_other() -> None:
    graph = Graph()
    for _ in range(20):
        layer = Layer()
        graph.packings_of(layer, 2)
        layer.w.mul_(2)
        assert graph.packings_of(layer, 1) == 1
        del layer
    assert graph.weights.frozen == (1, 2)


@pytest.mark.parametrize("change", CHANGES)
def test_looking_at_weights_in_python(change: Callable[[Layer], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch does not show the address of elements to C, and where there is no compiler."""
    monkeypatch.setattr(internals, "elements_function", lambda: 0)
    graph, layer = Graph(), Layer()
    assert graph.packings_of(layer) == 1
    change(layer)
    assert graph.packings_of(layer) == 1
