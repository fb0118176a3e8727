"""Finds an operating system on a drive: by partition types, signatures, labels, names of files.

Looks into filesystems only with tools that cannot write: `debugfs -c`, `ntfsls`. Every reason
returned locks the drive. A filesystem that cannot be read locks it as well.
"""

from __future__ import annotations

import re

from benchstick.drives.device_query import Asker
from benchstick.drives.partition_table import Contents, Partition, Signature

# Partition types: the Discoverable Partitions Specification, Microsoft's list, and MBR types.
GPT_TYPES = {
    "C12A7328-F81F-11D2-BA4B-00A0C93EC93B": "an EFI system partition",
    "21686148-6449-6E6F-744E-656564454649": "a BIOS boot partition",
    "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC": "a Windows recovery partition",
    "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3": "a Windows dynamic disk",
    "AF9B60A0-1431-4F62-BC68-3311714A69AD": "a Windows dynamic disk",
    "E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D": "Windows Storage Spaces",
    "E6D6D379-F507-44C2-A23C-238F2A3DF928": "Linux LVM",
    "A19D880F-05FC-4D3B-A006-743F0F84911E": "Linux RAID",
    "CA7D7CCB-63ED-4C53-861C-1742536059CC": "a LUKS partition",
    "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F": "Linux swap",
    "BC13C2FF-59E6-4262-A352-B275FD6F7172": "a Linux boot partition",
    "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709": "a Linux root",
    "44479540-F297-41B2-9AF7-D131D5F0458A": "a Linux root",
    "69DAD710-2CE4-4E3C-B16C-21A1D49ABED3": "a Linux root",
    "B921B045-1DF0-41C3-AF44-4C6F280D3FAE": "a Linux root",
    "8484680C-9521-48C6-9C11-B0720656F69E": "a Linux /usr",
    "6A898CC3-1DD2-11B2-99A6-080020736631": "ZFS",
    "516E7CBA-6ECF-11D6-8FF8-00022D09712B": "ZFS",
    "7C3457EF-0000-11AA-AA11-00306543ECAC": "a macOS system",
    "52414944-0000-11AA-AA11-00306543ECAC": "Apple RAID",
}
MBR_TYPES = {
    "ef": "an EFI system partition",
    "27": "a Windows recovery partition",
    "42": "a Windows dynamic disk",
    "82": "Linux swap",
    "8e": "Linux LVM",
    "fd": "Linux RAID",
    "bf": "ZFS",
    "ee": "a protective entry of a GPT that cannot be read",
}
SIGNATURES = {
    "BitLocker": "BitLocker",
    "crypto_LUKS": "LUKS",
    "LVM2_member": "LVM",
    "LVM1_member": "LVM",
    "zfs_member": "ZFS",
    "btrfs": "btrfs",
    "bcache": "bcache",
    "swap": "Linux swap",
    "swsuspend": "a hibernated Linux system",
}
# Filesystems that the bench can rule a system out of; by content, or since nothing boots from it.
_LOOK_LINUX = {"ext2", "ext3", "ext4", "ext4dev"}
_DATA_ONLY = {"exfat", "vfat", "msdos", "iso9660", "udf"}
_SYSTEM_LABELS = re.compile(
    r"(windows|system reserved|winre|winre_drv|windows re tools|recovery|cloudimg-rootfs|rootfs)",
    re.IGNORECASE,
)
_WINDOWS_NAMES = {
    "windows",
    "pagefile.sys",
    "hiberfil.sys",
    "swapfile.sys",
    "program files",
    "bootmgr",
}
_LINUX_ETC = {"os-release", "fstab", "passwd", "machine-id", "inittab"}
_FOUND_NOTHING = ""


def findings(contents: Contents, name: str, ask: Asker) -> list[str]:
    """Why the drive's contents lock it: sentences' halves, e.g. `partition 2 holds LVM`."""
    reasons = list(contents.doubts)
    for part in contents.partitions:
        place = f"partition {part.number}"
        by_type = GPT_TYPES.get(part.type) or MBR_TYPES.get(part.type)
        if by_type is not None:
            reasons.append(f"{place} is {by_type} by its type")
        reasons.append(_of_place(part.signature, place, part, name, ask))
    reasons.append(_of_place(contents.whole, "it", None, name, ask))
    return list(dict.fromkeys(text for text in reasons if text))


