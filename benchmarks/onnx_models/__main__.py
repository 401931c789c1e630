"""Export models and run them under onnxruntime: see the package."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime

from benchmarks.onnx_models.cases import MODELS, ModelCase, make
from benchmarks.onnx_models.exporting import EXPORTERS, export


def main() -> None:
    """Print one line for every model and exporter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--dynamic", action="store_true", help="name the dimensions that may vary")
    parser.add_argument("--keep", type=Path, help="where the files stay")
    chosen = parser.parse_args()
    with TemporaryDirectory(prefix="tilewright-models-") as temporary:
        directory = chosen.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        for name in chosen.models.split(","):
            case = make(name, small=chosen.small)
            for exporter in chosen.exporters.split(","):
                path = directory / f"{name}-{exporter}.onnx"
                print(f"{name:14} {exporter:12} {_exported(case, path, exporter, chosen.dynamic)}", flush=True)
                if not chosen.keep:
                    path.unlink(missing_ok=True)


def _exported(case: ModelCase, path: Path, exporter: str, dynamic: bool) -> str:
    """The line for one file; what fails is in its place."""
    try:
        export(case, path, exporter=exporter, dynamic=dynamic)
        return f"{_contents(path)}; {_distances(case, path)}"
    except Exception as error:
        return f"failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _contents(path: Path) -> str:
    nodes = Counter(node.op_type for node in onnx.load(path).graph.node)
    most = ", ".join(f"{count} {name}" for name, count in nodes.most_common(6))
    return f"{path.stat().st_size / 1e6:.1f} MB, {nodes.total()} nodes ({most})"


def _distances(case: ModelCase, path: Path) -> str:
    """How far onnxruntime and torch are from float64, over the largest result, and how large that is."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    found = session.run(None, {name: value for name, value in case.feeds().items() if name in wanted})
    exact, torchs = case.in_float64(), case.expected()
    largest = max(float(np.abs(one).max()) for one in exact)
    spread = float(np.std(exact[0]))
    return (
        f"|y| <= {largest:.3g}, deviation {spread:.3g}, ort {_distance(found, exact):.1e}, torch {_distance(torchs, exact):.1e}"
    )


def _distance(found: list[Any], exact: list[Any]) -> float:
    return max(float(np.abs(one - other).max() / np.abs(other).max()) for one, other in zip(found, exact, strict=True))


if __name__ == "__main__":
    main()
