"""Exporters write gelu, norms, softmax and attention in different ways: the same plan comes of all of them."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from benchmarks.onnx_models.attention import PackedAttention, SelfAttention, TanhGelu, feed_forward  # noqa: E402
from benchmarks.onnx_models.cases import ModelCase  # noqa: E402
from benchmarks.onnx_models.exporting import expand  # noqa: E402
from tests.support.whole_models import exported  # noqa: E402
from tilewright import compiler  # noqa: E402
from tilewright.api.onnx.steps import RemainingSubgraph, SessionContext  # noqa: E402
from tilewright.frontend.onnx.reading import load  # noqa: E402
from tilewright.machine import Machine  # noqa: E402


class Norm(nn.Module):
    """A layer norm in front of a linear layer, and a residual behind it."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(32), nn.Linear(32, 32)

    def forward(self, x):
        return x + self.linear(self.norm(x))


class Softmax(nn.Module):
    """The softmax of scores."""

    def __init__(self, *, is_written_out):
        super().__init__()
        self.linear, self.is_written_out = nn.Linear(32, 48), is_written_out

    def forward(self, x):
        scores = self.linear(x)
        if not self.is_written_out:
            return functional.softmax(scores, dim=-1)
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        return powers / powers.sum(dim=-1, keepdim=True)


class Masked(nn.Module):
    """Attention under a mask."""

    def __init__(self, *, is_fused):
        super().__init__()
        self.attention = SelfAttention(32, 4, is_fused=is_fused)
        self.register_buffer("mask", torch.where(torch.arange(16) < 12, 0.0, -1e4).view(1, 1, 1, 16))

    def forward(self, x):
        return self.attention(x, self.mask)


class WrittenGelu(nn.Module):
    """Gelu as x / 2 (1 + erf(x / sqrt 2))."""

    def forward(self, x):
        return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


FORMS = {
    "gelu": (lambda: feed_forward(32, 64), lambda: feed_forward(32, 64, WrittenGelu())),
    "tanh_gelu": (lambda: feed_forward(32, 64, nn.GELU("tanh")), lambda: feed_forward(32, 64, TanhGelu())),
    "layer_norm": (Norm,),
    "softmax": (lambda: Softmax(is_written_out=False), lambda: Softmax(is_written_out=True)),
    "attention": (lambda: PackedAttention(32, 4, is_fused=False), lambda: PackedAttention(32, 4, is_fused=True)),
    "masked_attention": (lambda: Masked(is_fused=False),),
    "fused_masked_attention": (lambda: Masked(is_fused=True),),
}


def _export(make, exporter, path):
    torch.manual_seed(0)
    exported(ModelCase(make().eval(), (torch.randn(1, 16, 32),), ("x",), ("y",)), path, exporter)


def _chains(path):
    """The chains of the plan: of every operator its points, what it is, and its functions."""
    body = load(path).body
    values = {one.unique: np.zeros(one.shape, np.float32) for one in body.inputs if one.unique not in body.constants}
    remaining = RemainingSubgraph(
        "model", lambda: (body.nodes, body.constants), [one.unique for one in body.outputs], SessionContext()
    )
    stage = remaining.first_stage(values)
    assert not stage.as_numpy
    return [sorted(map(_described, plan.chain.operators)) for plan in compiler.plan(stage.graph, Machine.named("zen4")).plans]


def _described(operator):
    points = math.prod(axis.extent for axis in operator.axes)
    return points, operator.is_contraction(), operator.is_row_reduction(), tuple(sorted(operator.functions()))


@pytest.fixture(scope="module", params=FORMS)
def form(request, tmp_path_factory):
    """The modules of a form, and the chains that all their files must have."""
    path = tmp_path_factory.mktemp("forms") / "first.onnx"
    modules = FORMS[request.param]
    _export(modules[0], "torchscript", path)
    return modules, _chains(path)


def test_traced_files_have_the_same_plan(form, tmp_path):
    modules, expected = form
    for make, exporter in [*((make, "torchscript") for make in modules[1:]), *((make, "old") for make in modules)]:
        _export(make, exporter, tmp_path / "traced.onnx")
        assert _chains(tmp_path / "traced.onnx") == expected, exporter


def test_exported_programs_have_the_same_plan_expanded_or_not(form, tmp_path):
    """The program, which takes torch longest, is the same."""
    modules, expected = form
    for make in modules:
        _export(make, "dynamo", tmp_path / "program.onnx")
        assert _chains(tmp_path / "program.onnx") == expected
        expand(tmp_path / "program.onnx")
        assert _chains(tmp_path / "program.onnx") == expected
