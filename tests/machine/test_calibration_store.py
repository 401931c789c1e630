from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.machine import calibration_store
from tilewright.machine.calibration_store import Calibration

GOOD = Calibration((("float32", 2e11), ("int8", 8e11)), (("L1", 4e11), ("memory", 1e10)), 5e-7, 2, 1.6)


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
        (b'{"schema": 1}', "the checksum does not match"),
        (b'{"schema": 1, "checksum": "", "calibration": {}}', "the checksum does not match"),
        (calibration_store.encode(GOOD, "c")[:-40], "cannot be used"),
        (calibration_store.encode(GOOD, "c").replace(b"800000000000.0", b"900000000000.0"), "the checksum does not match"),
        (calibration_store.encode(GOOD, "another"), "it is of another CPU, not 'c'"),
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
