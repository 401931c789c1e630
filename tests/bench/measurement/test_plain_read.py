from __future__ import annotations

import numpy as np
import pytest

from tilewright_bench.cases.case import aligned
from tilewright_bench.measurement import plain_read


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_plain_read_reads_every_element_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array, read = aligned((130, 10)), list[float]()
    array[:] = np.arange(1300).reshape(130, 10)
    monkeypatch.setattr(plain_read, "read", lambda parts, count: read.extend(parts[0]))
    (reader,) = plain_read.prepare([array], array.astype(np.float64), threads)
    reader.call()
    assert sorted(read) == list(range(1300))
    assert not list(plain_read.prepare([], np.empty(0), threads))


def test_a_plain_read_loads_what_it_says() -> None:
    array = aligned((4, 64))
    array[:] = np.arange(256).reshape(4, 64)
    assert plain_read.read([array[:2].ravel(), array[2:].ravel()], 3) == 3 * array.ravel()[::16].sum()
