"""Whether a drive may be written, by the rules of docs/guard.md.

Protected overrides locked, locked overrides free. Whatever is unknown locks the drive. A drive
that did not answer in time is locked, and no code unlocks it: it is checked again (`retry`).
"""

from __future__ import annotations

from benchstick.drives import os_detection, twins
from benchstick.drives.device_query import NOT_ANSWERING, Asker
from benchstick.drives.in_use import STICK_PARTUUIDS, Claims
from benchstick.drives.partition_table import Contents
from benchstick.drives.topology import Where
from benchstick.drives.types import Guard
from benchstick.plan.states import GuardState

FREE, LOCKED, PROTECTED = GuardState
STICK_WHY = "is the stick's own"
# More reasons than these do not help.
_MOST_REASONS = 4


def judge(
    where: Where,
    contents: Contents,
    claims: Claims,
    ask: Asker,
    *,
    seen_plugged: bool,
) -> Guard:
    """The guard state of a drive, with a sentence that states why.

    `seen_plugged`: the running agent saw this very disk (by diskseq) being plugged in.
    """
    protection_reasons = protections(where.name, contents, claims)
    if not protection_reasons:
        protection_reasons = twins.reasons(
            where.name, claims.twins.get(where.name, ()), claims, ask
        )
    if protection_reasons:
        return Guard(PROTECTED, _sentence(protection_reasons))
    if where.transport == "virtual":
        # Its contents are the bench's own; its users were checked above.
        return Guard(FREE, "the practice drive, a file in the bench's own folder")
    lock_reasons = []
    if not where.external and not seen_plugged:
        lock_reasons.append(f"internal ({where.external_why}), and nobody saw it being plugged in")
    lock_reasons += claims.readers.get(where.name, [])
    lock_reasons += claims.doubts
    lock_reasons += os_detection.findings(contents, where.name, ask)
    if ask.timed_out:
        # Its contents are unknown: a code cannot replace a pending answer.
        return Guard(LOCKED, f"{NOT_ANSWERING}: {ask.silent_why}", retry=True)
    if lock_reasons:
        return Guard(LOCKED, _sentence(lock_reasons))
    how = where.external_why if where.external else "it was plugged in while the agent was running"
    return Guard(FREE, f"{how}; not in use, and no system found on it")


def is_stick(contents: Contents) -> bool:
    """Whether it has a bench stick's own partition UUIDs."""
    return any(part.partuuid.lower() in STICK_PARTUUIDS for part in contents.partitions)


def protections(
    name: str, contents: Contents, claims: Claims, *, but_stick: bool = False
) -> list[str]:
    """Why the drive is protected; empty when it is not.

    `but_stick` leaves out that it is a bench stick: for the one program that writes those.
    """
    reasons = list(claims.reasons.get(name, []))
    for part in contents.partitions:
        ids = {part.partuuid.lower(), part.signature.uuid.lower()} - {""}
        if ids & STICK_PARTUUIDS and not but_stick:
            reasons.append(f"partition {part.number} {STICK_WHY}")
        elif ids & claims.boot_ids:
            reasons.append(f"the system was booted from partition {part.number}")
    if contents.whole.uuid and contents.whole.uuid.lower() in claims.boot_ids:
        reasons.append("the system was booted from it")
    # The bench's own mount makes the drive busy too; only it may.
    if contents.exclusive == "busy" and not reasons and not claims.own_mounts(name):
        reasons.append("the kernel holds it for exclusive use (mounted elsewhere, RAID, ZFS or dm)")
    return list(dict.fromkeys(reasons))


def _sentence(reasons: list[str]) -> str:
    text = "; ".join(reasons[:_MOST_REASONS])
    more = len(reasons) - _MOST_REASONS
    return f"{text}; and {more} more reasons" if more > 0 else text
