"""The erase methods: which a drive supports, and why not the others. Pure functions of facts.

Methods and their traps: docs/methods/erase.md. The methods are in order of how much of the medium
they reach; `auto` takes the first that the drive supports. On a fresh drive no block is in use: an
overwrite does the opposite on flash, and is last.

The certificate quotes the standards only as far as they were read. NVM Express base specification
2.0 and ACS-4 name the commands. NIST SP 800-88 Rev. 1 (2014, withdrawn in September
2025) is known from quotations of its tables A-5 and A-8 for ATA drives, and Rev. 2 from quotations
of its sections 3.1 and 4.5 [web]; IEEE 2883, to which Rev. 2 refers, was not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.drives.sanitize_commands import ATA_PASSWORD
from benchstick.errors import BadInput
from benchstick.plan.states import SanitizeState

Facts = Mapping[str, Any]
AUTO, RESUME, NONE = "auto", "resume", "none"
# The state of a drive that was not purged, as results have it.
AS_FOUND = "as found, not purged"
# The fact under which the bench's own store adds an unfinished purge.
UNFINISHED = "unfinished_purge"

FROZEN = (
    "the firmware froze the drive's security when the machine started: suspend the machine and "
    "wake it, or pull the drive's power plug and put it back while the machine runs, then try again"
)
BEHIND_BRIDGE = (
    "not sent through a USB bridge: this has bricked drives; connect the drive to a SATA port"
)
# For a locked drive that is not in this bench's store: the store may be lost.
_OF_ANOTHER_STORE = f"the password that Benchstick sets is {ATA_PASSWORD}"
_R2 = (
    "NIST SP 800-88 Rev. 2 counts it among dedicated sanitize commands and leaves to IEEE 2883 "
    "which are acceptable; Benchstick was not checked against IEEE 2883"
)
_R1 = "NIST SP 800-88 Rev. 1 (2014, withdrawn 2025)"


@dataclass(frozen=True)
class Rung:
    """One erase method. `title` is its name in results, `standard` the command's name in its
    standard, `limit` what it does not reach. `stoppable`: it can be stopped in the middle.
    `fresh`: no block is in use after it. `tool` is the program that runs it."""

    name: str
    title: str
    standard: str
    limit: str
    tool: str
    stoppable: bool = False
    fresh: bool = True


_FIRMWARE = "the drive's firmware did it, and its word was taken for what no host can read"
LADDER = (
    Rung("sanitize-block", "NVMe Sanitize, block erase",
         "NVM Express, Sanitize command, Block Erase", _FIRMWARE, "nvme"),
    Rung("sanitize-crypto", "NVMe Sanitize, crypto erase",
         "NVM Express, Sanitize command, Crypto Erase",
         f"{_FIRMWARE}; the data stay as cipher text without their key", "nvme"),
    Rung("format", "NVMe Format, user data erase",
         "NVM Express, Format NVM command, User Data Erase", _FIRMWARE, "nvme"),
    Rung("format-crypto", "NVMe Format, cryptographic erase",
         "NVM Express, Format NVM command, Cryptographic Erase",
         f"{_FIRMWARE}; the data stay as cipher text without their key", "nvme"),
    Rung("security-erase", "ATA security erase",
         "ATA (ACS), SECURITY ERASE UNIT, normal mode",
         f"{_FIRMWARE}; reallocated sectors need not be erased in the normal mode", "hdparm"),
    Rung("security-erase-enhanced", "ATA security erase, enhanced",
         "ATA (ACS), SECURITY ERASE UNIT, enhanced mode", _FIRMWARE, "hdparm"),
    Rung("discard", "discard of all blocks",
         "none: a discard marks blocks as not needed, and is no secure erase",
         "the drive may keep the data for as long as it likes, and give them back", "blkdiscard",
         stoppable=True),
    Rung("overwrite", "one overwrite of all blocks with random data, all read back",
         "one overwrite of every block that the host can address",
         "blocks that the drive holds back (spare, reallocated, worn) are not reached", "fio",
         stoppable=True, fresh=False),
)  # fmt: skip
NAMES = tuple(rung.name for rung in LADDER)
_BY_NAME = {rung.name: rung for rung in LADDER}


def find(name: str) -> Rung:
    """The erase method called `name`. BadInput when there is none."""
    if name not in _BY_NAME:
        raise BadInput(f"no erase method {name!r}; available: {', '.join(NAMES)}", field="rung")
    return _BY_NAME[name]


def nist(name: str, *, rotational: bool | None) -> str:
    """What NIST SP 800-88 states about the method, as far as it was read; see above."""
    if name.startswith("sanitize"):
        return _R2
    if name == "overwrite":
        return f"{_R1} calls an overwrite of an ATA drive Clear"
    if name.startswith("security"):
        if rotational is False:
            return f"{_R1} calls it Clear on flash"
        if rotational and name.endswith("enhanced"):
            return f"{_R1} lists it under Purge for ATA hard disks; Rev. 2 does not name it"
        return "Rev. 2 of NIST SP 800-88 does not name it"
    if name.startswith("format"):
        return "not judged: what NIST SP 800-88 says of it was not read"
    return "not among the techniques that were read of NIST SP 800-88"


@dataclass(frozen=True)
class Offer:
    """An erase method on one drive: `why_not` is None when the drive supports it. Seconds and bytes
    are estimates."""

    rung: Rung
    why_not: str | None
    seconds: float = 0.0
    bytes_written: int = 0
    bytes_read: int = 0


def offers(drive: Facts, speed: float) -> list[Offer]:
    """Every erase method in order, for a drive's JSON; `speed` is bytes a second."""
    return [_offer(rung, drive, speed) for rung in LADDER]


