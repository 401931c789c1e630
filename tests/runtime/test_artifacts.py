"""Results of planning that are kept on disk: found again by whoever asks for the same, and by nobody else."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.graph.constant_recipe import NO_CONSTANTS
from tilewright.graph.types import Graph
from tilewright.kernels import KernelSource, SourceKind, registered, registry
from tilewright.machine import Machine
from tilewright.precision import Precision
from tilewright.runtime import artifacts
from tilewright.runtime.store.cache import at, trailer, without_trailer

MACHINE = Machine.named("x86-64-v2")
ASK = """
import tilewright as tw
from tilewright.machine import Machine
from tilewright.precision import Precision
from tilewright.runtime import artifacts
graph = tw.jit(lambda x, y: tw.relu(x @ y)).lower(tw.spec((5, 6)), tw.spec((6, "n"))).graph
machine = Machine.named("x86-64-v4")
print(artifacts.store(machine).key(artifacts.request(graph, machine, None)))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    return tmp_path


def product(rows: int = 5) -> Graph:
    return tw.jit(lambda x, y: x @ y, target="x86-64-v2").lower(tw.spec((rows, 6)), tw.spec((6, "n"))).graph


def generated(graph: Graph) -> Artifact:
    return compiler.generate(compiler.plan(graph, MACHINE))


