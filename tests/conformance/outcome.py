"""What becomes of a case: compiled, run as NumPy in part, or not supported, with the reason."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import tilewright.onnx.backend as backend
from tests.conformance.cases import Case
from tilewright.errors import TilewrightError

COMPILED, NUMPY, UNSUPPORTED, WRONG = "compiled", "with NumPy", "not supported", "wrong"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The column of the table that a case belongs to."""

    result: str
    reason: str = ""
    """What an exception said."""
    numpy_operators: tuple[str, ...] = ()
    """Those that ran as NumPy."""


def outcome(case: Case) -> Outcome:
    """Run a case. What a user of the package would see as an error is not supported; other exceptions are wrong."""
    logging.getLogger("tilewright.onnx").setLevel(logging.ERROR)
    try:
        model = case.model()
        prepared = backend.prepare(model)
        for inputs, expected in case.data_sets(model):
            case.check(prepared.run(inputs), expected)
    except TilewrightError as problem:
        return Outcome(UNSUPPORTED, " ".join(str(problem).split()))
    except Exception as problem:
        return Outcome(WRONG, f"{type(problem).__name__}: {' '.join(str(problem).split())}")
    as_numpy = tuple(sorted(prepared.session.numpy_operators))
    return Outcome(NUMPY if as_numpy else COMPILED, numpy_operators=as_numpy)
