"""Libraries of graphs, to be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilewright.records import record
from tilewright.runtime.arrays import Array

if TYPE_CHECKING:
    from tilewright.backends.backend import Runnable


@record(eq=False)
class Compiled:
    """The library of a graph, and the constants that calls read as they are."""

    executable: Runnable
    constants: tuple[Array, ...]

    def run(self, inputs: tuple[Array, ...], targets: Sequence[Array | None] = ()) -> list[Array]:
        """The graph's outputs, in order, for its inputs. Raises `PositionError` for positions out of range.

        Each is written to its target, if there is one that it fits into as it is; targets may overlap inputs.
        """
        arrays = inputs + self.constants if self.constants else inputs
        if not targets:
            return self.executable.compute(arrays)
        outputs = self.executable.new_outputs(arrays)
        outputs = [_place(output, target) for output, target in zip(outputs, targets, strict=True)]
        self.executable.run(arrays, outputs)
        return outputs

    def profile(self, inputs: Sequence[Array]) -> tuple[list[Array], tuple[tuple[str, float], ...]]:
        """The same, with the name of every chain and the seconds that it took."""
        arrays = (*[np.require(array, requirements=["C", "A"]) for array in inputs], *self.constants)
        outputs = self.executable.new_outputs(arrays)
        return outputs, self.executable.profile(arrays, outputs)


def _place(output: Array, target: Array | None) -> Array:
    """The target of an output where it has its shape, type and order, else the output."""
    if target is None or target.shape != output.shape or target.dtype != output.dtype:
        return output
    flags = target.flags
    return target if flags.c_contiguous and flags.aligned and flags.writeable else output
