from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.hand_results import PRODUCTS, case, timing
from tilewright.cli.bench import call_loops
from tilewright.cli.bench.cases import LINE_BYTES, GemmCase, aligned
from tilewright.cli.bench.command import GEMM_NAMES
from tilewright.cli.bench.contender import Peer
from tilewright.cli.bench.gemm import GEMMS, gemm_cases
from tilewright.cli.main import main
from tilewright.cli.shapes import SQUARES, TABLE_1, GemmShape, gemm_shape
from tilewright.errors import TilewrightError


def test_table_1_is_the_papers() -> None:
    assert [(shape.m, shape.n, shape.k) for shape in TABLE_1][:5] == [
        (128, 2048, 4096),
        (320, 3072, 4096),
        (1632, 36548, 1024),
        (2048, 4096, 32),
        (1024, 16, 500000),
    ]
    assert len(TABLE_1) == 10
    assert [shape.m for shape in SQUARES] == [16, 32, 48, 64, 96, 128]
    assert gemm_shape("84x1024x4096").operands == ((84, 4096), (4096, 1024))
    assert gemm_shape("2048x1x128").moved_bytes == 4 * (2048 * 128 + 128 + 2048)


@pytest.mark.parametrize("prepacked", [False, True])
@pytest.mark.parametrize("shape", [GemmShape(7, 5, 3), GemmShape(16, 16, 16)], ids=lambda shape: shape.name)
@pytest.mark.parametrize("peer", [GEMMS.own, *GEMMS.peers.values()], ids=lambda peer: peer.name)
def test_the_peers_compute_what_the_reference_says(peer: Peer[GemmCase], shape: GemmShape, prepacked: bool) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    case = GemmCase(shape, prepacked)
    for contender in peer.prepare(case, 1):
        contender.call()
        assert case.error(contender.result()) < 1e-5
        assert contender.executions == (call_loops.executions(case) if shape.is_square else 1)


def test_the_reference_adds_up_parts_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.cli.bench.cases.REFERENCE_ELEMENTS", 20)
    case = GemmCase(GemmShape(5, 3, 11))
    a, b = (operand.astype(np.float64) for operand in case.operands)
    np.testing.assert_allclose(case.reference, a @ b, rtol=1e-12)
    assert abs(a).max() <= 1


def test_arrays_begin_at_lines() -> None:
    assert aligned((3, 5)).shape == (3, 5)
    assert all(aligned((3,)).ctypes.data % LINE_BYTES == 0 for _ in range(5))


def test_a_loop_that_fails_says_so() -> None:
    if GEMMS.peers["onednn"].missing():
        pytest.skip("oneDNN is not installed")
    from tilewright.cli.bench.gemm_peers import onednn_library

    refused = call_loops.call("loop_dnnl_execute", onednn_library.load().dnnl_primitive_execute, None, None, 0, None)
    with pytest.raises(TilewrightError, match="2 of 2 executions failed"):
        refused(2)


def test_shapes_that_onednn_refuses_are_an_error() -> None:
    if GEMMS.peers["onednn"].missing():
        pytest.skip("oneDNN is not installed")
    from tilewright.cli.bench.gemm_peers import onednn_library

    a, b, c = (aligned(shape) for shape in ((2, 3), (4, 5), (2, 5)))
    with pytest.raises(TilewrightError, match="dnnl_matmul_primitive_desc_create of oneDNN failed"):
        onednn_library.matmul(onednn_library.load(), a, b, c, prepacked=False)


def test_cases_that_may_change_come_first() -> None:
    cases = gemm_cases(("16x16x16", "2048x1x128"), (False, True))
    assert [(case.name, case.prepacked) for case in cases] == [
        ("16x16x16", False),
        ("2048x1x128", False),
        ("16x16x16", True),
        ("2048x1x128", True),
    ]
    assert len({case.table for case in cases}) == 4


def test_onednn_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright.cli.bench.command.restart_if_unfair", lambda threads: None)
    monkeypatch.setattr("tilewright.cli.bench.contender.installed", lambda package: None)
    assert main(["bench", "gemm", "--peers", "onednn"]) == 1
    assert "pip install onednn-cpu-gomp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "16x16"], "16x16: did you mean 16x16x16"),
        (["--peers", "mkl"], "mkl: choose from numpy, torch, torch-avx512, onednn"),
        (["--processes", "0"], "0 is not in the range"),
        (["--repeats", "none"], "'none' is not a valid integer"),
    ],
)
def test_unusable_options_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gemm", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_command_prints_a_document_that_can_be_piped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright.cli.bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", "gemm", "--cases", "16x16x16", "--peers", "numpy", "--repeats", "1", "--json", "-"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [result["prepacked"] for result in results] == [False, True]
    assert [timing["contender"] for timing in results[0]["timings"]] == ["tilewright", "numpy (cblas)"]
    assert "2048x1x128" in GEMM_NAMES


def test_bytes_bind_where_they_take_longer() -> None:
    own = timing("tilewright", 1e-4, 1e-4, flops=10**6, moved_bytes=4 * 10**6)
    bound_by_bytes = case("x", PRODUCTS, own, flops=10**6, moved_bytes=4 * 10**6)
    assert bound_by_bytes.is_memory_bound
    assert bound_by_bytes.bound_share(own) == pytest.approx(0.8)
    assert not case("x", PRODUCTS, own).is_memory_bound
