"""Threads: results have the same bits for any number of them, and sessions serve several callers at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import tilewright.onnx as ort  # noqa: E402
from benchmarks.onnx_models.cases import make  # noqa: E402
from tests.support.whole_models import exported, feeds  # noqa: E402

pytestmark = pytest.mark.needs("ssse3", "sse4_1")


def _session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(path, options)


@pytest.mark.parametrize("name", ["bert", "mobilenet_v2"])
def test_results_do_not_depend_on_the_number_of_threads(name, tmp_path):
    case = make(name, small=True)
    path = exported(case, tmp_path / "model.onnx", "old")
    sessions = [_session(path, threads) for threads in (1, 2, 3)]
    given = feeds(case, sessions[0])
    first, *others = ([one.tobytes() for one in session.run(None, given)] for session in sessions for _ in range(3))
    assert all(other == first for other in others)


@pytest.mark.parametrize("threads", [1, 2])
def test_several_callers_share_a_session(threads, tmp_path):
    case = make("bert", small=True)
    session = _session(exported(case, tmp_path / "model.onnx", "old"), threads)
    calls = [{**feeds(case, session), "input_ids": np.roll(case.feeds()["input_ids"], shift)} for shift in range(8)]
    expected = [session.run(None, given) for given in calls]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda given: session.run(None, given), calls * 8))
    for number, results in enumerate(found):
        assert all(map(np.array_equal, results, expected[number % len(calls)]))


def test_several_callers_make_a_library_at_once(tmp_path):
    case = make("bert", small=True)
    path = exported(case, tmp_path / "model.onnx", "old", dynamic=True)
    session = ort.InferenceSession(path)
    given = feeds(case, session)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: session.run(None, given), range(8)))
    assert session.compilation_count == 1
    assert all(np.array_equal(one[0], found[0][0]) for one in found)
