"""The package runs from a zip archive, as zipimport imports it: whatever it reads of its own may be no file of a directory."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tilewright import package_files
from tilewright.backends import registry as backends
from tilewright.coefficients import family_fits
from tilewright.frontend.onnx.definition import definitions
from tilewright.kernels import registry as kernels
from tilewright.machine import targets
from tilewright.plan.algorithms.definition import registered

README = Path(__file__).parents[2] / "README.md"
USER = """
import doctest, sys
import numpy as np, tilewright, tilewright.onnx as ort
from onnx import parser
from tilewright.backends import registry as backends
from tilewright.frontend.onnx.definition import definitions
from tilewright.kernels import registry as kernels
from tilewright.machine import fit_files, targets
from tilewright.plan.algorithms.definition import registered
from tilewright.coefficients import family_fits
from tilewright.runtime import measurement

model = parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }'
)
session = ort.InferenceSession(model.SerializeToString())
assert np.allclose(session.run(None, {"x": np.zeros((2, 3), np.float32)})[0], 1 / 3)
print(tilewright.__file__)
own = [known for known in definitions() if known.domain != "com.example"]
print(len(backends.registered()), len(kernels.registered()), len(kernels.dialects()), len(registered()), len(own))
print(len(targets.names()), len(family_fits()))
print(len(measurement.text()))
print(all(fit_files.read(fit_files.DIRECTORY / name) for name in sys.argv[2:]))
print(fit_files.read(fit_files.DIRECTORY / "none.toml"))
tour = doctest.DocTestParser().get_doctest(open(sys.argv[1]).read(), {}, "README.md", sys.argv[1], 0)
tour.examples = tour.examples[:FIRST_EXAMPLES]
print(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(tour))
"""
FIRST_EXAMPLES = 8
"""Of the README: to the first kernel, compared with its interpretation."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as an archive."""
    path = tmp_path_factory.mktemp("archive") / "tilewright.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(Path(package_files.PACKAGE).rglob("*")):
            if file.suffix in package_files.SOURCE_SUFFIXES:
                packed.write(file, Path("tilewright") / file.relative_to(package_files.PACKAGE))
    return path


def test_the_examples_run_and_nothing_of_the_package_is_missed(archive: Path) -> None:
    fits = sorted(file.name for file in Path(package_files.PACKAGE, "machine", "cpu_fits").iterdir())
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    command = [sys.executable, "-c", USER.replace("FIRST_EXAMPLES", str(FIRST_EXAMPLES)), str(README), *fits]
    done = subprocess.run(command, capture_output=True, text=True, cwd=archive.parent, env=environment)
    own = [known for known in definitions() if known.domain != "com.example"]  # others are of tests
    found = [backends.registered(), kernels.registered(), kernels.dialects(), registered(), own]
    expected = [
        str(archive / "tilewright" / "__init__.py"),
        " ".join(str(len(things)) for things in found),
        f"{len(targets.names())} {len(family_fits())}",
    ]
    assert done.stdout.splitlines()[:3] == expected, done.stdout + done.stderr
    assert done.stdout.splitlines()[4:] == ["True", "()", f"TestResults(failed=0, attempted={FIRST_EXAMPLES})"], (
        done.stdout + done.stderr
    )
    assert done.stderr == ""


def test_sources_are_those_of_the_archive(archive: Path) -> None:
    assert list(package_files.contents(archive / "tilewright")) == [("", archive.read_bytes())]
