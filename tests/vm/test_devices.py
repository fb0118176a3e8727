"""The guest's drives: each bound to its real driver, and the disks of the PC as they should be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import RunVm

GUEST = r"""
import json, os, subprocess
from pathlib import Path
def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
def run(*command):
    return subprocess.run(command, capture_output=True, text=True)
facts = {}
for block in Path('/sys/block').iterdir():
    node = f'/dev/{block.name}'
    info = dict(line.split('=', 1) for line in run('udevadm', 'info', '-q', 'property', node)
                .stdout.splitlines())
    serial = info.get('ID_SERIAL_SHORT')
    if not serial:
        continue
    where = (block / 'device').resolve()
    parents = [where, *where.parents]
    modes = [read(p) for p in where.glob('scsi_disk/*/provisioning_mode')]
    facts[serial] = {
        'node': node, 'drivers': [p.joinpath('driver').resolve().name for p in parents
                                  if p.joinpath('driver').exists()],
        'queue_depth': read(where / 'queue_depth'),
        'speed': next((read(p / 'speed') for p in parents if (p / 'speed').exists()), None),
        'provisioning': modes, 'discard': read(block / 'queue/discard_max_bytes'),
        'hwmon': [read(p) for pattern in ('hwmon*/temp1_input', 'hwmon/hwmon*/temp1_input')
                  for p in where.glob(pattern)],
    }
node = facts['BSUAS0001']['node']
mounts = {}
for kind, make in (('exfat', ['mkfs.exfat']), ('ntfs3', ['mkntfs', '-Q', '-F', '-q'])):
    os.makedirs('/run/try', exist_ok=True)
    steps = [run(*make, node), run('mount', '-t', kind, node, '/run/try')]
    wrote = False
    if not any(s.returncode for s in steps):
        Path('/run/try/file').write_text('x')
        wrote = Path('/run/try/file').read_text() == 'x'
        steps.append(run('umount', '/run/try'))
    mounts[kind] = [wrote, [s.stderr for s in steps if s.returncode]]
modules = 'null_blk scsi_debug xfs btrfs vfat dm-delay nbd drivetemp raid1 bcache uas ahci nvme'
print(json.dumps({
    'drives': facts, 'mounts': mounts,
    'missing': [m for m in modules.split() if run('modprobe', '-n', m).returncode],
    'blkdiscard': run('blkdiscard', '-f', node).returncode,
    'lsblk': json.loads(run('lsblk', '-J', '-o', 'NAME,SERIAL,FSTYPE,LABEL,MOUNTPOINT').stdout),
    'vg': run('vgs', '--noheadings', '-o', 'vg_name').stdout.split(),
    'active': [p.name for p in Path('/dev').glob('mapper/*') if p.name != 'control'],
    'windows': run('ntfsls', facts['BSPCWIN']['node'] + '2').stdout.split(),
}))
"""


@pytest.fixture(scope="module")
def guest(vm: RunVm) -> Any:
    """Everything that is asked about the guest, from one boot."""
    return vm("python3 - <<'END'\n" + GUEST + "\nEND").json()


def test_uas(guest: Any) -> None:
    drive = guest["drives"]["BSUAS0001"]
    assert "uas" in drive["drivers"]
    assert (drive["queue_depth"], drive["speed"]) == ("14", "5000")
    assert drive["provisioning"] == ["unmap"]
    assert int(drive["discard"]) > 0
    assert guest["blkdiscard"] == 0


def test_bot(guest: Any) -> None:
    drive = guest["drives"]["BSBOT0001"]
    assert "usb-storage" in drive["drivers"]
    assert "uas" not in drive["drivers"]
    assert (drive["queue_depth"], drive["speed"]) == ("1", "5000")


def test_sata(guest: Any) -> None:
    drive = guest["drives"]["BSSATA0001"]
    assert "ahci" in drive["drivers"]
    assert drive["queue_depth"] == "32"


def test_nvme(guest: Any) -> None:
    drive = guest["drives"]["BSNVME0001"]
    assert "nvme" in drive["drivers"]
    assert len(drive["hwmon"]) == 1
    assert 20_000 < int(drive["hwmon"][0]) < 100_000


@pytest.mark.parametrize("kind", ["exfat", "ntfs3"])
def test_filesystem_is_made_and_mounted(guest: Any, kind: str) -> None:
    assert guest["mounts"][kind] == [True, []]


def test_modules_are_there(guest: Any) -> None:
    assert guest["missing"] == []


def _parts(guest: Any, serial: str) -> list[dict[str, Any]]:
    drives = [d for d in guest["lsblk"]["blockdevices"] if d["serial"] == serial]
    assert len(drives) == 1, json.dumps(guest["lsblk"])
    parts = drives[0]["children"]
    assert isinstance(parts, list)
    return parts


def test_pc_disk_with_mounted_ext4(guest: Any) -> None:
    [part] = _parts(guest, "BSPCEXT4")
    assert (part["fstype"], part["mountpoint"]) == ("ext4", "/mnt/pc")


def test_pc_disk_with_inactive_lvm_and_windows(guest: Any) -> None:
    lvm, windows = _parts(guest, "BSPCWIN")
    assert (lvm["fstype"], lvm["mountpoint"]) == ("LVM2_member", None)
    assert (windows["fstype"], windows["label"], windows["mountpoint"]) == ("ntfs", "Windows", None)
    assert guest["vg"] == ["pc"]
    assert guest["active"] == []
    assert "Windows" in guest["windows"]
