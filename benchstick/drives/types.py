"""Types of what the bench knows about a drive. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.drives import bottlenecks
from benchstick.drives.medium import Token
from benchstick.plan.drive_key import DriveKey, drive_key
from benchstick.plan.states import GuardState

TRANSPORTS = (
    "sata", "usb-uas", "usb-bot", "nvme", "scsi", "mmc", "virtio", "virtual", "other",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One thing known about a drive, with its source; or not known, with the reason.

    `value` is None exactly when `reason` has the reason. `unit` is the unit of `value` (`"Mb/s"`,
    `"B"`, `"°C"`), or None where it has none.
    """

    value: Any = None
    unit: str | None = None
    source: str = ""
    reason: str | None = None

    @staticmethod
    def unknown(reason: str) -> Fact:
        """A fact that is not available; `reason` is shown to the user."""
        return Fact(reason=reason)

    def to_json(self) -> dict[str, Any]:
        if self.value is None:
            return {"value": None, "reason": self.reason or "not reported"}
        return {"value": self.value, "unit": self.unit, "source": self.source}


@dataclass(frozen=True)
class Identity:
    """A drive's identity, across resets and renames.

    `serial` and `model` are those inside the bridge where they can be read, else the bridge's.
    `port` is the USB port path (`2-1.3`), SATA port (`ata3`), PCI address or host path; `lun` the
    SCSI LUN (0 where there is none). Bridges share serials and some drives have none, so no
    single field is a key: `matches` compares all.
    """

    serial: str | None
    model: str
    bridge: str | None
    bridge_serial: str | None
    capacity: int
    port: str
    lun: int

    def matches(self, other: Identity) -> bool:
        """True when the two are the same drive in the same place."""
        return self == other

    def key(self) -> DriveKey:
        """The key of labels and history."""
        return drive_key(self.serial, self.model, self.capacity, self.port, self.lun)

    def to_json(self) -> dict[str, Any]:
        return {
            "serial": self.serial,
            "model": self.model,
            "bridge": self.bridge,
            "bridge_serial": self.bridge_serial,
            "capacity": self.capacity,
            "port": self.port,
            "lun": self.lun,
            "drive_key": self.key(),
        }


@dataclass(frozen=True)
class Guard:
    """Whether a drive may be written; `reason` is the reason. `retry`: it is locked only until it
    answers; no code unlocks it before."""

    state: GuardState
    reason: str
    retry: bool = False

    def to_json(self) -> dict[str, Any]:
        state: dict[str, Any] = {"state": self.state, "reason": self.reason}
        return {**state, "retry": True} if self.retry else state


@dataclass(frozen=True)
class Drive:
    """One drive of a scan: current names, identity, guard state and facts.

    `name` is the kernel's (`sda`), `path` its node, `diskseq` the kernel's count of disks, which
    changes when a drive is replugged (None on kernels before 5.15). `medium` is the token
    of the medium in it (None where it was not looked at). `facts` holds the facts by name;
    `transport` and `external` are always among them.
    """

    name: str
    path: str
    devno: str
    diskseq: int | None
    code: str
    identity: Identity
    guard: Guard
    facts: Mapping[str, Fact] = field(default_factory=dict)
    label: str | None = None
    medium: Token | None = None

    @property
    def transport(self) -> str:
        return str(self.facts["transport"].value)

    @property
    def is_practice(self) -> bool:
        return self.transport == "virtual"

    def value(self, name: str, default: Any = None) -> Any:
        """The value of fact `name`, or `default` where it is not known."""
        fact = self.facts.get(name)
        return default if fact is None or fact.value is None else fact.value

    def to_json(self) -> dict[str, Any]:
        """One entry of `drives` in the `benchstick/drives/2` document."""
        return {
            "code": self.code,
            "label": self.label,
            "name": self.name,
            "path": self.path,
            "diskseq": self.diskseq,
            "medium": None if self.medium is None else self.medium.text,
            "identity": self.identity.to_json(),
            "guard": self.guard.to_json(),
            "bottlenecks": [item.to_json() for item in bottlenecks.find_worse(self.value)],
            **{name: fact.to_json() for name, fact in self.facts.items()},
        }
