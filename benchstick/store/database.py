"""Opens the store: migrations, the write-ahead log, who may write what."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import os
import sqlite3
import stat
import sys
import time
import uuid
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from benchstick import paths
from benchstick.errors import NoStore, StoreFailed
from benchstick.store.legacy_names import fields_of_name, rename_in_text, with_step_fields
from benchstick.store.legacy_units import with_celsius

FILE = "store.db"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# How long the check of a start may take that is not the first one: a usual store is read whole.
CHECK_SECONDS = 0.3
# How long a reader waits for the next table of a store that another process may be making.
MAKING_SECONDS = 2.0
# After so many steps of SQLite the time is looked at.
CHECK_STEPS = 1000
# Only these may the web process write (docs/decisions/processes.md).
WEB_TABLES = frozenset(
    {"requests", "sessions", "tokens", "labels", "uploads", "reference_results", "spec_sheets",
     "recipes"}
)  # fmt: skip


def utc_now() -> str:
    """The time of day in UTC, as kept in the store: `2026-01-31T12:00:00.123Z`."""
    now = datetime.datetime.now(datetime.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"


@functools.cache
def migrations() -> tuple[str, ...]:
    """The numbered migration scripts, in order; script n brings the store to version n."""
    folder = resources.files("benchstick.store") / "migrations"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return tuple((folder / name).read_text(encoding="utf-8") for name in names)


def schema() -> str:
    """The script that makes a new store of the last version."""
    return (resources.files("benchstick.store") / "schema.sql").read_text(encoding="utf-8")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """`BEGIN IMMEDIATE` to `COMMIT`; `ROLLBACK` on any error. Store errors become StoreFailed."""
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if not isinstance(error, sqlite3.OperationalError | sqlite3.IntegrityError):
            _forget_check(db)
        raise StoreFailed(f"the store failed: {error}") from error


def _text(data: bytes) -> str:
    # One damaged cell must not hide the other rows of a list.
    return data.decode("utf-8", "backslashreplace")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=30,
        isolation_level=None,
        check_same_thread=False,
    )
    db.row_factory = sqlite3.Row
    db.text_factory = _text
    db.execute("PRAGMA foreign_keys = ON")
    return db


def open_writer(home: Path) -> sqlite3.Connection:
    """Open the store for the bench's own processes; make it, migrate it or replace it as needed.

    A corrupt store is kept aside as `store.db.corrupt-<time>` and a fresh one created; stderr
    and an event report it. A store of a newer program is refused and left unchanged.
    """
    paths.make_home(home)
    path = home / FILE
    if path.is_symlink():
        raise StoreFailed(f"{path}: is a symbolic link; the store must be a file")
    try:
        try:
            db = _checked(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            db = _replace_corrupt(path, str(error))
        # Each time: the store may have been made before the bench's group was.
        _share(path)
        _migrate(db, path)
    except sqlite3.Error as error:
        raise StoreFailed(f"{path}: {error}") from error
    return db


def _checked(path: Path) -> sqlite3.Connection:
    db = _connect(path, "rwc")
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        _check(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    """sqlite3.DatabaseError when the store is damaged. It is read whole, which takes seconds where
    it is large; once that has been done since the machine was booted, for `CHECK_SECONDS`."""
    note = _note_of_check(path)
    has_note = note.exists()
    if has_note:
        end = time.monotonic() + CHECK_SECONDS
        db.set_progress_handler(lambda: time.monotonic() > end, CHECK_STEPS)
    try:
        answer = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if has_note and error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return
        raise
    finally:
        db.set_progress_handler(None, 0)
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)
    # Without it the next start reads all of it again.
    with contextlib.suppress(OSError):
        os.close(os.open(note, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))


def _note_of_check(path: Path) -> Path:
    """The stamp that this very file was checked since the machine was booted."""
    file_stat = path.stat()
    boot = BOOT_ID.read_text(encoding="ascii").strip()
    return paths.run_folder() / f"store-checked-{boot}-{file_stat.st_dev}-{file_stat.st_ino}"


def _forget_check(db: sqlite3.Connection) -> None:
    """The store turned out to be damaged: the next start is to read all of it."""
    with contextlib.suppress(OSError, sqlite3.Error):
        file = db.execute("PRAGMA database_list").fetchone()["file"]
        _note_of_check(Path(file)).unlink()


def _share(path: Path) -> None:
    """Let the bench's group write the store: the web process inserts its requests.

    The group may write to the folder, so a name in it may have become a link to another file of
    root's: only a plain file of one name is touched. `O_PATH`, because closing any other
    descriptor of the store would release SQLite's locks on it.
    """
    gid = paths.bench_group()
    if os.geteuid() != 0 or gid is None:
        return
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        try:
            fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            file_stat = os.fstat(fd)
            if stat.S_ISREG(file_stat.st_mode) and file_stat.st_nlink == 1:
                os.chown(f"/proc/self/fd/{fd}", -1, gid)
                Path(f"/proc/self/fd/{fd}").chmod(0o660)
        finally:
            os.close(fd)


def _replace_corrupt(path: Path, reason: str) -> sqlite3.Connection:
    stamp = utc_now().replace(":", "").replace("-", "")
    aside = Path(f"{path}.corrupt-{stamp}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        part = Path(f"{path}{suffix}")
        if part.exists():
            part.rename(f"{aside}{suffix}")
    text = f"the store was corrupt ({reason}): kept as {aside.name}, a fresh one started"
    print(f"benchstick: {text}", file=sys.stderr)
    db = _checked(path)
    _share(path)
    _migrate(db, path)
    with transaction(db):
        db.execute(
            "INSERT INTO events (run, t, utc, kind, text) VALUES (NULL, NULL, ?, 'store', ?)",
            (utc_now(), text),
        )
    return db


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    scripts = migrations()
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(scripts):
        db.close()
        raise StoreFailed(
            f"{path}: written by a newer Benchstick (store version {version}, this one knows "
            f"{len(scripts)}); update the program. The store is unchanged"
        )
    if 0 < version < len(scripts):
        _copy_aside(db, Path(f"{path}.v{version}"))
    if version == 0:
        bench = f"INSERT INTO meta (key, value) VALUES ('bench', '{uuid.uuid4()}');"
        _apply(db, f"{schema()}\n{bench}", len(scripts))
    elif version < len(scripts):
        _apply_from(db, version)


def _apply_from(db: sqlite3.Connection, version: int) -> None:
    """Apply the migrations after `version`."""
    scripts = migrations()
    # A migration may make a table again. With foreign keys on, dropping it would look at every row
    # that points to it: each sample of each run.
    db.execute("PRAGMA foreign_keys = OFF")
    db.create_function(
        "legacy_field",
        3,
        lambda name, unit, field: fields_of_name(name, unit)[field],
        deterministic=True,
    )
    db.create_function("rename_keys", 2, rename_in_text, deterministic=True)
    db.create_function(
        "with_celsius", 1, lambda text: text and with_celsius(text), deterministic=True
    )
    db.create_function(
        "with_step_fields",
        1,
        lambda text: json.dumps(with_step_fields(json.loads(text))),
        deterministic=True,
    )
    try:
        for number in range(version, len(scripts)):
            _apply(db, scripts[number], number + 1)
    finally:
        db.execute("PRAGMA foreign_keys = ON")


def _copy_aside(db: sqlite3.Connection, copy: Path) -> None:
    # The page's user may write to this folder: what lies there already is not written through.
    if copy.is_symlink() or copy.exists():
        raise StoreFailed(f"{copy}: is in the way of the copy made before a migration; move it")
    with contextlib.closing(sqlite3.connect(copy)) as other:
        db.backup(other)


def _apply(db: sqlite3.Connection, script: str, version: int) -> None:
    # executescript() commits on its own, so the script carries its transaction in its text.
    text = f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
    try:
        if int(db.execute("PRAGMA user_version").fetchone()[0]) >= version:
            return
        db.executescript(text)
    except sqlite3.OperationalError:
        if db.in_transaction:
            db.execute("ROLLBACK")
        # Another process may have migrated between the look and the lock.
        if int(db.execute("PRAGMA user_version").fetchone()[0]) < version:
            raise


def open_reader(home: Path) -> sqlite3.Connection:
    """Open the store to read only. StoreFailed when there is none or it cannot be read. One that
    another process is making just now is waited for; one of an older program is read through a
    migrated copy in memory, until a process that writes migrates it."""
    path = home / FILE
    db, version = None, 0
    try:
        if path.exists():
            db = _connect(path, "ro")
            version = _version_made(db)
    except (sqlite3.Error, OSError) as error:
        raise StoreFailed(f"{path}: {error}") from error
    if db is None or version == 0:
        if db is not None:
            db.close()
        raise NoStore(f"{path}: no store yet; run a suite first (benchstick run ...)")
    if version > len(migrations()):
        db.close()
        raise StoreFailed(f"{path}: written by a newer Benchstick; update the program")
    if version < len(migrations()):
        try:
            return _migrated_copy(db, version)
        except sqlite3.Error as error:
            raise StoreFailed(f"{path}: {error}") from error
    return db


def _migrated_copy(db: sqlite3.Connection, version: int) -> sqlite3.Connection:
    """A copy of an old store in memory, with the tables of this program. Closes `db`."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    copy.row_factory = sqlite3.Row
    with contextlib.closing(db):
        db.backup(copy)
    _apply_from(copy, version)
    copy.execute("PRAGMA query_only = ON")
    return copy


def _version_made(db: sqlite3.Connection) -> int:
    """The store's version; one that is being made is waited for, `MAKING_SECONDS` at most."""
    deadline = time.monotonic() + MAKING_SECONDS
    while not (version := int(db.execute("PRAGMA user_version").fetchone()[0])):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return version


def open_for_web(home: Path) -> sqlite3.Connection:
    """The web process's only writing connection: an authorizer lets it add requests and uploads;
    add, change and delete rows of the other WEB_TABLES; and nothing else."""
    path = home / FILE
    try:
        db = _connect(path, "rw")
    except sqlite3.Error as error:
        raise StoreFailed(f"{path}: {error}") from error
    db.set_authorizer(_authorize_web)
    return db


_READS = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})


def _authorize_web(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    if action in _READS:
        return sqlite3.SQLITE_OK
    if action in _WRITES and first in WEB_TABLES:
        # A request, once made, is the agent's: the web process may only add.
        if first in ("requests", "uploads") and action != sqlite3.SQLITE_INSERT:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
