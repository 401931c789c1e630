"""Quality of prices against measured kernels: errors, and what a choice by them loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.tune.fit.kernels import Kernel
from tilewright.tune.fit.least_squares import FloatArray


@dataclass(frozen=True, slots=True)
class Quality:
    """How well prices explain measurements; errors are relative."""

    median: float
    error_95: float
    regrets: Mapping[str, float]
    """By case: seconds of the kernel predicted best over those of the fastest, minus 1."""

    @property
    def regret(self) -> float:
        """The geometric mean over the cases."""
        return float(np.exp(np.mean(np.log1p(list(self.regrets.values())))) - 1)

    def __str__(self) -> str:
        worst = max(self.regrets, key=lambda case: self.regrets[case])
        return (
            f"error median {self.median:6.1%}  95% {self.error_95:6.1%}"
            f"  regret {self.regret:6.1%} (worst {self.regrets[worst]:.1%}, {worst})"
        )


def quality(kernels: Sequence[Kernel], predicted: FloatArray) -> Quality:
    """Errors over all kernels, regret by case."""
    measured = np.array([kernel.measured_s for kernel in kernels])
    errors = np.abs(predicted - measured) / measured
    regrets = {}
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        own = np.array([kernel.case == case for kernel in kernels])
        regrets[case] = float(measured[own][np.argmin(predicted[own])] / measured[own].min() - 1)
    return Quality(float(np.median(errors)), float(np.percentile(errors, 95)), regrets)
