"""Arrays for the inputs of a model that nobody gave."""

import numpy as np
import pytest

from tilewright.cli.model_feeds import made_feed
from tilewright.errors import TilewrightError


class Input:
    def __init__(self, name, type_, shape):
        self.name, self.type, self.shape = name, type_, shape


@pytest.mark.parametrize(
    ("name", "type_", "values"),
    [
        ("x", "tensor(int64)", {0, 1}),
        ("attention_mask", "tensor(int64)", {1}),
        ("attention_mask", "tensor(bool)", {True}),
        ("kept", "tensor(bool)", {True}),
    ],
)
def test_integers_are_in_every_table_and_masks_are_ones(name, type_, values):
    array = made_feed(Input(name, type_, [1, "tokens"]), {"tokens": (50,)})
    assert array.shape == (1, 50)
    assert set(array.ravel().tolist()) == values
    assert f"tensor({array.dtype})" == type_


def test_numbers_are_normal_and_the_same_each_time():
    one = Input("x", "tensor(float16)", [4, 2])
    array = made_feed(one, {"x": (2000,)})
    assert array.dtype == np.float16
    assert abs(float(array.astype(float).std()) - 1) < 0.1
    assert np.array_equal(array, made_feed(one, {"x": (2000,)}))


@pytest.mark.parametrize("shape", [["n"], [None]])
def test_an_unknown_shape_is_refused(shape):
    with pytest.raises(TilewrightError, match="the shape of the input 'x' is not known"):
        made_feed(Input("x", "tensor(float)", shape), {})
    with pytest.raises(TilewrightError, match="is a tensor"):
        made_feed(Input("x", "tensor(string)", [1]), {})
