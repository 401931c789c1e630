"""A fit on this machine: cases measured within a time, coefficients old and new, and the better of them kept."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.machine.machine import Machine
from tilewright.plan.model import coefficients
from tilewright.plan.model.coefficients import Fit, coefficients_for, to_text
from tilewright.runtime.directories import write_atomically
from tilewright.tune.fit import convolutions
from tilewright.tune.fit.fitting import crosswise, fit, values_of
from tilewright.tune.fit.kernels import NAMES, Kernel, kernels_of, prices
from tilewright.tune.fit.quality import Quality, quality
from tilewright.tune.schedules.cases import CASES, Case
from tilewright.tune.schedules.population import measure_case, population

LEAST_CASES = 4
"""Below it, fits to all other cases say nothing."""
UNIFORM, BEST, NEIGHBOURS, ROUNDS = 4, 4, 8, 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fit came to. `new` predicts every case by a fit to all others."""

    kernels: int
    old: Quality
    new: Quality
    fit: Fit

    @property
    def is_better(self) -> bool:
        """Whether choices by the fit lose less than by the coefficients in use, and its errors are no larger."""
        return self.new.regret < self.old.regret and self.new.median <= self.old.median


def measured(machine: Machine, seconds: float, told: Callable[[str], None] = lambda line: None) -> list[Kernel]:
    """The kernels of as many cases as are begun within `seconds`; chains and convolutions alternate. Cases are `told`."""
    deadline = time.monotonic() + seconds
    found: list[Kernel] = []
    for name, measure in _cases(machine):
        if time.monotonic() >= deadline:
            break
        start = time.monotonic()
        kernels = measure()
        found += kernels
        told(f"{name}: {len(kernels)} kernels in {time.monotonic() - start:.1f} s")
    return found


def outcome(machine: Machine, kernels: Sequence[Kernel]) -> Outcome:
    """The fit of measured kernels. Raises `TilewrightError` for too few cases."""
    cases = len({kernel.case for kernel in kernels})
    if cases < LEAST_CASES:
        raise TilewrightError(f"{cases} cases are too few for a fit", why=f"it needs {LEAST_CASES}", hint="allow more --minutes")
    own = coefficients_for(machine)
    start = values_of(own)
    values = fit(kernels, start, own.call_s)
    across = quality(kernels, crosswise(kernels, start, own.call_s))
    found = Fit(
        architecture=machine.architecture,
        vector_bits=machine.vector_bits,
        machine=machine.name,
        date=datetime.date.today().isoformat(),
        kernels=len(kernels),
        median_error=round(across.median, 4),
        error_95=round(across.error_95, 4),
        regret=round(across.regret, 4),
        values={name: float(f"{value:.4g}") for name, value in zip(NAMES, values, strict=True)},
    )
    return Outcome(len(kernels), quality(kernels, prices(kernels, start, own.call_s)), across, found)


def shipped(fit: Fit) -> Path:
    """Write a fit into the package, for machines of its family; whole or not at all."""
    path = Path(coefficients.__file__).parent / "fits" / f"{fit.architecture}-{fit.vector_bits}{coefficients.SUFFIX}"
    write_atomically(path, to_text(fit).encode())
    return path


def _cases(machine: Machine) -> Iterator[tuple[str, Callable[[], list[Kernel]]]]:
    chains = [(case.name, partial(_chain, case, machine)) for case in CASES]
    layers = [(str(layer), partial(convolutions.measure, layer, machine)) for layer in convolutions.CONVOLUTIONS]
    return (case for case in chain.from_iterable(zip_longest(chains, layers)) if case is not None)


def _chain(case: Case, machine: Machine) -> list[Kernel]:
    named = population(case, uniform=UNIFORM, best=BEST, neighbours=NEIGHBOURS)
    rates = {"peak_flops_per_s": machine.peak("float32")}
    return kernels_of({"machine": rates, "cases": [measure_case(case, named, ROUNDS)]})