def _of_place(
    signature: Signature, place: str, part: Partition | None, name: str, ask: Asker
) -> str:
    """What one partition or the whole drive holds; "" when it holds no system."""
    verdict = _of_signature(signature, place)
    if verdict is not None:
        return verdict
    inside = _inside(signature, place, part, name, ask)
    if not inside and _SYSTEM_LABELS.fullmatch(signature.label):
        return f"{place} is labelled {signature.label!r}, like a system"
    return inside


def _of_signature(signature: Signature, place: str) -> str | None:
    """What the signature alone says: a sentence, "" for nothing there, None to look inside."""
    if not signature.type:
        return _FOUND_NOTHING
    meaning = SIGNATURES.get(signature.type)
    if meaning is not None:
        return f"{place} holds {meaning} ({signature.type})"
    if signature.usage in ("raid", "crypto"):
        what = "RAID" if signature.usage == "raid" else "encryption"
        return f"{place} holds {what} ({signature.type})"
    return None


def _inside(signature: Signature, place: str, part: Partition | None, name: str, ask: Asker) -> str:
    """Look into a filesystem. "" when it holds no system."""
    if signature.type in _DATA_ONLY:
        return _FOUND_NOTHING
    if signature.type in _LOOK_LINUX:
        return _linux(place, part, name, ask)
    if signature.type == "ntfs":
        return _windows(place, part, name, ask)
    return f"{place} holds {signature.type}, which the bench cannot look into"


def _linux(place: str, part: Partition | None, name: str, ask: Asker) -> str:
    node = f"/dev/{name}" if part is None else f"/dev/{name}?offset={part.start}"
    root = _debugfs_names(ask, node, "/")
    if root is None:
        return f"{place} holds a Linux filesystem that could not be looked into"
    if any(entry.startswith(("vmlinuz", "initrd.img", "initramfs")) for entry in root):
        return f"{place} is a Linux boot partition"
    if "etc" in root:
        etc = _debugfs_names(ask, node, "/etc")
        if etc is None:
            return f"{place} holds a Linux filesystem that could not be looked into"
        if etc & _LINUX_ETC:
            return f"{place} is a Linux root (/etc/{min(etc & _LINUX_ETC)})"
    if {"usr", "bin"} <= root or {"usr", "sbin"} <= root or {"lib", "bin"} <= root:
        return f"{place} is a Linux root (/usr, /bin)"
    # A separate /home, /var or /usr is part of a system as well.
    if {"lib", "log", "cache"} <= root or {"bin", "sbin", "share"} <= root:
        return f"{place} is part of a Linux system"
    return _FOUND_NOTHING


def _debugfs_names(ask: Asker, node: str, folder: str) -> set[str] | None:
    """Names in a folder of an ext filesystem, by `debugfs -c` (read only, no journal replay)."""
    answer = ask("debugfs", "-c", "-R", f"ls -p {folder}", node)
    rows = [line.split("/") for line in answer.text.splitlines() if line.startswith("/")]
    names = {row[5] for row in rows if len(row) > 5}
    # debugfs exits 0 whatever happened; a folder that was read always lists itself.
    return names if answer.exit_code == 0 and "." in names else None


def _windows(place: str, part: Partition | None, name: str, ask: Asker) -> str:
    if part is not None and part.kernel is None:
        # ntfsls takes no offset, and a loop device made to look would be one more drive to guard.
        return f"{place} holds NTFS, but the kernel shows no {place}, so it was not looked into"
    node = f"/dev/{name if part is None or part.kernel is None else part.kernel}"
    answer = ask("ntfsls", "-f", "-a", "-s", "-p", "/", node)
    names = {line.strip().lower() for line in answer.text.splitlines()}
    # With -s the metadata files are listed too: without $mft nothing was read.
    if answer.exit_code != 0 or "$mft" not in names:
        return f"{place} holds NTFS that could not be looked into: {ask.why_not(answer)}"
    system = names & _WINDOWS_NAMES
    if system:
        return f"{place} is a Windows root ({min(system)})"
    return _FOUND_NOTHING
