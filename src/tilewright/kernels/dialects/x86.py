"""What x86 does in one instruction, or in few, where C for all machines takes many: branches of texts that serve every ISA."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import Instructions

WIDENS = {"bool": "vpmovzxbd", "uint8": "vpmovzxbd", "int8": "vpmovsxbd", "uint16": "vpmovzxwd", "int16": "vpmovsxwd"}
"""One instruction each, which compilers (gcc 12) do not find: they widen bytes one by one, and halves of vectors."""
NARROWS = {"bool": "vpmovdb", "uint8": "vpmovdb", "int8": "vpmovdb", "uint16": "vpmovdw", "int16": "vpmovdw"}
"""Instructions that store the low bits of lanes."""
WORDS = "vmovdqu32"
"""Loads and stores of lanes as they are."""


def of_elements(dtype: str) -> Mapping[str, str]:
    """The instructions that load elements of a type as lanes of 32 bits, and that store lanes as such elements.

    >>> of_elements("int16")
    {'WIDENS': 'vpmovsxwd', 'NARROWS': 'vpmovdw'}
    """
    return {"WIDENS": WIDENS.get(dtype, WORDS), "NARROWS": NARROWS.get(dtype, WORDS)}


INSTRUCTIONS = Instructions(CTexts(__file__), of_elements)
