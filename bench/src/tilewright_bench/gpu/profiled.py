"""`ncu ... python -m tilewright_bench.gpu.profiled CASE ...`: every case once by our kernels and by PyTorch, for `traffic.py`."""

from __future__ import annotations

import sys

from tilewright_bench.gpu.cases import all_cases
from tilewright_bench.gpu.device import Cuda
from tilewright_bench.gpu.prepared import own_calls, prepared
from tilewright_bench.gpu.targets import target_of

MARKER_CYCLES = 1000


def main(names: list[str]) -> None:
    """Compile and call first, then call once more while the profiler counts; a marker ends the kernels of each call."""
    device = Cuda()
    machine = target_of(device.card, device.capability).machine
    for case in (case for case in all_cases() if case.name in names):
        calls = own_calls(prepared(case, machine, device))
        device.synchronise()
        device.torch.cuda.profiler.start()
        for call in calls.values():
            call()
            device.torch.cuda._sleep(MARKER_CYCLES)
        device.synchronise()
        device.torch.cuda.profiler.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
