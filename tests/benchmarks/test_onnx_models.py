"""The models of `benchmarks/onnx_models`: they keep the scale of their numbers, and exporters write them in different ways."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from benchmarks.onnx_models.cases import MODELS, make  # noqa: E402
from benchmarks.onnx_models.exporting import export  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread():
    """Teams of threads take longer than such small models."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", MODELS)
def test_results_are_of_sensible_scale(name):
    case = make(name, small=True)
    results, exact = case.expected(), case.in_float64()
    assert len(results) == len(case.output_names)
    for one, wide in zip(results, exact, strict=True):
        assert np.isfinite(one).all()
        assert 0.01 < np.abs(one).max() < 100
        np.testing.assert_allclose(one, wide, rtol=0, atol=1e-5 * np.abs(wide).max())


def test_models_are_the_same_for_the_same_seed():
    first, again, other = (make("mixer", small=True, seed=seed).expected()[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_decoder_goes_on_from_what_it_kept():
    case = make("gpt2", small=True)
    (ids,) = case.args
    with torch.no_grad():
        logits, *kept = case.module(ids)
        _, *before = case.module(ids[:, :-1])
        last, *after = case.module(ids[:, -1:], *before)
    torch.testing.assert_close(last, logits[:, -1:])
    torch.testing.assert_close(after, kept)


def test_traced_models_write_layer_norms_out_in_old_versions(tmp_path):
    kinds = {}
    for exporter in ("torchscript", "old"):
        export(make("mixer", small=True), tmp_path / "m.onnx", exporter=exporter)
        model = onnx.load(tmp_path / "m.onnx")
        onnx.checker.check_model(model)
        kinds[exporter] = {node.op_type for node in model.graph.node}
    assert "LayerNormalization" in kinds["torchscript"] - kinds["old"]
    assert "Erf" in kinds["torchscript"] & kinds["old"]


def test_lengths_have_names_where_they_may_vary(tmp_path):
    case = make("gpt2_cached", small=True)
    export(case, tmp_path / "m.onnx", exporter="torchscript", dynamic=True)
    inputs = {one.name: one.type.tensor_type.shape.dim for one in onnx.load(tmp_path / "m.onnx").graph.input}
    assert tuple(inputs) == case.input_names
    assert inputs["past_0_key"][2].dim_param == "past"


@pytest.mark.sweep
@pytest.mark.parametrize("exporter", ["dynamo", "expanded"])
@pytest.mark.parametrize("name", MODELS)
def test_programs_are_exported(name, exporter, tmp_path):
    pytest.importorskip("onnxscript")
    export(make(name, small=True), tmp_path / "m.onnx", exporter=exporter)
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model)
    operators = {node.op_type for node in model.graph.node}
    assert exporter == "dynamo" or not operators & {"LayerNormalization", "Gelu", "HardSwish"}