class Counted:
    """Generates, and counts how often."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.calls = 0

    def __call__(self) -> Artifact:
        self.calls += 1
        return self.artifact


def key(graph: Graph, machine: Machine = MACHINE, fuse: bool | None = None, precision: Precision = Precision.FLOAT32) -> str:
    store = artifacts.store(machine, precision)
    assert store is not None
    return store.key(artifacts.request(graph, machine, fuse, precision))


def entries(cache: Path) -> list[Path]:
    """Of code; fusion partitions lie beside them."""
    found = sorted(cache.glob(f"*{artifacts.SUFFIX}"))
    return [path for path in found if artifacts.decode(without_trailer(path.read_bytes())) is not None]


def test_what_is_remembered_is_what_was_generated(cache: Path) -> None:
    graph = product()
    generate = Counted(generated(graph))
    for _ in range(2):
        assert artifacts.remembered(graph, MACHINE, None, generate) == generate.artifact
    assert generate.calls == 1


def test_another_request_is_another_entry() -> None:
    requests = [(product(), MACHINE, None), (product(7), MACHINE, None), (product(), MACHINE, True)]
    requests += [(product(), replace(MACHINE, cores=3), None), (product(), replace(MACHINE, features=frozenset({"avx"})), None)]
    keys = [key(*request) for request in requests]
    keys += [key(product(), precision=precision) for precision in (Precision.STRICT, Precision.FAST)]
    assert len(set(keys)) == len(keys)
    assert key(product()) == keys[0]


def key_with(weights: np.ndarray) -> str:
    graph = tw.jit(lambda x: x @ tw.asarray(weights) + 0, target="x86-64-v2").lower(tw.spec((5, weights.shape[0]))).graph
    return key(graph)


def test_few_values_count_and_many_do_not() -> None:
    few, many = np.full((6, 4), 1, np.float32), np.full((16, 24), 1, np.float32)
    assert key_with(few) == key_with(few.copy())
    assert key_with(few) != key_with(2 * few)
    assert key_with(many) == key_with(2 * many)
    assert key_with(many) != key_with(many[:, 1:].copy())


def test_masks_count() -> None:
    """They are read when their graph is rewritten: a triangle becomes a comparison of positions."""

    def key_of(mask: np.ndarray) -> str:
        graph = tw.jit(lambda x: x + tw.asarray(mask), target="x86-64-v2").lower(tw.spec(mask.shape)).graph
        return key(graph)

    triangle = np.where(np.tri(16, dtype=bool), np.float32(0), np.float32(-np.inf))
    band = np.where(np.tri(16, k=2, dtype=bool), np.float32(0), np.float32(-np.inf))
    assert key_of(triangle) == key_of(triangle.copy())
    assert len({key_of(triangle), key_of(band), key_of(band - 1)}) == 3


def test_every_process_finds_the_same_entry() -> None:
    keys = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answer = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=environment)
        keys.add(answer.stdout)
    assert len(keys) == 1


@pytest.mark.parametrize("change", ["content", "name", "header"])
def test_other_sources_are_other_requests(tmp_path: Path, change: str) -> None:
    (tmp_path / "room").mkdir()
    module, header = tmp_path / "room" / "module.py", tmp_path / "pool.h"
    module.write_text("x = 1\n")
    header.write_text("int x;\n")
    (tmp_path / "room" / "notes.txt").write_text("not counted")
    before = artifacts.sources.__wrapped__(tmp_path)
    (tmp_path / "room" / "notes.txt").write_text("not counted either")
    assert artifacts.sources.__wrapped__(tmp_path) == before
    if change == "name":
        module.rename(module.with_name("other.py"))
    else:
        (module if change == "content" else header).write_text("y = 22\n")
    assert artifacts.sources.__wrapped__(tmp_path) != before


@pytest.mark.parametrize("damage", [b"", b"no entry", None])
def test_a_damaged_entry_is_generated_again(cache: Path, damage: bytes | None) -> None:
    graph = product()
    generate = Counted(generated(graph))
    artifacts.remembered(graph, MACHINE, None, generate)
    (entry,) = entries(cache)
    entry.write_bytes(entry.read_bytes().replace(b"float", b"doubl") if damage is None else damage)
    assert artifacts.remembered(graph, MACHINE, None, generate) == generate.artifact
    assert generate.calls == 2
    assert artifacts.decode(without_trailer(entry.read_bytes())) == generate.artifact


def test_exchanged_entries_are_generated_again(cache: Path) -> None:
    """Both are whole, and of functions with the same arguments."""
    functions = (lambda x, y: x @ y, lambda x, y: x @ y * 2)
    graphs = [tw.jit(function, target="x86-64-v2").lower(tw.spec((5, 6)), tw.spec((6, 7))).graph for function in functions]
    made = [generated(graph) for graph in graphs]
    for graph, artifact in zip(graphs, made, strict=True):
        artifacts.remembered(graph, MACHINE, None, lambda artifact=artifact: artifact)
    first, second = entries(cache)
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    for graph, artifact in zip(graphs, made, strict=True):
        assert artifacts.remembered(graph, MACHINE, None, Counted(artifact)) == artifact
    assert (first.read_bytes(), second.read_bytes()) == contents


def test_a_directory_that_others_may_write_to_is_not_read(cache: Path) -> None:
    graph = product()
    generate = Counted(generated(graph))
    artifacts.remembered(graph, MACHINE, None, generate)
    cache.chmod(0o777)
    artifacts.remembered(graph, MACHINE, None, generate)
    assert generate.calls == 2


def test_kernels_of_one_name_and_different_texts_are_different_requests(cache: Path) -> None:
    """Text, object, epilogue or declaration: each is found again, and never in the place of another."""
    graph, one = product(), replace(registered()[0], name="another_kernel", emit_shape=None, of_shape=None)
    with_epilogue = lambda name, variants, epilogue: KernelSource(SourceKind.C, "/* ending */")  # noqa: E731
    others = (
        replace(one, emit=lambda name, variants: KernelSource(SourceKind.C, "/* first */")),
        replace(one, emit=lambda name, variants: KernelSource(SourceKind.C, "/* second */")),
        replace(one, emit=lambda name, variants: KernelSource(SourceKind.OBJECT, b"first")),
        replace(one, emit=lambda name, variants: KernelSource(SourceKind.OBJECT, b"second")),
        replace(one, emit_with=with_epilogue),
        replace(one, peak_share=one.peak_share / 2),
    )
    for _ in range(2):
        for number, other in enumerate(others):
            generate = Counted(replace(generated(graph), chains=(str(number),)))
            registry.register(other)
            try:
                assert artifacts.remembered(graph, MACHINE, None, generate).chains == (str(number),)
            finally:
                registry.unregister(other.name)
    assert len(entries(cache)) == len(others)


def test_whoever_looks_at_the_stages_sees_them(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = random(5, 6), random(6, 7)
    for name in ("first", "second"):
        monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / name))
        tw.jit(lambda x, y: x @ y)(x, y)
        assert list((tmp_path / name).glob("*.plan.txt"))


def test_what_is_read_back_is_what_was_written() -> None:
    weights = random(24, 50)
    lowered = tw.jit(lambda x: x @ weights).lower(tw.spec((40, 24)))
    artifact = compiler.generate(lowered.model_plan)
    assert artifact.signature.constants
    again = artifacts.decode(artifacts.encode(artifact))
    assert again == artifact


@pytest.mark.unverified
def test_a_second_function_is_neither_planned_nor_generated(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, more = random(7, 90), random(90, 3)

    def function(x: object, y: object) -> object:
        return tw.relu(x @ y) @ tw.asarray(weights) @ tw.asarray(more)

    x, y = random(5, 6), random(6, 7)
    first = tw.jit(function)(x, y)
    with monkeypatch.context() as patch:
        patch.setattr(compiler, "plan", None)
        patch.setattr(compiler, "generate", None)
        np.testing.assert_array_equal(tw.jit(function)(x, y), first)
    assert len(entries(cache)) == 1


def with_constants() -> tuple[Graph, Artifact]:
    """The recipe holds a small constant and an operator on a given one."""
    weights, scale = tw.asarray(random(24, 50)), tw.asarray(random(50))
    graph = tw.jit(lambda x: (x @ weights) * scale, target="x86-64-v2").lower(tw.spec((40, 24))).graph
    artifact = generated(graph)
    assert artifact.recipe.graph.operators
    assert artifact.recipe.graph.constants
    return graph, artifact


def with_checksum(record: bytes, name: str) -> bytes:
    return record + trailer(name, record)


def test_reading_an_entry_runs_nothing(cache: Path) -> None:
    class RunsCode:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return exec, ("raise SystemExit('code was run')",)

    graph, artifact = with_constants()
    generate = Counted(artifact)
    artifacts.remembered(graph, MACHINE, None, generate)
    (entry,) = entries(cache)
    for content in (pickle.dumps(RunsCode()), json.dumps({"recipe": b64encode(pickle.dumps(RunsCode())).decode()}).encode()):
        entry.write_bytes(with_checksum(content, entry.name))
        assert artifacts.remembered(graph, MACHINE, None, generate) == artifact
    assert generate.calls == 3


def test_no_flipped_byte_is_read(cache: Path) -> None:
    graph, artifact = with_constants()
    artifacts.remembered(graph, MACHINE, None, lambda: artifact)
    (entry,) = entries(cache)
    content = entry.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 200):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(place) % 8
        entry.write_bytes(damaged)
        assert at(cache).find(entry.name) is None
        assert not entry.exists()


def test_files_of_earlier_releases_are_ignored_and_count(cache: Path) -> None:
    graph, artifact = with_constants()
    generate = Counted(artifact)
    for suffix in (".artifact", ".plan"):
        content = artifacts.encode(artifact)
        (cache / f"{key(graph)}{suffix}").write_bytes(with_checksum(content, f"{key(graph)}{suffix}"))
    assert artifacts.remembered(graph, MACHINE, None, generate) == artifact
    assert generate.calls == 1
    assert at(cache).info().files >= 3


def test_what_has_the_checksum_of_a_forger_is_read_as_data_or_refused() -> None:
    _, artifact = with_constants()
    record = artifacts.encode(artifact)
    generator = np.random.default_rng(0)
    start = record.rindex(b'{"Recipe"')
    for place in generator.integers(start, len(record), 500):
        damaged = bytearray(record)
        damaged[place] = generator.integers(32, 127)
        found = artifacts.decode(bytes(damaged))
        assert found is None or isinstance(found, Artifact)


def test_a_recipe_that_is_not_well_formed_is_refused() -> None:
    _, artifact = with_constants()
    graph = artifact.recipe.graph
    assert artifacts.decode(artifacts.encode(artifact)) == artifact
    broken = replace(artifact.recipe, graph=replace(graph, operators=graph.operators[::-1] * 2))
    assert artifacts.decode(artifacts.encode(replace(artifact, recipe=broken))) is None


def test_an_entry_for_another_graph_is_no_answer(cache: Path) -> None:
    graph, artifact = with_constants()
    generate = Counted(artifact)
    artifacts.remembered(graph, MACHINE, None, generate)
    (entry,) = entries(cache)
    entry.write_bytes(with_checksum(artifacts.encode(generated(product())), entry.name))
    assert artifacts.remembered(graph, MACHINE, None, generate) == artifact
    entry.write_bytes(with_checksum(artifacts.encode(replace(artifact, recipe=NO_CONSTANTS)), entry.name))
    assert artifacts.remembered(graph, MACHINE, None, generate) == artifact
    assert generate.calls == 3
