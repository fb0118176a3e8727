"""The erase certificate of a run of the suite `erase`: what was done, its proof, and what the
certificate is not. A pure function of the run's document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.drives import sanitize_methods
from benchstick.errors import BadInput
from benchstick.plan.quantity import MARKS_GONE
from benchstick.plan.states import RunState, Validity
from benchstick.plan.units import duration_text, size_text

SCHEMA = "benchstick/certificate/2"
_IS_NOT = (
    "It is no certification by NIST, IEEE, ISO or any other body, and nobody has signed it.",
    "It is no proof that no trace is left: data that no host can read (in spare and reallocated "
    "blocks, in worn flash) was not checked.",
    "Areas hidden from the host by HPA, DCO or AMA, and other namespaces, were not checked.",
    "It is about the drive with the identity above at the time above, as far as that identity can "
    "be read through its port.",
)
_PRACTICE = "PRACTICE DRIVE: a file on this machine, no drive. This certifies nothing."


def certificate(run: Mapping[str, Any]) -> dict[str, Any]:
    """The `benchstick/certificate/2` document, its plain text included as `text`.

    `run` is the `benchstick/run/2` document. BadInput when that run proved no purge.
    """
    reason = _why_none(run)
    if reason is not None:
        raise BadInput(f"run {run['number']}: no certificate: {reason}", field="format")
    conditions, purge = run["conditions"], run["conditions"]["purge"]
    rung = sanitize_methods.find(purge["rung"])
    proof = next(item for item in run["results"] if item["test"] == MARKS_GONE)
    document = {
        "schema": SCHEMA,
        "run": {"number": run["number"], "uuid": run["uuid"]},
        "practice": run["practice"],
        "drive": _drive(run["drive"]),
        "purge": {
            "rung": rung.name,
            "technique": rung.title,
            "standard": rung.standard,
            "nist_sp_800_88": sanitize_methods.nist(
                rung.name, rotational=_rotational(run["drive"])
            ),
            "command": purge["command"],
            "tool_output": purge["tool_output"],
            "leaves_out": rung.limit,
            "seconds": purge["seconds"],
            "goes_on_with_run": purge.get("resumes"),
        },
        "verification": {
            "how": "marks of random data, one in each of as many equal parts of the drive, the "
            "first and the last block among them; written and read back before the purge, read "
            "again after it, past the page cache",
            "places": proof["detail"]["places"],
            "bytes_a_place": proof["detail"]["bytes"],
            "marks_left": 0,
            "found": proof["detail"]["found"],
            "whole_drive_read_back": rung.name == "overwrite",
        },
        "times": {"began_utc": run["created_utc"], "ended_utc": run["ended_utc"]},
        "tool_versions": {
            "benchstick": conditions["host"]["benchstick"],
            "tool": purge["tool"],
            "kernel": conditions["host"]["kernel"],
        },
        "limitations": list(_IS_NOT),
    }
    if run["practice"]:
        document["warning"] = _PRACTICE
    return {**document, "text": as_text(document)}


def _why_none(run: Mapping[str, Any]) -> str | None:
    if run["suite"] != "erase":
        return f"{run['suite']} is no erase; run: benchstick run erase"
    if run.get("imported"):
        return "it ran on another bench; only that bench can create it"
    if run["state"] != RunState.COMPLETE:
        return f"it is {run['state']}" + (f": {run['reason']}" if run["reason"] else "")
    proof = [item for item in run["results"] if item["test"] == MARKS_GONE]
    if len(proof) != 1 or proof[0]["state"] != Validity.VALID or "purge" not in run["conditions"]:
        return "its purge is not proved"
    return None


def _rotational(drive: Mapping[str, Any]) -> bool | None:
    value = sanitize_methods.value(drive, "rotational")
    return value if isinstance(value, bool) else None


def _drive(drive: Mapping[str, Any]) -> dict[str, Any]:
    identity = drive["identity"]
    names = ("model", "serial", "bridge", "bridge_serial", "capacity", "port", "lun")
    return {
        "code": drive["code"],
        "label": drive.get("label"),
        **{name: identity.get(name) for name in names},
        "firmware": sanitize_methods.value(drive, "firmware"),
        "transport": sanitize_methods.value(drive, "transport"),
    }


def as_text(document: Mapping[str, Any]) -> str:
    """The certificate in plain text, at most 100 columns where no single word is longer."""
    drive, purge, proof = document["drive"], document["purge"], document["verification"]
    behind = drive["bridge"] or "none"
    if drive["bridge"] and drive["bridge_serial"]:
        behind += f", serial {drive['bridge_serial']}"
    counts = ", ".join(f"{count} {kind}" for kind, count in proof["found"].items())
    rows: list[tuple[str, str]] = [
        ("Run", f"{document['run']['number']} ({document['run']['uuid']})"),
        ("Drive", str(drive["model"])),
        ("Serial", str(drive["serial"] or "not readable")),
        ("Firmware", str(drive["firmware"] or "not known")),
        ("Capacity", f"{drive['capacity']} bytes ({size_text(drive['capacity'])})"),
        ("Connection", f"{drive['transport']}, port {drive['port']}, LUN {drive['lun']}"),
        ("Bridge", behind),
        ("Purged by", purge["technique"]),
        ("Standard", purge["standard"]),
        ("NIST 800-88", purge["nist_sp_800_88"]),
        ("Command", purge["command"]),
        ("Tool's report", purge["tool_output"]),
        ("Leaves out", purge["leaves_out"]),
        ("Started", str(document["times"]["began_utc"])),
        ("Ended", str(document["times"]["ended_utc"])),
        ("Purge took", duration_text(float(purge["seconds"]))),
        *_goes_on(purge["goes_on_with_run"]),
        ("Verified", f"{proof['places']} places of {proof['bytes_a_place']} bytes: no mark is left "
                     f"({counts})"),
        ("How", proof["how"]),
        ("Whole drive", "read back and compared" if proof["whole_drive_read_back"]
                        else "not read back"),
        ("Made with", f"Benchstick {document['tool_versions']['benchstick']}, "
                      f"{document['tool_versions']['tool']}, Linux"
                      f" {document['tool_versions']['kernel']}"),
    ]  # fmt: skip
    lines = ["ERASE CERTIFICATE", ""]
    if "warning" in document:
        lines += [str(document["warning"]), ""]
    for name, text in rows:
        lines += _row(name, text)
    lines += ["", "Limitations"]
    for text in document["limitations"]:
        lines += _row("-", text, 2)
    return "\n".join(lines) + "\n"


def _goes_on(run: int | None) -> list[tuple[str, str]]:
    """The note that the times do not include an interrupted run."""
    if run is None:
        return []
    text = f"the purge that was interrupted in run {run}; the times are those of this run"
    return [("Continues", text)]


def _row(name: str, text: str, width: int = 15, most: int = 100) -> Sequence[str]:
    """`name`, then `text` broken over lines under each other."""
    lines: list[str] = []
    line = ""
    for word in str(text).split():
        if line and width + len(line) + 1 + len(word) > most:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    lines.append(line)
    head, *rest = lines
    return [f"{name:<{width}}{head}".rstrip(), *(" " * width + more for more in rest)]
