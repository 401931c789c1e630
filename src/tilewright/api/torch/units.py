"""A graph of ATen calls, all of which are compiled: one library, and what a call does around it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import GraphModule

from tilewright.api.torch.calls import Generated, generated, outputs_of
from tilewright.api.torch.library import Library, Weights
from tilewright.api.torch.options import BackendOptions
from tilewright.api.torch.running import Reader, Reads, Running, reader_for
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.program import Recording
from tilewright.records import record


@record(eq=False)
class Unit:
    """What is compiled of a graph. It holds no weight, and nothing of torch's compiler."""

    library: Library
    arguments: Mapping[str, tuple[int, Reader]]
    """By placeholder: its place, and what makes it an array."""
    call: Generated
    threads: int | None
    operators: int
    """Of its graph."""

    def bound(self, weights: Weights) -> Running:
        """What calls run, with these weights packed."""
        reads = Reads(tuple(self.arguments[name] for name in self.library.inputs(weights)))
        loaded = self.library.loaded(weights, self.threads or torch.get_num_threads())
        return Running(loaded, self.threads, reads, self.call)


def unit_of(module: GraphModule, recording: Recording, weights: Weights, options: BackendOptions) -> Unit:
    """Compile what was recorded of a module, without packing weights.

    Raises `UnsupportedOperation` where outputs need what was refused, and what planning and compilers raise.
    """
    outputs = outputs_of(module.graph)
    program = recording.program(outputs.owners)
    if not program.graph.outputs:
        raise UnsupportedOperation("a graph without operators", why="all of its outputs are views of its inputs, or constants")
    call = generated(outputs, program.results, len(program.graph.outputs))
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    arguments = {node.name: (place, reader_for(node.meta.get("val"))) for place, node in enumerate(placeholders)}
    library = Library(program, options.building())
    library.compile(weights)
    return Unit(library, arguments, call, options.threads, len(program.graph.operators))
