"""The networks of `tilewright_bench.networks`: small forms are right files, whose values keep their scale."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from tilewright_bench.networks.named import NETWORKS  # noqa: E402


@pytest.mark.parametrize("name", NETWORKS)
def test_small_forms_keep_the_scale_of_values(name):
    model = NETWORKS[name].model(small=True)
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds = {one.name: generator.standard_normal(one.shape, np.float32) for one in session.get_inputs()}
    (result,) = session.run(None, feeds)
    assert list(result.shape) == session.get_outputs()[0].shape
    assert 0.01 < result.std() < 100


def test_files_are_the_same_in_every_run():
    assert NETWORKS["crnn_convolutions"].model(small=True) == NETWORKS["crnn_convolutions"].model(small=True)
