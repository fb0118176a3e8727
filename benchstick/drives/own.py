"""Marks the tools that the bench starts, so that the guard recognises them.

Each tool gets an environment variable with a random token. The token is in a file that only root
can read; all processes of one bench share it. A child of a tool inherits the variable, a program
that someone else starts does not have it. A tool that outlives a killed run keeps it: its
parent-death signal kills it, and the recovery ends its cgroup.
"""

from __future__ import annotations

import contextlib
import os
import secrets

from benchstick import paths
from benchstick.drives.sysfs import Tree

_VARIABLE = "BENCHSTICK_TOOL"
# For a bench that cannot write its runtime folder: the tools of this process only.
_FALLBACK = secrets.token_hex(16)


def environment() -> dict[str, str]:
    """The variable that marks a tool of the bench."""
    return {_VARIABLE: _token()}


def is_marked(tree: Tree, pid: int) -> bool:
    """True for a process that the bench started as a tool."""
    words = (tree.data(f"proc/{pid}/environ") or b"").split(b"\0")
    return f"{_VARIABLE}={_token()}".encode() in words


def _token() -> str:
    path = paths.run_folder() / "tool-token"
    with contextlib.suppress(OSError):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, secrets.token_hex(16).encode())
            finally:
                os.close(fd)
            # The first of two processes wins; both then read the same file.
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)
            fresh.unlink()
        # A file of another user is not used: its owner would know the token.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            text = os.read(fd, 64).decode("ascii", "replace")
        finally:
            os.close(fd)
        if status.st_uid == os.geteuid() and not status.st_mode & 0o077 and len(text) == 32:
            return text
    return _FALLBACK
