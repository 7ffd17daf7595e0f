"""The cores that a process may use follow its affinity and the quotas of its control groups."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from separatrix.matrix.available_cores import available_cores, cpu_quota

GROUPS = Path("/sys/fs/cgroup")
PRINT_CORES = "from separatrix.matrix.available_cores import available_cores as f; print(f())"


def process_files(at: Path, groups: str, mounts: list[str]) -> Path:
    """Write the files of /proc/self of a process in some groups, with mounts below a folder."""
    (at / "cgroup").write_text(groups)
    lines = [mount.format(at=at) for mount in mounts]
    (at / "mountinfo").write_text("".join(f"{line}\n" for line in lines))
    return at


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


V2 = "41 31 0:38 / {at}/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 / {at}/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct"
OTHERS = [
    "31 23 0:28 / {at} rw,relatime - tmpfs tmpfs rw,mode=755",
    "34 31 0:31 / {at}/cpuset rw,relatime - cgroup cgroup rw,cpuset",
]


@pytest.mark.parametrize(
    ("text", "cores"), [("150000 100000\n", 1.5), ("max 100000\n", math.inf), ("5000 20000", 0.25)]
)
def test_version_2_quotas_are_read(tmp_path: Path, text: str, cores: float) -> None:
    write(tmp_path / "unified/user/job/cpu.max", text)
    assert cpu_quota(process_files(tmp_path, "0::/user/job\n", [*OTHERS, V2])) == cores


@pytest.mark.parametrize(("quota", "cores"), [("250000\n", 2.5), ("-1\n", math.inf)])
def test_version_1_quotas_are_read(tmp_path: Path, quota: str, cores: float) -> None:
    write(tmp_path / "cpu/job/cpu.cfs_quota_us", quota)
    write(tmp_path / "cpu/job/cpu.cfs_period_us", "100000\n")
    groups = "4:memory:/other\n3:cpuset:/other\n2:cpu,cpuacct:/job\n0::/\n"
    assert cpu_quota(process_files(tmp_path, groups, [*OTHERS, V1, V2])) == cores


def test_the_lowest_quota_of_all_outer_groups_counts(tmp_path: Path) -> None:
    write(tmp_path / "unified/cpu.max", "800000 100000")
    write(tmp_path / "unified/user/cpu.max", "200000 100000")
    write(tmp_path / "unified/user/job/cpu.max", "400000 100000")
    assert cpu_quota(process_files(tmp_path, "0::/user/job\n", [V2])) == 2.0


def test_a_container_sees_its_group_as_the_root_of_the_mount(tmp_path: Path) -> None:
    write(tmp_path / "cpu/cpu.cfs_quota_us", "50000")
    write(tmp_path / "cpu/cpu.cfs_period_us", "100000")
    mounts = [V1.replace(" / ", " /docker/abc ")]
    assert cpu_quota(process_files(tmp_path, "2:cpu,cpuacct:/docker/abc\n", mounts)) == 0.5


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == math.inf
    assert cpu_quota(process_files(tmp_path, "0::/job\n", OTHERS)) == math.inf


needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system has no CPU affinity"
)


@needs_affinity
def test_the_affinity_limits_the_cores() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group for this test, which only root can make."""
    parent = GROUPS / "cpu" if (GROUPS / "cpu").exists() else GROUPS
    path = parent / f"separatrix_{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield path
    path.rmdir()


def test_a_process_in_a_group_with_half_a_core_gets_one_core(group: Path) -> None:
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text("50000 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text("50000")
            (group / "cpu.cfs_period_us").write_text("100000")
    except OSError as error:
        pytest.skip(f"the quota of a control group cannot be set: {error}")
    join = f"echo $$ > {group}/cgroup.procs && exec {sys.executable} -c '{PRINT_CORES}'"
    done = subprocess.run(["sh", "-c", join], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
