"""Finds the drives: rescans sysfs, queries the drives in parallel, sets codes and guard states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchstick.drives import (
    ata,
    block_queue,
    in_use,
    loops,
    nvme,
    partition_table,
    sata,
    scsi,
    smart,
    subprocesses,
    temperature,
    usb,
)
from benchstick.drives.device_query import Asker, Query, ask_live
from benchstick.drives.guard_policy import LOCKED, PROTECTED, judge
from benchstick.drives.identify import NO_PASS_THROUGH, Identified, again, identify
from benchstick.drives.locks import Running, running
from benchstick.drives.partition_table import Contents
from benchstick.drives.sysfs import Tree, disk_names, diskseq, partition_names
from benchstick.drives.topology import Where, locate
from benchstick.drives.types import Drive, Fact, Guard, Identity
from benchstick.errors import BadInput
from benchstick.plan.states import GuardState

TEST_RUNS = "not asked while a test runs"
NOT_MEANT = "not looked at: another drive is meant"
# How often a drive is looked at when its medium changes during the look.
_LOOKS = 3
# Enough that a hanging drive does not delay the others, few enough that the tools do not run into
# their timeouts on a slow machine.
_WORKERS = 4
# Answers of quick scans, by disk: queried again only after a write to the disk.
_memory: dict[str, tuple[object, Asker]] = {}
PRACTICE_CODE = "practice"
# Not in a code: blanks, quotes, `$`, control characters, letters that look like others.
_UNSAFE = re.compile(r"[^A-Za-z0-9._:+-]")


@dataclass(frozen=True)
class _Scan:
    """What all drives of one scan share."""

    tree: Tree
    query: Query
    claims: in_use.Claims
    runs: tuple[Running, ...]
    hotplugs: frozenset[int]
    home: Path | None
    deep: bool
    skip: frozenset[str]
    brief: frozenset[str] = frozenset()


def scan(
    *,
    root: Path = Path("/"),
    deep: bool = True,
    labels: Mapping[str, str] | None = None,
    hotplugs: Collection[int] = (),
    home: Path | None = None,
    skip_queries: Collection[str] = (),
    identity_only: Collection[str] = (),
    query: Query = ask_live,
) -> list[Drive]:
    """The drives there are now, in the order of their kernel names.

    `root` is `/` or a recorded tree, with `query` answering for its tools. `deep` False leaves out
    SMART, NVMe and ATA commands (identity is then what the kernel knows; the guard is complete).
    `labels`: operator labels by `Identity.key()`. `hotplugs`: diskseqs that the running agent saw
    being plugged in. `home`: the bench's data folder, for the practice drive. `skip_queries`:
    kernel names of drives that must not be queried; drives that a run holds are found by their
    lock. `identity_only`: kernel names of drives whose identity alone is needed, as the codes of
    all others depend on it; their contents are not read. A hanging drive takes about 15 s at most,
    all drives at the same time. BadInput when no tool can be started at all.
    """
    if query is ask_live:
        # Otherwise each drive would be locked for this reason.
        subprocesses.require("setpriv")
    brief = frozenset(identity_only)
    of = frozenset(disk_names(Tree(root))) - brief if brief else None
    scan_data = _share(root, query, hotplugs, home, deep, skip_queries, of)
    scan_data = replace(scan_data, brief=brief)
    names = [name for name in disk_names(scan_data.tree) if _is_drive(scan_data, name)]
    with ThreadPoolExecutor(max_workers=_WORKERS) as pool:
        drives = [drive for drive in pool.map(lambda n: _look(scan_data, n), names) if drive]
    return _with_codes(drives, labels or {})


def _share(
    root: Path,
    query: Query,
    hotplugs: Collection[int],
    home: Path | None,
    deep: bool,
    skip: Collection[str],
    of: Collection[str] | None = None,
) -> _Scan:
    tree = Tree(root)
    runs = tuple(running()) if tree.live else ()
    claims = in_use.read(tree, of)
    return _Scan(tree, query, claims, runs, frozenset(hotplugs), home, deep, frozenset(skip))


def _is_drive(scan_data: _Scan, name: str) -> bool:
    return not name.startswith("loop") or loops.is_practice(scan_data.tree, name, scan_data.home)


def _look(scan_data: _Scan, name: str) -> Drive | None:
    """One drive, its code not yet unique. None when it disappeared during the scan.

    The kernel notices a new card when a card reader's node is first opened, so a scan of one drive
    can start on one medium and end on another. It is then repeated.
    """
    drive = None
    for _ in range(_LOOKS):
        drive = _look_once(scan_data, name)
        if drive is None or drive.medium is None or drive.medium.diskseq == drive.diskseq:
            return drive
        _memory.pop(name, None)
    if drive is None or drive.guard.state == PROTECTED:
        return drive
    return replace(drive, guard=Guard(LOCKED, "its medium changes while the bench looks at it"))


def _look_once(scan_data: _Scan, name: str) -> Drive | None:
    tree = scan_data.tree
    seq = diskseq(tree, name)
    run = _run_on(scan_data, name, seq)
    where = locate(tree, name, practice=loops.is_practice(tree, name, scan_data.home))
    reason = (
        TEST_RUNS if run is not None or name in scan_data.skip else _neighbour(scan_data, where)
    )
    # Behind USB the serial inside the bridge may be another than the kernel knows.
    tells = reason is None and name in scan_data.brief and where.usb is not None
    if reason is None and name in scan_data.brief:
        reason = NOT_MEANT
    look = (
        Asker(scan_data.query, reason) if scan_data.deep or reason else _remembered(scan_data, name)
    )
    ask = (
        look
        if scan_data.deep
        else Asker(scan_data.query, silent_why=reason or "not asked: quick look")
    )
    who = identify(tree, where, Asker(scan_data.query) if tells else ask)
    inside = partition_table.look(tree, name, look)
    # Before the facts are queried: only what the guard needs may count as unanswered.
    guard = judge(where, inside, scan_data.claims, look, seen_plugged=seq in scan_data.hotplugs)
    facts = _facts(scan_data, where, who, inside, ask)
    identity = who.identity
    if reason is not None:
        identity, guard, facts = _as_known(run, reason, identity, guard, facts)
    if not tree.exists(f"sys/block/{name}/dev"):
        return None
    return Drive(
        name=name,
        path=f"/dev/{name}",
        devno=tree.text(f"sys/block/{name}/dev") or "",
        diskseq=seq,
        code=PRACTICE_CODE if where.transport == "virtual" else "",
        identity=identity,
        guard=guard,
        facts=facts,
        medium=inside.medium,
    )


def _remembered(scan_data: _Scan, name: str) -> Asker:
    """Earlier answers of this disk, as long as its contents cannot have changed.

    Quick scans run every few seconds; without this they would keep every disk awake.
    """
    tree = scan_data.tree
    counts = (tree.text(f"sys/block/{name}/stat") or "").split()
    # Fields 5 to 7 and 12 to 14 of stat: writes and discards.
    key = (
        tree.root, scan_data.query, diskseq(tree, name), counts[4:7], counts[11:14],
        partition_names(tree, name), sorted(scan_data.claims.reasons.get(name, [])),
    )  # fmt: skip
    old = _memory.get(name)
    if old is not None and old[0] == key and old[1].silent_why is None:
        return old[1]
    asker = Asker(scan_data.query)
    _memory[name] = (key, asker)
    return asker


def _run_on(scan_data: _Scan, name: str, seq: int | None) -> Running | None:
    return next((r for r in scan_data.runs if r.name == name and r.diskseq == seq), None)


def _neighbour(scan_data: _Scan, where: Where) -> str | None:
    """Drives of one enclosure share its bridge: while one is timed, the others are not queried."""
    if where.usb is None:
        return None
    for run in scan_data.runs:
        if run.name != where.name and locate(scan_data.tree, run.name).usb == where.usb:
            return f"not asked while a test runs on {run.name} in the same enclosure"
    return None


def _as_known(
    run: Running | None, reason: str, identity: Identity, guard: Guard, facts: dict[str, Fact]
) -> tuple[Identity, Guard, dict[str, Fact]]:
    """For a drive that must not be queried: what its runner recorded at the start."""
    if guard.state != PROTECTED:
        guard = Guard(LOCKED, reason)
    if run is None:
        return identity, guard, facts
    fields = run.content.get("identity")
    if isinstance(fields, dict):
        identity = identity_from_json(fields, identity)
        for name in ("serial", "model"):
            value = getattr(identity, name)
            if value is not None:
                facts[name] = Fact(value, source="read before the run started")
    before = run.content.get("guard")
    before = before if isinstance(before, dict) else {}
    if guard.state == LOCKED and before.get("state") in tuple(GuardState):
        guard = Guard(
            GuardState(before["state"]), f"a run is on; before it: {before.get('reason')}"
        )
    return identity, guard, facts


def identity_from_json(fields: Mapping[str, Any], fallback: Identity) -> Identity:
    """The identity inside `Identity.to_json()`; fields that are missing from `fallback`."""
    names = ("serial", "model", "bridge", "bridge_serial", "capacity", "port", "lun")
    return replace(fallback, **{name: fields[name] for name in names if name in fields})


def _facts(
    scan_data: _Scan, where: Where, who: Identified, inside: Contents, ask: Asker
) -> dict[str, Fact]:
    tree, name = scan_data.tree, where.name
    log = Asker(scan_data.query)
    bridge_why = _no_words_why(where, who)
    smart_facts = smart.facts(who.smart)
    facts: dict[str, Fact] = {
        "transport": Fact(where.transport, source="sysfs path and driver"),
        "external": Fact(where.external, source=where.external_why),
        "vendor": who.vendor,
        "model": who.model,
        "serial": who.serial,
        "firmware": who.firmware,
        "capacity": Fact(who.identity.capacity, "B", "sysfs size"),
        "port": Fact(where.port, source="sysfs path"),
        "lun": Fact(where.lun, source="SCSI address or namespace"),
        "driver": (
            Fact(where.driver, source="sysfs driver link")
            if where.driver
            else Fact.unknown("no driver of a bus")
        ),
    }
    facts |= usb.facts(tree, where, ask, log)
    facts |= sata.facts(tree, where, who.words, bridge_why)
    facts |= sata.pcie(tree, where.pci[-1] if where.transport == "nvme" and where.pci else None)
    facts |= block_queue.facts(tree, where)
    facts |= ata.feature_facts(who.words, bridge_why)
    facts |= _by_transport(tree, where, who, ask, facts)
    facts |= smart_facts
    facts["temperature"] = temperature.ask_temperature(tree, where, ask, who.smart)
    text = inside.describe()
    facts["contents"] = (
        Fact.unknown(inside.doubts[0]) if text is None else Fact(text, source="sfdisk, blkid")
    )
    facts["filesystems"] = _filesystems(inside, where, who, scan_data.claims)
    points = [m.point for m in scan_data.claims.mounts.get(name, [])]
    facts["mounted"] = Fact(list(dict.fromkeys(points)), source="mountinfo")
    if where.scsi is not None and facts["rotational"].value is True:
        facts["rotational"] = _rotation(tree, where, who)
    return facts


def _rotation(tree: Tree, where: Where, who: Identified) -> Fact:
    """The kernel treats a SCSI disk as rotating unless the disk reports otherwise."""
    if who.words and (turning := ata.rotational(who.words)) is not None:
        return Fact(turning, source=f"{who.words.source}, word 217")
    if (turning := scsi.rotation(tree, where.name)) is not None:
        return Fact(turning, source="VPD B1h")
    return Fact.unknown("the drive does not report its rotation rate (the kernel assumes a disk)")


def _no_words_why(where: Where, who: Identified) -> str:
    """Why ATA facts are not available."""
    if who.words:
        return ""
    if where.usb is not None and who.words.reason == "no ATA pass-through":
        return NO_PASS_THROUGH
    return who.words.reason


def _by_transport(
    tree: Tree, where: Where, who: Identified, ask: Asker, facts: dict[str, Fact]
) -> dict[str, Fact]:
    """TRIM, write cache, provisioning: the source depends on the transport."""
    mode = scsi.provisioning_mode(tree, where)
    if where.transport == "nvme":
        return {**nvme.facts(tree, ask, where.name), "provisioning_mode": mode}
    own: dict[str, Fact] = {"provisioning_mode": mode}
    if where.transport == "sata":
        own["trim"] = facts["trim_drive"]
    elif where.scsi is not None:
        own["trim"] = scsi.trim(tree, where, ask)
    else:
        hardware = tree.number(f"sys/block/{where.name}/queue/discard_max_hw_bytes")
        own["trim"] = (
            Fact.unknown("the kernel does not report it")
            if hardware is None
            else Fact(hardware > 0, source="sysfs discard_max_hw_bytes")
        )
    if facts["write_cache"].value is None:
        own["write_cache"] = block_queue.kernel_write_cache(tree, where)
    if who.smart.is_nvme:
        behind = "an NVMe drive is behind this bridge"
        own |= {n: Fact.unknown(f"{behind}: {nvme.NOT_ATA}") for n in ("ncq", "apm", "devsleep")}
        own["smart"] = Fact("supported", source=f"smartctl -d {who.smart.kind}")
    return own


def _filesystems(inside: Contents, where: Where, who: Identified, claims: in_use.Claims) -> Fact:
    if inside.doubts and not inside.partitions and not inside.whole.type:
        return Fact.unknown(inside.doubts[0])
    points = {mount.source: mount.point for mount in claims.mounts.get(where.name, [])}
    rows = []
    for row in inside.filesystems():
        if not row["size"]:
            row |= {"path": f"/dev/{where.name}", "size": who.identity.capacity}
        source = str(row["path"] or "").removeprefix("/dev/")
        rows.append({**row, "mounted": points.get(source)})
    return Fact(rows, source="sfdisk, blkid")


def _with_codes(drives: Sequence[Drive], labels: Mapping[str, str]) -> list[Drive]:
    """Give each drive its code: the serial where it is unique and safe to type, else its place."""
    count = Counter(drive.identity.serial for drive in drives)
    used_codes: set[str] = {PRACTICE_CODE}
    coded_drives = []
    for drive in drives:
        code = drive.code
        if not code:
            code = _code(drive, count)
            if code in used_codes:
                # Two drives in one place by the kernel's paths: add the device number.
                code = f"{_place(drive.identity)}@{drive.devno}"
            used_codes.add(code)
        coded_drives.append(replace(drive, code=code, label=labels.get(drive.identity.key())))
    return coded_drives


def _place(identity: Identity) -> str:
    """The code of a place. A kernel name may have characters that a shell interprets."""
    return f"port:{_UNSAFE.sub('_', identity.port)}:{identity.lun}"


def _code(drive: Drive, count: Mapping[str | None, int]) -> str:
    serial = drive.identity.serial
    if serial is not None and count[serial] == 1 and _is_code(serial):
        return serial
    return _place(drive.identity)


def _is_code(serial: str) -> bool:
    """Whether a serial can be a code: typed, pasted into any shell, used in TOML and addresses
    without quotes, and not taken for an option."""
    begins_well = serial[:1].isalnum() and not serial.startswith("port:")
    return begins_well and _UNSAFE.search(serial) is None


def code_of(code: str | None, selector: str, drive: Drive) -> str | None:
    """The drive's current code for what was typed as its code.

    Before codes were shell-safe, every serial was one: stored requests and scripts that select a
    drive by its serial and confirm with that serial mean the drive that `selector` selects.
    """
    serial = drive.identity.serial
    if code is not None and serial and code == selector == serial and not _is_code(serial):
        return drive.code
    return code


def reidentify(
    drive: Drive,
    *,
    query: Query = ask_live,
    hotplugs: Collection[int] = (),
    home: Path | None = None,
    ignore_run: bool = False,
) -> Drive | None:
    """A fresh look at the disk that now has the drive's kernel name; None when there is none.

    Identity, diskseq and guard are new, the other facts those of `drive`. It may be another
    drive: compare `identity` and `diskseq`. `ignore_run`: query it although a run holds it, for
    the runner itself.
    """
    scan_data = _share(Path("/"), query, hotplugs, home, True, (), of={drive.name})
    if ignore_run:
        scan_data = replace(scan_data, runs=())
    tree, name = scan_data.tree, drive.name
    seq = diskseq(tree, name)
    if name not in disk_names(tree) or not _is_drive(scan_data, name):
        return None
    if _run_on(scan_data, name, seq) is not None:
        fresh = _look(scan_data, name)
        return None if fresh is None else replace(fresh, code=drive.code, label=drive.label)
    look = Asker(query)
    where = locate(tree, name, practice=loops.is_practice(tree, name, home))
    identity, asker = again(tree, where, drive, query)
    if asker.silent_why is not None:
        look = asker
    inside = partition_table.look(tree, name, look)
    guard = judge(where, inside, scan_data.claims, look, seen_plugged=seq in scan_data.hotplugs)
    devno = tree.text(f"sys/block/{name}/dev")
    if devno is None:
        return None
    # The look itself makes the kernel notice a new medium.
    seq = diskseq(tree, name)
    return replace(
        drive, devno=devno, diskseq=seq, identity=identity, guard=guard, medium=inside.medium
    )


def resolve(
    selector: str, drives: Sequence[Drive], labels: Mapping[str, str] | None = None
) -> Drive:
    """The one drive that `selector` selects: /dev path, code, label, port path, or `practice`.

    BadInput when it matches none (lists the drives) or several (lists their codes). `labels` by
    `Identity.key()`: for drives that were scanned without labels.
    """
    text = selector.strip()
    if text.startswith("/dev/"):
        return _by_path(text, drives)
    label_map = labels or {}
    matches = [
        drive
        for drive in drives
        if text
        in {
            drive.code,
            drive.label or label_map.get(drive.identity.key()),
            drive.identity.serial,
            drive.identity.port,
            _place(drive.identity),
            f"port:{drive.identity.port}:{drive.identity.lun}",
        }
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        exact = [drive for drive in matches if drive.code == text and drive.label != text]
        if len(exact) == 1 and all(text != d.label for d in matches):
            return exact[0]
        names = ", ".join(f"{drive.code} ({drive.path})" for drive in matches)
        raise BadInput(f"{text!r} names {len(matches)} drives: use one of {names}", field="drive")
    raise BadInput(f"no drive {text!r}: {_there_are(drives)}", field="drive")


def _by_path(text: str, drives: Sequence[Drive]) -> Drive:
    try:
        real = Path(text).resolve()
        # Checked here, for a clear error about a name that no file can have.
        real.exists()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"{text[:60]}: {reason}: {_there_are(drives)}", field="drive") from None
    for drive in drives:
        if str(real) == drive.path or text == drive.path:
            return drive
    here = Path("/sys/class/block") / real.name
    if (here / "partition").exists():
        disk = here.resolve().parent.name
        raise BadInput(f"{text} is a partition: name its drive, /dev/{disk}", field="drive")
    if real.name.startswith("loop"):
        raise BadInput(
            f"{text} is a loop device: of those the bench takes only its own, named practice",
            field="drive",
        )
    raise BadInput(f"no drive {text}: {_there_are(drives)}", field="drive")


def _there_are(drives: Sequence[Drive]) -> str:
    if not drives:
        return "no drives are plugged in"
    return "there are " + ", ".join(f"{drive.code} ({drive.path})" for drive in drives)
