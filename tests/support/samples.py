"""What `pytest` leaves to `.ci/run` (whole folders), and what both leave to those who name a file (cases of long products)."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.kernel_build import COMPILERS, command

TESTS = Path(__file__).parents[1]
ONLY_IN_CI = {
    "backends/gpu_planning": "plans for named GPUs, computed in Python and interpreted: they are the same everywhere",
    "backends/npu/test_counts.py": "formulas of a named machine against its simulator",
    "backends/npu/test_planner.py": "plans for a named machine",
    "backends/test_devices_are_named_below.py": "names in the package's sources",
    "bench": "the benchmark is a distribution of its own; `tilewright bench` itself fails where a result is wrong",
    "benchmarks": "studies and reproductions serve development",
    "render/c/test_generated_text.py": "text, for named machines",
    "codegen/test_same_bits.py": "a second compiler",
    "kernels/test_disassembly.py": "machine code of every tile: it depends on the compiler's version, and costs time only",
    "models/test_exporters_forms.py": "plans, for named machines",
    "mutants": "how tests are tried serves development",
    "oracles": "what plans and traces of generated text are compared with",
    "plan": "plans are computed in Python, for named machines: they are the same everywhere",
    "replay": "texts and plans, for named machines",
    "trials": "the how-to pages of development",
    "tune": "rankers, searches and the pipeline of tuning; `tests/runtime/tuning` is about results",
}
"""Files and folders in this one, and why a newcomer's machine need not run them."""
SAMPLED = (
    "api/convolutions",
    "api/test_rows_alone.py",
    "api/test_table_iv.py",
    "leaves/test_rowwise_reductions.py",
    "lower",
    *(
        f"frontend/onnx/operators/contrib/test_matmul_nbits.py::test_{name}"
        for name in ("levels", "rounded_rows_are", "rows_that", "a_block_f")
    ),
    "frontend/onnx/operators/contrib/test_layers.py::test_attention[",
    *(f"render/c/test_operator_nests.py::test_{name}" for name in ("random", "numbers_of_a_call")),
    "render/c/test_packing.py",
    "render/c/test_routines.py",
    "codegen/test_",
    "frontend/onnx/operators/quantization",
    "kernels/test_disassembly.py",
    "kernels/test_epilogues.py",
    "kernels/test_external_kernels.py",
    "kernels/test_interleaved_epilogues.py",
    "models/test_quantised_models.py",
    "models/test_random_",
    "plan/algorithms/test_winograd.py",
    "tune/working_sets",
)
"""Where cases are products of shapes, element types, machines and layouts, of which a part is taken of each test."""
WHOLE_COUNT = 2
"""Cases of a test that are always taken."""
SAMPLE = 6
"""Of the others, one of so many is taken, by their names. Who names the file gets all of them."""


def is_only_in_ci(path: Path) -> bool:
    """Whether a file or folder is one of `ONLY_IN_CI`."""
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix() in ONLY_IN_CI


def is_of_second_compiler(item: pytest.Item) -> bool:
    """Whether a case of a kernel is for ziglang's Clang and there is GCC, which users have then: the other is for `.ci/run`."""
    chosen = getattr(item, "callspec", None)
    first, second = COMPILERS
    return chosen is not None and chosen.params.get("compiler") == second and command(first) is not None


def left_out(items: Iterable[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.MarkDecorator]]:
    """The cases that `pytest` alone leaves out, and those that `.ci/run` leaves out, too, with their markers."""
    counts: Counter[str] = Counter()
    for item in items:
        if is_of_second_compiler(item):
            yield item, pytest.mark.ci
        if item.nodeid.startswith("tests/") and item.nodeid.removeprefix("tests/").startswith(SAMPLED):
            test = item.nodeid.partition("[")[0]
            counts[test] += 1
            number = zlib.crc32(item.nodeid.encode()) if counts[test] > WHOLE_COUNT else 0
            if number % SAMPLE:
                yield item, pytest.mark.rest
