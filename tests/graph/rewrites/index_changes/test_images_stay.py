"""Images that convolutions read keep two dimensions for their pixels, whoever else walks these as one."""

from __future__ import annotations

from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.rewrites.index_changes.flatten_tensors import FlattenTensors
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Graph


def pixels_beside_a_convolution(*, keeps_images: bool) -> Graph:
    """A map whose result a convolution reads as an image, and another map as a row of pixels."""
    builder = Builder("f")
    x, w = builder.input("x", (1, 2, 5, 6), "float32"), builder.input("w", (3, 2, 3, 3), "float32")
    image = builder.map("exp", x)
    y = builder.record(convolution, image, w, window_of((5, 6), (3, 3), where="Conv"), 1, kind="conv")
    z = builder.map("relu", builder.reshape(image, (1, 2, 30)))
    graph = builder.graph((y.name, z.name))
    for step in (FoldIndexMaps(), FlattenTensors(keeps_images=keeps_images), FoldIndexMaps(), DeadCode()):
        graph = step.run(graph)
    return graph


def test_images_stay() -> None:
    for keeps_images, rank in ((True, 4), (False, 3)):
        graph = pixels_beside_a_convolution(keeps_images=keeps_images)
        (conv,) = [operator for operator in graph.operators if operator.is_product_sum()]
        assert len(graph.tensor(conv.reads[0].tensor).shape) == rank
