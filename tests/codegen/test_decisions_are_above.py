"""Code generation translates: figures that change speed or rounding stand in plans, in machines and in micro kernels."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import tilewright.c_text
import tilewright.lower
import tilewright.render

PACKAGES = (tilewright.c_text, tilewright.lower, tilewright.render)
LEFT = {
    # units of the interface between generated code, micro kernels and the runtime
    "WORD_BYTES",
    "LINE_BYTES",
    "LARGEST_LONG",
    # the time that a compiler and code generation take, and the length of names
    "FILE_CHARACTERS",
    "LEAST_CHARACTERS",
    "LONGEST_BOUND",
    "MOST_PIECES",
    "FEW_PLACES",
    "MOST_REMEMBERED",
    "NAME_DIGITS",
    # granularity that plans and text have in common: of masked keys, of rows that loops take together, of picked elements
    "EVERY_OTHER",
    "LANES",
    "WAYS",
    # what a language takes: dimensions of a product, the least side of its tiles, elements that an address counts, widths of
    # text; warps and stages of kernels without a product
    "MATRIX",
    "LEAST_SIDE",
    "MOST_ELEMENTS",
    "LONGEST_NAME",
    "WIDTH",
    "WARPS",
    "STAGES",
    # registers, addressing modes and encodings of x86, and which integers of a function get its registers
    "BLOCK_BITS",
    "DIVISION_BYTES",
    "LARGEST",
    "LOOP_WEIGHT",
    "MASK_REGISTERS",
    "MOST_INHERITED",
    "MOST_ROWS",
    "RED_ZONE_BYTES",
    "ROWS_PER_POINTER",
    "ZERO_IDIOMS",
}
"""Described in docs/architecture.md."""


def test_code_generation_has_no_figures_of_its_own() -> None:
    found = (each for package in PACKAGES for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
    modules = [import_module(each.name) for each in found]
    assert len(modules) > 20
    figures = {
        name
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float) and not isinstance(value, bool)
    }
    assert figures == LEFT
