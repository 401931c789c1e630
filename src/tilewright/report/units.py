"""Quantities for people: times, sizes and rates with a unit that suits their magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_predicts = ContextVar("predicts", default=False)

TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SIZE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@contextmanager
def predicting(is_so: bool) -> Iterator[None]:
    """Inside, every time says that it is predicted: of devices on which nothing of what is printed was measured.

    >>> with predicting(True):
    ...     seconds(0.00412), of_a_call(3.5e-7)
    ('4.12 ms predicted', '350 ns predicted')
    """
    token = _predicts.set(is_so)
    try:
        yield
    finally:
        _predicts.reset(token)


def predicts() -> bool:
    """Whether times say that they are predicted."""
    return _predicts.get()


def of_a_call(value: float) -> str:
    """The time of a call on one thread, or on a device, which has no threads to choose from."""
    return seconds(value) if _predicts.get() else f"{seconds(value)} on one thread"


def seconds(value: float) -> str:
    """A time with three significant digits; "none" if it is infinite (no such plan exists).

    >>> seconds(0.00412), seconds(3.5e-7), seconds(0.0), seconds(float("inf"))
    ('4.12 ms', '350 ns', '0 s', 'none')
    """
    if math.isinf(value):
        return "none"
    predicted = " predicted" if _predicts.get() else ""
    if value == 0:
        return f"0 s{predicted}"
    scale, unit = next((entry for entry in TIME_UNITS if abs(value) >= entry[0] * 0.9995), TIME_UNITS[-1])
    return f"{three_digits(value / scale)} {unit}{predicted}"


def size(value_bytes: float) -> str:
    """A size in binary units; exact below 1 KiB.

    >>> size(48 * 1024), size(1_600_000), size(640)
    ('48.0 KiB', '1.53 MiB', '640 bytes')
    """
    for scale, unit in SIZE_UNITS:
        if value_bytes >= scale:
            return f"{three_digits(value_bytes / scale)} {unit}"
    return f"{value_bytes:.0f} bytes"


def exact(count: int) -> str:
    """A whole number with separators.

    >>> exact(1572864)
    '1,572,864'
    """
    return f"{count:,}"


def flop_rate(flops_per_s: float) -> str:
    """A rate of floating-point operations.

    >>> flop_rate(8.32e10)
    '83.2 GFLOP/s'
    """
    return f"{three_digits(flops_per_s / 1e9)} GFLOP/s"


def byte_rate(bytes_per_s: float) -> str:
    """A bandwidth, decimal as datasheets have it.

    >>> byte_rate(1.05e10)
    '10.5 GB/s'
    """
    return f"{three_digits(bytes_per_s / 1e9)} GB/s"


def percent(share: float) -> str:
    """A share of one.

    >>> percent(0.874)
    '87%'
    """
    return f"{share:.0%}"


def quantity(value: float, unit: str) -> str:
    """A figure in the unit that it was given in: times and sizes are scaled, anything else is printed as it is.

    >>> quantity(0.004, "s"), quantity(2048, "B"), quantity(3.25, "columns"), quantity(1, "blocks"), quantity(18e3, "blocks")
    ('4.00 ms', '2.00 KiB', '3.25 columns', '1 block', '18000 blocks')
    """
    match unit:
        case "s" | "seconds":
            return seconds(value)
        case "bytes" | "B":
            return "none" if math.isinf(value) else size(value)
        case _ if math.isinf(value):
            return "none"
        case _:
            number = f"{value:.0f}" if value == int(value) else f"{value:.4g}"
            return f"{number} {unit.removesuffix('s') if value == 1 else unit}".rstrip()


def three_digits(value: float) -> str:
    """Three significant digits without an exponent, for values of ordinary size.

    >>> three_digits(4.1234), three_digits(41.234), three_digits(412.34), three_digits(4123.4)
    ('4.12', '41.2', '412', '4123')
    """
    digits_before = len(str(int(abs(value))))
    return f"{value:.{max(0, 3 - digits_before)}f}"
