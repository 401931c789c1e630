"""The same calls on onnxruntime and here: exceptions by name, warnings, and results."""

import builtins
import copy
import json
import os
import pickle
import threading
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tilewright.onnx as ours
from tilewright.errors import (
    DTypeError,
    FeedError,
    InvalidModel,
    PositionError,
    ShapeError,
    TilewrightError,
    UnsupportedOperation,
)

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)
X = np.arange(6, dtype=np.float32).reshape(2, 3)
CPU = ["CPUExecutionProvider"]


def proto(nodes, inputs, opset=20, ir_version=10, outputs=("y",), output_type=TensorProto.FLOAT):
    infos = [helper.make_tensor_value_info(name, dtype, shape) for name, (dtype, shape) in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info(n, output_type, None) for n in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def relu(shape=(2, 3), **options):
    inputs = {"x": (TensorProto.FLOAT, shape)}
    return proto([helper.make_node("Relu", ["x"], ["y"])], inputs, **options).SerializeToString()


def of_nodes(*nodes):
    return proto(list(nodes), {"x": (TensorProto.FLOAT, (2, 3))}).SerializeToString()


def of_two(operator, second=TensorProto.FLOAT, **attributes):
    inputs = {"x": (TensorProto.FLOAT, ("a", "b")), "z": (second, ("c",) if second == TensorProto.INT64 else ("c", "d"))}
    return proto([helper.make_node(operator, ["x", "z"], ["y"], **attributes)], inputs).SerializeToString()


def session(module, model=None, options=None, providers=CPU):
    return module.InferenceSession(relu() if model is None else model, options, providers=providers)


def run(module, feeds, model=None, names=None, options=None):
    return session(module, model).run(names, feeds, options)


def with_options(module, **values):
    options = module.SessionOptions()
    for name, value in values.items():
        setattr(options, name, value)
    return options


def bound(module, **inputs):
    owner = session(module)
    binding = owner.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    return owner, binding


def terminated(module):
    options = module.RunOptions()
    options.terminate = True
    return options


def node(operator, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(operator, list(inputs), list(outputs), **attributes)


def value(module, array=X):
    return module.OrtValue.ortvalue_from_numpy(array)


def damaged(tmp_path, content=b"garbage"):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    return str(path)


def custom():
    made = proto([node("Foo", domain="a.b")], {"x": (TensorProto.FLOAT, (2, 3))})
    made.opset_import.append(helper.make_opsetid("a.b", 1))
    return made.SerializeToString()


LOADING = {
    "no file": lambda o, _: session(o, "/nonexistent/model.onnx"),
    "a directory": lambda o, path: session(o, str(path)),
    "a damaged file": lambda o, path: session(o, damaged(path)),
    "damaged bytes": lambda o, _: session(o, b"garbage"),
    "no bytes": lambda o, _: session(o, b""),
    "an empty file": lambda o, path: session(o, damaged(path, b"")),
    "a number": lambda o, _: o.InferenceSession(3, providers=CPU),
    "opset 99": lambda o, _: session(o, relu(opset=99)),
    "opset 0": lambda o, _: session(o, relu(opset=0)),
    "a version of the format": lambda o, _: session(o, relu(ir_version=99)),
    "an unknown operator": lambda o, _: session(o, of_nodes(node("Foo"))),
    "an unknown domain": lambda o, _: session(o, custom()),
    "a value that nobody makes": lambda o, _: session(o, of_nodes(node("Relu", ["z"]))),
    "a value made twice": lambda o, _: session(o, of_nodes(node("Relu"), node("Abs"))),
    "a cycle": lambda o, _: session(o, of_nodes(node("Add", ["x", "b"], ["a"]), node("Abs", ["a"], ["b"]), node("Abs", ["b"]))),
    "an attribute of a wrong type": lambda o, _: session(o, of_nodes(node("Softmax", axis="one"))),
    "an unknown attribute": lambda o, _: session(o, of_nodes(node("Relu", alpha=2))),
    "a missing attribute": lambda o, _: session(o, of_nodes(node("Cast"))),
    "too many inputs": lambda o, _: session(o, of_nodes(node("Relu", ["x", "x"]))),
    "an axis that there is not": lambda o, _: session(o, of_nodes(node("Softmax", axis=7))),
    "shapes that do not fit": lambda o, _: session(o, of_nodes(node("MatMul", ["x", "x"]))),
}
RUNNING = {
    "no feeds": lambda o, _: run(o, {}),
    "an unknown input": lambda o, _: run(o, {"x": X, "z": X}),
    "an unknown output": lambda o, _: run(o, {"x": X}, names=["q"]),
    "another type": lambda o, _: run(o, {"x": X.astype("f8")}),
    "another rank": lambda o, _: run(o, {"x": X[0]}),
    "another shape": lambda o, _: run(o, {"x": X.T}),
    "positions out of range": lambda o, _: run(o, {"x": X, "z": np.array([9])}, of_two("Gather", TensorProto.INT64)),
    "factors that do not fit": lambda o, _: run(o, {"x": X, "z": X}, of_two("MatMul")),
    "parts that do not fit": lambda o, _: run(o, {"x": X, "z": X.T}, of_two("Concat", axis=0)),
    "a shape of other elements": lambda o, _: run(o, {"x": X, "z": np.array([5])}, of_two("Reshape", TensorProto.INT64)),
    "a run that is to end": lambda o, _: run(o, {"x": X}, options=terminated(o)),
    "values of another type": lambda o, _: session(o).run_with_ort_values(None, {"x": value(o, X.astype("f8"))}),
    "no values": lambda o, _: session(o).run_with_ort_values(None, {}),
    "asynchronously without feeds": lambda o, _: session(o).run_async(None, {}, print, None),
    "options that are none": lambda o, _: session(o).run(None, {"x": X}, 3),
    "outputs as a text": lambda o, _: session(o).run("y", {"x": X}),
    "a binding of another session": lambda o, _: session(o).run_with_iobinding(bound(o, x=X)[1]),
    "a binding of a run that is to end": lambda o, _: finished(bound(o, x=X), options=terminated(o)),
    "all outputs": lambda o, _: run(o, {"x": X}, names=[]),
    "an output twice": lambda o, _: run(o, {"x": X}, names=["y", "y"]),
    "a list": lambda o, _: run(o, {"x": X.tolist()}),
}
OPTIONS = {
    "a misspelt option": lambda o, _: with_options(o, intra_op_num_thread=1),
    "a misspelt option of runs": lambda o, _: setattr(o.RunOptions(), "terminated", True),
    "threads in words": lambda o, _: with_options(o, intra_op_num_threads="two"),
    "half a thread": lambda o, _: with_options(o, intra_op_num_threads=2.5),
    "no threads": lambda o, _: with_options(o, intra_op_num_threads=None),
    "a level as a number": lambda o, _: with_options(o, graph_optimization_level=99),
    "profiling in words": lambda o, _: with_options(o, enable_profiling="yes"),
    "a path that is no text": lambda o, path: with_options(o, optimized_model_filepath=path),
    "threads of NumPy": lambda o, _: with_options(o, intra_op_num_threads=np.int64(1)).intra_op_num_threads,
    "profiling as a number": lambda o, _: with_options(o, enable_profiling=1).enable_profiling,
    "an entry that there is not": lambda o, _: o.SessionOptions().get_session_config_entry("k"),
    "an entry of a run": lambda o, _: o.RunOptions().get_run_config_entry("k"),
    "an entry that is a number": lambda o, _: o.SessionOptions().add_session_config_entry("k", 1),
    "custom operators": lambda o, _: o.SessionOptions().register_custom_ops_library("/nonexistent.so"),
    "an attribute of an input": lambda o, _: setattr(session(o).get_inputs()[0], "name", "q"),
    "an input as text": lambda o, _: str(session(o, relu((None, "n"))).get_inputs()[0]),
    "an input without a rank": lambda o, _: session(o, relu(None)).get_inputs()[0].shape,
    "no profile": lambda o, _: (session(o).end_profiling(), session(o).get_profiling_start_time_ns()),
    "providers": lambda o, _: session(o).get_providers(),
    "an unknown provider": lambda o, _: session(o, providers=["FooExecutionProvider"]).get_providers(),
    "CUDA, then the CPU": lambda o, _: session(o, providers=[("CUDAExecutionProvider", {}), *CPU]).get_providers(),
    "a provider twice": lambda o, _: session(o, providers=CPU * 2).get_providers(),
    "no provider": lambda o, _: session(o, providers=[]).get_providers(),
}
VALUES = {
    "a binding of an unknown input": lambda o, _: bound(o, q=X),
    "a value bound to an unknown input": lambda o, _: session(o).io_binding().bind_ortvalue_input("q", value(o)),
    "a run of a binding of another type": lambda o, _: finished(bound(o, x=X.astype("f8"))),
    "a run of a binding to an unknown output": lambda o, _: finished(bound(o, x=X), "q"),
    "a run of a binding": lambda o, _: finished(bound(o, x=X)),
    "what a value says": lambda o, _: described(value(o)),
    "a value of bfloat16": lambda o, _: described(o.OrtValue.ortvalue_from_numpy_with_onnx_type(X.astype("u2"), 16)),
    "a value by ONNX's number": lambda o, _: o.OrtValue.ortvalue_from_shape_and_type([2], 1).data_type(),
    "a value by no name": lambda o, _: o.OrtValue.ortvalue_from_shape_and_type([2], "foo"),
    "a device that there is not": lambda o, _: value_on(o, "foo"),
    "another shape in place": lambda o, _: value(o, X.copy()).update_inplace(X[:1]),
    "a value as an array": lambda o, _: np.asarray(value(o)),
}
CALLS = {**LOADING, **RUNNING, **OPTIONS, **VALUES}


def finished(owner_and_binding, output="y", options=None):
    owner, binding = owner_and_binding
    binding.bind_output(output)
    owner.run_with_iobinding(binding, options)
    return binding.copy_outputs_to_cpu()


def described(one):
    return one.shape(), one.data_type(), one.element_type(), one.tensor_size_in_bytes(), one.is_tensor(), one.is_tensor_sequence()


def value_on(module, device):
    return module.OrtValue.ortvalue_from_numpy(X, device)


def outcome(call, module, path):
    """What a call raises, or gives, and the warnings of users."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(module, path)
        except Exception as problem:
            result = problem
    return result, sorted({one.category.__name__ for one in caught if one.category is UserWarning})


@pytest.mark.parametrize("name", CALLS)
def test_a_call_raises_warns_and_gives_what_it_does_in_onnxruntime(name, tmp_path, capsys):
    theirs, their_warnings = outcome(CALLS[name], ort, tmp_path)
    own, own_warnings = outcome(CALLS[name], ours, tmp_path)
    assert own_warnings == their_warnings
    if not isinstance(theirs, Exception):
        assert not isinstance(own, Exception), own
        assert_equal(own, theirs)
        return
    assert isinstance(own, Exception), f"{type(theirs).__name__}: {theirs}"
    expected = type(theirs).__name__
    assert expected in [one.__name__ for one in type(own).__mro__], f"{own!r}, not {expected}"
    if not isinstance(own, AttributeError) or name in ("a misspelt option", "a misspelt option of runs"):
        assert isinstance(own, TilewrightError), own
    if not hasattr(builtins, expected):
        assert type(own).__name__ == expected
        assert isinstance(own, getattr(ours.capi.onnxruntime_pybind11_state, expected))


def assert_equal(own, theirs):
    if hasattr(theirs, "get_inputs"):  # sessions
        return
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], np.ndarray):
        assert all(np.array_equal(a, b) for a, b in zip(own, theirs, strict=True))
    elif isinstance(theirs, np.ndarray):
        assert np.array_equal(own, theirs)
    elif not hasattr(theirs, "intra_op_num_threads"):
        assert own == theirs


@pytest.mark.parametrize("name", [n for n in dir(ort.capi.onnxruntime_pybind11_state) if not n.startswith("_")])
def test_exceptions_are_importable_from_where_users_import_them(name):
    theirs = getattr(ort.capi.onnxruntime_pybind11_state, name)
    if isinstance(theirs, type) and issubclass(theirs, Exception):
        own = getattr(ours.capi.onnxruntime_pybind11_state, name)
        assert issubclass(own, TilewrightError)
        assert (own.__name__, own.__module__) == (name, "tilewright.onnx.capi.onnxruntime_pybind11_state")


OWN_CLASSES = [
    ("no file", InvalidModel),
    ("a value made twice", InvalidModel),
    ("shapes that do not fit", InvalidModel),
    ("an unknown operator", UnsupportedOperation),
    ("an unknown input", FeedError),
    ("another type", DTypeError),
    ("another shape", ShapeError),
    ("positions out of range", PositionError),
    ("a run of a binding of another type", DTypeError),
]


@pytest.mark.parametrize(("name", "kind"), OWN_CLASSES, ids=[name for name, _ in OWN_CLASSES])
def test_errors_stay_of_our_classes_and_can_be_copied(name, kind, tmp_path):
    problem, _ = outcome(CALLS[name], ours, tmp_path)
    assert isinstance(problem, kind)
    for copied in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem)):
        assert type(copied) is type(problem)
        assert (str(copied), copied.hint) == (str(problem), problem.hint)


def test_operators_without_an_implementation_are_not_implemented():
    state = ours.capi.onnxruntime_pybind11_state
    with pytest.raises(state.NotImplemented, match="no optimised model can be written"):
        session(ours, options=with_options(ours, optimized_model_filepath="optimised.onnx"))


def test_quantisation_is_refused_at_its_import():
    with pytest.raises(ImportError, match=r"tilewright\.onnx\.quantization does not exist") as caught:
        import tilewright.onnx.quantization  # noqa: F401
    assert isinstance(caught.value, TilewrightError)
    assert "onnxruntime.quantization" in caught.value.hint


def test_keywords_that_no_session_has_are_refused():
    with pytest.raises(TypeError, match="no argument 'precison'"):
        ours.InferenceSession(relu(), precison="strict")
    assert ours.InferenceSession(relu(), disabled_optimizers=["a"]).get_providers() == CPU


def test_the_newest_operator_sets_are_taken():
    for version in (7, onnx.defs.onnx_opset_version()):
        assert np.array_equal(run(ours, {"x": X}, relu(opset=version))[0], X)
    assert np.array_equal(run(ours, {"x": X}, relu(ir_version=onnx.IR_VERSION))[0], X)


def test_warnings_name_the_line_of_the_user():
    with pytest.warns(UserWarning, match="'FooExecutionProvider' is not in available provider names") as caught:
        ours.InferenceSession(relu(), providers=["FooExecutionProvider"])
    assert caught[0].filename == __file__


def test_asynchronous_runs_call_back():
    found = []
    for module in (ort, ours):
        done = threading.Event()

        def finish(outputs, data, error, done=done):
            found.append((np.asarray(outputs[0]).tolist(), data, error))
            done.set()

        session(module).run_async(None, {"x": X}, finish, 7)
        assert done.wait(20)
    assert found[0] == found[1]


def traced(module, directory):
    options = with_options(module, enable_profiling=True, profile_file_prefix=str(directory / module.__name__))
    made = session(module, options=options)
    made.run(None, {"x": X})
    made.run(None, {"x": X})
    assert made.get_profiling_start_time_ns() > 10**18
    return made


@pytest.mark.parametrize("module", [ort, ours], ids=["onnxruntime", "tilewright"])
def test_profiles_are_traces_that_chrome_opens(module, tmp_path):
    made = traced(module, tmp_path)
    path = made.end_profiling()
    assert os.path.dirname(path) == str(tmp_path)
    assert os.path.basename(path).startswith(f"{module.__name__}_2")
    with open(path) as file:
        events = json.load(file)
    assert {"cat", "pid", "tid", "dur", "ts", "ph", "name", "args"} == {key for event in events for key in event}
    assert {event["ph"] for event in events} == {"X"}
    assert [event["name"] for event in events].count("model_run") == 2
    nodes = [event for event in events if event["cat"] == "Node"]
    assert [event["args"]["provider"] for event in nodes] == CPU * 2
    run_events = [event for event in events if event["name"] == "model_run"]
    for inner, outer in zip(nodes, run_events, strict=True):
        assert outer["ts"] <= inner["ts"] <= outer["ts"] + outer["dur"] + 1
    assert made.end_profiling() == ""


def test_a_trace_has_what_runs_as_numpy_and_is_written_without_being_asked_for(tmp_path):
    model = of_nodes(node("Relu", outputs=["a"]), node("Unique", ["a"], ["b"], sorted=1), node("Abs", ["b"]))
    made = session(ours, model, with_options(ours, enable_profiling=True, profile_file_prefix=str(tmp_path / "trace")))
    made.run(None, {"x": X})
    assert not [*tmp_path.iterdir()]
    del made
    (path,) = tmp_path.iterdir()
    providers = [event["args"]["provider"] for event in json.loads(path.read_text()) if event["cat"] == "Node"]
    assert "NumPy" in providers
    assert "CPUExecutionProvider" in providers


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path):
    options = with_options(ours, enable_profiling=True, profile_file_prefix=str(tmp_path / "missing" / "trace"))
    with pytest.raises(TilewrightError, match="cannot be written"):
        session(ours, options=options).end_profiling()
