"""The text of bounds of required regions in chains of windows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.codegen.test_halos import image_axes, planned, results
from tests.support.chains import artifact_of
from tests.support.halo_chains import conv, halo_chain, pad
from tilewright.plan.schedule import fused_schedule
from tilewright.plan.space.schedule_space import may_be_line_buffered
from tilewright.plan.types import Plan

CONVOLUTIONS = range(3, 9)


def plan_of(convolutions: int, *, padded: bool, rolled: bool, size: int = 40) -> Plan:
    """Convolutions of 3 x 3 pixels in shared loops over rows, their images in line buffers or computed anew."""
    stages = [stage for _ in range(convolutions) for stage in ([pad(1), conv(3, 2)] if padded else [conv(3, 2)])]
    chain = halo_chain(size, size, 2, stages)
    rows, columns = image_axes(chain)
    groups = may_be_line_buffered(chain, (columns, rows)) if rolled else ()
    buffered = [tensor for group in groups for tensor in group]
    return planned(fused_schedule(chain, (columns, rows), {}, {rows: 2, columns: 5}, line_buffered=buffered), chain)


def text_of(convolutions: int, *, padded: bool, rolled: bool) -> str:
    return artifact_of([plan_of(convolutions, padded=padded, rolled=rolled)]).text


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("rolled", [False, True])
def test_text_grows_linearly_with_the_chain(padded: bool, rolled: bool) -> None:
    sizes = [len(text_of(count, padded=padded, rolled=rolled)) for count in CONVOLUTIONS]
    first, last = sizes[2] - sizes[0], sizes[-1] - sizes[-3]
    assert last < 2 * first, sizes


def test_names_of_long_bounds_are_defined_once_ahead_of_their_use() -> None:
    text = text_of(6, padded=True, rolled=True)
    defined = re.findall(r"const long (reach_\w+) = ", text)
    assert defined
    assert len(defined) == len(set(defined))
    assert set(re.findall(r"\breach_\w+", text)) == set(defined)
    assert all(text.index(name) == text.index(f"const long {name} = ") + len("const long ") for name in defined)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("rolled", [False, True])
def test_chains_with_named_bounds_compute_the_chain(padded: bool, rolled: bool) -> None:
    outputs, expected = results([plan_of(5, padded=padded, rolled=rolled, size=17)])
    np.testing.assert_allclose(outputs[0], expected, 1e-4, 1e-4)
