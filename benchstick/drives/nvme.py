"""NVMe: identity from sysfs, features from `nvme id-ctrl` (NVMe base specification 2.0, 5.17)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchstick.drives import sanitize_commands
from benchstick.drives.device_query import PROBE, Asker
from benchstick.drives.sysfs import Tree
from benchstick.drives.types import Fact
from benchstick.plan.states import SanitizeState

_ONCS_DATASET_MANAGEMENT = 1 << 2
_OACS_SECURITY, _OACS_FORMAT, _OACS_NAMESPACES = 1 << 0, 1 << 1, 1 << 3
# Format NVM Attributes: formats, and secure erases, of one namespace are of all; crypto erase.
_FNA_ALL, _FNA_CRYPTO = 0b011, 0b100
_SANICAP = {"crypto erase": 1 << 0, "block erase": 1 << 1, "overwrite": 1 << 2}
_NAMESPACE = re.compile(r"nvme\d+(c\d+)?n\d+")
NOT_ATA = "an ATA feature; this is an NVMe drive"


def controller(tree: Tree, name: str) -> Path:
    """The controller's folder: `/sys/devices/.../nvme/nvme0`, also under native multipath."""
    here = tree.real(f"sys/block/{name}/device")
    if re.fullmatch(r"nvme\d+", here.name):
        return here
    # With multipath the namespace hangs under the subsystem, which lists its controllers.
    for child in tree.names(here):
        if re.fullmatch(r"nvme\d+", child):
            return tree.real(here / child)
    return here


def identify(ask: Asker, name: str) -> dict[str, Any]:
    """Identify Controller as nvme-cli prints it; empty when not available."""
    answer = ask("nvme", "id-ctrl", f"/dev/{name}", "-o", "json")
    try:
        document = json.loads(answer.text) if answer.exit_code == 0 else {}
    except ValueError:
        document = {}
    return document if isinstance(document, dict) else {}


_ATA = ("ncq", "apm", "devsleep", "security", "security_erase", "erase_time",
        "erase_time_enhanced")  # fmt: skip
_FROM_CONTROLLER = ("trim", "opal", "write_cache", "sanitize", "format", "format_scope",
                    "namespaces")  # fmt: skip


def facts(tree: Tree, ask: Asker, name: str) -> dict[str, Fact]:
    """TRIM, write cache, security, erase methods; ATA's features are marked as such."""
    facts = {feature: Fact.unknown(NOT_ATA) for feature in _ATA}
    facts["smart"] = Fact("supported", source="every NVMe drive keeps the health log")
    document = identify(ask, name)
    if not document:
        answer = ask("nvme", "id-ctrl", f"/dev/{name}", "-o", "json")
        reason = ask.why_not(answer)
        return facts | {n: Fact.unknown(reason) for n in _FROM_CONTROLLER}
    oncs, oacs = int(document.get("oncs", 0)), int(document.get("oacs", 0))
    facts["trim"] = Fact(bool(oncs & _ONCS_DATASET_MANAGEMENT), source=f"id-ctrl oncs {oncs:#x}")
    facts["opal"] = Fact(
        "security send/receive supported" if oacs & _OACS_SECURITY else "not supported",
        source=f"id-ctrl oacs {oacs:#x}",
    )
    facts["write_cache"] = _write_cache(ask, name, int(document.get("vwc", 0)))
    facts |= _format(ask, name, oacs, int(document.get("fna", 0)))
    facts |= _sanitize(ask, name, int(document.get("sanicap", 0)))
    facts["namespaces"] = _namespaces(tree, ask, name, oacs)
    return facts


def reach(tree: Tree, ask: Asker, name: str) -> dict[str, Fact]:
    """Of `facts` those that show what Format and Sanitize would erase, and of how many namespaces:
    to be queried again right before."""
    document = identify(ask, name)
    if not document:
        reason = ask.why_not(ask("nvme", "id-ctrl", f"/dev/{name}", "-o", "json"))
        return {n: Fact.unknown(reason) for n in ("format", "sanitize", "namespaces")}
    oacs = int(document.get("oacs", 0))
    return {
        **_format_actions(oacs, int(document.get("fna", 0))),
        "sanitize": _sanitize_actions(int(document.get("sanicap", 0))),
        "namespaces": _namespaces(tree, ask, name, oacs),
    }


