"""Times of PyTorch models under torch.compile with Tilewright, against eager, inductor, frozen inductor, and onnxruntime.

    python -m benchmarks.studies.torch_models [--models bert,resnet50] [--rounds 31] [--full] [--parts times] [--json FILE]
    python -m benchmarks.studies.torch_models --models "" --known FILE ...

*Times*: a process a model, one thread; contenders take turns, and minima of their process time over the rounds count. Errors are
against float64. *Compilation*: seconds from the call of torch.compile to the end of the first call, in a process whose caches are
empty (a calibration of the machine is kept, and the bytecode of modules, which installation makes), and in a second one, which
finds those of the first. Compilers are processes, too: wall time counts. Transformers have four layers, or with `--full` those
of the published models.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tilewright
from benchmarks.studies.parts.command_line import earlier, names_of
from benchmarks.studies.torch_models.bounds import judged
from benchmarks.studies.torch_models.contenders import CONTENDERS
from benchmarks.studies.torch_models.models import LAYERS, MODELS
from benchmarks.studies.torch_models.tables import tables
from tilewright import settings
from tilewright_bench.environment import restart_if_unfair

Document = dict[str, Any]
COMPILERS = ("tilewright", "inductor")
PROGRAM = "import sys; from benchmarks.studies.torch_models.process import run; run(sys.argv[1])"


def times(name: str, options: argparse.Namespace, cache: Path) -> Document:
    """What contenders in turns take; see `process.times`."""
    return _process("times", name, options.contenders, options, cache)


def compilation(name: str, options: argparse.Namespace, cache: Path) -> Document:
    """Seconds of the first and of the second process, by compiler."""
    compilers = [one for one in COMPILERS if one in options.contenders]
    cold = {one: _process("compilation", name, [one], options, cache) for one in compilers}
    return {"cold": cold, "second": {one: _process("compilation", name, [one], options, cache) for one in compilers}}


PARTS: dict[str, Callable[[str, argparse.Namespace, Path], Document]] = {"compilation": compilation, "times": times}


def _process(part: str, name: str, contenders: Sequence[str], options: argparse.Namespace, cache: Path) -> Document:
    """What a part says in a process of its own, with caches of that directory."""
    caches = {"TILEWRIGHT_CACHE_DIR": str(cache / "tilewright"), "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
    told = {"part": part, "model": name, "contenders": list(contenders), "rounds": options.rounds}
    size = {"layers": None if options.full else LAYERS, "small": options.small}
    command = [sys.executable, "-c", PROGRAM, json.dumps({**told, **size})]
    answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **caches})
    if answer.returncode:
        print(f"{part} of {name} failed:\n{answer.stderr[-2000:]}", file=sys.stderr)
        return {"failure": answer.stderr.strip().rpartition("\n")[2] or f"exit status {answer.returncode}"}
    document: Document = json.loads(answer.stdout.strip().rpartition("\n")[2])
    return document


def measured(name: str, options: argparse.Namespace) -> Document:
    """All parts of a model, in this order and with the same caches, which are empty before unless they are told."""
    with tempfile.TemporaryDirectory(prefix="tilewright-torch-models-") as directory:
        cache, calibration = options.caches or Path(directory), settings.current().cache_dir / "calibration"
        if calibration.exists():
            shutil.copytree(calibration, cache / "tilewright" / "calibration", dirs_exist_ok=True)
        return {part: PARTS[part](name, options, cache) for part in PARTS if part in options.parts}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.torch_models", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--models", type=names_of(MODELS), default=tuple(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--contenders", type=names_of(CONTENDERS), default=tuple(CONTENDERS), help=f"of {', '.join(CONTENDERS)}")
    parser.add_argument("--parts", type=names_of(PARTS), default=tuple(PARTS), help="times, compilation, or both")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--full", action="store_true", help="transformers of the published depth")
    parser.add_argument("--small", action="store_true", help="small forms, for tests")
    parser.add_argument("--caches", type=Path, help="a directory of caches for all models, which stays; for times alone")
    parser.add_argument("--json", type=Path, help="where what is known is written after every model")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="files of earlier runs; later ones count")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print tables of all that is known."""
    options = parse(arguments)
    restart_if_unfair(1)
    compileall.compile_dir(Path(tilewright.__file__).parent, quiet=1)
    found = earlier(options.known)
    for name in options.models:
        found.setdefault(name, {}).update(measured(name, options))
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join([*tables(found), "", *judged(found)]))


if __name__ == "__main__":
    main(sys.argv[1:])
