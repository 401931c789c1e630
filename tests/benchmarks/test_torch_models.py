"""Tables and verdicts of the study of torch.compile's backends; its models' small forms."""

import pytest

torch = pytest.importorskip("torch")

from benchmarks.studies.torch_models.bounds import judged  # noqa: E402
from benchmarks.studies.torch_models.models import CONVOLUTIONAL, Size, build  # noqa: E402
from benchmarks.studies.torch_models.tables import tables  # noqa: E402

SECONDS = {"process_s": 1.0, "children_s": 2.0}
FOUND = {
    "bert": {
        "times": {
            "ms": {"tilewright": [8.0, 9.0], "eager": [16.0], "inductor": [8.0]},
            "errors": {"tilewright": 3e-7, "eager": 1e-7},
            "graphs": {"tilewright": 1},
            "eager": {"tilewright": ["cumsum"]},
            "failures": {"onnxruntime": "ValueError: no"},
        },
        "compilation": {
            "cold": {"tilewright": {"wall_s": 4.0, **SECONDS}, "inductor": {"wall_s": 10.0, **SECONDS}},
            "second": {"tilewright": {"failure": "killed"}},
        },
    }
}


def test_ratios_are_those_of_minima():
    row = next(line for line in tables(FOUND) if line.startswith("bert ")).split()
    assert row == ["bert", "8.00", "16.00", "8.00", "0.500", "1.000"]


def test_failures_are_said():
    assert tables(FOUND)[-2:] == ["bert: onnxruntime: ValueError: no", "bert: compilation tilewright: killed"]


def test_missed_bounds_are_named():
    lines = list(judged(FOUND))
    assert [line.partition(":")[0] for line in lines if "missed by bert" in line] == ["ours/inductor", "error, ours/eager"]
    assert "cold compilation, ours/inductor: geometric mean 0.400, worst 0.400 bert (at most 0.50)" in lines


@pytest.mark.ci
@pytest.mark.parametrize("name", [*CONVOLUTIONAL, "lstm"])
def test_small_forms_give_numbers(name):
    model = build(name, Size(is_small=True))
    with torch.no_grad():
        assert torch.isfinite(model.module(*model.args)).all()
