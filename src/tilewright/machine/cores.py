"""Number of CPUs that this process may really use: its affinity mask, cut down by the CPU quotas of its control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress


def affinity() -> frozenset[int]:
    """The logical CPUs that the scheduler may run this process on."""
    return frozenset(os.sched_getaffinity(0))


def usable_cores(root: str | os.PathLike[str] = "/", cpus: frozenset[int] | None = None) -> int:
    """The logical CPUs this process can keep busy, at least 1: the affinity mask, limited by the smallest cgroup quota.

    A quota of 1.5 CPUs counts as 2: a burst shorter than the quota's period (100 ms) runs on both.
    `root` holds `proc` and `sys`; `cpus` replaces the affinity mask.
    """
    available = len(affinity() if cpus is None else cpus)
    return max(1, min([available, *(math.ceil(quota) for quota in _quotas(os.fspath(root)))]))


def _quotas(root: str) -> Iterator[float]:
    """Every CPU quota that applies, in CPUs: of the process's own groups and of all groups around them.

    Inside a container the path of /proc/self/cgroup may be the host's and not exist below the mount: what is missing limits
    nothing, and the mount's top, which is then the container's own group, is always looked at.
    """
    for controllers, group in _memberships(f"{root}/proc/self/cgroup"):
        for mount in _mounts(f"{root}/sys/fs/cgroup", controllers):
            for depth in range(len(group), -1, -1):
                directory = "/".join((mount, *group[:depth]))
                words = _text(f"{directory}/cpu.max").split()
                if controllers:
                    words = [_text(f"{directory}/{name}") for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
                yield from _ratio(words)


def _memberships(path: str) -> Iterator[tuple[frozenset[str], list[str]]]:
    """Controllers, and directories down to the group, of each hierarchy that can limit the CPU; v2 has no controller names."""
    for line in _text(path).splitlines():
        hierarchy, _, rest = line.partition(":")
        names, _, group = rest.partition(":")
        controllers = frozenset(filter(None, names.split(",")))
        if "cpu" in controllers or (hierarchy == "0" and not controllers):
            yield controllers, [part for part in group.split("/") if part not in ("", ".", "..")]


def _mounts(cgroups: str, controllers: frozenset[str]) -> tuple[str, ...]:
    """Where a hierarchy is mounted: v1 by its controllers' names in either order, v2 at the top or under `unified`."""
    if not controllers:
        return (cgroups, f"{cgroups}/unified")
    return (f"{cgroups}/cpu", f"{cgroups}/cpu,cpuacct", f"{cgroups}/cpuacct,cpu")


def _ratio(words: Sequence[str]) -> Iterator[float]:
    """Quota over period; nothing for "max", -1 and whatever is no pair of numbers: no limit."""
    with suppress(ValueError):
        quota_us, period_us = map(int, words)
        if quota_us > 0 and period_us > 0:
            yield quota_us / period_us


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
