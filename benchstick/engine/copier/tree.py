"""Lists, opens and removes folders by descriptor, without following symlinks.

Every step goes from an open folder to a name in it with O_NOFOLLOW. So a link that another process
puts into the tree is seen as a link, and a path may be longer than PATH_MAX.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class TreeFile:
    """A regular file in a folder."""

    name: str
    size: int
    mtime_ns: int
    read_only: bool


@dataclass(slots=True)
class Folder:
    """A folder: `path` is relative to the tree's root ("" is the root)."""

    path: str
    mtime_ns: int
    files: list[TreeFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


@dataclass
class Tree:
    """A tree in directory order: a folder, its files by name, then its subfolders.

    `left_out` has the reason for each other entry (links, sockets, devices, mount points).
    """

    folders: list[Folder]
    left_out: dict[str, str]

    @property
    def bytes(self) -> int:
        return sum(file.size for folder in self.folders for file in folder.files)

    @property
    def count(self) -> int:
        return sum(len(folder.files) for folder in self.folders)


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def kind_of(mode: int) -> str:
    """The type of a file that is neither regular nor a folder, in words."""
    for test, word in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISCHR, "a character device"),
    ):
        if test(mode):
            return word
    return "not a regular file"


def open_folder(name: str, parent: int, *, quiet: bool = False) -> int:
    """Open folder `name` of `parent` without following a link.

    `quiet` keeps its access time where the kernel allows that (own files, or root).
    """
    if quiet:
        with contextlib.suppress(PermissionError):
            return os.open(name, FOLDER_FLAGS | os.O_NOATIME, dir_fd=parent)
    return os.open(name, FOLDER_FLAGS, dir_fd=parent)


def open_below(root: int, path: str, *, quiet: bool = False) -> int:
    """A new descriptor of folder `path` below `root`. No part of the path may be a link."""
    fd = os.dup(root)
    for part in path.split("/") if path else ():
        try:
            below = open_folder(part, fd, quiet=quiet)
        finally:
            os.close(fd)
        fd = below
    return fd


def list_tree(root: int, *, quiet: bool = False) -> Tree:
    """List the tree below the open folder `root`. OSError when a folder cannot be read."""
    tree = Tree([], {})
    device = os.fstat(root).st_dev
    _list_into(tree, os.dup(root), "", device, quiet)
    return tree


def _list_into(tree: Tree, start: int, top: str, device: int, quiet: bool) -> None:
    # A stack, as a tree may be deeper than Python's recursion limit. Each entry is an open folder
    # and the names of its subfolders still to visit.
    stack: list[tuple[int, str, Iterator[str]]] = []
    try:
        stack.append(_add_folder(tree, start, top))
        while stack:
            fd, path, below = stack[-1]
            name = next(below, None)
            if name is None:
                os.close(fd)
                stack.pop()
                continue
            child = open_folder(name, fd, quiet=quiet)
            if os.fstat(child).st_dev != device:
                os.close(child)
                tree.left_out[join(path, name)] = "another filesystem is mounted here: not followed"
                continue
            stack.append(_add_folder(tree, child, join(path, name)))
    finally:
        for fd, _path, _below in stack:
            os.close(fd)


def _add_folder(tree: Tree, fd: int, path: str) -> tuple[int, str, Iterator[str]]:
    """List a folder into `tree`. Owns `fd`: closes it on failure."""
    try:
        folder = list_folder(fd, path, tree.left_out)
    except BaseException:
        os.close(fd)
        raise
    tree.folders.append(folder)
    return fd, path, iter(folder.folders)


def list_folder(fd: int, path: str, left_out: dict[str, str]) -> Folder:
    """The files and subfolders of an open folder, by name."""
    folder = Folder(path, os.fstat(fd).st_mtime_ns)
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folder.folders.append(entry.name)
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                folder.files.append(
                    TreeFile(
                        entry.name,
                        status.st_size,
                        status.st_mtime_ns,
                        not status.st_mode & 0o222,
                    )
                )
            else:
                left_out[join(path, entry.name)] = f"{kind_of(status.st_mode)}: not copied"
    folder.files.sort(key=lambda file: file.name)
    folder.folders.sort()
    return folder


