"""Sessions by the names of onnxruntime: what an existing script asks of them."""

import re
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tilewright.onnx as ort
import tilewright.onnx.backend as backend
from tests.support.onnx_models import info, model, node
from tilewright import compiler
from tilewright.errors import DTypeError, FeedError, InvalidModel, PositionError, ShapeError, TilewrightError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def doubling(shape=("n", 3)):
    proto = model([node("Double", ["x"], ["y"])], [info("x", list(shape))], [info("y", list(shape))])
    proto.producer_name, proto.model_version, proto.domain = "tests", 7, "org.example"
    proto.metadata_props.add(key="author", value="somebody")
    return proto


def test_a_script_goes_on_working(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(doubling(), path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    session = ort.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])
    assert [(one.name, one.shape, one.type) for one in session.get_inputs()] == [("x", ["n", 3], "tensor(float)")]
    assert [one.name for one in session.get_outputs()] == ["y"]
    assert session.get_providers() == ort.get_available_providers() == ["CPUExecutionProvider"]
    assert ort.get_device() == "CPU"
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.version, meta.domain) == ("tests", 7, "org.example")
    assert meta.custom_metadata_map == {"author": "somebody"}
    (y,) = session.run(["y"], {"x": X}, ort.RunOptions())
    assert np.array_equal(y, 2 * X)


@pytest.mark.parametrize(
    "convert", [lambda proto: proto.SerializeToString(), lambda proto: proto, lambda proto: bytearray(proto.SerializeToString())]
)
def test_bytes_and_protobuf_serve_too(convert):
    session = ort.InferenceSession(path_or_bytes=convert(doubling()))
    assert np.array_equal(session.run(None, {"x": X})[0], 2 * X)


def test_values_are_bound():
    session = ort.InferenceSession(doubling())
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], 2 * X)
    target = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_ortvalue_output("y", target)
    session.run_with_iobinding(binding)
    assert np.array_equal(target.numpy(), 2 * X)
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert (value.shape(), value.data_type(), value.device_name()) == ([2, 3], "tensor(float)", "cpu")
    assert np.array_equal(session.run_with_ort_values(None, {"x": value})[0].numpy(), 2 * X)
    binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_shape_and_type([3, 3], np.float32))
    with pytest.raises(ShapeError, match="a bound output"):
        binding.run()


SUM = model([helper.make_node("Add", ["x", "x"], ["y"])], [info("x", [2, 3])], [info("y", [2, 3])])
"""Compiled: outputs can be written where they are bound."""


def test_bound_outputs_are_written_where_they_are_and_as_they_are():
    session = ort.InferenceSession(SUM)
    array = np.zeros((2, 3), np.float32)
    backwards, doubles = np.zeros((2, 6), np.float32)[:, ::-2], np.zeros((2, 3))
    for target in (array, backwards, doubles):
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(target))
        for _ in range(2):
            binding.run()
            assert np.array_equal(target, 2 * X)
    assert session.run_into({"y": array}, {"x": X})[0] is array


def test_a_bound_output_may_be_an_input_or_overlap_one():
    session = ort.InferenceSession(SUM)
    memory = np.zeros(9, np.float32)
    source, overlapping = memory[:6].reshape(2, 3), memory[3:].reshape(2, 3)
    for target in (source, overlapping):
        source[:] = X
        binding = session.io_binding()
        binding.bind_cpu_input("x", source)
        binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(target))
        binding.run()
        assert np.array_equal(target, 2 * X)


def test_one_array_bound_to_two_outputs_holds_the_last():
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Mul", ["x", "x"], ["z"])]
    session = ort.InferenceSession(model(nodes, [info("x", [2, 3])], [info("y", [2, 3]), info("z", [2, 3])]))
    binding, value = session.io_binding(), ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_cpu_input("x", X)
    for name in "yz":
        binding.bind_ortvalue_output(name, value)
    binding.run()
    assert np.array_equal(value.numpy(), X * X)


def test_results_are_the_callers_own():
    session = ort.InferenceSession(model([helper.make_node("Identity", ["w"], ["y"])], [], [info("y", None)], {"w": X}))
    session.run(None, {})[0][:] = 7
    assert np.array_equal(session.run(None, {})[0], X)


def test_lists_and_other_byte_orders_are_converted():
    session = ort.InferenceSession(doubling().SerializeToString())
    for value in (X.tolist(), X.astype(">f4")):
        assert np.array_equal(session.run([], {"x": value})[0], 2 * X)
    with pytest.raises(DTypeError, match="the input 'x' is no array of float32"):
        session.run(None, {"x": [["a", "b", "c"]]})


@pytest.mark.parametrize("ids", [[[0, 4]], [[-5, 0]], [[10**12, 0]]])
def test_positions_out_of_range_are_refused(ids):
    """As every runtime does; -4 to 3 are inside."""
    nodes = [
        helper.make_node("Cast", ["ids"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Gather", ["w", "whole"], ["y"]),
    ]
    table = {"w": np.arange(12, dtype=np.float32).reshape(4, 3)}
    proto = model(nodes, [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, 2])], [info("y", [1, 2, 3])], table)
    session = ort.InferenceSession(proto)
    assert np.array_equal(session.run(None, {"ids": np.array([[-4, 3]])})[0][0], table["w"][[0, 3]])
    with pytest.raises(PositionError, match="is out of range\n  where: Gather node"):
        session.run(None, {"ids": np.array(ids)})


