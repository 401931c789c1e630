from __future__ import annotations

import pytest

from tilewright_bench.benchmarks import GEMMS
from tilewright_bench.peers import torch_avx512 as mkl_avx512
from tilewright_bench.peers.torch import chains as torch


def test_mkl_is_told_only_where_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mkl_avx512, "installed", lambda package: "2")
    monkeypatch.setattr(mkl_avx512.platform, "machine", lambda: "aarch64")
    assert not mkl_avx512.matters()
    monkeypatch.setattr(mkl_avx512, "matters", lambda: False)
    peer = mkl_avx512.peer(torch.PEER)
    assert not peer.matters()
    assert peer.missing() == torch.PEER.missing()


def test_peers_that_do_not_matter_are_measured_only_when_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright_bench.measurement.contender.installed", lambda package: "1")
    monkeypatch.setattr(mkl_avx512, "matters", lambda: True)
    names = [peer.name for peer in GEMMS.chosen_peers(None)]
    assert [peer.name for peer in GEMMS.chosen_peers((mkl_avx512.NAME,))] == [mkl_avx512.NAME]
    assert set(names) >= {"numpy", "torch", "onednn"}