def choose(drive: Facts, rung_name: str, speed: float, field: str = "rung") -> Offer:
    """The offer for `rung_name`: a method's name, or `auto` for the first that is supported.

    BadInput with the reason when the drive does not support it; `field` is the parameter's name.
    """
    every = offers(drive, speed)
    if rung_name == AUTO:
        choice = next((offer for offer in every if offer.why_not is None), None)
        if choice is None:
            reasons = "; ".join(f"{offer.rung.name}: {offer.why_not}" for offer in every)
            raise BadInput(f"{field}: this drive offers none ({reasons})", field=field)
        return choice
    choice = next(offer for offer in every if offer.rung is find(rung_name))
    if choice.why_not is not None:
        raise BadInput(f"{field} {rung_name}: {choice.why_not}", field=field)
    return choice


def choose_fresh(drive: Facts, speed: float) -> Offer | None:
    """The first offer that leaves the drive fresh and sets no password: a test may use it by
    default. None where there is none."""
    return next(
        (
            offer
            for offer in offers(drive, speed)
            if offer.why_not is None and offer.rung.fresh and offer.rung.tool != "hdparm"
        ),
        None,
    )


def state_after(name: str) -> str:
    """The state in which the method called `name` leaves a drive, as results have it."""
    rung = find(name)
    return f"purged by {rung.title}" + ("" if rung.fresh else "; no fresh drive, all is in use")


def not_proved(state: str, reason: str) -> str:
    """`state` of a drive that still had marks after the purge."""
    return f"{state}, not proved ({reason})"


def never_on(rung: Rung, drive: Facts) -> str | None:
    """Why the method must not be used on this drive in any state; None when it may.

    For the cases that `choose` does not cover: a purge that continues, whose drive may be on
    another port now, and the moment before the command.
    """
    if rung.tool == "hdparm":
        return _no_sata(drive)
    if rung.tool == "nvme":
        return _no_nvme(rung.name, drive)
    return _no_discard(drive) if rung.tool == "blkdiscard" else None


def is_locked(drive: Facts) -> bool:
    """Whether an ATA password keeps the drive from reads and writes."""
    return "locked" in _security(drive)


def is_frozen(drive: Facts) -> bool:
    """Whether the drive takes no security command until its power was off."""
    return "frozen" in _security(drive)


def _security(drive: Facts) -> list[str]:
    return str(value(drive, "security") or "").split(", ")


def sanitize_failed(drive: Facts) -> bool:
    """Whether a failed sanitize keeps the drive from reads and writes."""
    return bool(value(drive, "sanitize_state") == SanitizeState.FAILED)


def unusable(drive: Facts) -> str | None:
    """Why no other test can run on the drive as it is now; None when one can."""
    state = str(value(drive, "sanitize_state") or "")
    if state == SanitizeState.RUNNING:
        return (
            "the drive is being sanitized and takes no reads or writes until that is done; "
            "follow it with: benchstick run erase --param rung=resume"
        )
    if sanitize_failed(drive):
        return (
            "the last sanitize of the drive failed, and it takes no reads or writes until one "
            "succeeds or the failure is cleared: benchstick purges --undo"
        )
    if is_locked(drive):
        return (
            "the drive is locked with an ATA password: benchstick purges shows whether this bench "
            f"set it; {_OF_ANOTHER_STORE}"
        )
    return None


def value(drive: Facts, name: str) -> Any:
    """The value of a fact in a drive's JSON, None where it is not known."""
    fact = drive.get(name)
    return fact.get("value") if isinstance(fact, Mapping) else None


