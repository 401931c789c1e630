"""Small models of every family, in the forms in which exporters write them: results agree with float64, and with onnxruntime."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import tilewright.onnx as ort  # noqa: E402
from benchmarks.onnx_models.cases import make  # noqa: E402
from tests.support.whole_models import distance, exported, feeds, onnxruntime_results, tolerance  # noqa: E402

MODELS = (
    ("bert", "old"),
    ("bert_fused", "dynamo"),
    ("vit", "expanded"),
    pytest.param("gpt2", "dynamo", marks=pytest.mark.ci),
    ("gpt2_cached", "torchscript"),
    pytest.param("mobilenet_v2", "old", marks=pytest.mark.ci),
    pytest.param("unet", "torchscript", marks=pytest.mark.sweep),  # as test_published_cnns.py, with transposed convolutions
    pytest.param("detector", "torchscript", marks=pytest.mark.sweep),  # of all sizes in test_dynamic_models.py
    pytest.param("shufflenet", "torchscript", marks=pytest.mark.ci),
)

pytestmark = pytest.mark.needs("ssse3", "sse4_1")


@pytest.mark.parametrize(("name", "exporter"), MODELS)
def test_results_agree(name, exporter, tmp_path):
    case = make(name, small=True)
    path = exported(case, tmp_path / "model.onnx", exporter)
    session = ort.InferenceSession(path)
    given = feeds(case, session)
    found = session.run(None, given)
    assert not session.numpy_operators
    assert session.compilation_count == 1
    assert distance(found, case.in_float64()) <= tolerance(case.module)
    peer = onnxruntime_results(path, given)
    if peer is not None:
        assert distance(found, peer) <= 2 * tolerance(case.module)


def test_a_decoding_loop_does_not_compile_at_every_step(tmp_path):
    case = make("gpt2_cached", small=True)
    session = ort.InferenceSession(exported(case, tmp_path / "model.onnx", "torchscript", dynamic=True))
    given = feeds(case, session)
    for step in range(8):
        given["input_ids"] = np.array([[7 * step % 100]])
        logits, *kept = session.run(None, given)
        with torch.no_grad():
            expected = case.module(*(torch.from_numpy(given[name]) for name in case.input_names))[0].numpy()
        assert distance([logits], [expected]) <= 2 * tolerance(case.module)
        given.update(zip(case.input_names[1:], kept, strict=True))
    assert kept[0].shape[2] == 9 + 8
    assert session.compilation_count <= 3
