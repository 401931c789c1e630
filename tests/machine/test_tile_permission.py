"""Features that need the permission of Linux."""

from __future__ import annotations

import pytest

from tilewright.machine import tile_permission


@pytest.mark.parametrize(("granted", "left"), [(True, {"avx2", "amx_tile", "amx_int8"}), (False, {"avx2"})])
def test_tiles_need_a_permission(granted: bool, left: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_permission, "is_granted", lambda: granted)
    assert tile_permission.permitted(frozenset(("avx2", "amx_tile", "amx_int8"))) == left


def test_nobody_is_asked_without_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_permission, "is_granted", lambda: pytest.fail("asked"))
    assert tile_permission.permitted(frozenset(("avx2",))) == {"avx2"}
