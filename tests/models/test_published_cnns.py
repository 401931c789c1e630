"""Published convolutional networks: parameters are as many as published; small forms agree with float64 and with onnxruntime."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import tilewright.onnx as ort  # noqa: E402
from benchmarks.onnx_models.cases import MODELS, make  # noqa: E402
from benchmarks.onnx_models.published import NETWORKS  # noqa: E402
from tests.support.whole_models import distance, exported, feeds, onnxruntime_results, tolerance  # noqa: E402

ALIKE = ("resnet152", "vgg19", "shufflenet_v2")
"""Their small forms are those of other networks."""
SLOW = ("yolov8n", "inception_v2", "efficientnet_b0", "squeezenet", "densenet_121", "regnety_8gf")
"""Many kinds of chains even if small: a small detector is among MODELS; GoogLeNet, MobileNetV3 and others have their blocks."""
MARKS = {**dict.fromkeys(SLOW, pytest.mark.sweep), **dict.fromkeys(("resnet18", "googlenet"), pytest.mark.ci)}
SMALL = [pytest.param(name, marks=MARKS.get(name, ())) for name in NETWORKS if name not in (*MODELS, *ALIKE)]


@pytest.mark.ci
@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_are_as_many_as_published(name):
    network = NETWORKS[name]
    with torch.device("meta"):
        module = network.build()
    millions = sum(part.numel() for part in module.parameters()) / 1e6
    assert millions == pytest.approx(network.millions, abs=0.05 if network.millions in (7.0, 31.0) else 0.01)


@pytest.mark.unverified
@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("name", SMALL)
def test_small_forms_agree(name, tmp_path):
    case = make(name, small=True)
    path = exported(case, tmp_path / "model.onnx", "torchscript")
    session = ort.InferenceSession(path)
    given = feeds(case, session)
    found, exact = session.run(None, given), case.in_float64()
    assert not session.numpy_operators
    assert session.compilation_count == 1
    assert distance(found, exact) <= tolerance(case.module)
    peer = onnxruntime_results(path, given)
    if peer is not None:
        assert distance(found, peer) <= 2 * tolerance(case.module)
