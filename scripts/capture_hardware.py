"""Captures drives of this machine as a case of tests/hardware: sysfs, procfs, tool answers, facts.

    scripts/capture-hardware NAME sda [sdb ...] [--mask] [--into FOLDER]

Writes FOLDER/NAME/{tree.json,tools/,expected.json}; FOLDER is tests/hardware. Queries the
drives as a scan does, so no test may run on them then; needs root. `--mask` replaces serial
numbers and filesystem UUIDs by made-up ones of the same length, everywhere. Look the result over
before you commit it: the facts in expected.json are what this version of the bench found, and it
is for you to say that they are right.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchstick.drives import ata, device_query, discover, in_use, nvme
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree, disk_names, partition_names

CASES = Path(__file__).resolve().parents[1] / "tests/hardware"
Content = str | dict[str, str] | None

# Read in the disk's own folders and in every device above it. Names, not whole folders: other
# files there (config, resource0, remove, rescan) are large, or do something when touched.
_FILES = re.compile(
    r"(idVendor|idProduct|serial|manufacturer|product|speed|version|[rt]x_lanes|busnum|devnum|"
    r"descriptors|bos_descriptors|bInterface(Number|Class|SubClass|Protocol)|bAlternateSetting|"
    r"removable|(current|max)_link_(speed|width)|vendor|device|model|rev|type|state|queue_depth|"
    r"vpd_pg(80|89|b0|b1|b2)|inquiry|firmware_rev|fwrev|name|transport|dev|diskseq|size|ro|hidden|partition|"
    r"start|uuid|backing_file|dio|level)"
)
_BINARY = re.compile(r"(descriptors|bos_descriptors|vpd_pg\w+|inquiry)")
_LINKS = ("driver", "device")


class Capture:
    """Collects the manifest: path -> text, {"hex": ...}, {"link": ...} or null for a folder."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.content: dict[str, Content] = {}

    def file(self, path: str | Path) -> None:
        raw = self.tree.data(path)
        if raw is None:
            return
        key = str(path).lstrip("/")
        if _BINARY.fullmatch(Path(key).name):
            self.content[key] = {"hex": raw.hex()}
        else:
            self.content[key] = raw.decode("utf-8", "replace")

    def files(self, folder: str | Path) -> None:
        """The known files directly in a folder, and its known links."""
        for name in self.tree.names(folder):
            path = Path(folder) / name
            if name in _LINKS and self.tree.path(path).is_symlink():
                self.link(path)
            elif _FILES.fullmatch(name) and self.tree.path(path).is_file():
                self.file(path)

    def link(self, path: str | Path) -> None:
        if self.tree.path(path).is_symlink():
            target = self.tree.path(path).readlink()
            self.content[str(path).lstrip("/")] = {"link": str(target)}

    def every(self, folder: str | Path) -> None:
        """All regular files of a small folder such as `queue`."""
        for name in self.tree.names(folder):
            if self.tree.path(Path(folder) / name).is_file():
                self.file(Path(folder) / name)

    def folder(self, path: str | Path) -> None:
        if self.tree.exists(path):
            self.content.setdefault(str(path).lstrip("/"), None)


def capture_disk(into: Capture, name: str) -> None:
    """Everything that the facts of one disk are read from."""
    tree = into.tree
    into.link(f"sys/block/{name}")
    into.link(f"sys/class/block/{name}")
    disk = tree.real(f"sys/block/{name}")
    into.every(disk / "queue")
    for queue in tree.names(disk / "mq"):
        into.folder(disk / "mq" / queue)
    for part in partition_names(tree, name):
        into.link(f"sys/class/block/{part}")
        into.files(disk / part)
    for extra in ("dm", "loop"):
        into.files(disk / extra)
    for folder in [disk, *disk.parents]:
        if folder.is_relative_to("/sys/devices") and folder != Path("/sys/devices"):
            into.files(folder)
    device = tree.real(f"sys/block/{name}/device")
    for address in tree.names(device / "scsi_disk"):
        into.every(device / "scsi_disk" / address)
    for base in (device, device / "hwmon"):
        for child in tree.names(base):
            if re.fullmatch(r"hwmon\d+", child):
                into.files(base / child)
    if name.startswith("nvme"):
        _capture_controller(into, name, device)
    _capture_classes(into, device)


