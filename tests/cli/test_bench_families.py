from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.cli.test_bench import RoundRates
from tests.support.hand_results import PROVENANCE, case, timing
from tilewright.cli import attention_shapes, mlp_shapes
from tilewright.cli.attention_shapes import AttentionShape, attention_shape
from tilewright.cli.bench import plain_read, required_table
from tilewright.cli.bench.attention import ATTENTION
from tilewright.cli.bench.attention_cases import AttentionCase, attention_cases
from tilewright.cli.bench.cases import aligned
from tilewright.cli.bench.contender import OWN, PLAIN_READ, Contender, Peer
from tilewright.cli.bench.harness import CaseResult, Timing, measure
from tilewright.cli.bench.mlp import MLP
from tilewright.cli.bench.mlp_cases import MlpCase, mlp_cases
from tilewright.cli.bench.required import NOTHING, Required
from tilewright.cli.bench.table import Report
from tilewright.cli.main import main
from tilewright.cli.mlp_shapes import MlpShape

COMPILED = "torch.compile"
"""Takes Inductor seconds; what it compiles is what is called eagerly beside it."""
SMALL = AttentionShape("small", heads=4, queries=5, keys=7, width=16)
ATTENTIONS = {
    "plain": SMALL,
    "causal": replace(SMALL, queries=7, causal=True),
    "decode": replace(SMALL, queries=1),
    "grouped": replace(SMALL, kv_heads=2),
    "alibi": replace(SMALL, bias="alibi"),
    "mask": replace(SMALL, bias="mask"),
    "lengths": replace(SMALL, bias="lengths"),
    "by row": replace(SMALL, layout="bmhk"),
    "masked by row": replace(SMALL, layout="bmhk", bias="mask"),
}
NETWORKS = {shape.network: replace(shape, rows=5, width=12, hidden=9, out=7) for shape in mlp_shapes.SHAPES}


@pytest.mark.parametrize("shape", ATTENTIONS.values(), ids=list(ATTENTIONS))
@pytest.mark.parametrize("peer", ATTENTION.peers.values(), ids=lambda peer: peer.name)
def test_peers_of_attention_compute_what_the_reference_says(peer: Peer[AttentionCase], shape: AttentionShape) -> None:
    _check(peer, AttentionCase(shape, "t"))


@pytest.mark.parametrize("shape", NETWORKS.values(), ids=list(NETWORKS))
@pytest.mark.parametrize("peer", MLP.peers.values(), ids=lambda peer: peer.name)
def test_peers_of_linear_layers_compute_what_the_reference_says(peer: Peer[MlpCase], shape: MlpShape) -> None:
    _check(peer, MlpCase(shape, "t"))


@pytest.mark.parametrize("name", ATTENTIONS)
def test_our_attention_computes_what_the_reference_says(name: str) -> None:
    _check(ATTENTION.own, AttentionCase(ATTENTIONS[name], "t"))


@pytest.mark.parametrize("network", NETWORKS)
def test_our_linear_layers_compute_what_the_reference_says(network: mlp_shapes.Network) -> None:
    _check(MLP.own, MlpCase(NETWORKS[network], "t"))


def _check(peer: Peer[Any], tested: AttentionCase | MlpCase) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    for contender in peer.prepare(tested, 1):
        if COMPILED not in contender.name:
            contender.call()
            assert tested.error(contender.result()) < 1e-5, contender.name


def test_the_reference_of_attention_is_a_walk_over_rows() -> None:
    tested = AttentionCase(ATTENTIONS["causal"], "t")
    q, k, v = (operand[0].astype(np.float64) for operand in tested.operands)
    for head in range(4):
        for row in range(7):
            powers = np.exp(k[head, : row + 1] @ q[head, row] / 4)
            np.testing.assert_allclose(tested.reference[0, head, row], powers @ v[head, : row + 1] / powers.sum(), rtol=1e-9)


def test_padded_keys_do_not_count_and_heads_share_keys() -> None:
    padded = AttentionCase(ATTENTIONS["mask"], "t")
    kept = np.arange(7) < 5
    assert padded.valid.ravel().tolist() == kept.tolist()
    k, v = (operand[0, 3, kept].astype(np.float64) for operand in padded.operands[1:])
    powers = np.exp(padded.operands[0][0, 3, 2] @ k.T / 4)
    np.testing.assert_allclose(padded.reference[0, 3, 2], powers @ v / powers.sum(), rtol=1e-6)
    grouped = AttentionCase(ATTENTIONS["grouped"], "t")
    assert [operand.shape[1] for operand in grouped.operands] == [4, 2, 2]


def test_work_is_that_of_the_pairs_that_are_left() -> None:
    causal = attention_shape("causal_4096")
    assert causal.flops == 4 * 8 * 64 * 4096 * 4097 // 2
    assert attention_shape("block_128_lengths").pairs == 128 * 96
    assert attention_shape("block_128_mask").pairs == 128 * 128
    assert attention_shape("decode_4096").moved_bytes == 4 * 32 * 128 * (2 + 2 * 4096)
    assert mlp_shapes.mlp_shape("ffn_1").flops == 4 * 768 * 3072


