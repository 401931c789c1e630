from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies import attention_memory, yardsticks
from benchmarks.studies.parts import bounds, publishing, yardstick_calls
from benchmarks.studies.parts.publishing import markdown, publish
from tests.support.hand_results import PLAIN, PRODUCTS, PROVENANCE, case, results, timing
from tilewright_bench.cases.attention_shapes import AttentionShape
from tilewright_bench.cases.required import NOTHING, Required
from tilewright_bench.command import mlp
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.tables.report import Report


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


def test_requirements_of_cases_are_bounds(tmp_path: Path) -> None:
    own = timing("tilewright", 2e-3, 2e-3)
    slow = replace(case("full_4096", "long attention", own), required=Required(share=0.85))
    odd = replace(
        case("full_4096 odd", "odd sizes, seed 1", timing("tilewright", 4e-3, 4e-3)), required=NOTHING, even="full_4096"
    )
    found = list(bounds.gaps(on(AVX512, slow, odd)))
    assert [gap.missed for gap in found] == [("50.0% of the peak (85% wanted)",), ("-25.0% beside even sizes",)]
    assert not list(bounds.gaps(on("x (x86-64-v3)", slow, odd)))


def test_scripts_measure_in_three_processes_and_keep_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    options, kept = dict[str, object](), list[object]()

    def measured(**given: object) -> Report:
        options.update(given)
        return Report(PROVENANCE, results())

    monkeypatch.setattr(publishing, "publish", lambda *arguments: kept.append(arguments))
    publishing.measure_and_publish("mlp", "Linear layers", mlp, measured, ["--cases", "mlp_64", "--odd", "--seed", "3"])
    assert options["processes"] == 3
    assert (options["cases"], options["odd"], options["seed"]) == (("mlp_64",), True, 3)
    assert "json_file" not in options
    assert kept == [("mlp", "Linear layers", Report(PROVENANCE, results()), publishing.RESULTS)]


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["--cases", "mlp_65"], 2), (["--nonsense"], 2)])
def test_help_and_wrong_usage_of_scripts_end_them(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        publishing.options_of(mlp, "python -m benchmarks.studies.mlp", arguments)
    assert ended.value.code == status
    captured = capsys.readouterr()
    assert "Usage: python -m benchmarks.studies.mlp" in captured.out + captured.err


def test_weights_of_a_yardstick_are_in_blocks_of_columns() -> None:
    weight = np.arange(2 * 96, dtype=np.float32).reshape(2, 96)
    blocked = yardstick_calls.joined([yardstick_calls.blocked(weight)]).reshape(2, 2, 48)
    for block in range(2):
        np.testing.assert_array_equal(blocked[block], weight[:, 48 * block : 48 * (block + 1)])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_yardstick_of_layers_gets_them_behind_each_other(tmp_path: Path) -> None:
    """One that copies an element of each operand; its width comes from outside."""
    tmp_path.joinpath("families").mkdir()
    tmp_path.joinpath("families", "mlp.c").write_text(
        "void mlp(long rows, const float *x, const float *w, const float *b, float *y) {\n"
        "  y[0] = rows; y[1] = x[0]; y[2] = w[D * D]; y[3] = b[D];\n}\n"
    )
    tested = yardsticks.YARDSTICKS["mlp_64"].case
    (contender,) = yardsticks.prepare(tmp_path, tested, 1)
    contender.call()
    expected = [65536, tested.rows[0, 0], tested.weights[1][0, 0], tested.biases[1][0]]
    assert contender.result().ravel()[:4].tolist() == pytest.approx(expected)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize(("name", "block"), [("residual_56", 48), ("residual_14", 32)])
def test_a_yardstick_of_a_block_gets_packed_filters(name: str, block: int, tmp_path: Path) -> None:
    """One that copies an element of each operand."""
    tmp_path.joinpath("families").mkdir()
    tmp_path.joinpath("families", f"{name}.c").write_text(
        "void block(const float *x, const float *e, const float *b, const float *d, const float *c, const float *p,\n"
        f"           const float *q, float *y) {{\n  y[0] = x[0]; y[1] = e[{block}]; y[2] = b[1]; y[3] = d[1];\n"
        "  y[4] = c[1]; y[5] = p[0]; y[6] = q[0];\n}\n"
    )
    tested = yardsticks.YARDSTICKS[name].case
    (contender,) = yardsticks.prepare(tmp_path, tested, 1)
    contender.call()
    expanding, by_depth, projecting = tested.filters
    first, depth, last = tested.biases
    expected = [
        tested.image.flat[0],
        expanding[0, 1, 0, 0],
        first[1],
        by_depth[1, 0, 0, 0],
        depth[1],
        projecting[0, 0, 0, 0],
        last[0],
    ]
    assert contender.result().ravel()[:7].tolist() == pytest.approx(expected)


def test_memory_of_a_call_is_what_the_process_grows_by() -> None:
    memory = attention_memory.measured(AttentionShape("small", 2, 64, 64, 16), threads=1)
    assert memory.inputs_and_output_bytes == 4 * 4 * 2 * 64 * 16
    assert memory.kernels == 1
    assert 0 <= memory.grown_bytes < attention_memory.REQUIRED_BYTES


def test_the_peak_of_memory_begins_anew() -> None:
    before = attention_memory.reset_peak_bytes()
    room = np.ones(32 << 20, np.uint8)
    grown = attention_memory.peak_bytes() - before
    assert room.nbytes * 0.9 < grown < room.nbytes * 1.5
