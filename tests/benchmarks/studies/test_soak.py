"""The soak in small: it runs, compares and tells. Twenty minutes of it are `python -m benchmarks.studies.soak`."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from benchmarks.studies.parts.soak_programs import programs
from benchmarks.studies.soak import Soak, Tally, table


def test_every_program_means_what_it_says() -> None:
    choose, numbers = random.Random(0), np.random.default_rng(0)
    for program in programs():
        arrays = [numbers.standard_normal(shape).astype(np.float32) for shape in program.shapes(choose)]
        expected = program.meaning(*(array.astype(np.float64) for array in arrays))
        np.testing.assert_allclose(program.call(*arrays), expected, rtol=1e-3, atol=1e-4, err_msg=program.name)


def small() -> Soak:
    """NumPy in the place of kernels."""
    return Soak([replace(program, call=program.meaning) for program in programs()], share_new=0.5, seed=0)


def test_threads_call_and_compare() -> None:
    lines: list[str] = []
    tally = small().run(0.005, 3, lines.append)
    assert tally.calls.total() > 0
    assert tally.wrong == []
    assert "0 wrong" in lines[-1]
    assert f"{tally.calls.total()} calls" in table(tally, 0.3)


def test_what_is_wrong_is_told() -> None:
    soak = small()
    soak.programs = [replace(program, call=lambda *arrays: arrays[0] * 0 + 7) for program in soak.programs]
    tally = soak.run(0.003, 2, lambda line: None)
    assert tally.wrong
    assert "wrong: " in table(tally, 0.2)


def test_failures_count_as_wrong() -> None:
    def fail(*arrays: np.ndarray) -> np.ndarray:
        raise RuntimeError("no kernel")

    soak = small()
    soak.programs = [replace(soak.programs[0], call=fail)]
    assert "RuntimeError: no kernel" in soak.run(0.001, 1, lambda line: None).wrong[0]


def test_growth_is_told_after_a_quarter_of_the_time() -> None:
    tally = Tally(sizes=[(minute, 100.0 + minute, 500 + int(minute), 0) for minute in map(float, range(1, 9))])
    assert "after a quarter: 102 MiB, 502 mappings" in table(tally, 480)
    assert "at the end:      108 MiB, 508 mappings" in table(tally, 480)
