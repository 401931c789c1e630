"""A fit on this machine: cases measured within a time, coefficients old and new, and whether the new ones are better."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, zip_longest
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from tilewright.coefficients import Fit, coefficients_for, family_coefficients
from tilewright.errors import TilewrightError
from tilewright.machine.description import Source
from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.tune.fit import convolutions
from tilewright.tune.fit.fitting import NAMES, FloatArray, Kernel, Quality, crosswise, fit, prices, quality, row_of, values_of
from tilewright.tune.schedules.cases import CASES, Case
from tilewright.tune.schedules.sampling import population
from tilewright.tune.schedules.timing import compiled, timed, wrong

LEAST_NETWORKS = 4
"""Below it, fits without the network of a case say nothing."""
UNIFORM, BEST, NEIGHBOURS, ROUNDS = 4, 4, 8, 7
ALL = "all"

Measured: TypeAlias = Callable[[], list[Kernel]]


@record
class Compared:
    """Qualities of the coefficients that the package has, and of predictions of every case by a fit without its networks."""

    shipped: Quality
    fitted: Quality


@record
class Outcome:
    """What a fit came to: the coefficients, and their qualities over all cases and over those of each kind."""

    kernels: int
    qualities: dict[str, Compared]
    fit: Fit

    @property
    def is_better(self) -> bool:
        """Whether choices by the fit lose less than by the coefficients of the package, and its errors are no larger."""
        found = self.qualities[ALL]
        return found.fitted.regret < found.shipped.regret and found.fitted.median <= found.shipped.median


def check_measured(machine: Machine) -> None:
    """Raise `TilewrightError` for a machine of default rates: a fit would make up for what is wrong with them."""
    if machine.peak_source is not Source.MEASURED:
        raise TilewrightError(
            "coefficients are fitted to a machine of measured rates",
            where=machine.name,
            why=f"its peak is from the {machine.peak_source.value}",
            hint="run tilewright machine --recalibrate, which needs a compiler; unset TILEWRIGHT_CALIBRATE",
        )


def measured(
    machine: Machine,
    limit_s: float,
    told: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Kernel]:
    """The kernels of as many cases as end within `limit_s` seconds; chains and convolutions alternate.

    The first is always measured; no further case is begun that would end late if it took as long as the longest before it. Cases
    are `told`, with the time used.
    """
    begin, longest_s, found = clock(), 0.0, list[Kernel]()
    cases = list(_cases(machine))
    for number, (name, measure) in enumerate(cases, 1):
        start_s = clock() - begin
        if start_s + longest_s > limit_s:
            told(f"the time is over: {len(cases) - number + 1} cases are left out")
            break
        kernels = measure()
        found += kernels
        end_s = clock() - begin
        longest_s = max(longest_s, end_s - start_s)
        told(f"[{number}/{len(cases)}, {end_s:.0f} of {limit_s:.0f} s] {name}: {len(kernels)} kernels")
    return found


def outcome(machine: Machine, kernels: Sequence[Kernel], features: frozenset[str] = frozenset()) -> Outcome:
    """The fit of measured kernels, for CPUs of these features.

    `machine` has the coefficients that the package has for it: an earlier fit of the user is of the same cases, and would be
    compared by what it was fitted to. The fit starts from the values of the family. Raises `TilewrightError` for too few cases.
    """
    networks = len({kernel.origin for kernel in kernels})
    if networks < LEAST_NETWORKS:
        raise TilewrightError(
            "too few cases for a fit", why=f"of {networks} networks, {LEAST_NETWORKS} needed", hint="allow more --minutes"
        )
    own = coefficients_for(machine)
    start = values_of(family_coefficients(machine))
    qualities = _qualities(kernels, prices(kernels, values_of(own), own.call_s), crosswise(kernels, start, own.call_s))
    across = qualities[ALL].fitted
    found = Fit(
        architecture=machine.architecture,
        vector_bits=machine.vector_bits,
        machine=machine.name,
        date=datetime.date.today().isoformat(),
        kernels=len(kernels),
        median_error=round(across.median, 4),
        error_95=round(across.error_95, 4),
        regret=round(across.regret, 4),
        values={name: float(f"{value:.4g}") for name, value in zip(NAMES, fit(kernels, start, own.call_s), strict=True)},
        features=" ".join(sorted(features)),
    )
    return Outcome(len(kernels), qualities, found)


def _qualities(kernels: Sequence[Kernel], shipped: FloatArray, fitted: FloatArray) -> dict[str, Compared]:
    """Over all kernels, then by kind."""
    found = {}
    for kind in (ALL, *dict.fromkeys(kernel.kind for kernel in kernels)):
        own = [number for number, kernel in enumerate(kernels) if kind in (ALL, kernel.kind)]
        of_kind = [kernels[number] for number in own]
        found[kind] = Compared(quality(of_kind, shipped[own]), quality(of_kind, fitted[own]))
    return found


def _cases(machine: Machine) -> Iterator[tuple[str, Measured]]:
    chains = [(case.name, partial(_chain, case, machine)) for case in CASES]
    layers = [(str(layer), partial(convolutions.measure, layer, machine)) for layer in convolutions.CONVOLUTIONS]
    return (case for case in chain.from_iterable(zip_longest(chains, layers)) if case is not None)


def _chain(case: Case, machine: Machine) -> list[Kernel]:
    """The kernels of the planner's choice for a case, of drawn schedules, the best predicted, and neighbours.

    Left out are wrong ones and those that the model refuses. Seconds are the least of warm calls on one thread, in rounds where
    all plans take turns, as if the core had its calibrated peak: its clock changes with the temperature and with its neighbours.
    """
    found = [one for _, _, one in population(case, uniform=UNIFORM, best=BEST, neighbours=NEIGHBOURS)]
    with TemporaryDirectory(prefix="tilewright-schedules-") as directory:
        runnables = compiled(case, [one.plan for one in found], Path(directory))
        errors, times = wrong(case, runnables), timed(runnables, ROUNDS)
    networks = frozenset((case.network,)) if case.network else frozenset[str]()
    slower = times.peak_flops_per_s / machine.peak("float32")
    right = (number for number, one in enumerate(found) if number not in errors and isfinite(one.predicted_s))
    return [
        Kernel(
            case.name, times.least_s(number) * slower, tuple(map(row_of, found[number].features().values())), networks=networks
        )
        for number in right
    ]