def _capture_controller(into: Capture, name: str, device: Path) -> None:
    """With multipath the disk hangs under a subsystem, which links to its controllers."""
    own = nvme.controller(into.tree, name)
    into.link(device / own.name)
    for folder in (own, *own.parents):
        if folder.is_relative_to("/sys/devices") and folder != Path("/sys/devices"):
            into.files(folder)


def _capture_classes(into: Capture, device: Path) -> None:
    """The other classes of the device: SCSI host (AHCI registers), ATA link."""
    for folder in (device, *device.parents):
        if re.fullmatch(r"host\d+", folder.name):
            link = f"sys/class/scsi_host/{folder.name}"
            into.link(link)
            here = into.tree.real(link)
            for name in ("ahci_port_cmd", "ahci_host_caps", "proc_name"):
                into.file(here / name)
        if re.fullmatch(r"ata\d+", folder.name):
            for name in into.tree.names("sys/class/ata_link"):
                link = f"sys/class/ata_link/{name}"
                if folder in into.tree.real(link).parents:
                    into.link(link)
                    into.every(into.tree.real(link))


def capture_system(into: Capture, names: Sequence[str]) -> None:
    """What the guard reads of the running system, only as far as it concerns these disks."""
    tree = into.tree
    numbers = {tree.text(f"sys/block/{name}/dev") for name in names}
    for name in names:
        numbers |= {
            tree.text(f"sys/block/{name}/{part}/dev") for part in partition_names(tree, name)
        }
    lines = (tree.text("proc/self/mountinfo") or "").splitlines()
    mounts = [
        line
        for line in lines
        if any(devno in numbers for devno, *_ in in_use.parse_mountinfo(line))
    ]
    into.content["proc/self/mountinfo"] = "".join(line + "\n" for line in mounts)
    into.content["proc/cmdline"] = "\n"
    into.content["proc/swaps"] = "Filename\tType\tSize\tUsed\tPriority\n"
    into.file("proc/devices")
    into.folder("sys/module/uas")
    into.file("sys/module/usb_storage/parameters/quirks")


def record(names: Sequence[str]) -> dict[str, Finished]:
    """Scan, and keep each answer that the scan got, by its file name."""
    answers: dict[str, Finished] = {}

    def ask(argv: Sequence[str]) -> Finished:
        answer = device_query.ask_live(argv)
        if argv[0] == "dmesg":
            # Only the lines that the bench looks for: the rest is nobody's business.
            lines = re.findall(rb"^.*(?:streams|UAS is).*$", answer.stdout, re.MULTILINE)
            answer = Finished(tuple(argv), 0, b"\n".join(lines), b"", 0.0)
        answers[device_query.file_name(argv)] = answer
        return answer

    others = [name for name in disk_names(Tree()) if name not in names]
    discover.scan(query=ask, skip_queries=others)
    return answers


