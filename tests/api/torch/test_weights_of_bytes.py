"""Linear layers with weights of bytes: in torch's own operators, in plain operators, and in torchao's modules, where it is there.

Few rows read the bytes: what a call reads of weights has hardly more bytes than these have.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import tilewright.torch
from tilewright.api.torch.graphs import watched
from tilewright.api.torch.weights import packings

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

STEPS, COLUMNS = 256, 96
MOST_BYTES = 1.1
TOLERANCES = {torch.float32: {"rtol": 0, "atol": 1e-4}, torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2}}


class Layer(nn.Module):
    """int8 weights with a scale for every column."""

    def __init__(self, dtype: torch.dtype, *, is_packed: bool) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (COLUMNS, STEPS), dtype=torch.int8))
        self.register_buffer("scales", (torch.rand(COLUMNS) * 0.01).to(dtype))
        self.is_packed = is_packed

    def forward(self, x: Any) -> Any:
        if self.is_packed:
            return torch.ops.aten._weight_int8pack_mm(x, self.weight, self.scales)
        return nn.functional.linear(x, self.weight.to(x.dtype)) * self.scales


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def compiled(model: nn.Module) -> tuple[Any, list[Any]]:
    """The model in one graph without eager calls, and what it became."""
    seen: list[Any] = []
    call = torch.compile(model, backend=lambda module, examples: tilewright.torch.backend(module, examples), fullgraph=True)

    def run(x: Any) -> Any:
        with torch.no_grad(), watched(lambda report, units: (seen.extend(units), check(report))):
            return call(x)

    def check(report: Any) -> None:
        assert not report.eager

    return run, seen


def is_small(seen: list[Any]) -> bool:
    """Whether a call reads hardly more bytes of weights than there are."""
    (library,) = [unit.library for unit in seen]
    return bool(library.packed_bytes + library.read_bytes <= MOST_BYTES * library.frozen_bytes)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("is_packed", [True, False], ids=["packed", "plain"])
@pytest.mark.parametrize("rows", [1, 5, 20])
def test_torchs_own(rows: int, is_packed: bool, dtype: torch.dtype) -> None:
    model, x = Layer(dtype, is_packed=is_packed), torch.randn(rows, STEPS, dtype=dtype)
    call, seen = compiled(model)
    torch.testing.assert_close(call(x), model(x), **TOLERANCES[dtype])
    assert is_small(seen) == (rows < 20)


def test_changes_are_packed_again() -> None:
    model, x = Layer(torch.float32, is_packed=False), torch.randn(2, STEPS)
    call, seen = compiled(model)
    for change in (
        lambda: None,
        model.weight.neg_,
        lambda: model.scales.mul_(2),
        lambda: setattr(model, "weight", model.weight + 1),
    ):
        change()
        before = packings()
        for _ in range(2):
            torch.testing.assert_close(call(x), model(x), **TOLERANCES[torch.float32])
        assert packings() == before + 1
    assert len(seen) == 1


def quantised(name: str, dtype: torch.dtype) -> nn.Module:
    """A model of two layers by torchao."""
    torchao = pytest.importorskip("torchao.quantization")
    group = torchao.granularity.PerGroup(32)
    configurations = {
        "int8": lambda: torchao.Int8WeightOnlyConfig(),
        "int8 in groups": lambda: torchao.Int8WeightOnlyConfig(granularity=group),
        "int4 in groups": lambda: torchao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=group),
        "int8, int8 rows": lambda: torchao.Int8DynamicActivationInt8WeightConfig(),
        "int4, int8 rows": lambda: torchao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=group
        ),
    }
    model = nn.Sequential(nn.Linear(STEPS, COLUMNS), nn.ReLU(), nn.Linear(COLUMNS, 64)).to(dtype).eval()
    torchao.quantize_(model, configurations[name]())
    return model


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", ["int8", "int8 in groups", "int4 in groups", "int8, int8 rows", "int4, int8 rows"])
def test_torchao(name: str, dtype: torch.dtype) -> None:
    model, x = quantised(name, dtype), torch.randn(3, STEPS, dtype=dtype)
    call, seen = compiled(model)
    torch.testing.assert_close(call(x), model(x), **TOLERANCES[dtype])
    if "rows" not in name and dtype == torch.float32:
        assert is_small(seen)


def test_torchao_changed() -> None:
    model, x = quantised("int8 in groups", torch.float32), torch.randn(3, STEPS)
    call, _ = compiled(model)
    call(x)
    other = copy.deepcopy(model)
    other[0].weight.qdata.neg_()
    for change in (model[2].weight.scale.mul_, lambda _: setattr(model[0], "weight", other[0].weight)):
        change(2)
        torch.testing.assert_close(call(x), model(x), **TOLERANCES[torch.float32])