def _format_actions(oacs: int, fna: int) -> dict[str, Fact]:
    actions = []
    if oacs & _OACS_FORMAT:
        actions = ["user data erase"] + ["crypto erase"] * bool(fna & _FNA_CRYPTO)
    source = f"id-ctrl oacs {oacs:#x}, fna {fna:#x}"
    scope = "all namespaces" if fna & _FNA_ALL else "this namespace"
    return {"format": Fact(actions, source=source), "format_scope": Fact(scope, source=source)}


def _sanitize_actions(sanicap: int) -> Fact:
    actions = [action for action, bit in _SANICAP.items() if sanicap & bit]
    return Fact(actions, source=f"id-ctrl sanicap {sanicap:#x}")


def _format(ask: Asker, name: str, oacs: int, fna: int) -> dict[str, Fact]:
    """What Format NVM erases, of how much, and the LBA format that it must keep."""
    answer = ask("nvme", "id-ns", f"/dev/{name}", "-o", "json")
    try:
        lba_fact = Fact(str(sanitize_commands.parse_lba_format(answer.text)), source="id-ns flbas")
    except (ValueError, KeyError, TypeError):
        lba_fact = Fact.unknown(ask.why_not(answer))
    return {**_format_actions(oacs, fna), "lba_format": lba_fact}


def _sanitize(ask: Asker, name: str, sanicap: int) -> dict[str, Fact]:
    """What Sanitize can do, how the last one ended, and the drive's estimate of its duration."""
    facts = {"sanitize": _sanitize_actions(sanicap)}
    if not facts["sanitize"].value:
        return facts
    answer = ask("nvme", "sanitize-log", f"/dev/{name}", "-o", "json")
    try:
        log = sanitize_commands.parse_sanitize_log(answer.text)
    except ValueError:
        return facts | {"sanitize_state": Fact.unknown(ask.why_not(answer))}
    facts["sanitize_state"] = Fact(str(log.word), source="sanitize-log")
    if log.status == sanitize_commands.FAILED and _reads(ask, name):
        # The log shows the last sanitize, also after its failure was cleared.
        facts["sanitize_state"] = Fact(str(SanitizeState.CLEARED), source="sanitize-log, a read")
    for action, fact in (
        (sanitize_commands.BLOCK_ERASE, "sanitize_block_time"),
        (sanitize_commands.CRYPTO_ERASE, "sanitize_crypto_time"),
    ):
        seconds = log.seconds.get(action)
        facts[fact] = (
            Fact.unknown("the drive does not report how long it takes")
            if seconds is None
            else Fact(seconds, "s", "sanitize-log")
        )
    return facts


def _reads(ask: Asker, name: str) -> bool:
    """Whether the drive takes reads: not while it sanitizes, nor after one that failed."""
    return "read=ok" in ask(PROBE, f"/dev/{name}", "0:4096").text.splitlines()


def _namespaces(tree: Tree, ask: Asker, name: str, oacs: int) -> Fact:
    """How many namespaces the drive has, those that the kernel does not show included."""
    shown_count = sum(bool(_NAMESPACE.fullmatch(n)) for n in tree.names(controller(tree, name)))
    if not oacs & _OACS_NAMESPACES:
        return Fact(max(1, shown_count), source="sysfs; the drive has no namespace management")
    answer = ask("nvme", "list-ns", f"/dev/{name}", "--all", "-o", "json")
    try:
        ids = sanitize_commands.parse_namespaces(answer.text)
    except (ValueError, KeyError, TypeError):
        return Fact.unknown(ask.why_not(answer))
    return Fact(max(1, shown_count, len(ids)), source="nvme list-ns --all")


def _write_cache(ask: Asker, name: str, vwc: int) -> Fact:
    if not vwc & 1:
        return Fact("not supported", source="id-ctrl vwc")
    answer = ask("nvme", "get-feature", f"/dev/{name}", "-f", "6")
    match = re.search(r"[Cc]urrent value:\s*(0x[0-9a-f]+|\d+)", answer.text)
    if match is None:
        return Fact.unknown(ask.why_not(answer))
    on = int(match.group(1), 0) & 1
    return Fact("enabled" if on else "supported, off", source="nvme get-feature 6")
