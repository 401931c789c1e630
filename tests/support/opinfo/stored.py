"""Samples as files: an ONNX model, whose inputs have the sample's arrays as defaults. They are compared without an exporter."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import numpy_helper

from tests.support.opinfo.sample import Sample

FOLDER = Path(__file__).parents[2] / "models" / "opinfo_samples"


def stored() -> list[Path]:
    """The files that tests compare."""
    return sorted(FOLDER.glob("*.onnx"))


def content(sample: Sample) -> bytes:
    """What the file of a sample holds."""
    model = onnx.ModelProto()
    model.CopyFrom(sample.model)
    model.graph.name = sample.name
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in sample.feeds.items())
    _forget_remarks(model)
    return model.SerializeToString(deterministic=True)


def _forget_remarks(model: onnx.ModelProto) -> None:
    """Exporters tell where in their own code everything comes from."""
    del model.graph.value_info[:], model.graph.metadata_props[:], model.metadata_props[:]
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]


def file_name(sample: Sample) -> str:
    """It begins with the seed."""
    return f"{sample.seed:04}_{sample.name.replace(' of ', '_')}.onnx"


def read(path: Path) -> Sample:
    """The sample of a file."""
    model = onnx.load(path)
    inputs = {one.name for one in model.graph.input}
    feeds = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer if one.name in inputs}
    constants = [one for one in model.graph.initializer if one.name not in inputs]
    del model.graph.initializer[:]
    model.graph.initializer.extend(constants)
    return Sample(
        int(path.name.partition("_")[0]), model.graph.name, model, {one.name: feeds[one.name] for one in model.graph.input}
    )
