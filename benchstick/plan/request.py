"""A request for one run: the same object from the command line, page, API, queue and recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.errors import BadInput

# What each run of a queue has of its own; drive, codes and identity hold for all.
OWN = ("suite", "params", "target", "fs", "scale")
_TEXTS = ("target", "fs", "erase", "unlock", "medium")


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What is to run on which drive, before anything is checked or looked up.

    `drive` is a selector, of the page always a code. `params` holds what differs from the suite's
    defaults. `erase` and `unlock` are the codes as typed. `drive_key`, `diskseq` and `medium`:
    the drive and its medium as they were shown when they were chosen; None where nobody chose
    beforehand. The bench itself sets the rest: `number` of the request in the store,
    `own_folders`: it may name folders of this machine; `follows`: a run of the same queue has
    ended on the drive, so that a drive that is not there has gone away.
    """

    suite: str
    drive: str
    params: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    fs: str | None = None
    scale: float | None = None
    erase: str | None = None
    unlock: str | None = None
    drive_key: str | None = None
    diskseq: int | None = None
    medium: str | None = None
    number: int | None = None
    own_folders: bool = True
    follows: bool = False

    def to_json(self, drive: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the request to the agent, with the identity of the drive as it was shown."""
        return {
            "suite": self.suite,
            "drive": drive["code"],
            "drive_key": drive["identity"]["drive_key"],
            "diskseq": drive.get("diskseq"),
            "medium": self.medium or drive.get("medium"),
            "params": dict(self.params),
            "target": self.target,
            "fs": self.fs,
            "scale": self.scale,
            "erase": self.erase,
            "unlock": self.unlock,
        }

    @staticmethod
    def from_json(number: int, body: object) -> RunRequest:
        """The request of a body in the store. BadInput naming the field that is wrong."""
        if not isinstance(body, dict):
            raise BadInput("the request is not an object")
        for name in ("suite", "drive"):
            if not isinstance(body.get(name), str) or not body[name]:
                raise BadInput(f"{name}: is missing", field=name)
        for name in _TEXTS:
            if body.get(name) is not None and not isinstance(body[name], str):
                raise BadInput(f"{name}: must be a text", field=name)
        params = body.get("params") or {}
        if not isinstance(params, dict) or not all(isinstance(v, str) for v in params.values()):
            raise BadInput("params: must be an object of texts", field="params")
        # Without these a code could come to mean another drive.
        key, diskseq = body.get("drive_key"), body.get("diskseq")
        if not isinstance(key, str) or not (diskseq is None or isinstance(diskseq, int)):
            raise BadInput("drive_key: must be a text, diskseq a number", field="drive_key")
        return RunRequest(
            suite=body["suite"],
            drive=body["drive"],
            params=params,
            target=body.get("target") or None,
            fs=body.get("fs") or None,
            scale=_scale(body.get("scale")),
            erase=body.get("erase") or None,
            unlock=body.get("unlock") or None,
            drive_key=key,
            diskseq=diskseq,
            medium=body.get("medium") or None,
            number=number,
            own_folders=False,
        )


def _scale(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput("scale: must be a number", field="scale") from None