def test_results_do_not_share_memory():
    session = ort.InferenceSession(doubling().SerializeToString())
    first, second = session.run(["y", "y"], {"x": X})
    assert not np.shares_memory(first, second)


def test_a_run_that_is_to_end_does_not_begin():
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(TilewrightError, match="terminated"):
        ort.InferenceSession(doubling().SerializeToString()).run(None, {"x": X}, options)


def test_fixed_shapes_are_compiled_when_the_session_is_made():
    session = ort.InferenceSession(doubling((2, 3)))
    assert session.compilation_count == 1
    session.run(None, {"x": X})
    assert session.compilation_count == 1
    assert ort.InferenceSession(doubling()).compilation_count == 0


def test_explain_takes_dimensions_and_shapes():
    session = ort.InferenceSession(doubling())
    assert "extents" in session.explain(n=5)
    assert session.explain(x=(5, 3)) == session.explain(n=5)
    with pytest.raises(ShapeError, match="the shape of 'x' is not known"):
        session.explain()
    with pytest.raises(ShapeError, match="no input and no dimension 'z'"):
        session.explain(z=5)


@pytest.mark.parametrize("value", [None, np.ma.masked_array(X, X > 1)])
def test_feeds_that_are_no_arrays_are_named(value):
    with pytest.raises(DTypeError) as caught:
        ort.InferenceSession(doubling()).run(None, {"x": value})
    assert caught.value.where == "input 'x'"


@pytest.mark.parametrize("shape", [["n"], ["n", 3], [2, "n", "m"]])
@pytest.mark.parametrize("name", ["x", "x.1"])
def test_explain_asks_for_a_shape_that_the_input_may_have(shape, name):
    session = ort.InferenceSession(model([node("Double", [name], ["y"])], [info(name, shape)], [info("y", None)]))
    with pytest.raises(ShapeError, match="is not known") as caught:
        session.explain()
    asked = re.search(r"explain\(.*\);", caught.value.hint)[0].rstrip(";")
    assert "extents" in eval(asked, {"explain": session.explain})


def test_explain_of_dynamic_dimensions_tells_what_has_run():
    nodes = [node("Double", ["x"], ["a"]), node("Triple", ["a"], ["b"]), node("Double", ["b"], ["y"])]
    session = ort.InferenceSession(model(nodes, [info("x", ["n", 3])], [info("y", None)]))
    for rows in (2, 5, 6):
        session.run(None, {"x": np.ones((rows, 3), np.float32)})
    text = session.explain()
    assert "for x (2, 3):" in text
    assert "for x (5, 3):" not in text  # the range has its kernel
    assert "for b (2, 3):" in text
    assert text.count("1 more node is planned") == 1


def test_feeds_that_do_not_fit_are_value_errors_as_in_onnxruntime():
    session = ort.InferenceSession(doubling())
    with pytest.raises(ValueError, match="the input 'x' is missing"):
        session.run(None, {})
    with pytest.raises(FeedError, match="the model has no input 'z'"):
        session.run(None, {"x": X, "z": X})


@pytest.mark.parametrize("feeds", [None, [X], X], ids=["None", "a list", "an array"])
def test_feeds_that_are_no_dictionary_are_refused(feeds):
    session = ort.InferenceSession(doubling())
    with pytest.raises(FeedError, match=f"a dictionary of arrays by name, not of type {type(feeds).__name__}") as caught:
        session.run(None, feeds)
    assert caught.value.hint == "session.run(None, {'x': ...})"


def test_explain_and_profile_mark_what_runs_as_numpy():
    nodes = [node("Double", ["x"], ["a"]), node("Triple", ["a"], ["b"]), node("Double", ["b"], ["y"])]
    session = ort.InferenceSession(model(nodes, [info("x", [2, 3])], [info("y", None)]))
    text = session.explain()
    assert "these run as NumPy:\n  Triple node" in text
    assert "1 more node is planned" in text
    profile = session.profile({"x": X})
    assert [one.is_numpy for one in profile.chains] == [False, True, False]
    assert all(one.seconds >= 0 for one in profile.chains)
    assert "runs as NumPy" in str(profile)
    assert profile.chains[0].size_bytes == 48


def test_profiles_are_planned_once(monkeypatch):
    session = ort.InferenceSession(doubling())
    first = session.profile({"x": np.ones((2, 3), np.float32)})
    monkeypatch.setattr(compiler, "plan", lambda *_, **__: pytest.fail("planned again"))
    again = session.profile({"x": np.ones((2, 3), np.float32)})
    assert [one.predicted_seconds for one in again.chains] == [one.predicted_seconds for one in first.chains]
    assert first.chains[0].predicted_seconds > 0


