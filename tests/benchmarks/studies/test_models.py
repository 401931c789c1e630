"""`benchmarks.studies.models` and `benchmarks.studies.sessions`, on tiny models."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from benchmarks.studies import models, sessions  # noqa: E402
from benchmarks.studies.parts.session import PARTS  # noqa: E402


@pytest.fixture(scope="module")
def mixer(tmp_path_factory):
    return models.exported(["mixer"], tmp_path_factory.mktemp("models"), small=True)[0]


def test_a_model_is_exported_once(mixer):
    written = mixer.path.stat().st_mtime_ns
    (again,) = models.exported(["mixer"], mixer.path.parent, small=True)
    assert again.path.stat().st_mtime_ns == written


@pytest.mark.parametrize("peer", [models.BENCHMARK.tilewright, *models.BENCHMARK.peers.values()], ids=lambda peer: peer.name)
def test_the_contenders_compute_what_torch_does_in_float64(peer, mixer):
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    for contender in peer.prepare(mixer, 1):
        if contender.name != "torch.compile":  # takes Inductor seconds
            contender.call()
            assert mixer.error(contender.result()) < 1e-5, contender.name


def test_unknown_models_are_refused(capsys):
    assert models.parse(["--models", "vit,bert_512"]).models == ("vit", "bert_512")
    with pytest.raises(SystemExit):
        models.parse(["--models", "vit,alexnet"])
    assert "alexnet: choose from bert_128" in capsys.readouterr().err


@pytest.mark.parametrize("part", PARTS.values(), ids=list(PARTS))
def test_parts_of_sessions_give_figures(part, mixer, tmp_path):
    if part.__name__ == "peer_memory":
        pytest.importorskip("onnxruntime")
    np.savez(tmp_path / "feeds.npz", **mixer.feeds)
    assert all(value >= 0 for value in part(mixer.path, tmp_path / "feeds.npz").values())


def test_the_table_of_sessions_names_what_is_over_its_limit(tmp_path, monkeypatch, capsys):
    figures = {"peak, cold": 2.0**20, "peak, warm": 2.0**21, "peak, onnxruntime": 2.0**20}
    figures |= {"cold": 8.5, "warm": 0.4, "reading": 0.06, "a copy": 0.05, "import": 0.2, "planning": 1.0}
    assert sessions.missed(figures) == ["cold", "peak, warm"]
    monkeypatch.setattr(sessions, "RESULTS", tmp_path)
    sessions.publish({"mixer": figures}, 3, tmp_path)
    assert "mixer       1 MiB       2 MiB" in capsys.readouterr().out
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".json"}