def made_up(text: str) -> str:
    """A stand-in of the same length and alphabet, the same for the same text."""
    digest = hashlib.sha256(text.encode()).hexdigest().upper() * (len(text) // 64 + 1)
    return "".join(
        one if not one.isalnum() else new for one, new in zip(text, digest, strict=False)
    )


def _swapped(text: str) -> str:
    """ATA strings as they lie in memory: the bytes of each word swapped."""
    padded_text = text + " " * (len(text) % 2)
    return "".join(padded_text[i + 1] + padded_text[i] for i in range(0, len(padded_text), 2))


class Mask:
    """Replaces secrets in text, in binary pages, and in the words of IDENTIFY."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self.pairs: list[tuple[str, str]] = []
        for secret in sorted(set(secrets), key=len, reverse=True):
            if len(secret) >= 4:
                self.pairs.append((secret, made_up(secret)))
                self.pairs.append((_swapped(secret), _swapped(made_up(secret))))

    def text(self, text: str) -> str:
        for secret, instead in self.pairs:
            text = text.replace(secret, instead)
        return text

    def data(self, raw: bytes) -> bytes:
        for secret, instead in self.pairs:
            raw = raw.replace(secret.encode(), instead.encode())
        # The world wide name in smartctl's JSON.
        raw = re.sub(rb'("wwn": \{[^}]*"id": )\d+', rb"\g<1>0", raw)
        words = ata.parse_hdparm(raw.decode("utf-8", "replace"))
        return self._words(raw, words) if words else raw

    def _words(self, raw: bytes, words: tuple[int, ...]) -> bytes:
        data = b"".join(word.to_bytes(2, "big") for word in words)
        for secret, instead in self.pairs:
            data = data.replace(secret.encode(), instead.encode())
        # Words 108 to 111: the world wide name.
        data = data[:216] + bytes(8) + data[224:]
        head = raw.decode("utf-8", "replace").split("\n")[:2]
        numbers = [data[i : i + 2].hex() for i in range(0, 512, 2)]
        rows = [" ".join(numbers[i : i + 8]) for i in range(0, 256, 8)]
        return "\n".join([*head, *rows, ""]).encode()

    def content(self, content: Content) -> Content:
        if isinstance(content, str):
            return self.text(content)
        if content is not None and "hex" in content:
            return {"hex": self.data(bytes.fromhex(content["hex"])).hex()}
        return content


def secrets_of(names: Sequence[str], answers: dict[str, Finished]) -> list[str]:
    """Serials and filesystem UUIDs of the chosen drives."""
    secrets = []
    for drive in discover.scan():
        if drive.name in names:
            secrets += [drive.identity.serial or "", drive.identity.bridge_serial or ""]
            secrets += [str(row.get("uuid") or "") for row in drive.value("filesystems", [])]
    for name, answer in answers.items():
        if name.startswith("sfdisk"):
            secrets += re.findall(r'"(?:uu)?id": ?"(?:0x)?([0-9A-Fa-f-]{8,})"', answer.text)
    return secrets


def write(folder: Path, content: dict[str, Content], answers: dict[str, Finished]) -> None:
    """The case's files; expected.json from playing it back."""
    tools = folder / "tools"
    tools.mkdir(parents=True)
    text = json.dumps(dict(sorted(content.items())), indent=1, ensure_ascii=False)
    (folder / "tree.json").write_text(text + "\n", encoding="utf-8")
    for name, answer in answers.items():
        (tools / name).write_bytes(answer.stdout)
        if answer.timed_out or answer.exit_code:
            code = "timeout" if answer.timed_out else str(answer.exit_code)
            (tools / f"{name}.exit").write_text(code + "\n")
        if answer.stderr:
            (tools / f"{name}.err").write_bytes(answer.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/capture-hardware", description="Capture drives as a test case."
    )
    parser.add_argument("name", help="the case's name, e.g. samsung-t7")
    parser.add_argument("disks", nargs="+", metavar="disk", help="kernel names: sda nvme0n1")
    parser.add_argument("--mask", action="store_true", help="replace serials and UUIDs")
    parser.add_argument("--into", type=Path, default=CASES, help="where cases are kept")
    options = parser.parse_args(arguments)
    folder = options.into / options.name
    disks = disk_names(Tree())
    for name in options.disks:
        if name not in disks:
            print(
                f"capture-hardware: no disk {name}: there are {', '.join(disks)}", file=sys.stderr
            )
            return 2
    if folder.exists():
        print(f"capture-hardware: {folder} exists: choose another name", file=sys.stderr)
        return 2
    capture = Capture()
    for name in options.disks:
        capture_disk(capture, name)
    capture_system(capture, options.disks)
    answers = record(options.disks)
    content = capture.content
    if options.mask:
        mask = Mask(secrets_of(options.disks, answers))
        content = {mask.text(path): mask.content(value) for path, value in content.items()}
        answers = {
            name: Finished(a.argv, a.exit_code, mask.data(a.stdout), mask.data(a.stderr), 0.0)
            for name, a in answers.items()
        }
    write(folder, content, answers)
    print(f"{folder}: {len(content)} files of sysfs and procfs, {len(answers)} answers of tools")
    print("next: python -m tests.hardware.playback --expect NAME writes expected.json; check it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
