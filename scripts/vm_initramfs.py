"""The VM's first file system: a static busybox, a few kernel modules and scripts/vm.d/init.

Written here in the "newc" cpio format, which is simple enough not to need a tool. The kernel
unpacks several archives one after another, so what changes with each boot is a small one of its
own.
"""

from __future__ import annotations

import lzma
import shutil
from dataclasses import dataclass, field
from pathlib import Path

# What the guest needs before it sees the host's tree; udev loads everything else from there.
EARLY_MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")


@dataclass
class Archive:
    """A cpio archive in the making; `data` is complete after `close`."""

    data: bytearray = field(default_factory=bytearray)
    inode: int = 0

    def add(self, name: str, content: bytes = b"", mode: int = 0o100644) -> None:
        """Appends one file (or, with a directory's or a link's mode, one of those)."""
        self.inode += 1
        name_bytes = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name_bytes), 0)
        self.data += b"070701" + b"".join(b"%08X" % number for number in fields) + name_bytes
        self._pad()
        self.data += content
        self._pad()

    def folder(self, name: str) -> None:
        self.add(name, mode=0o040755)

    def close(self) -> bytes:
        self.add("TRAILER!!!", mode=0)
        return bytes(self.data)

    def _pad(self) -> None:
        self.data += bytes(-len(self.data) % 4)


def load_order(modules: Path, names: tuple[str, ...]) -> list[Path]:
    """The files of the named modules in `modules` (lib/modules/VERSION), each after what it needs.

    Names that are built into the kernel are left out. Raises LookupError for an unknown name.
    """
    needs: dict[str, list[str]] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
    by_name = {_module_name(path): path for path in needs}
    built_in = {_module_name(p) for p in (modules / "modules.builtin").read_text().split()}
    order: list[Path] = []

    def visit(path: str) -> None:
        # modules.dep lists what a module needs with the deepest need last
        for other in reversed(needs[path]):
            visit(other)
        if modules / path not in order:
            order.append(modules / path)

    for name in names:
        if name in by_name:
            visit(by_name[name])
        elif name not in built_in:
            raise LookupError(f"the VM's kernel has no module {name}")
    return order


def _module_name(path: str) -> str:
    return Path(path).name.partition(".ko")[0].replace("-", "_")


def _plain_module(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def base_archive(modules: Path, init: Path, busybox: Path) -> bytes:
    """The archive that is the same for every boot of one kernel."""
    archive = Archive()
    for name in ("bin", "modules", "proc", "sys", "dev", "lower", "rw", "newroot"):
        archive.folder(name)
    archive.add("bin/busybox", busybox.read_bytes(), 0o100755)
    archive.add("bin/sh", b"busybox", 0o120777)
    archive.add("init", init.read_bytes(), 0o100755)
    order = load_order(modules, EARLY_MODULES)
    for position, path in enumerate(order):
        archive.add(f"modules/{position:02}-{_module_name(path.name)}.ko", _plain_module(path))
    return archive.close()


def boot_archive(files: dict[str, bytes]) -> bytes:
    """The archive of one boot: `files` under /boot-config, by name."""
    archive = Archive()
    archive.folder("boot-config")
    for name, content in files.items():
        archive.add(f"boot-config/{name}", content)
    return archive.close()


def find_busybox() -> Path:
    """The static busybox; raises FileNotFoundError when there is none."""
    path = shutil.which("busybox", path="/bin:/usr/bin:/sbin:/usr/sbin")
    if path is None:
        raise FileNotFoundError("busybox")
    return Path(path)
