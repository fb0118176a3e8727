"""The web process's own view of the machine: a root filesystem with the few things it needs.

Built by root before it becomes the web process: a private mount namespace with a small tmpfs under
`/run/benchstick/web-root`, into which the program, its Python and `/usr` are bound read-only and
the data folder read-write, each under its own path. So a clone under /root (0700, and left so)
can be served from, and there is no device node but /dev/null.
"""

from __future__ import annotations

import ctypes
import grp
import os
import pwd
import shutil
import stat
import sys
from pathlib import Path

from benchstick import paths
from benchstick.drives import subprocesses
from benchstick.errors import BadInput

USER = paths.GROUP
ROOT = Path(__file__).resolve().parents[2]
# What of the program the page needs; the rest of a clone stays outside.
PARTS = ("benchstick", "webui", "docs")

_CLONE_NEWNS = 0x00020000
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_REMOUNT, _BIND, _REC, _PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}

_libc = ctypes.CDLL(None, use_errno=True)


def check_user() -> None:
    """BadInput when there is no user to become, or nothing to become it with."""
    try:
        user = pwd.getpwnam(USER)
        grp.getgrnam(USER)
    except KeyError:
        raise BadInput(
            f"the page runs as the user {USER}, which is missing; add it with: "
            f"useradd --system --user-group --home-dir /nonexistent --no-create-home {USER}"
        ) from None
    if user.pw_uid == 0 or user.pw_gid == 0:
        raise BadInput(f"the user {USER} must not be root; give it a uid and gid of its own")
    setpriv()


def setpriv() -> str:
    """util-linux's setpriv from the system's folders: the cage has no others."""
    return subprocesses.require("setpriv", subprocesses.PATH)


def unprivileged(command: list[str]) -> list[str]:
    """`command` as the bench's user, with no capability in any set and none to be gained."""
    user = pwd.getpwnam(USER)
    return [
        setpriv(),
        f"--reuid={user.pw_uid}",
        f"--regid={grp.getgrnam(USER).gr_gid}",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--ambient-caps=-all",
        "--no-new-privs",
        "--",
        *command,
    ]


def enter(home: Path) -> None:
    """Go into the cage, for good. `home` is the data folder."""
    base = paths.make_folder(paths.run_folder() / "web-root", 0o755, for_group=False)
    _call("unshare", ctypes.c_int(_CLONE_NEWNS))
    _mount(None, Path("/"), _REC | _PRIVATE)
    _tmpfs(base, "mode=755,size=64m")
    # Folders on the way must be open to the bench's user, whatever umask root has.
    os.umask(0o022)
    _small_things(base)
    for path in system_folders():
        _bind(path, base, read_only=True)
    for path in program_folders():
        if readable_by_all(path):
            _bind(path, base, read_only=True)
        else:
            _copy(path, base)
    _bind(home, base, read_only=False)
    for name in ("live", "runs", "appliance"):
        _bind(paths.run_folder() / name, base, read_only=True)
    if paths.stick_recipes().is_dir():
        _bind(paths.stick_recipes(), base, read_only=True)
    _mount(None, base, _REMOUNT | _RDONLY | _NOSUID | _NODEV)
    _change_root(base)


def system_folders() -> list[Path]:
    """`/usr` and the system folders next to it, read-only; symbolic links are created again."""
    names = ("usr", "bin", "sbin", "lib", "lib32", "lib64")
    folders = [Path("/") / name for name in names]
    return [path for path in folders if path.exists()]


def program_folders() -> list[Path]:
    """The program's own folders, its virtual environment and its Python, none inside another."""
    candidates = [ROOT / part for part in PARTS]
    candidates += [Path(sys.prefix), Path(sys.base_prefix)]
    # A virtual environment's python may be a link to one elsewhere.
    candidates.append(Path(os.path.realpath(sys.executable)).parent)
    covered_folders = system_folders()
    folders: list[Path] = []
    for path in sorted({item.absolute() for item in candidates if item.exists()}):
        if not any(path.is_relative_to(other) for other in [*covered_folders, *folders]):
            folders.append(path)
    return folders


