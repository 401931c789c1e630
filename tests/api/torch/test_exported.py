"""Programs of torch.export as kernels: structures, extents at run time, packages, errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import tilewright as tw
from tilewright.api.torch.exported import load
from tilewright.cli.main import main
from tilewright.errors import InvalidModel, ShapeError, UnsupportedOperation

ROWS = torch.export.Dim("rows", min=2, max=50)


class Layer(nn.Module):
    """Arguments of two kinds, and results in containers, one of them an input and one a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.register_buffer("offset", torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, x, y=None, *, scale=2.0):
        h = torch.addmm(self.linear.bias, x, self.linear.weight.t()) * scale + self.offset
        return {"h": torch.relu(h), "others": (y, self.offset, None)}


@pytest.fixture(scope="module")
def layer() -> Layer:
    torch.manual_seed(0)
    return Layer().eval()


@pytest.fixture(scope="module")
def exported(layer):
    return torch.export.export(layer, (torch.ones(3, 8),), {"y": torch.ones(2)}, dynamic_shapes={"x": {0: ROWS}, "y": None})


def check(kernel, layer, rows: int) -> None:
    x, y = torch.randn(rows, 8), torch.randn(2)
    found, expected = kernel(x, y=y), layer(x, y=y)
    torch.testing.assert_close(found["h"], expected["h"])
    assert torch.equal(found["others"][0], y)
    assert torch.equal(found["others"][1], layer.offset)
    assert found["others"][2] is None


def test_a_program_is_called_like_its_module_for_all_its_extents(layer, exported) -> None:
    kernel = load(exported, threads=1)
    check(kernel, layer, 3)
    check(kernel, layer, 50)
    with pytest.raises(ShapeError, match=r"must lie in 2\.\.50"):
        kernel(torch.ones(51, 8), y=torch.ones(2))


def test_packages_of_programs_need_no_program(layer, exported, tmp_path: Path, capsys) -> None:
    torch.export.save(exported, tmp_path / "layer.pt2")
    package = str(tmp_path / "layer.tw")
    assert main(["compile", str(tmp_path / "layer.pt2"), "-o", package, "--target", "x86-64-v2"]) == 0
    assert "x86-64-v2" in capsys.readouterr().out
    check(tw.load(package), layer, 7)


def test_what_a_kernel_cannot_be_is_told(tmp_path: Path) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    class Values(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x).real

    with pytest.raises(UnsupportedOperation, match="changes its state: buffer_mutation count"):
        load(torch.export.export(Counter(), (torch.ones(2),)))
    with pytest.raises(UnsupportedOperation, match="linalg_eig"):
        load(torch.export.export(Values(), (torch.ones(3, 3),)))
    (tmp_path / "other.pt2").write_bytes(b"no archive")
    with pytest.raises(InvalidModel, match="no archive"):
        load(tmp_path / "other.pt2")


def test_numbers_are_fixed_and_results_may_repeat(tmp_path: Path) -> None:
    class Scaled(nn.Module):
        def forward(self, x, factor):
            y = x * factor
            return y, y, 5, x.shape[0]

    kernel = load(torch.export.export(Scaled(), (torch.ones(2, 3), 2.0)))
    kernel.save(tmp_path / "scaled.tw")
    for called in (kernel, tw.load(tmp_path / "scaled.tw")):
        first, second, *numbers = called(torch.ones(2, 3), 2.0)
        assert torch.equal(first, torch.full((2, 3), 2.0))
        assert torch.equal(first, second)
        assert numbers == [5, 2]
    with pytest.raises(ShapeError, match="structure"):
        kernel(torch.ones(2, 3), 3.0)


def test_programs_that_hold_for_some_extents_of_a_range_are_refused(tmp_path: Path) -> None:
    class Halves(nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] % 2 == 0 else x * 3

    class Shifted(nn.Module):
        def forward(self, x, y):
            return x[1:] + y

    rows = torch.export.Dim("rows", min=2, max=20)
    program = torch.export.export(Halves(), (torch.ones(6, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program, tmp_path / "halves.pt2")
    for given in (program, tmp_path / "halves.pt2"):
        with pytest.raises(UnsupportedOperation, match=r"holds where Eq\(Mod\(s\d+, 2\), 0\)"):
            load(given)
    arguments, shapes = (torch.ones(6, 4), torch.ones(5, 4)), ({0: rows + 1}, {0: rows})
    with pytest.raises(UnsupportedOperation, match="later arguments tell"):
        load(torch.export.export(Shifted(), arguments, dynamic_shapes=shapes))


def test_composed_operators_and_inputs_of_any_name() -> None:
    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(4, 3)

        def forward(self, t, t_1):
            return self.cell(nn.functional.pad(t, (1, 0)).type_as(t_1), t_1) + t_1

    module, given = Padded().eval(), (torch.randn(2, 3), torch.randn(2, 3))
    with torch.no_grad():
        kernel = load(torch.export.export(module, given), threads=1)
        torch.testing.assert_close(kernel(*given), module(*given))
