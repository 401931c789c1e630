"""Exported models with dynamic dimensions: one library, and bits that neither the order of calls nor threads change."""

from __future__ import annotations

import logging

import numpy as np
import pytest

pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from benchmarks.studies.parts.exported_models import MODELS, encoder, small_detector  # noqa: E402
from tilewright.errors import ShapeError  # noqa: E402
from tilewright.onnx import InferenceSession, SessionOptions  # noqa: E402

VALUES = ((3, 17), (1, 1), (8, 5), (2, 40), (1, 33), (5, 2))
pytestmark = pytest.mark.unverified


def _session(octets: bytes, threads: int) -> InferenceSession:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    return InferenceSession(octets, options)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(
    ("name", "dynamo"),
    [("decoder", False), *(pytest.param(*one, marks=pytest.mark.ci) for one in (("decoder", True), ("convolutions", False)))],
)
def test_random_values_have_one_library_and_the_bits_of_a_fresh_session(name: str, *, dynamo: bool) -> None:
    model = MODELS[name](dynamo=dynamo)
    reference = onnxruntime.InferenceSession(model.octets, providers=["CPUExecutionProvider"])
    session, reversed_order = _session(model.octets, 1), _session(model.octets, 2)
    calls = [model.feeds(np.random.default_rng(number), values) for number, values in enumerate(VALUES)]
    results = [session.run(None, feeds)[0] for feeds in calls]
    for feeds, result in zip(calls[::-1], results[::-1], strict=True):
        np.testing.assert_allclose(result, reference.run(None, feeds)[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(reversed_order.run(None, feeds)[0], result)
    assert session.compilation_count == 1
    assert not session.numpy_operators


@pytest.mark.ci
@pytest.mark.needs("avx2", "fma")
def test_a_detector_of_all_sizes_has_one_library_for_multiples_of_its_steps(caplog: pytest.LogCaptureFixture) -> None:
    """What goes up by 2 and meets what came down fits for multiples of 32 only: the log says so once."""
    model = small_detector()
    reference = onnxruntime.InferenceSession(model.octets, providers=["CPUExecutionProvider"])
    with caplog.at_level(logging.INFO, logger="tilewright.plan"):
        session = _session(model.octets, 1)
        calls = [model.feeds(np.random.default_rng(number), values) for number, values in enumerate(((2, 3), (1, 1), (4, 2)))]
        results = [session.run(None, feeds)[0] for feeds in calls]
    fresh = _session(model.octets, 2)
    for feeds, result in zip(calls[::-1], results[::-1], strict=True):
        np.testing.assert_allclose(result, reference.run(None, feeds)[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(fresh.run(None, feeds)[0], result)
    assert session.compilation_count == 1
    assert not session.numpy_operators
    told = [record.message for record in caplog.records if "multiples of 32" in record.message]
    assert len(told) == 1


def test_an_example_that_the_exporter_wrote_into_a_model_is_named_where_another_shape_does_not_fit() -> None:
    """The TorchScript exporter reshapes keys in torch's encoder by the length of its example: onnxruntime refuses others, too."""
    model = encoder(dynamo=False)
    feeds = model.feeds(np.random.default_rng(0), (2, 7))
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.Fail, match="Reshape"):
        onnxruntime.InferenceSession(model.octets, providers=["CPUExecutionProvider"]).run(None, feeds)
    session = InferenceSession(model.octets, SessionOptions())
    with pytest.raises(ShapeError, match="Reshape"):
        session.run(None, feeds)
    for batch in (2, 3, 1):
        assert session.run(None, model.feeds(np.random.default_rng(0), (batch, 5)))[0].shape == (batch, 5, 64)