def readable_by_all(folder: Path) -> bool:
    """Whether the bench's user could read everything in `folder` once it is in reach.

    A clone made under `umask 077` is root's alone, and its modes are not ours to change.
    """
    for where, folders, files in os.walk(folder):
        if Path(where).stat().st_mode & 0o005 != 0o005:
            return False
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            status = os.lstat(os.path.join(where, name))  # noqa: PTH118 - walked thousands of times
            if stat.S_ISREG(status.st_mode) and not status.st_mode & 0o004:
                return False
    return True


def _copy(path: Path, base: Path) -> None:
    """A copy that everybody may read, in a tmpfs of its own."""
    inside = _inside(path, base)
    inside.mkdir(parents=True, exist_ok=True)
    _tmpfs(inside, "mode=755,size=512m")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(path, inside, symlinks=True, dirs_exist_ok=True, ignore=ignore)
    for where, _, files in os.walk(inside):
        Path(where).chmod(0o755)
        for name in files:
            file = Path(where) / name
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
    _mount(None, inside, _REMOUNT | _RDONLY | _NOSUID | _NODEV)


def _inside(path: Path, base: Path) -> Path:
    return base / path.relative_to("/")


def _bind(path: Path, base: Path, *, read_only: bool) -> None:
    """Show `path` in the cage under its own name."""
    inside = _inside(path, base)
    if path.is_symlink() and path.parent == Path("/"):
        inside.symlink_to(path.readlink())
        return
    inside.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        inside.mkdir(exist_ok=True)
    else:
        inside.touch()
    # Not recursive: what is mounted below (a practice drive, a tmpfs of a run) stays outside.
    _mount(path, inside, _BIND)
    flags = _NOSUID | _NODEV | (_RDONLY if read_only else _NOEXEC)
    _mount(None, inside, _REMOUNT | _BIND | flags)


def _small_things(base: Path) -> None:
    """/proc to look at, a /tmp of its own, /dev/null, and the loader's cache."""
    proc = base / "proc"
    proc.mkdir()
    _mount(Path("/proc"), proc, _BIND | _REC)
    temporary = base / "tmp"
    temporary.mkdir()
    _tmpfs(temporary, "mode=1777,size=64m", _NOEXEC)
    null = base / "dev/null"
    null.parent.mkdir()
    null.touch()
    _mount(Path("/dev/null"), null, _BIND)
    cache = Path("/etc/ld.so.cache")
    if cache.exists():
        _bind(cache, base, read_only=True)


def _change_root(base: Path) -> None:
    """Make `base` the root and detach the old one."""
    os.chdir(base)
    number = _SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is not None and _libc.syscall(ctypes.c_long(number), b".", b".") == 0:
        # Both are stacked on "/" now; the upper one, the old root, goes.
        _call("umount2", b".", ctypes.c_int(_MNT_DETACH))
    else:
        # In an initramfs the root cannot be pivoted. Without CAP_SYS_CHROOT there is no way out
        # of a chroot either, and the process that follows has no capability.
        os.chroot(".")
    os.chdir("/")


def _tmpfs(where: Path, options: str, more: int = 0) -> None:
    _call(
        "mount",
        b"tmpfs",
        os.fsencode(where),
        b"tmpfs",
        ctypes.c_ulong(_NOSUID | _NODEV | more),
        options.encode(),
    )


def _mount(source: Path | None, target: Path, flags: int) -> None:
    _call(
        "mount",
        None if source is None else os.fsencode(source),
        os.fsencode(target),
        None,
        ctypes.c_ulong(flags),
        None,
    )


def _call(name: str, *arguments: object) -> None:
    """A function of the C library that returns 0 or sets errno. BadInput on failure."""
    if getattr(_libc, name)(*arguments) == 0:
        return
    problem = os.strerror(ctypes.get_errno())
    texts = " ".join(os.fsdecode(item) for item in arguments if isinstance(item, bytes))
    raise BadInput(
        f"web: cannot build the page's own view of the machine ({name} {texts}: {problem}); "
        "as root in a container it needs CAP_SYS_ADMIN, or run it as another user than root"
    )
