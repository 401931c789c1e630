"""Tuning of functions: all results at once."""

from __future__ import annotations

from typing import Any

from tilewright.runtime.tuning.database import TuningDatabase
from tilewright.tune.pipeline.tuning import Request, Result, plans_of, tune_chains
from tilewright.tune.schedules.cases import Case


def tune(case: Case, database: TuningDatabase, request: Request, *arguments: Any, **options: Any) -> list[Result]:
    """Measure variants of every chain of a function, and keep those that win; further arguments as of `tune_chains`."""
    return list(tune_chains(plans_of(case), database, request, *arguments, **options))
