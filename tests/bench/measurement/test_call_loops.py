from __future__ import annotations

import pytest

from tilewright.errors import TilewrightError
from tilewright_bench.benchmarks import GEMMS
from tilewright_bench.measurement import call_loops


def test_a_loop_that_fails_says_so() -> None:
    if GEMMS.peers["onednn"].missing():
        pytest.skip("oneDNN is not installed")
    from tilewright_bench.peers.onednn import library as onednn_library

    refused = call_loops.call("loop_dnnl_execute", onednn_library.load().dnnl_primitive_execute, None, None, 0, None)
    with pytest.raises(TilewrightError, match="2 of 2 executions failed"):
        refused(2)
