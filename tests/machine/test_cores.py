from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.fake_tree import write
from tilewright.machine.cores import usable_cores

EIGHT = frozenset(range(8))
V1_LINES = "12:memory:/app\n4:cpu,cpuacct:/app/job\n1:name=systemd:/app\n0::/\n"


def quota_v1(root: Path, group: str, quota_us: int, mount: str = "cpu,cpuacct") -> None:
    write(root, f"sys/fs/cgroup/{mount}/{group}/cpu.cfs_quota_us", f"{quota_us}\n")
    write(root, f"sys/fs/cgroup/{mount}/{group}/cpu.cfs_period_us", "100000\n")


def test_affinity_alone_decides_where_there_are_no_control_groups(tmp_path: Path) -> None:
    assert usable_cores(tmp_path, EIGHT) == 8


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("200000 100000", 2),
        ("max 100000", 8),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("25000 50000", 1),
        ("1600000 100000", 8),
        ("", 8),
        ("0 100000", 8),
        ("200000 0", 8),
        ("many few", 8),
    ],
)
def test_version_2_quota(tmp_path: Path, quota: str, cores: int) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/app\n")
    write(tmp_path, "sys/fs/cgroup/app/cpu.max", quota + "\n")
    assert usable_cores(tmp_path, EIGHT) == cores


def test_the_smallest_quota_of_nested_groups_counts(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/slice/service/worker\n")
    write(tmp_path, "sys/fs/cgroup/slice/cpu.max", "300000 100000\n")
    write(tmp_path, "sys/fs/cgroup/slice/service/cpu.max", "max 100000\n")
    write(tmp_path, "sys/fs/cgroup/slice/service/worker/cpu.max", "600000 100000\n")
    assert usable_cores(tmp_path, EIGHT) == 3


def test_a_group_of_the_host_that_the_container_cannot_see(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/docker/0123abcd\n")
    write(tmp_path, "sys/fs/cgroup/cpu.max", "400000 100000\n")
    assert usable_cores(tmp_path, EIGHT) == 4


def test_a_group_outside_the_namespace_stays_below_the_mount(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/../other\n")
    write(tmp_path, "sys/fs/cgroup/other/cpu.max", "200000 100000\n")
    write(tmp_path, "sys/fs/other/cpu.max", "100000 100000\n")
    assert usable_cores(tmp_path, EIGHT) == 2


@pytest.mark.parametrize(("quota_us", "cores"), [(250000, 3), (-1, 8), (100000, 1)])
def test_version_1_quota(tmp_path: Path, quota_us: int, cores: int) -> None:
    write(tmp_path, "proc/self/cgroup", V1_LINES)
    quota_v1(tmp_path, "app/job", quota_us)
    assert usable_cores(tmp_path, EIGHT) == cores


@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct", "cpuacct,cpu"])
def test_version_1_quota_of_the_group_around(tmp_path: Path, mount: str) -> None:
    write(tmp_path, "proc/self/cgroup", V1_LINES)
    quota_v1(tmp_path, "app", 200000, mount)
    quota_v1(tmp_path, "app/job", -1, mount)
    assert usable_cores(tmp_path, EIGHT) == 2


def test_hybrid_hierarchy(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "4:memory:/\n0::/unit\n")
    write(tmp_path, "sys/fs/cgroup/unified/unit/cpu.max", "200000 100000\n")
    assert usable_cores(tmp_path, EIGHT) == 2


def test_quotas_of_other_controllers_do_not_matter(tmp_path: Path) -> None:
    write(tmp_path, "proc/self/cgroup", "5:cpuset:/small\n3:cpuacct:/small\n")
    quota_v1(tmp_path, "small", 100000, "cpu")
    assert usable_cores(tmp_path, EIGHT) == 8
