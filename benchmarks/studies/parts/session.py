"""What `benchmarks.studies.sessions` measures in processes of their own, as JSON.

    python -m benchmarks.studies.parts.session PART MODEL FEEDS

Nothing is imported before it is needed: what a process has imported is part of its memory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Figures = dict[str, float]


def creation(path: Path, feeds: Path) -> Figures:
    """Seconds of a session on all cores, importing the package left out, and its peak bytes."""
    import tilewright.onnx as ort

    begin = time.perf_counter()
    ort.InferenceSession(path)
    return {"creation": time.perf_counter() - begin, **_peak()}


def reading(path: Path, feeds: Path) -> Figures:
    """Seconds of loading the file, and of copying as many bytes to new memory, which packing cannot do without."""
    import numpy as np

    from tilewright.frontend.onnx.reading import load

    begin = time.perf_counter()
    load(path)
    read_s, contents = time.perf_counter() - begin, np.ones(path.stat().st_size, np.uint8)
    begin = time.perf_counter()
    contents.copy()
    return {"reading": read_s, "a copy": time.perf_counter() - begin}


def planning(path: Path, feeds: Path) -> Figures:
    """Process seconds of importing the graph and of planning it, rewrites included."""
    import numpy as np

    from tilewright.api.onnx.steps import RemainingSubgraph, SessionContext
    from tilewright.frontend.onnx.reading import load

    body, context = load(path).body, SessionContext()
    wanted = [one.unique for one in body.outputs]
    remaining = RemainingSubgraph("model", lambda: (body.nodes, body.constants), wanted, context)
    values = {one.unique: np.load(feeds)[one.name] for one in body.inputs if one.unique not in body.constants}
    options = context.options
    begin = time.process_time()
    graph = remaining.first_stage(values).graph
    import_s, begin = time.process_time() - begin, time.process_time()
    if graph is not None:
        options.planned(graph)
    return {"import": import_s, "planning": time.process_time() - begin}


def arena(path: Path, feeds: Path) -> Figures:
    """Bytes of tensors between chains, and the most of them that are alive at once."""
    import numpy as np

    from tilewright.api.onnx.steps import RemainingSubgraph, SessionContext
    from tilewright.frontend.onnx.reading import load
    from tilewright.lower.workspace import arena_bytes

    body, context = load(path).body, SessionContext()
    wanted = [one.unique for one in body.outputs]
    remaining = RemainingSubgraph("model", lambda: (body.nodes, body.constants), wanted, context)
    values = {one.unique: np.load(feeds)[one.name] for one in body.inputs if one.unique not in body.constants}
    graph = remaining.first_stage(values).graph
    sizes = arena_bytes(context.options.planned(graph)) if graph is not None else (0, 0)
    return dict(zip(("arena", "alive"), map(float, sizes), strict=True))


def own_memory(path: Path, feeds: Path) -> Figures:
    """Peak bytes of ours."""
    import tilewright.onnx as ort

    return _memory(ort, path, feeds)


def fast_memory(path: Path, feeds: Path) -> Figures:
    """The same with precision `fast`."""
    import tilewright.onnx as ort

    return _memory(ort, path, feeds, precision="fast")


def own_imports(path: Path, feeds: Path) -> Figures:
    """Peak bytes of importing ours and loading the inputs."""
    import tilewright.onnx as ort

    return _imported(ort, feeds)


def peer_imports(path: Path, feeds: Path) -> Figures:
    """Peak bytes of importing onnxruntime and loading the inputs."""
    import onnxruntime

    return _imported(onnxruntime, feeds)


def peer_memory(path: Path, feeds: Path) -> Figures:
    """Peak bytes of onnxruntime."""
    import onnxruntime

    return _memory(onnxruntime, path, feeds, providers=["CPUExecutionProvider"])


def _memory(library: Any, path: Path, feeds: Path, **options: Any) -> Figures:
    """The high-water mark of resident memory (proc(5), VmHWM) after a session was made and ran once."""
    import numpy as np

    settings = library.SessionOptions()
    settings.intra_op_num_threads = 1
    session = library.InferenceSession(str(path), settings, **options)
    session.run(None, dict(np.load(feeds)))
    return _peak()


def _imported(library: Any, feeds: Path) -> Figures:
    import numpy as np

    library.SessionOptions()
    dict(np.load(feeds))
    return _peak()


def _peak() -> Figures:
    status = Path("/proc/self/status").read_text().splitlines()
    return {"peak": 1024.0 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))}


PARTS: dict[str, Callable[[Path, Path], Figures]] = {
    part.__name__: part
    for part in (creation, reading, planning, arena, own_memory, fast_memory, peer_memory, own_imports, peer_imports)
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))))
