"""The filesystems that this host can make and mount. Kernel drivers only: no FUSE in a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchstick.drives import subprocesses
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree
from benchstick.errors import BadInput

# What `--fs auto` takes, the first that this host can mount.
AUTO = ("exfat", "ext4")


@dataclass(frozen=True)
class Kind:
    """One filesystem: kernel driver, mkfs tool (None: the bench does not make it), mount options.

    Names must come back as they were written, so the options ask for UTF-8.
    """

    driver: str
    mkfs: str | None
    options: tuple[str, ...] = ()


# By blkid's TYPE.
KINDS = {
    "exfat": Kind("exfat", "mkfs.exfat", ("iocharset=utf8",)),
    "ntfs": Kind("ntfs3", "mkntfs", ("iocharset=utf8",)),
    "ext4": Kind("ext4", "mkfs.ext4"),
    "ext3": Kind("ext4", None),
    "ext2": Kind("ext4", None),
    "vfat": Kind("vfat", None, ("utf8=1",)),
    "xfs": Kind("xfs", None),
    "btrfs": Kind("btrfs", None),
}


def why_not_mountable(fs: str, *, run: Callable[..., Finished] = subprocesses.run) -> str | None:
    """Why this kernel cannot mount `fs` (blkid's name), or None when it can."""
    kind = KINDS.get(fs)
    if kind is None:
        return f"{fs}: the bench mounts {', '.join(KINDS)}"
    if _registered(kind.driver):
        return None
    try:
        answer = run(["modprobe", kind.driver], timeout=30)
    except BadInput as error:
        return f"{fs}: this kernel has no {kind.driver} driver built in, and {error.message}"
    if answer.exit_code == 0 and _registered(kind.driver):
        return None
    return f"{fs}: this kernel has no {kind.driver} driver ({answer.error_line})"


def why_not_makeable(fs: str, *, run: Callable[..., Finished] = subprocesses.run) -> str | None:
    """Why the bench cannot make and mount `fs` here, or None when it can."""
    kind = KINDS.get(fs)
    if kind is None or kind.mkfs is None:
        makeable = ", ".join(name for name, candidate in KINDS.items() if candidate.mkfs)
        return f"{fs}: the bench makes {makeable}"
    try:
        subprocesses.require(kind.mkfs)
    except BadInput as error:
        return f"{fs}: {error.message}"
    return why_not_mountable(fs, run=run)


def choose(fs: str, *, run: Callable[..., Finished] = subprocesses.run) -> str:
    """The filesystem to make for `--fs FS`; for `auto` the first that works of exfat, ext4.

    BadInput naming why when none works.
    """
    reasons = []
    for name in AUTO if fs == "auto" else (fs,):
        reason = why_not_makeable(name, run=run)
        if reason is None:
            return name
        reasons.append(reason)
    hint = "" if fs == "auto" else "; --fs auto takes one that works here"
    raise BadInput("; ".join(reasons) + hint, field="fs")


def _registered(driver: str) -> bool:
    text = Tree().text("proc/filesystems") or ""
    return driver in {line.split("\t")[-1].strip() for line in text.splitlines()}