def test_profile_looks_at_lengths_as_they_were_compiled():
    session = ort.InferenceSession(doubling())
    for length in (2, 5, 9):
        session.run(None, {"x": np.ones((length, 3), np.float32)})
    assert len(session.profile({"x": np.ones((7, 3), np.float32)}).chains) == 1


def test_threads_that_are_none():
    options = ort.SessionOptions()
    with pytest.raises(TilewrightError, match="intra_op_num_threads"):
        options.intra_op_num_threads = "two"
    options.intra_op_num_threads = -1
    with pytest.raises(TilewrightError, match="intra_op_num_threads"):
        ort.InferenceSession(doubling(), options)


def test_the_backend_runs_models_and_nodes():
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    assert np.array_equal(backend.run_model(doubling(), [X])[0], 2 * X)
    (y,) = backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [X - 3])
    assert np.array_equal(y, np.maximum(X - 3, 0))
    with pytest.raises(TilewrightError, match="no device 'CUDA'"):
        backend.prepare(doubling(), "CUDA")


def test_large_weights_stay_in_the_file(tmp_path):
    w = np.random.default_rng(0).standard_normal((3, 2000)).astype(np.float32)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [2, 3])], [info("y", None)], {"w": w})
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    session = ort.InferenceSession(path)
    assert np.allclose(session.run(None, {"x": X})[0], X @ w, rtol=1e-5, atol=1e-5)
    with pytest.raises(InvalidModel):
        ort.InferenceSession(path.read_bytes()[:-9000])


def test_unused_and_missing_element_types():
    proto = model([node("Double", ["x"], ["y"])], [info("x", [2, 3]), info("z", [1], TensorProto.INT64)], [info("y", None)])
    assert np.array_equal(ort.InferenceSession(proto).run(None, {"x": X, "z": np.array([1])})[0], 2 * X)


@pytest.mark.parametrize("change", [lambda path, proto: onnx.save(proto, path), lambda path, proto: path.write_bytes(b"")])
def test_a_file_that_is_written_to_is_not_read_again(tmp_path, change):
    """What is compiled stays as it was; what is not is refused."""

    def product(weight):
        constants = {"w": np.full((512, 10), weight, np.float32)}
        return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", ["n", 512])], [info("y", ["n", 10])], constants)

    path = tmp_path / "model.onnx"
    onnx.save(product(1), path)
    session = ort.InferenceSession(path, mapped=True)
    x = np.ones((2, 512), np.float32)
    assert session.run(None, {"x": x})[0][0, 0] == 512
    change(path, product(2))
    assert session.run(None, {"x": x})[0][0, 0] == 512
    assert session.run(None, {"x": x[:1]})[0][0, 0] == 512
    with pytest.raises(InvalidModel, match="has changed since the session was made"):
        session.run(None, {"x": x[:0]})


def test_calls_that_are_as_earlier_ones_are_checked_as_these_were():
    nodes = [helper.make_node("Sub", ["b", "a"], ["y"]), helper.make_node("Add", ["a", "b"], ["z"])]
    session = ort.InferenceSession(model(nodes, [info("a", ["n", 3]), info("b", ["n", 3])], [info("y", None), info("z", None)]))
    for rows in (2, 5, 2, 2, 5):
        a, b = np.full((rows, 3), 1, np.float32), np.full((rows, 3), 3, np.float32)
        for feeds in ({"a": a, "b": b}, {"b": b, "a": np.asfortranarray(a)}):
            y, z = session.run(None, feeds)
            assert (y.shape, y.max(), z.min()) == ((rows, 3), 2, 4)
            assert session.run(["z"], feeds)[0].min() == 4
            assert session.run(["z", "y"], feeds)[1].max() == 2
        for feeds in (
            {"a": a},
            {"a": a, "c": b},
            {"a": a, "b": b, "c": b},
            {"a": a, "b": b.astype(np.float64)},
            {"a": a, "b": b[:1, :2]},
        ):
            with pytest.raises(TilewrightError):
                session.run(None, feeds)


def test_profiles_count_the_extents_that_are_fed():
    session = ort.InferenceSession(doubling())
    for rows in (2, 1000, 2):
        (chain,) = session.profile({"x": np.ones((rows, 3), np.float32)}).chains
        assert chain.size_bytes == 2 * rows * 3 * 4


def test_profiles_count_the_extents_that_stages_pass_on():
    """What runs behind a node that is NumPy's has dimensions of its own."""
    nodes = [node("Triple", ["x"], ["a"]), node("Double", ["a"], ["y"])]
    session = ort.InferenceSession(model(nodes, [info("x", ["n", 3])], [info("y", None)]))
    for rows in (2, 50):
        chains = session.profile({"x": np.ones((rows, 3), np.float32)}).chains
        assert [chain.size_bytes for chain in chains if not chain.is_numpy] == [2 * rows * 3 * 4]


def test_a_session_without_the_package_onnx_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "tilewright.frontend.onnx.reading", raising=False)
    with pytest.raises(ImportError, match="pip install onnx"):
        ort.InferenceSession(b"")
