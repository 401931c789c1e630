"""What POWER does in one instruction where the portable dialect has none: branches of texts that serve every ISA."""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import Instructions

INSTRUCTIONS = Instructions(CTexts(__file__), lambda _: {})