def _why(drive: Facts, name: str) -> str:
    fact = drive.get(name)
    reason = fact.get("reason") if isinstance(fact, Mapping) else None
    return str(reason or "the drive does not report it")


def _offer(rung: Rung, drive: Facts, speed: float) -> Offer:
    capacity = int(drive["identity"]["capacity"])
    if rung.name == "overwrite":
        # Written once and read once; reads are no slower.
        return Offer(rung, None, 2 * capacity / speed, capacity, capacity)
    if rung.name == "discard":
        return Offer(rung, _no_discard(drive), 5 + capacity / 50e9)
    if rung.tool == "nvme":
        reason = _no_nvme(rung.name, drive)
        return Offer(rung, reason, _nvme_seconds(rung.name, drive))
    return Offer(rung, _no_security(rung.name, drive), _ata_seconds(rung.name, drive, speed))


def _no_discard(drive: Facts) -> str | None:
    most = value(drive, "trim_kernel")
    if most:
        return None
    if value(drive, "trim"):
        return "the drive takes TRIM, but the kernel does not send it: discard_max_bytes is 0"
    return "TRIM: the drive or its bridge reports none"


def _no_nvme(name: str, drive: Facts) -> str | None:
    if value(drive, "transport") != "nvme":
        return "an NVMe command; the kernel does not reach an NVMe controller here"
    if name.startswith("sanitize"):
        action = "block erase" if name == "sanitize-block" else "crypto erase"
        return _not_among(drive, "sanitize", action, "Sanitize") or _shared(drive, True)
    action = "user data erase" if name == "format" else "crypto erase"
    whole = value(drive, "format_scope") != "this namespace"
    return _not_among(drive, "format", action, "Format") or _shared(drive, whole)


def _not_among(drive: Facts, fact: str, action: str, command: str) -> str | None:
    actions = value(drive, fact)
    if actions is None:
        return f"what the drive's {command} can do is not known: {_why(drive, fact)}"
    if action in actions:
        return None
    source = drive[fact].get("source")
    return f"the drive's {command} has no {action} ({source})"


def _shared(drive: Facts, whole: bool) -> str | None:
    """A command for the whole drive would also erase namespaces that were not chosen."""
    count = value(drive, "namespaces")
    if not whole or count == 1:
        return None
    if count is None:
        reason = _why(drive, "namespaces")
        return f"it erases every namespace, and how many there are is not known: {reason}"
    return f"it erases all {count} namespaces of the drive, and only this one was chosen"


def _nvme_seconds(name: str, drive: Facts) -> float:
    fact = {"sanitize-block": "sanitize_block_time", "sanitize-crypto": "sanitize_crypto_time"}
    seconds = value(drive, fact.get(name, ""))
    # What consumer drives take, for those that report nothing.
    return float(seconds) if seconds else {"sanitize-block": 120.0, "format": 60.0}.get(name, 20.0)


def _no_sata(drive: Facts) -> str | None:
    transport = value(drive, "transport")
    if str(transport).startswith("usb"):
        return BEHIND_BRIDGE
    return None if transport == "sata" else "an ATA command; this is no SATA drive"


def _no_security(name: str, drive: Facts) -> str | None:
    reason = _no_sata(drive)
    if reason is not None:
        return reason
    support = value(drive, "security_erase")
    if support is None:
        return f"what the drive's security can do is not known: {_why(drive, 'security_erase')}"
    if support == "not supported":
        return "the drive has no ATA security feature set"
    if name.endswith("enhanced") and "enhanced" not in support:
        return "the drive has no enhanced security erase"
    return password_or_frozen("enabled" in _security(drive), is_locked(drive), is_frozen(drive))


def password_or_frozen(is_enabled: bool, is_locked: bool, is_frozen: bool) -> str | None:
    """Why a security erase cannot start in this state; None when it can."""
    if is_locked or is_enabled:
        how = "locked with" if is_locked else "protected by"
        return (
            f"the drive is {how} an ATA password; benchstick purges shows whether this bench set "
            f"it; {_OF_ANOTHER_STORE}"
        )
    return FROZEN if is_frozen else None


def _ata_seconds(name: str, drive: Facts, speed: float) -> float:
    fact = "erase_time_enhanced" if name.endswith("enhanced") else "erase_time"
    minutes = value(drive, fact)
    if minutes:
        return 60.0 * float(minutes)
    # A disk writes every sector; flash is erased in a minute or two.
    whole = int(drive["identity"]["capacity"]) / speed
    return whole if value(drive, "rotational") else 120.0
