from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import bounds, yardsticks
from benchmarks.bench_results import markdown, publish
from tests.support.hand_results import PLAIN, PRODUCTS, PROVENANCE, case, results, timing
from tilewright.cli.bench.harness import CaseResult
from tilewright.cli.bench.table import Report


def on(machine: str, *found: CaseResult, threads: int = 1) -> Report:
    return Report(replace(PROVENANCE, machine=machine, threads=threads), found)


AVX512 = "some machine (x86-64-v4)"


def test_gaps_tell_what_was_missed() -> None:
    found = list(bounds.gaps(on(AVX512, *results())))
    assert [gap.heading for gap in found] == [
        "G1, plain chains, nothing prepacked",
        "G2, plain chains, nothing prepacked",
        "geometric mean, plain chains, nothing prepacked",
    ]
    assert found[0].missed == ("80.0% of the peak (92% wanted)",)
    assert found[1].missed == ("25.0% of the peak (92% wanted)", "0.500 of the best peer's speed (0.98 wanted)")
    assert found[2].missed == ("0.894 of the best peers' speed (1.04 wanted)",)


@pytest.mark.parametrize(("machine", "wanted"), [("a (x86-64-v3)", "84%"), ("b (aarch64)", "60%"), ("c", "60%")])
def test_other_instruction_sets_have_other_bounds(machine: str, wanted: str) -> None:
    (gap,) = bounds.gaps(on(machine, case("G1", PLAIN, timing("tilewright", 2e-3, 2e-3), timing("numpy", 1e-3, 2e-3))))
    assert gap.missed == (f"50.0% of the peak ({wanted} wanted)",)


def test_several_threads_have_no_bounds() -> None:
    assert bounds.explained(on(AVX512, *results(), threads=2)) == []


def test_products_have_bounds_of_their_own() -> None:
    own = timing("tilewright", 1e-3, 1e-3, moved_bytes=10**7)
    long = case("1024x16x500000", PRODUCTS, own, timing("numpy", 9e-4, 1e-3), moved_bytes=10**7)
    (gap,) = bounds.gaps(on(AVX512, long))
    assert gap.missed == ("20.0% of the bandwidth (65% wanted)", "0.900 of the best peer's speed (0.97 wanted)")
    assert not list(bounds.gaps(on("x (x86-64-v3)", long)))
    assert not list(bounds.gaps(on(AVX512, case("16x16x16", PRODUCTS, own, timing("numpy", 1.1e-3, 1e-3)))))


def test_gaps_point_to_their_explanations(tmp_path: Path) -> None:
    file = tmp_path / "gaps.md"
    file.write_text("# Gaps\n\n## G2, plain chains, nothing prepacked\n\nIt is slow.\n")
    lines = bounds.explained(on(AVX512, *results()), file)
    assert lines[1] == "## Under the bound"
    assert lines[3].endswith("not explained")
    assert lines[4].endswith("[explained](gaps.md#g2-plain-chains-nothing-prepacked)")


def test_nothing_is_said_where_all_is_reached() -> None:
    assert bounds.explained(on(AVX512, case("G1", PLAIN, timing("tilewright", 1.05e-3, 1.05e-3)))) == []


def test_a_result_is_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(PROVENANCE, results())
    publish("chains", "Chains", report, tmp_path)
    document, text = sorted(tmp_path.iterdir())
    assert document.name.endswith("-chains-some-machine.json")
    assert text.read_text() == markdown("Chains", report)
    assert text.read_text().startswith("# Chains\n\n```text\nsome machine, 2 cores")


def test_yardsticks_need_all_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("attention_g2.c").touch()
    with pytest.raises(SystemExit):
        yardsticks.parse([str(tmp_path), "--cases", "gemm_chain_g2,attention_g2,attention_g9"])
    assert "has no gemm_chain_g2.c, attention_g9.c" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_yardsticks_are_called_with_the_operands_of_the_case(tmp_path: Path) -> None:
    """One that copies the first elements of each operand."""
    tmp_path.joinpath("attention_g9.c").write_text(
        "long attn_ws(void) { return 64; }\n"
        "void attn(long batch, const float *a, const float *b, const float *d, float *e, void *workspace) {\n"
        "  e[0] = batch; e[1] = a[0]; e[2] = b[0]; e[3] = d[0]; *(float *)workspace = 0;\n}\n"
    )
    case = yardsticks.YARDSTICKS["attention_g9"].case
    (contender,) = yardsticks.prepare(tmp_path, case, 1)
    contender.call()
    expected = [16, *(operand.flat[0] for operand in case.operands)]
    assert contender.result().ravel()[:4].tolist() == pytest.approx(expected)
