from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.machine import calibration_store
from tilewright.machine.calibration_store import Calibration

GOOD = Calibration((("float32", 2e11), ("int8", 8e11)), (("L1", 4e11), ("memory", 1e10)), 5e-7, 2, 1.6)


def forged(**changes: Any) -> bytes:
    """A file with a right checksum and wrong content."""
    record = {**json.loads(calibration_store.encode(GOOD, "c"))["calibration"], **changes}
    document = {"schema": 1, "checksum": calibration_store.checksum(record), "calibration": record}
    return json.dumps(document).encode()


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(calibration_store.encode(GOOD, "c"))
    assert calibration_store.read(path) == GOOD


def test_a_missing_file_is_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert calibration_store.read(tmp_path / "none.json") is None
    assert not caplog.records


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe\x00garbage", "cannot be used"),
        (b"[]", "the file is not a JSON object"),
        (b"[" * 100_000, "cannot be used"),
        (b'{"schema": 2}', "schema is 2, not 1"),
        (b'{"schema": 1}', "calibration is not a JSON object"),
        (b'{"schema": 1, "checksum": "", "calibration": {}}', "the checksum does not match"),
        (calibration_store.encode(GOOD, "c")[:-40], "cannot be used"),
        (calibration_store.encode(GOOD, "c").replace(b"800000000000.0", b"900000000000.0"), "the checksum does not match"),
        (calibration_store.encode(GOOD, "another"), "it is of the CPU 'another', not 'c'"),
        (forged(cores=0), "cores is 0"),
        (forged(cores=True), "cores is True"),
        (forged(cores=1.5), "cores is 1.5"),
        (forged(parallel_region_s=None), "parallel_region_s is None"),
        (forged(duration_s="fast"), "duration_s is 'fast'"),
        (forged(peak_flops_per_s=[1]), "peak_flops_per_s is not a JSON object"),
        (forged(peak_flops_per_s={"float32": float("nan")}), "peak_flops_per_s.float32 is nan"),
        (forged(bandwidth_bytes_per_s={"L1": -1}), "bandwidth_bytes_per_s.L1 is -1"),
        (forged(bandwidth_bytes_per_s={"L1": float("inf")}), "bandwidth_bytes_per_s.L1 is inf"),
    ],
)
def test_damage_is_ignored_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, complaint: str
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    assert calibration_store.read(path) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert str(path) in record.getMessage()
    assert complaint in record.getMessage()


def test_an_unreadable_file_is_ignored_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert calibration_store.read(tmp_path) is None
    assert "cannot be read" in caplog.text


@given(st.data())
def test_no_single_damaged_byte_is_believed(data: st.DataObject) -> None:
    content = bytearray(calibration_store.encode(GOOD, "c"))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    try:
        decoded = calibration_store.decode(bytes(content), "c")
    except ValueError:
        return
    assert decoded == GOOD