@pytest.mark.parametrize("shape", [*attention_shapes.SHAPES, *mlp_shapes.SHAPES], ids=lambda shape: shape.name)
def test_odd_sizes_are_odd_and_nearly_as_much_work(shape: AttentionShape | MlpShape) -> None:
    odd = shape.odd(random.Random(7))
    assert odd == shape.odd(random.Random(7))
    extents = (
        [odd.queries, odd.keys, odd.width] if isinstance(odd, AttentionShape) else [odd.rows, odd.width, odd.hidden, odd.out]
    )
    assert all(extent % 2 for extent in extents if extent)
    assert 0.7 * shape.flops < odd.flops <= shape.flops


def test_odd_cases_follow_in_a_table_that_says_their_seed() -> None:
    for cases in (attention_cases(("block_128",), 11), mlp_cases(("ffn_16",), 11)):
        even, odd = cases
        assert (odd.even, odd.table, odd.required) == (even.name, "odd sizes, seed 11", NOTHING)
        assert even.even == ""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_plain_read_reads_every_element_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array, read = aligned((130, 10)), list[float]()
    array[:] = np.arange(1300).reshape(130, 10)
    monkeypatch.setattr(plain_read, "_read", lambda parts, count: read.extend(parts[0]))
    (reader,) = plain_read.prepare([array], array.astype(np.float64), threads)
    reader.call()
    assert sorted(read) == list(range(1300))
    assert not list(plain_read.prepare([], np.empty(0), threads))


def test_a_plain_read_loads_what_it_says() -> None:
    array = aligned((4, 64))
    array[:] = np.arange(256).reshape(4, 64)
    assert plain_read._read([array[:2].ravel(), array[2:].ravel()], 3) == 3 * array.ravel()[::16].sum()


def test_shares_of_reading_are_those_of_the_plain_read_in_the_same_round() -> None:
    tested = AttentionCase(ATTENTIONS["decode"], "t", Required(read_share=0.9))

    def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
        for name, seconds in ((PLAIN_READ, 0.4), (OWN, 0.5)):
            yield Contender(name, lambda: None, lambda: case.reference, remote_turn=lambda seconds=seconds: seconds)

    result = measure(tested, [Peer(OWN, (), prepare, "")], threads=1, rounds=2, rates=RoundRates())
    assert result.timing(OWN).read_share == pytest.approx(0.8)
    assert result.best_peer() is None
    assert required_table.shortfalls(result, None) == ["80.0% of the bandwidth (90% wanted)"]


def hand_made() -> tuple[CaseResult, ...]:
    """One that passes, one that misses, one that cannot be computed, and the odd counterpart of the first."""
    title = next(iter(required_table.MEANS))
    fast, slow = timing(OWN, 1.25e-3, 1.25e-3), timing(OWN, 1.6e-3, 1.6e-3)
    peers = (
        timing("openvino", 2e-3, 1.25e-3),
        timing("avx512 torch in steps", 4e-3, 1.25e-3),
        timing("openvino sdpa", 3e-3, 1.25e-3),
    )
    failed = Timing(OWN, None, float("inf"), failure="UnsupportedOperation: no such thing")
    return (
        replace(case("fast", title, fast, *peers), required=Required(share=0.75, ratio=1.5)),
        replace(case("slow", title, slow, timing("openvino", 2e-3, 1.6e-3)), required=Required(share=0.75)),
        replace(case("sick", title, failed, timing("openvino", 2e-3, None)), required=NOTHING),
        replace(case("fast odd", "odd sizes, seed 1", slow), required=NOTHING, even="fast"),
    )


def test_tables_say_what_is_required_and_whether_it_is_reached() -> None:
    lines = Report(PROVENANCE, hand_made()).as_text().splitlines()
    begin = lines.index(f"{next(iter(required_table.MEANS))}: ms per call")
    table = [line.split() for line in lines[begin + 1 :]]
    assert table[0][:7] == ["case", "peak", "ours", "GFLOP/s", "share", "openvino", "avx512"]
    expected = "fast 100 1.25 80.0 80.0% peak 2.00 4.00 openvino 1.600 75% of peak, 1.50x pass"
    assert table[1] == expected.split()
    assert table[2][-1] == "miss"
    assert table[3] == ["sick", "100", "not", "yet", "-", "-", "2.00", "-", "openvino", "-", "-", "-"]
    assert lines[begin + 5] == "geometric mean of peer/ours of 2 of 3 cases: 1.414 (1.10 required: pass)"
    assert "5% of fast  miss" in lines[begin + 9]
    assert lines[-1] == "tilewright took no part in sick: UnsupportedOperation: no such thing"


def test_what_cannot_be_computed_is_not_wrong() -> None:
    assert Report(PROVENANCE, hand_made()).wrong() == ()
    assert required_table.shortfalls(hand_made()[2], None) == ["UnsupportedOperation: no such thing"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attention", "--cases", "block_127"], "block_127: did you mean block_"),
        (["mlp", "--peers", "numpy"], "numpy: choose from torch, torch-avx512"),
        (["mlp", "--seed", "x"], "'x' is not a valid integer"),
    ],
)
def test_unusable_options_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("benchmark", "name"), [("attention", "block_128"), ("mlp", "lora_128")])
def test_the_command_prints_a_document_that_can_be_piped(
    benchmark: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright.cli.bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", benchmark, "--cases", name, "--peers", ",", "--repeats", "1", "--json", "-"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["case"] == name
    assert [one["contender"] for one in result["timings"]] == [OWN]
    assert set(result["required"]) == {"share", "read_share", "ratio"}
