"""What a run without a GPU can show: targets, budget, contract's faults, counters, tables, the skip, rounds."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.cli.main import main
from tilewright.leaves import lowerings
from tilewright_bench.gpu import device, paper, traffic
from tilewright_bench.gpu.budget import Budget
from tilewright_bench.gpu.cases import all_cases
from tilewright_bench.gpu.contract import FAR, LoweringResult, blocks_of, faults
from tilewright_bench.gpu.files import result_name
from tilewright_bench.gpu.fit import Coefficient, Fit
from tilewright_bench.gpu.kernels import APART, OURS, KernelRow
from tilewright_bench.gpu.prepared import COMPILED, EAGER
from tilewright_bench.gpu.report import Measured
from tilewright_bench.gpu.results import Card, CaseResult, Checked, GpuReport, Timed
from tilewright_bench.gpu.rounds import timed
from tilewright_bench.gpu.targets import target_of


@pytest.mark.parametrize(
    ("card", "capability", "name", "architecture", "is_of_card"),
    [
        ("NVIDIA A100-SXM4-40GB", (8, 0), "a100", "sm_80", True),
        ("NVIDIA H100 80GB HBM3", (9, 0), "h100", "sm_90", True),
        ("NVIDIA H200", (9, 0), "h200", "sm_90", True),
        ("NVIDIA GH200 480GB", (9, 0), "h100", "sm_90", False),
        ("NVIDIA A10", (8, 6), "h100", "sm_86", False),
        ("NVIDIA T4", (7, 5), "a100", "sm_75", False),
        ("NVIDIA B200", (10, 0), "h100", "sm_100", False),
    ],
)
def test_targets(card: str, capability: tuple[int, int], name: str, architecture: str, is_of_card: bool) -> None:
    found = target_of(card, capability)
    assert (found.machine.name, found.machine.architecture, found.is_of_card) == (name, architecture, is_of_card)
    assert ("nearest" in found.sentence(card)) is not is_of_card


def test_a_skip_is_one_line_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    file = tmp_path / "gpu.json"
    assert main(["bench", "gpu", "--json", str(file)]) == 0
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert line == "skipped: torch and triton are not installed (pip install -e '.[gpu]')"
    assert json.loads(file.read_text()) == {"skipped": True, "reason": line.removeprefix("skipped: ")}


def test_an_old_triton_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: name)
    monkeypatch.setattr(device, "version", lambda name: "3.5.1")
    assert device.missing() == "Triton 3.5.1 is too old: kernels need 3.6"


def test_unknown_cases_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gpu", "--cases", "G13"]) == 2
    assert "G13: " in capsys.readouterr().err


def test_the_command_knows_every_case() -> None:
    from tilewright_bench.command import GPU_NAMES

    assert tuple(case.name for case in all_cases()) == GPU_NAMES


def test_a_budget_refuses_what_comes_late_and_writes_it_down() -> None:
    now = [0.0]
    budget = Budget(10.0, lambda: now[0])
    assert budget.allows("kernels", share=0.5)
    now[0] = 6.0
    assert not budget.allows("peers", share=0.5)
    assert not budget.allows("peers", share=0.5)
    assert budget.allows("times", share=0.9)
    assert not budget.allows("counters", needs_s=5.0)
    assert budget.left_out == ["peers", "counters"]
    assert budget.left_s == 4.0


def test_rounds_give_medians_of_pairs() -> None:
    ours, other = iter([1.0, 2.0, 4.0]), iter([3.0, 4.0, 40.0])
    found = timed({OURS: lambda: next(ours), EAGER: lambda: next(other)}, 3, OURS)
    assert found == (Timed(OURS, 2.0, 1.0, 3), Timed(EAGER, 4.0, 3.0, 3))


@pytest.mark.parametrize("fault", ["", "sum", "nan", "outside"])
def test_the_contract_finds_faults(fault: str) -> None:
    *_, special = blocks = list(blocks_of(lowerings.named("fragments_2x2_float16")))
    assert len({block.label for block in blocks}) == len(blocks) > 10
    for block in (blocks[0], special):
        m, n, _ = block.extents
        memory = np.full((m + FAR, n + FAR), np.nan, np.float32)
        with np.errstate(invalid="ignore"):
            memory[:m, :n] = block.a @ block.b + block.c
        if fault == "sum":
            memory[10, 0] += 0.5
        if fault == "nan":
            memory[m - 1, n - 1] = np.nan
        if fault == "outside":
            memory[m, 0] = 0.0
        assert bool(list(faults(block, memory))) is bool(fault)


COLUMNS = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'


def printed(*kernels: tuple[str, int, int]) -> str:
    """As `ncu --csv` prints it."""
    lines = ["==PROF== Connected to process 7", COLUMNS]
    for number, (name, read, written) in enumerate(kernels):
        lines += [f'"{number}","7","{name}","{traffic.METRICS[0]}","byte","{read:,}"']
        lines += [f'"{number}","7","{name}","{traffic.METRICS[1]}","byte","{written:,}"']
    return "\n".join(lines) + "\n==PROF== Disconnected\n"


MARK = ("spin_kernel(long)", 32, 0)
TURNS = [("G1", OURS), ("G1", APART), ("G1", EAGER)]


def test_bytes_of_counters_are_summed_by_turn() -> None:
    text = printed(("k0_f", 1000, 24), MARK, ("k0_f", 500, 500), ("k1_f", 1200000, 0), MARK, ("gemm(half, int)", 7, 8), MARK)
    assert traffic.read(text, 0, TURNS).bytes == dict(zip(TURNS, (1024, 1201000, 15), strict=True))


@pytest.mark.parametrize(
    ("text", "code", "problem"),
    [
        (printed(MARK), 0, "saw 1 turns, not 3"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1, "may not read the card's counters"),
        ("==ERROR== no device\n", 3, "ncu failed: ==ERROR== no device"),
        ("", 1, "no message"),
    ],
)
def test_what_is_not_counted_says_why(text: str, code: int, problem: str) -> None:
    assert problem in traffic.read(text, code, TURNS).problem


def test_without_the_tool_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic.shutil, "which", lambda name: None)
    assert traffic.counted(TURNS, ["G1"], 500.0) == traffic.Traffic({}, "ncu is not installed")


def recorded() -> GpuReport:
    """Numbers of no card."""
    rows = (KernelRow(OURS, "k0_f", 4e-6, 4096, 90, 0, 4096), KernelRow(APART, "k0_g", 8e-6, 8192, 120, 2, 8200))
    times = (Timed(OURS, 5e-6, 1.0, 21), Timed(APART, 1e-5, 2.0, 21), Timed(EAGER, 1.5e-5, 3.0, 21))
    case = CaseResult("G1", paper.CHAINS, (Checked(OURS, 2e-4), Checked(APART, 3e-4)), rows, times, 1000)
    counted = replace(case, dram_bytes=((OURS, 600), (EAGER, 1000)))
    refused = CaseResult("C6", paper.CONVOLUTIONS, (), (), problems=(f"{COMPILED}: RuntimeError: no",))
    card = Card("NVIDIA H200", "580.1", (9, 0), "h200", "plans are for the target h200", (("triton", "3.9.0"),), "abc")
    found = Fit((Coefficient("trip_cycles", 160.0, 171.5), Coefficient("load_cycles", 500.0, None)), 0.3, 0.1, 2)
    left = (f"{COMPILED} of G1", f"{COMPILED} of C6", "bytes of DRAM: ncu is not installed")
    lowering = LoweringResult("fragments", 15, (), 88, 6144)
    return GpuReport(card, (counted, refused), (lowering,), found, left, 12.0, True)


def test_tables_of_recorded_numbers() -> None:
    text = Measured(recorded()).as_text()
    (row,) = (line for line in text.splitlines() if line.startswith("G1 "))
    assert row.split() == ["G1", "1", "3.0e-04", "4.00", "us", "5.00", "us", "0.80", "2.00", "3.00", "-", "40%"]
    for part in (
        "PyTorch/ours 3.00",
        "Chimera's averages on A100: PyTorch 2.77, TASO 3.30",
        "bytes of DRAM fewer by 40% to 40%; paper 10% to 60%",
        "most registers 120 (G1); kernels that spill: G1",
        "shared bytes as planned: 1 of 2; others: G1",
        "lowering fragments: 15 blocks right, 88 registers",
        "no price depends on it",
        "left out, no time was left: torch.compile of G1, C6",
        "left out: bytes of DRAM: ncu is not installed",
        "C6: torch.compile: RuntimeError: no",
    ):
        assert part in text


def test_shared_bytes_are_compared_with_the_pinned_version_alone() -> None:
    text = Measured(replace(recorded(), compares_shared=False)).as_text()
    assert "shared bytes are not compared" in text
    assert "shared bytes as planned" not in text


def test_documents_and_names_of_files() -> None:
    report = recorded()
    document = json.loads(json.dumps(report.as_document()))
    assert document["skipped"] is False
    assert document["card"]["card"] == "NVIDIA H200"
    assert document["cases"][0]["timed"][2]["to_own"] == 3.0
    assert document["fit"]["coefficients"][0]["fitted"] == 171.5
    assert result_name("NVIDIA H200", datetime.date(2026, 11, 29)) == "2026-11-29-gpu-nvidia-h200.json"
    assert report.wrong() == (f"C6 ({OURS}, not run)", f"C6 ({APART}, not run)")
    nan = replace(report.cases[0], checked=(Checked(OURS, float("nan")),))
    assert replace(report, cases=(nan,)).wrong() == (f"G1 ({OURS})", f"G1 ({APART}, not run)")
