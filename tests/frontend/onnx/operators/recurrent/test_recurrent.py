"""Recurrent layers: sequences of several lengths, directions, and refused operands."""

import numpy as np
import pytest

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.operators.recurrent.layers import GRU, LSTM, RNN


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layer_type", [RNN, GRU, LSTM])
def test_shorter_sequences_of_a_batch_are_as_if_alone(layer_type, direction):
    layer, gates = layer_type(direction=direction), layer_type.gates
    rng, ways, hidden = np.random.default_rng(0), 2 if direction == "bidirectional" else 1, 5
    x, w, r, b = (
        rng.standard_normal(shape, np.float32)
        for shape in ((4, 2, 3), (ways, gates * hidden, 3), (ways, gates * hidden, hidden), (ways, 2 * gates * hidden))
    )
    together = layer.reference(x, w, r, b, np.array([4, 2]))
    alone = layer.reference(x[:2, 1:], w, r, b)
    np.testing.assert_allclose(together[0][:2, :, 1:], alone[0], rtol=1e-5, atol=1e-6)
    assert not together[0][2:, :, 1].any()
    for one, other in zip(together[1:], alone[1:], strict=True):
        np.testing.assert_allclose(one[:, 1:], other, rtol=1e-5, atol=1e-6)


def test_gru_with_the_reset_before_or_after_the_product():
    x, w, r = np.ones((1, 1, 1), np.float32), np.full((1, 3, 1), 0.5, np.float32), np.full((1, 3, 1), 2.0, np.float32)
    b, h = np.array([[0, 0, 0, 0, 0, 1]], np.float32), np.full((1, 1, 1), 0.5, np.float32)
    z = 1 / (1 + np.exp(-1.5))
    for after, inner in ((0, z * 0.5 * 2 + 1), (1, z * (0.5 * 2 + 1))):
        (last,) = GRU(linear_before_reset=after).reference(x, w, r, b, None, h)[1:]
        np.testing.assert_allclose(last.item(), (1 - z) * np.tanh(0.5 + inner) + z * 0.5, rtol=1e-6)


def test_weights_of_another_size_are_refused():
    with pytest.raises(ShapeError, match="W of shape"):
        RNN().reference(*(np.zeros(shape, np.float32) for shape in ((2, 1, 3), (1, 4, 3), (1, 4, 5))))
