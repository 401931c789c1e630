"""SConv's choice between both orders of the loops, and its equations for tile sets as they are printed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.plan.slicing import (
    ConvolutionSizes,
    Slicing,
    SlicingMachine,
    Stationary,
    balanced,
    exact_slicing,
    halved_slicing,
    largest_channels,
)


@dataclass(frozen=True, slots=True)
class SlicingChoice:
    """Both orders, and which costs less; the input stays where they cost the same."""

    input_stationary: Slicing
    weight_stationary: Slicing

    @property
    def chosen(self) -> Slicing:
        """The cheaper order."""
        return min(self.input_stationary, self.weight_stationary, key=lambda slicing: slicing.cost_cycles)


def slicing_choice(sizes: ConvolutionSizes, machine: SlicingMachine, *, halving: bool = False) -> SlicingChoice:
    """Both orders by the exact search, or by the paper's heuristic with its largest sets and without reloads.

    >>> layer, caches = ConvolutionSizes(56 * 56, 64, 64, 9), ((32 << 10), (1 << 20), (4 << 20))
    >>> power10 = SlicingMachine(caches, (14, 50, 200), tile_windows=16, tile_filters=8)
    >>> slicing_choice(layer, power10, halving=True).chosen.stationary.value
    'input-stationary'
    """
    slice_one = halved_slicing if halving else exact_slicing
    return SlicingChoice(*(slice_one(sizes, machine, stationary) for stationary in Stationary))


def largest_slicing(sizes: ConvolutionSizes, machine: SlicingMachine, stationary: Stationary) -> Slicing:
    """Equations 2, 4 and 5 as they are printed: the largest N_c, then the largest K2, then the largest K3; no reloads counted."""
    channels = largest_channels(sizes, machine)
    found = balanced(sizes, machine, stationary, channels)
    found = replace(found, streamed_in_l2=found.most_in_l2())
    return replace(found, stationary_in_l3=found.most_in_l3())
