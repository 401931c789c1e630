"""The study of prices of convolutions: its sample, what it keeps of a kernel, and its tables."""

from __future__ import annotations

import numpy as np

from benchmarks.studies.price_of_convolutions import document, kernel_of, networks, predictions, report, sample
from tilewright.machine import Machine
from tilewright.tune.fit.fitting import NAMES, Kernel, OperatorRow, prices
from tilewright_bench.cases.conv_shapes import named_shape


def kernels() -> list[Kernel]:
    generator = np.random.default_rng(0)
    found = []
    for case in range(6):
        for algorithm in ("a", "b"):
            computing, paid = 1e-4 * generator.random((2, len(NAMES))) * generator.integers(0, 2, (2, len(NAMES)))
            row = OperatorRow(computing, paid, 1e-5, 2e-5, 3e-5)
            found.append(Kernel(f"layer {case}", 1e-3, (row, row), "drawn", frozenset((f"net {case % 3}",)), algorithm))
    return found


def test_layers_that_networks_share_are_of_all_of_them() -> None:
    assert networks(named_shape("7x7_3-64_224_s2")) >= {"resnet", "inception", "googlenet"}
    assert all(networks(shape) for _, shape in sample())


def test_a_kept_kernel_has_the_same_price() -> None:
    for kernel in kernels():
        again = kernel_of(document(kernel))
        assert (again.case, again.kind, again.origin, again.name) == (kernel.case, kernel.kind, kernel.origin, kernel.name)
        assert prices([again], np.ones(len(NAMES)), 0.0) == prices([kernel], np.ones(len(NAMES)), 0.0)


def test_tables_have_every_layer_and_both_predictions() -> None:
    found = kernels()
    predicted = predictions(found, Machine.named("x86-64-v2"))
    text = report(found, predicted)
    assert "drawn: 6 layers, 12 kernels" in text
    assert all(kernel.case in text for kernel in found)
    assert all(name in text for name in predicted)
