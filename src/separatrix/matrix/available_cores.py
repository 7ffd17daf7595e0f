"""The cores that a process may use: its CPU affinity, and the quotas of its control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PROCESS = Path("/proc/self")


def available_cores() -> int:
    """Return the number of cores that this process may use; a part of a core counts as one."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, math.ceil(min(cores, cpu_quota())))


def cpu_quota(process: Path = PROCESS) -> float:
    """Return how many cores' worth of time Linux control groups allow; infinity if any.

    Reads version 1 and 2. A quota of a group also limits the groups inside it, so the lowest one
    from the group of the process upwards is the limit.
    """
    lowest = math.inf
    for group in _groups(process):
        lowest = min(lowest, _quota_of(group))
    return lowest


def _groups(process: Path) -> Iterator[Path]:
    """Yield the folders of the groups that limit the CPU time of a process, innermost first."""
    try:
        lines = (process / "cgroup").read_text().splitlines()
        mounts = (process / "mountinfo").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in mounts:
            before, _, after = mount.partition(" - ")
            root, folder = before.split()[3:5]
            kind, *_, options = after.split()
            second = kind == "cgroup2" and not controllers
            if second or (kind == "cgroup" and controllers and "cpu" in options.split(",")):
                inside = PurePosixPath(group)
                # A container may see only a part of the tree, whose root is mounted.
                own = inside.relative_to(root) if inside.is_relative_to(root) else PurePosixPath()
                yield from (Path(folder) / part for part in (own, *own.parents))


def _quota_of(group: Path) -> float:
    """Return the quota of one group in cores; infinity if it has none."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota = (group / "cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu.cfs_period_us").read_text().strip()
    except OSError:  # the topmost group has no such file
        return math.inf
    return math.inf if quota in ("max", "-1") else int(quota) / int(period)
