"""The tuning database: measurements of plans and the plans that won, one SQLite file in the cache directory.

Any number of processes may write: every change is one transaction, so that a process that is killed leaves all or nothing of it.
Writers wait for each other. There is no write-ahead log: SQLite's change to it fails at once where others have the file open.
Rows name the machine they were measured on, and are read for that machine alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from tilewright import settings
from tilewright.errors import CacheError
from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.runtime.store.directories import TUNING_DATABASE, check_private
from tilewright.runtime.tuning import measurements
from tilewright.runtime.tuning.measurements import Measurement

WAIT_S = 60.0
"""For other writers."""
VERSION = 2
SCHEMA = """
CREATE TABLE measurements (
    machine TEXT NOT NULL, problem TEXT NOT NULL, plan TEXT NOT NULL, source TEXT NOT NULL, seconds REAL, predicted_s REAL,
    features TEXT NOT NULL, compiler TEXT NOT NULL, release TEXT NOT NULL, run TEXT NOT NULL,
    "commit" TEXT NOT NULL DEFAULT '', UNIQUE (machine, problem, plan, run));
CREATE TABLE winners (
    machine TEXT NOT NULL, problem TEXT NOT NULL, name TEXT NOT NULL, choice BLOB NOT NULL, PRIMARY KEY (machine, problem));
"""
MIGRATIONS = {1: """ALTER TABLE measurements ADD COLUMN "commit" TEXT NOT NULL DEFAULT '';"""}
"""What a file of an older version lacks; it gets that with the first change, and is read as it is before."""


@record
class Winner:
    """The choice for a problem."""

    problem: str
    """See `plan.tuned.problem_key`."""
    name: str
    """Of the chain it was tuned for."""
    choice: bytes
    """See `plan.tuned.encoded`."""


@record
class TuningDatabase:
    """The database at a path; the file appears with the first row."""

    path: Path

    def add(self, found: Iterable[Measurement]) -> None:
        """Keep measurements; those that are there already stay as they are."""
        names = list(Measurement.__dataclass_fields__)
        columns, places = ", ".join(f'"{name}"' for name in names), ", ".join(f":{name}" for name in names)
        rows = [asdict(one) for one in found]
        with self._changing() as connection:
            connection.executemany(f"INSERT OR IGNORE INTO measurements ({columns}) VALUES ({places})", rows)

    def measurements(self, machine: str | None = None, problem: str | None = None, run: str | None = None) -> list[Measurement]:
        """Those of a machine, of a problem, and of a run, where these are given, in the order in which they were written."""
        wanted = {"machine": machine, "problem": problem, "run": run}
        given = {name: value for name, value in wanted.items() if value is not None}
        condition = " AND ".join(f"{name} = :{name}" for name in given) or "1"
        return [Measurement(**row) for row in self._rows(f"SELECT * FROM measurements WHERE {condition}", given)]

    def keep(self, machine: str, winners: Iterable[Winner]) -> None:
        """Use these choices on a machine from now on, in the place of earlier ones: all of them, or none."""
        rows = [(machine, one.problem, one.name, one.choice) for one in winners]
        if rows:
            with self._changing() as connection:
                connection.executemany("INSERT OR REPLACE INTO winners VALUES (?, ?, ?, ?)", rows)

    def forget_winner(self, machine: str, problem: str) -> bool:
        """Go back to the planner's choice for a problem; whether there was a winner."""
        if not self.path.exists():
            return False
        with self._changing() as connection:
            done = connection.execute("DELETE FROM winners WHERE machine = ? AND problem = ?", (machine, problem))
            return done.rowcount > 0

    def winners(self, machine: str) -> dict[str, bytes]:
        """The choices for a machine, by problem."""
        query = "SELECT problem, choice FROM winners WHERE machine = :machine ORDER BY problem"
        return dict(map(tuple, self._rows(query, {"machine": machine})))

    def export(self, path: Path) -> int:
        """Write all measurements as JSON lines; how many. Raises `TilewrightError` where the file cannot be written."""
        found = self.measurements()
        measurements.write(path, found)
        return len(found)

    def take_in(self, path: Path, machine: str | None = None) -> int:
        """Read measurements that `export` wrote; how many. With `machine`, `CacheError` where any is of another, and nothing is
        read.

        Those of other machines are never used for this one: rankers and plans ask for a machine's rows.
        """
        found = measurements.read(path)
        foreign = sorted({one.machine for one in found} - {machine})
        if machine is not None and foreign:
            raise CacheError(
                "these measurements are of another machine",
                where=str(path),
                why=f"they name {', '.join(foreign)}; this machine is {machine}",
                hint="times of another machine say nothing here; --foreign keeps them separate, for export and study",
            )
        self.add(found)
        return len(found)

    def _rows(self, query: str, parameters: Mapping[str, str]) -> list[sqlite3.Row]:
        """What a query finds; nothing where there is no database."""
        if not self.path.exists():
            return []
        with self._connection() as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(query, parameters).fetchall() if _version(connection) else []

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        check_private(self.path.parent)
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            statements = SCHEMA if not (found := _version(connection)) else MIGRATIONS.get(found, "")
            if statements:
                for statement in filter(str.strip, statements.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
            yield connection
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
            with contextlib.closing(connection):
                found = _version(connection)
                if found > VERSION:
                    raise self._refused(f"its version is {found}, this release reads up to {VERSION}")
                yield connection
        except sqlite3.Error as problem:
            raise self._refused(str(problem)) from problem

    def _refused(self, why: str) -> CacheError:
        return CacheError(
            "the tuning database cannot be used",
            where=str(self.path),
            why=why,
            hint="use the release that wrote it, or delete the file: plans are then the planner's again",
        )


def _version(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)


def default() -> TuningDatabase:
    """The database in the cache directory."""
    return TuningDatabase(settings.current().cache_dir / TUNING_DATABASE)


def machine_key(machine: Machine) -> str:
    """Name and digest of what tells machines apart: instructions, cores and caches; no rate that was measured."""
    caches = [(level.name, level.size_bytes, level.shared_by_cores) for level in machine.levels]
    described = repr((machine.name, machine.architecture, sorted(machine.features), machine.cores, caches))
    return f"{machine.name} {hashlib.sha256(described.encode()).hexdigest()[:12]}"
