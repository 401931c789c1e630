"""A dozen random programs of PyTorch, compiled, against eager mode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from tests.support.random.torch.judging import outcome  # noqa: E402
from tests.support.random.torch.styles import KINDS, program  # noqa: E402
from tests.support.sweeps import Outcome  # noqa: E402

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("seed", range(12))
def test_results_are_those_of_eager_mode(seed: int) -> None:
    one = program(seed, 8)
    found: Outcome = outcome(one)
    assert not found.is_failure, f"{found}\n{one.text()}"


def test_a_seed_has_one_program_and_programs_have_every_kind_of_line() -> None:
    assert program(7).text() == program(7).text()
    many = "\n".join(program(seed).source() for seed in range(60))
    parts = (
        "[0]",
        ".view(",
        "F.conv",
        "scatter",
        "_(",
        ".expand",
        "torch.where(",
        ".to(torch.",
        " @ ",
        "self.w0",
        "self.b0",
        "as_strided",
    )
    assert not [part for part in parts if part not in many]
    assert len({kind for kind, _ in KINDS}) == len(KINDS)
