"""The tuning database: many writers, writers that are killed, other versions, rows of other machines."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tilewright.errors import CacheError, TilewrightError
from tilewright.machine import Machine
from tilewright.runtime.tuning.database import VERSION, TuningDatabase, Winner, machine_key
from tilewright.runtime.tuning.measurements import Measurement, commit

ROW = Measurement("here", "p", "0", "uniform", 1.0, 2.0, "[1, 2]", "cc 12", "0.1.0", "run")
WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from tests.runtime.tuning.test_database import ROW
from tilewright.runtime.tuning.database import TuningDatabase
database, name, count = TuningDatabase(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for number in range(count):
    database.add([replace(ROW, run=name, plan=f"{number} {part}") for part in range(10)])
    print(number, flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> TuningDatabase:
    tmp_path.chmod(0o700)
    return TuningDatabase(tmp_path / "tuning.sqlite")


def writer(database: TuningDatabase, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(database.path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_there_is_no_file_before_the_first_row(database):
    assert database.measurements() == []
    assert database.winners("here") == {}
    assert not database.path.exists()


def test_rows_come_back_as_they_were(database):
    rows = [ROW, replace(ROW, plan="1", seconds=None), replace(ROW, plan="2", predicted_s=float("inf"))]
    database.add(rows)
    assert database.measurements() == rows


def test_rows_are_found_by_machine_problem_and_run(database):
    rows = [replace(ROW, machine=m, problem=p, run=r) for m in "ab" for p in "cd" for r in "ef"]
    database.add(rows)
    assert database.measurements("a", "d", "e") == [replace(ROW, machine="a", problem="d", run="e")]
    assert len(database.measurements(problem="c")) == 4


def test_a_plan_is_written_once_in_a_run(database):
    database.add([ROW])
    database.add([replace(ROW, seconds=5.0), replace(ROW, run="another")])
    assert [one.seconds for one in database.measurements()] == [1.0, 1.0]


def add_rows(database: TuningDatabase, start, name: str) -> None:
    start.wait()
    for number in range(4):
        database.add([replace(ROW, run=name, plan=f"{number} {part}") for part in range(10)])


@pytest.mark.parametrize("attempt", range(10))
def test_processes_start_a_database_at_once(database, attempt):
    context = multiprocessing.get_context("fork")
    start = context.Barrier(6)
    writers = [context.Process(target=add_rows, args=(database, start, str(number))) for number in range(6)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0] * 6
    found = database.measurements()
    assert len(found) == len({(one.run, one.plan) for one in found}) == 6 * 4 * 10


def test_a_killed_writer_leaves_whole_transactions(database):
    process = writer(database, "killed", 100_000)
    for _ in range(3):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    found = database.measurements()
    assert len(found) >= 30
    assert len(found) % 10 == 0
    database.add([ROW])
    assert database.measurements("here", "p", "run") == [ROW]


def test_the_last_winner_counts_and_can_be_forgotten(database):
    database.keep("here", [Winner("p", "chain", b"first")])
    database.keep("here", [Winner("p", "chain", b"second")])
    database.keep("elsewhere", [Winner("p", "chain", b"theirs")])
    assert database.winners("here") == {"p": b"second"}
    database.forget_winner("here", "p")
    assert database.winners("here") == {}
    assert database.winners("elsewhere") == {"p": b"theirs"}


def test_an_empty_file_of_an_earlier_start_is_taken_over(database):
    sqlite3.connect(database.path).close()
    database.path.touch()
    assert database.measurements() == []
    database.add([ROW])
    assert database.measurements() == [ROW]


def test_a_newer_schema_is_refused(database):
    database.add([ROW])
    with sqlite3.connect(database.path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    for use in (database.measurements, lambda: database.add([ROW])):
        with pytest.raises(CacheError, match="cannot be used") as refused:
            use()
        assert f"its version is {VERSION + 1}" in str(refused.value)
        assert "delete the file" in str(refused.value)


def with_version_1(database: TuningDatabase) -> None:
    """A database as release 0.1 wrote it: without commits."""
    with sqlite3.connect(database.path) as connection:
        connection.executescript(
            """
            CREATE TABLE measurements (
                machine TEXT NOT NULL, problem TEXT NOT NULL, plan TEXT NOT NULL, source TEXT NOT NULL, seconds REAL,
                predicted_s REAL, features TEXT NOT NULL, compiler TEXT NOT NULL, release TEXT NOT NULL, run TEXT NOT NULL,
                UNIQUE (machine, problem, plan, run));
            CREATE TABLE winners (
                machine TEXT NOT NULL, problem TEXT NOT NULL, name TEXT NOT NULL, choice BLOB NOT NULL,
                PRIMARY KEY (machine, problem));
            PRAGMA user_version = 1;
            """
        )
        connection.execute("INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", list(asdict(ROW).values())[:10])
        connection.execute("INSERT INTO winners VALUES ('here', 'p', 'chain', x'00')")
    connection.close()


def test_an_older_schema_is_read_as_it_is_and_migrated_by_the_first_change(database):
    with_version_1(database)
    assert database.measurements("here") == [ROW]
    assert database.winners("here") == {"p": b"\0"}
    with sqlite3.connect(database.path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    fresh = replace(ROW, plan="1", commit="0123abcd")
    database.add([fresh, ROW])
    assert database.measurements() == [ROW, fresh]
    with sqlite3.connect(database.path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    connection.close()
    assert database.winners("here") == {"p": b"\0"}


def test_a_damaged_file_is_refused(database):
    database.path.write_bytes(b"no database" * 1000)
    with pytest.raises(CacheError, match="cannot be used"):
        database.measurements()


def test_exports_are_read_back(database, tmp_path):
    rows = [ROW, replace(ROW, plan="1", seconds=None), replace(ROW, plan="2", predicted_s=float("inf"), commit="0123abcd")]
    database.add(rows)
    assert database.export(tmp_path / "rows.jsonl") == 3
    other = TuningDatabase(tmp_path / "other.sqlite")
    assert other.take_in(tmp_path / "rows.jsonl", "here") == 3
    assert other.take_in(tmp_path / "rows.jsonl", "here") == 3
    assert other.measurements() == rows


def test_exports_of_older_releases_are_read(database, tmp_path):
    row = asdict(ROW)
    del row["commit"]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    database.take_in(tmp_path / "rows.jsonl", "here")
    assert database.measurements() == [ROW]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "it is no JSON: Expecting property name"),
        (b"5", "it is no object with names and values"),
        (b"{}", "it lacks machine, problem, plan"),
        (b"\xff\xfe", "it is no text: 'utf-8' codec"),
        (json.dumps(asdict(ROW) | {"machine": 1}).encode(), "machine must be text"),
        (
            json.dumps(asdict(ROW) | {"seconds": "1"}).encode(),
            "seconds and predicted_s must be seconds above 0, or null",
        ),
        (json.dumps(asdict(ROW) | {"seconds": 10**400}).encode(), "must be seconds above 0"),
        (json.dumps(asdict(ROW) | {"seconds": float("nan")}).encode(), "must be seconds above 0"),
        (json.dumps(asdict(ROW) | {"seconds": float("inf")}).encode(), "must be seconds above 0"),
        (json.dumps(asdict(ROW) | {"predicted_s": -1}).encode(), "must be seconds above 0"),
        (json.dumps(asdict(ROW) | {"source": "\ud800"}).encode(), "source must be text"),
        (json.dumps(asdict(ROW) | {"features": "no list"}).encode(), "features must be a list of numbers"),
        (json.dumps(asdict(ROW) | {"features": "[1, -2]"}).encode(), "features must be a list of numbers"),
        (json.dumps(asdict(ROW) | {"colour": "red"}).encode(), "measurements have no colour"),
    ],
)
def test_other_files_are_no_measurements(database, tmp_path, content, why):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(CacheError, match="this is no measurement") as refused:
        database.take_in(path)
    assert refused.value.where.startswith(str(path))
    assert why in refused.value.why
    assert "tilewright tune --export" in refused.value.hint
    assert database.measurements() == []


def test_where_nothing_can_be_written_is_told(database, tmp_path):
    path = tmp_path / "nowhere" / "rows.jsonl"
    with pytest.raises(TilewrightError, match="measurements cannot be written") as refused:
        database.export(path)
    assert (refused.value.where, refused.value.why) == (str(path), "No such file or directory")
    assert "a directory that exists" in refused.value.hint


def test_a_checkout_has_a_commit(tmp_path):
    package = tmp_path / "src" / "tilewright"
    package.mkdir(parents=True)
    (package / "file.py").write_text("")
    assert commit(package) == ""
    commit.cache_clear()
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    first = commit(package)
    assert len(first) == 40
    commit.cache_clear()
    (package / "file.py").write_text("changed")
    assert commit(package) == f"{first}+changed"
    commit.cache_clear()


def test_measurements_of_another_machine_are_refused_or_kept_apart(database, tmp_path):
    database.add([ROW])
    database.export(tmp_path / "rows.jsonl")
    other = TuningDatabase(tmp_path / "other.sqlite")
    with pytest.raises(CacheError, match="of another machine") as refused:
        other.take_in(tmp_path / "rows.jsonl", "this one")
    assert "they name here; this machine is this one" in str(refused.value)
    assert other.measurements() == []
    other.take_in(tmp_path / "rows.jsonl")
    assert other.measurements("this one") == []
    assert other.measurements("here") == [ROW]


def test_a_file_of_something_else_is_refused_as_a_whole(database, tmp_path):
    database.add([ROW])
    path = tmp_path / "rows.jsonl"
    database.export(path)
    path.write_text(path.read_text() + '{"machine": "here"}\n')
    other = TuningDatabase(tmp_path / "other.sqlite")
    with pytest.raises(CacheError, match="no measurement") as refused:
        other.take_in(path)
    assert f"{path}:2" in str(refused.value)
    assert other.measurements() == []


def test_machines_differ_by_what_they_are_and_not_by_rates():
    machine = Machine.named("x86-64-v3")
    faster = replace(machine, levels=tuple(replace(level, bandwidth_bytes_per_s=1.0) for level in machine.levels))
    assert machine_key(faster) == machine_key(machine)
    assert machine_key(replace(machine, cores=machine.cores + 1)) != machine_key(machine)
