"""Chains that may write their result over their input."""

from __future__ import annotations

from tilewright.graph.types import Chain


def overwritable(chain: Chain) -> tuple[str, ...]:
    """The tensors of which a single map reads the very element that it writes, and no other, at every point.

    Every element is then read before it is written, whatever the order of points and however many threads compute them.
    """
    operator = chain.operators[-1]
    if len(chain.operators) > 1 or not operator.is_map():
        return ()
    output = chain.tensor(operator.write.tensor)
    found = []
    for tensor in chain.inputs:
        read = chain.tensor(tensor)
        accesses = [access for access in operator.reads if access.tensor == tensor]
        same_points = all(access.is_affine() and access.indices == operator.write.indices for access in accesses)
        if same_points and (read.shape, read.dtype) == (output.shape, output.dtype):
            found.append(tensor)
    return tuple(found)