class _Slot:
    """The descriptor of a folder, opened by the first thread that needs it."""

    __slots__ = ("fd", "lock")

    def __init__(self) -> None:
        self.fd: int | None = None
        self.lock = threading.Lock()


class Handles:
    """Open folders of a tree, shared by threads: opened on first use, closed after the last use.

    `uses` is the number of files that will be opened in each folder.
    """

    def __init__(self, root: int, uses: dict[str, int], *, quiet: bool = False) -> None:
        self._root = root
        self._quiet = quiet
        self._remaining_uses = uses
        self._slots: dict[str, _Slot] = {}
        self._lock = threading.Lock()

    def acquire(self, path: str) -> int:
        """The descriptor of folder `path`; call `release` once for each file."""
        with self._lock:
            slot = self._slots.setdefault(path, _Slot())
        # Opening may wait for the drive: only the threads that need this folder wait for it.
        with slot.lock:
            if slot.fd is None:
                slot.fd = open_below(self._root, path, quiet=self._quiet)
            return slot.fd

    def release(self, path: str) -> None:
        """Note that a file of the folder is complete."""
        with self._lock:
            self._remaining_uses[path] -= 1
            if self._remaining_uses[path] > 0:
                return
            slot = self._slots.pop(path, None)
        if slot is not None and slot.fd is not None:
            os.close(slot.fd)

    def close(self) -> None:
        with self._lock:
            for slot in self._slots.values():
                if slot.fd is not None:
                    os.close(slot.fd)
            self._slots.clear()


@dataclass
class Removed:
    """The number of removed folders, files and bytes."""

    folders: int = 0
    files: int = 0
    bytes: int = 0


def mount_of(fd: int) -> int:
    """The id of the mount of an open folder. A bind mount has its own id on the same device."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as info:  # noqa: PTH123
        for line in info:
            if line.startswith("mnt_id:"):
                return int(line.split()[1])
    raise OSError(errno.EOPNOTSUPP, "the kernel does not show which mount a folder is in")


def remove(parent: int, name: str, device: int, removals: Removed) -> None:
    """Remove file or folder `name` of the open folder `parent`, and count it in `removals`.

    Links are removed, not followed. Read-only files and folders are removed too. A mount point
    (another filesystem, or a bind mount of this one) is an OSError; its content stays.
    """
    _remove(parent, name, device, None, removals)


def _remove(parent: int, name: str, device: int, mount: int | None, removals: Removed) -> None:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        _permit(parent, lambda: os.unlink(name, dir_fd=parent))
        removals.files += 1
        removals.bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return
    if status.st_dev != device:
        raise OSError(errno.EBUSY, "another filesystem is mounted here: not removed", name)
    mount = mount_of(parent) if mount is None else mount
    try:
        fd = open_folder(name, parent)
    except PermissionError:
        fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        _stay_in(mount, fd, name)
        os.close(fd)
        os.chmod(name, 0o700, dir_fd=parent)
        fd = open_folder(name, parent)
    _stay_in(mount, fd, name)
    try:
        with os.scandir(fd) as entries:
            names = [entry.name for entry in entries]
        for below in names:
            _remove(fd, below, device, mount, removals)
    finally:
        os.close(fd)
    _permit(parent, lambda: os.rmdir(name, dir_fd=parent))
    removals.folders += 1


def _stay_in(mount: int, fd: int, name: str) -> None:
    """OSError when the folder is in another mount. Closes `fd` then."""
    try:
        if mount_of(fd) == mount:
            return
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    raise OSError(errno.EBUSY, "a folder is mounted here: not removed", name)


def _permit(parent: int, act: Callable[[], None]) -> None:
    """Call `act`; when it fails because the folder is read-only, make it writable and retry."""
    try:
        act()
    except PermissionError:
        os.fchmod(parent, 0o700)
        act()
