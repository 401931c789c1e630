"""Branches of ISAs in C of all: a further ISA is a further branch, behind those that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects import instructions, x86
from tilewright.kernels.dialects.instructions import Instructions, with_instructions

FURTHER = """\
// [nearest]
// Of an ISA that nobody has.
#ifdef FURTHER
  return further(v);

// [store_8]
#if FURTHER > 1
  @STORES@(p);
"""


@pytest.fixture(autouse=True)
def further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ISA beside x86."""
    (tmp_path / "further.c").write_text(FURTHER)
    isa = Instructions(CTexts(str(tmp_path / "further.py")), lambda dtype: {"STORES": f"store_{dtype}"})
    monkeypatch.setattr(instructions, "_isas", lambda: (x86.INSTRUCTIONS, isa))


def test_a_further_isa_is_a_further_branch() -> None:
    text = with_instructions("#instructions nearest\n  return v;\n#end\n")
    assert text.startswith(x86.INSTRUCTIONS.texts["nearest"])
    assert text.endswith("#elif defined(FURTHER)\n  return further(v);\n#else\n  return v;\n#endif\n")


def test_branches_of_elements_are_for_their_bits() -> None:
    text = "#instructions store\n#end\n"
    assert with_instructions(text, "int8") == "#if FURTHER > 1\n  store_int8(p);\n#endif\n"
    assert with_instructions(text, "int16") == ""


def test_places_inside_of_what_is_for_all_others() -> None:
    text = with_instructions("#instructions none\nfirst\n#instructions store\nlast\n#end\n#end\n", "uint8")
    assert text == "first\n#if FURTHER > 1\n  store_uint8(p);\n#else\nlast\n#endif\n"
