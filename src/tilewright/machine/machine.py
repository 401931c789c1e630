"""Machine: what to plan for, by the name of a target file or as detected."""

from __future__ import annotations

from dataclasses import fields

from tilewright.machine import detection
from tilewright.machine.description import Description
from tilewright.records import record


@record
class Machine(Description):
    """A machine as the planner sees it. All rates are those of one core."""

    def __hash__(self) -> int:
        """Equal for equal machines: of a few figures that calibrations differ in."""
        return hash((self.name, self.cores, self.frequency_hz, self.peak_flops_per_s))

    @staticmethod
    def of(description: Description) -> Machine:
        """The machine with these figures."""
        return Machine(**{field.name: getattr(description, field.name) for field in fields(description)})

    @staticmethod
    def named(name: str) -> Machine:
        """The machine that `targets/<name>.toml` describes; unknown names raise an error listing near matches.

        >>> Machine.named("zen4").vector_bits
        512
        """
        from tilewright.machine import targets  # reads TOML: not for the path of every import

        return Machine.of(targets.load(name))

    @staticmethod
    def detect() -> Machine:
        """This machine: what cpuid, sysfs and the affinity mask say, with measured rates where a calibration is stored."""
        return Machine.of(detection.detect())
