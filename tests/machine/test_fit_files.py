from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.machine import fit_files
from tilewright.machine.caches import Fingerprint

CPU = Fingerprint("x86_64", "", "6", "85", "7", ("avx2",), ((1, 32768),))
TEXT = "".join(f"[coefficients.{name}]\nvalue = 0.5\n" for name in fit_files.FITTED)


def stored(cache: Path, text: str) -> fit_files.Fitted:
    path = fit_files.path_of(cache, CPU)
    path.parent.mkdir()
    path.write_text(text)
    return fit_files.users(cache, CPU)


@pytest.mark.parametrize("text", [fit_files.of_cpu(TEXT, CPU), TEXT], ids=["of this CPU", "written by hand"])
def test_a_users_fit_serves_its_cpu(tmp_path: Path, text: str) -> None:
    assert dict(stored(tmp_path, text)) == dict.fromkeys(fit_files.FITTED, 0.5)


def test_a_users_fit_of_another_cpu_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert stored(tmp_path, fit_files.of_cpu(TEXT, replace(CPU, model="86"))) == ()
    assert "it is of the CPU" in caplog.text
