"""Kernels whose calls that report NaN or infinities are computed again by a kernel that reports nothing."""

from __future__ import annotations

from _thread import LockType, allocate_lock  # `threading` takes 0.2 MB, which a process may do without
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.errors import NotFiniteError

if TYPE_CHECKING:
    from tilewright.backends.backend import Array, Runnable
    from tilewright.runtime.pool import Pool

Loaded: TypeAlias = "tuple[Runnable, tuple[Array, ...]]"
"""Something to call, and the constants that its calls pass behind the inputs."""


@dataclass(eq=False)
class Checked:
    """A `Runnable` as `fast` is, whose calls that report NaN or infinities are computed again: by a kernel that is loaded when
    first needed.

    Legal because inputs never share memory with outputs while a kernel runs (`Executable.run` copies), so that they are as they
    were. Calls are safe from several threads at once.
    """

    fast: Runnable
    strict: Callable[[], Loaded]
    """Loads a kernel of the same graph that reports nothing."""
    input_count: int
    """Of the graph; behind them calls pass constants, which each kernel has its own of."""
    _loaded: Loaded | None = None
    _lock: LockType = field(default_factory=allocate_lock)

    def __getattr__(self, name: str) -> Any:
        """What is asked of the kernel that runs first, which tells `not_finite` of its context where it is saved."""
        return getattr(self.fast, name)

    def run(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """As `Runnable`."""
        try:
            self.fast.run(inputs, outputs)
        except NotFiniteError:
            strict, constants = self.loaded_strict()
            strict.run((*inputs[: self.input_count], *constants), outputs)

    def compute(self, inputs: tuple[object, ...]) -> list[Array]:
        """As `Runnable`."""
        try:
            return self.fast.compute(inputs)
        except NotFiniteError:
            strict, constants = self.loaded_strict()
            return strict.compute((*inputs[: self.input_count], *constants))

    def profile(self, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[tuple[str, float], ...]:
        """As `Runnable`: of the kernel that computes the results."""
        try:
            return self.fast.profile(inputs, outputs)
        except NotFiniteError:
            strict, constants = self.loaded_strict()
            return strict.profile((*inputs[: self.input_count], *constants), outputs)

    def on(self, pool: Pool) -> Checked:
        """The same on the threads of another pool, but for calls that are computed again."""
        fast: Any = self.fast
        return Checked(fast.on(pool), self.loaded_strict, self.input_count)

    def loaded_strict(self) -> Loaded:
        """The kernel that reports nothing, and the constants that its calls pass."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self.strict()
            return self._loaded
