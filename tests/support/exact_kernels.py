"""Micro kernels for plans made by hand: those that are exact for all operands, as no proof chooses there."""

from __future__ import annotations

from tilewright.kernels import MicroKernel, for_machine
from tilewright.kernels.contract import ElementTypes
from tilewright.machine import Machine


def exact_kernels(machine: Machine, types: ElementTypes) -> list[MicroKernel]:
    """Of these element types, in the order of the registry."""
    return [kernel for kernel in for_machine(machine, element_types=types) if kernel.saturation is None]
