"""Where the bench keeps its files.

`BENCHSTICK_HOME` moves settings and data together. `BENCHSTICK_RUN` moves the folder of locks,
mounts and live records, which is lost at a reboot; tests use it.
"""

from __future__ import annotations

import grp
import os
import stat
from pathlib import Path

from benchstick.errors import StoreFailed

GROUP = "benchstick"


def data_folder() -> Path:
    """The data folder: `$BENCHSTICK_HOME`, else `/var/lib/benchstick`."""
    return Path(os.environ.get("BENCHSTICK_HOME") or "/var/lib/benchstick").absolute()


def settings_file() -> Path:
    """The settings file: `$BENCHSTICK_HOME/benchstick.toml`, else `/etc/benchstick.toml`."""
    is_moved = bool(os.environ.get("BENCHSTICK_HOME"))
    return data_folder() / "benchstick.toml" if is_moved else Path("/etc/benchstick.toml")


def run_folder() -> Path:
    """Locks, mounts and live records: `$BENCHSTICK_RUN`, else `/run/benchstick`."""
    return Path(os.environ.get("BENCHSTICK_RUN") or "/run/benchstick")


def mounts() -> Path:
    """The folder under which the bench mounts drives; mounts elsewhere are somebody else's."""
    return run_folder() / "mnt"


def locks() -> Path:
    """The folder of the drives' lock files."""
    return run_folder() / "drives"


def stick_recipes() -> Path:
    """Where a booted stick's recipes are copied to: the stick may be pulled."""
    return run_folder() / "recipes"


def staging(uuid: str) -> Path:
    """Where the artefacts of a run's present step lie when they must not go to the data folder."""
    return run_folder() / "steps" / uuid


def bench_group() -> int | None:
    """The id of the bench's group, which the web process is in; None where there is none."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        return None


def make_folder(path: Path, mode: int, *, for_group: bool) -> Path:
    """Make `path` (or check it) as a real folder of ours with `mode`. StoreFailed if it is not.

    The web process may write to the data folder: a link that it laid in place of a folder must
    not send a privileged process elsewhere.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()):
            raise StoreFailed(f"{path}: not a folder of the bench's own user; move it away")
        if os.geteuid() == status.st_uid:
            gid = bench_group()
            if for_group and gid is not None and os.geteuid() == 0:
                os.chown(path, -1, gid)
            path.chmod(mode)
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror}; choose another BENCHSTICK_HOME") from None
    return path


def make_home(home: Path) -> None:
    """Make the data folder: the group may write the store, and only read the artefacts."""
    make_folder(home, 0o2770, for_group=True)
    make_folder(home / "runs", 0o2750, for_group=True)


def make_run_folder() -> Path:
    """Make `/run/benchstick` with its folders; the web process may read the live records."""
    base = make_folder(run_folder(), 0o755, for_group=False)
    for name, mode, is_shared in (
        ("runs", 0o2750, True),
        ("drives", 0o700, False),
        ("mnt", 0o700, False),
        ("ram", 0o700, False),
        ("steps", 0o700, False),
        ("live", 0o2750, True),
        ("appliance", 0o755, False),
    ):
        make_folder(base / name, mode, for_group=is_shared)
    return base
