"""Arrays for the inputs of a model that nobody gave."""

import numpy as np
import pytest

from tilewright.cli.model_feeds import completed, made_feed
from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.element_types import onnx_name


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
    array = made_feed(Input(name, type_, [1, "tokens"]), (1, 50))
    assert array.shape == (1, 50)
    assert set(array.ravel().tolist()) == values
    assert f"tensor({array.dtype})" == type_


def test_numbers_are_normal_and_the_same_each_time():
    one = Input("x", "tensor(float16)", [4, 2])
    array = made_feed(one, (2000,))
    assert array.dtype == np.float16
    assert abs(float(array.astype(float).std()) - 1) < 0.1
    assert np.array_equal(array, made_feed(one, (2000,)))


@pytest.mark.parametrize("name", ["bfloat16", "float8e4m3fn", "int4", "double"])
def test_every_element_type_has_numbers(name):
    array = made_feed(Input("x", f"tensor({name})", [3]), (3,))
    assert onnx_name(array.dtype) == name


def test_what_is_no_tensor_of_numbers_is_refused():
    with pytest.raises(TilewrightError, match="is a tensor"):
        made_feed(Input("x", "tensor(string)", [1]), (1,))


FLOAT = "tensor(float)"


def test_first_dimensions_are_one_and_others_what_ranges_are_planned_for():
    shapes, assumed = completed([Input("x", FLOAT, ["n", 3, None]), Input("z", FLOAT, ["t", "n"])], {})
    assert shapes == {"x": (1, 3, 128), "z": (1, 1)}
    assert assumed == {"n": 1, "x[2]": 128, "t": 1}


def test_shapes_and_dimensions_that_are_given_count():
    inputs = [Input("x", FLOAT, ["n", "t"]), Input("z", FLOAT, [None, "t"]), Input("q", FLOAT, [])]
    shapes, assumed = completed(inputs, {"x": (2, 7), "z[0]": (5,)})
    assert shapes == {"x": (2, 7), "z": (5, 7), "q": ()}
    assert assumed == {}


@pytest.mark.parametrize(("shape", "dimensions"), [([4], "are all known"), (["n", None], "n, x[1]")])
def test_a_name_of_nothing_is_refused(shape, dimensions):
    with pytest.raises(TilewrightError, match="no input and no dimension 'k'") as caught:
        completed([Input("x", FLOAT, shape)], {"k": (3,)})
    assert caught.value.why == f"its inputs are x; its dimensions {dimensions}"
