"""The cases that were written from documentation, not captured: see README.md.

    python -m tests.hardware.documented        (writes the folders)

Each case says what it is for. The expected facts are written by hand here, not by the bench.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.hardware.playback import CASES
from tests.hardware.shapes import (
    DOS,
    GPT,
    Case,
    Disk,
    ata_words,
    block,
    bos,
    contents,
    filesystem,
    pci,
    scsi_disk,
    smartctl,
    smartctl_error,
    usb_device,
)  # fmt: skip

GB = 10**9
BOT, UAS = 0x50, 0x62
NO_PASS = "behind this bridge: no ATA pass-through"
INTERNAL = "internal (not on USB, eSATA, Thunderbolt or USB4)"
EFI = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
BASIC = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"
PAGE_B2 = bytes([0, 0xB2, 0, 4, 0, 0x80, 2, 0])
NO_PAGE = "VPD page not supported"


def expect(
    case: Case,
    name: str,
    code: str,
    guard: str,
    reason: str,
    facts: dict[str, Any],
    unknown: dict[str, str] | None = None,
) -> None:
    """What a scan must find of this disk; `reason` is a part of the guard's sentence."""
    case.expected[name] = {
        "code": code,
        "guard": guard,
        "reason": reason,
        "facts": facts,
        "unknown": unknown or {},
    }


def ahci_port(case: Case, number: int, *, command: str, caps: str = "c734ff05") -> str:
    """An AHCI port's folder; `command` and `caps` are its registers in hex."""
    above = pci(case, "0000:00:17.0", driver="ahci") + f"/ata{number}"
    host = number - 1
    case.put(f"{above}/host{host}/scsi_host/host{host}", ahci_port_cmd=command, ahci_host_caps=caps)
    case.link(
        f"sys/class/scsi_host/host{host}", f"../../../{above}/host{host}/scsi_host/host{host}"
    )
    link = f"{above}/link{number}/ata_link/link{number}"
    case.put(link, sata_spd="6.0 Gbps", hw_sata_spd_limit="6.0 Gbps")
    case.link(f"sys/class/ata_link/link{number}", f"../../../{link}")
    return above


def xhci(case: Case) -> str:
    return pci(case, "0000:00:14.0", driver="xhci_hcd")


def no_unmap(case: Case, name: str) -> None:
    """A bridge without logical block provisioning."""
    case.answer(("sg_vpd", "--raw", "--page=0xb2", f"/dev/{name}"), "", "5", NO_PAGE)
    readcap = "   Logical block provisioning: lbpme=0, lbprz=0\n"
    case.answer(("sg_readcap", "--long", f"/dev/{name}"), readcap)


def no_ata(case: Case, name: str) -> None:
    """hdparm behind a bridge that takes ATA PASS-THROUGH and answers with zeroes."""
    zeroes = "\n".join(["0000 " * 7 + "0000"] * 32)
    case.answer(("hdparm", "--Istdout", f"/dev/{name}"), f"\n/dev/{name}:\n{zeroes}\n")


def ata_smart(case: Case, name: str, serial: str, model: str, celsius: int, **more: Any) -> None:
    smartctl(
        case, name, kind="sat", protocol="ATA", model_name=model, serial_number=serial,
        temperature={"current": celsius}, power_on_time={"hours": 4321}, **more,
    )  # fmt: skip


def sata_ssd() -> Case:
    case = Case("sata-ssd", "Internal SATA SSD on a hot-plug capable port with the user's data")
    # Bit 18 (HPCP) is set and the kernel says removable=1: still inside the case.
    port = ahci_port(case, 3, command="0044c017")
    disk = scsi_disk(
        case, port, "2:0:0:0", "sda", size=500107862016, vendor="ATA", model="Samsung SSD 860",
        rev="4B6Q", depth=32, removable=1, provisioning="writesame_16",
        queue={"discard_max_bytes": 2147450880, "physical_block_size": 512},
    )  # fmt: skip
    words = ata_words(
        serial="S3Z1NB0K123456A", model="Samsung SSD 860 EVO 500GB", firmware="RVT04B6Q",
        devsleep=True, opal=True, security=0x29, erase=(2, 0x8004),
    )  # fmt: skip
    case.answer(("hdparm", "--Istdout", "/dev/sda"), words)
    wear = {"table": [{"name": "Wear_Leveling_Count", "value": 97, "raw": {"value": 41}}]}
    ata_smart(
        case, "sda", "S3Z1NB0K123456A", "Samsung SSD 860 EVO 500GB", 31, ata_smart_attributes=wear
    )
    part = {"start": 1, "size": 476938, "type": BASIC, "blkid": filesystem("exfat", "DATA")}
    contents(case, disk, GPT, [part])
    expect(
        case, "sda", "S3Z1NB0K123456A", "locked", INTERNAL,
        {
            "transport": "sata", "external": False, "model": "Samsung SSD 860 EVO 500GB",
            "serial": "S3Z1NB0K123456A", "firmware": "RVT04B6Q", "port": "ata3",
            "sata_speed": 6000, "sata_capable_speed": 6000, "queue_depth": 32,
            "ncq": "supported, depth 32", "trim": True, "trim_kernel": 2147450880,
            "write_cache": "enabled", "smart": "enabled", "devsleep": "supported",
            "opal": "trusted computing supported", "security": "disabled, frozen",
            "security_erase": "supported, also enhanced", "erase_time": 4,
            "erase_time_enhanced": 8,
            "health": "passed", "power_on_hours": 4321, "wear": 3, "temperature": 31,
            "rotational": False, "driver": "ahci",
        },
        {"usb_speed": "not on USB", "pcie_speed": "not on PCIe"},
    )  # fmt: skip
    return case


def nvme_ssd() -> Case:
    case = Case("nvme-ssd", "Windows PC's NVMe SSD, PCIe 4.0 in a 3.0 slot: ESP, BitLocker, WinRE")
    link = {
        "current_link_speed": "8.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe",
        "current_link_width": "4", "max_link_width": "4", "vendor": "0x144d",
    }  # fmt: skip
    folder = pci(case, "0000:00:1b.0", "0000:03:00.0", driver="nvme", **link)
    controller = f"{folder}/nvme/nvme0"
    case.put(
        controller, model="Samsung SSD 980 PRO 1TB", serial="S5GXNF0R123456B",
        firmware_rev="5B2QGXA7", transport="pcie",
    )  # fmt: skip
    case.link(f"{controller}/device", "../..")
    case.put(f"{controller}/hwmon2", name="nvme", temp1_input=43850)
    case.answer(("cat", f"/{controller}/hwmon2/temp1_input"), "43850\n")
    disk = Disk("nvme0n1", f"{controller}/nvme0n1", controller, "259:0", 1000204886016)
    block(case, disk, queue={"nr_requests": 1023, "discard_max_bytes": 2199023255040})
    case.answer(
        ("nvme", "id-ctrl", "/dev/nvme0n1", "-o", "json"),
        '{"oncs": 95, "oacs": 23, "vwc": 7, "fna": 5, "sanicap": 3}',
    )
    namespace = {"flbas": 0, "dps": 0, "lbafs": [{"ms": 0, "ds": 9, "rp": 0}]}
    case.answer(("nvme", "id-ns", "/dev/nvme0n1", "-o", "json"), json.dumps(namespace))
    log = {
        "sprog": 65535, "sstat": {"status": "(0) NVM Subsystem has never been sanitized."},
        "cdw10_info": 0, "time_block_erase": 35, "time_crypto_erase": 4294967295,
    }  # fmt: skip
    sanitize = ("nvme", "sanitize-log", "/dev/nvme0n1", "-o", "json")
    case.answer(sanitize, json.dumps({"nvme0n1": log}))
    feature = "get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n"
    case.answer(("nvme", "get-feature", "/dev/nvme0n1", "-f", "6"), feature)
    smartctl(
        case, "nvme0n1", kind="nvme", protocol="NVMe", model_name="Samsung SSD 980 PRO 1TB",
        serial_number="S5GXNF0R123456B", power_on_time={"hours": 812},
        nvme_smart_health_information_log={"percentage_used": 2, "data_units_written": 1000},
    )  # fmt: skip
    recovery = "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC"
    contents(
        case, disk, GPT,
        [
            {"start": 1, "size": 100, "type": EFI, "blkid": filesystem("vfat")},
            {"start": 101, "size": 16, "type": "E3C9E316-0B5C-4DB8-817D-F92DF00215AE"},
            {"start": 117, "size": 953000, "type": BASIC,
             "blkid": filesystem("BitLocker", usage="crypto")},
            {"start": 953117, "size": 600, "type": recovery, "blkid": filesystem("ntfs")},
        ],
    )  # fmt: skip
    listing = "$MFT\nRecovery\n"
    case.answer(("ntfsls", "-f", "-a", "-s", "-p", "/", "/dev/nvme0n1p4"), listing)
    expect(
        case, "nvme0n1", "S5GXNF0R123456B", "locked", "partition 3 holds BitLocker",
        {
            "transport": "nvme", "external": False, "port": "0000:03:00.0",
            "pcie_speed": 8, "pcie_capable_speed": 16, "pcie_width": 4, "pcie_capable_width": 4,
            "trim": True, "write_cache": "enabled", "temperature": 43.85, "wear": 2,
            "bytes_written": 512000000, "opal": "security send/receive supported",
            "health": "passed", "queue_depth": 1023,
            "sanitize": ["crypto erase", "block erase"], "sanitize_state": "never sanitized",
            "sanitize_block_time": 35, "format": ["user data erase", "crypto erase"],
            "format_scope": "all namespaces", "lba_format": "0: 512 B + 0 B metadata",
            "namespaces": 1,
        },
        {"ncq": "an ATA feature; this is an NVMe drive", "sata_speed": "an ATA feature",
         "security_erase": "an ATA feature", "sanitize_crypto_time": "does not report"},
    )  # fmt: skip
    return case


def uas_bridge() -> Case:
    case = Case("uas-bridge-sat", "SATA SSD behind a UAS bridge with SAT; LBPME forgotten")
    interface = usb_device(
        case, xhci(case), "2-3", ids="152d:0578", maker="JMicron", product="External Disk",
        driver="uas", protocols=[BOT, UAS], speed=5000, serial="DB98765432109",
        bos=bos(gigabits=5),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "6:0:0:0", "sda", size=1000204886016, vendor="CT1000MX", model="500SSD1",
        depth=30,
    )  # fmt: skip
    words = ata_words(
        serial="1949E22A1B2C", model="CT1000MX500SSD1", firmware="M3CR023", apm=254, current=3
    )
    case.answer(("hdparm", "--Istdout", "/dev/sda"), words)
    ata_smart(case, "sda", "1949E22A1B2C", "CT1000MX500SSD1", 36)
    case.answer(("sg_vpd", "--raw", "--page=0xb2", "/dev/sda"), PAGE_B2)
    readcap = "   Logical block provisioning: lbpme=0, lbprz=0\n"
    case.answer(("sg_readcap", "--long", "/dev/sda"), readcap)
    contents(case, disk)
    expect(
        case, "sda", "1949E22A1B2C", "free", "USB; not in use",
        {
            "transport": "usb-uas", "external": True, "model": "CT1000MX500SSD1",
            "serial": "1949E22A1B2C", "port": "2-3", "usb_id": "152d:0578", "usb_speed": 5000,
            "usb_capable_speed": 5000, "usb_interfaces": ["BOT", "UAS"], "driver": "uas",
            "queue_depth": 30, "trim": True, "trim_kernel": 0, "provisioning_mode": "full",
            "trim_drive": True, "sata_speed": 6000, "apm": "enabled, level 254",
            "security": "disabled, not frozen", "temperature": 36, "usb_hubs": 0,
        },
        {"driver_why": "the driver is the best", "sata_port_limit": "the bridge does not report"},
    )  # fmt: skip
    return case


def usb2_port() -> Case:
    case = Case("uas-on-usb2", "10 Gb/s UAS drive behind a USB 2 hub")
    interface = usb_device(
        case, xhci(case), "1-4.2", ids="04e8:61f5", maker="Samsung", product="Portable SSD T7",
        driver="uas", protocols=[BOT, UAS], speed=480, version="2.10", serial="S5TANS0R900000K",
        bos=bos(gigabits=10),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "6:0:0:0", "sda", size=1000204886016, vendor="Samsung", model="PSSD T7",
        depth=30, queue={"rotational": 1}, pages={"vpd_pg80": b"\0\x80\0\x0fS5TANS0R900000K"},
    )  # fmt: skip
    smartctl_error(case, "sda", "/dev/sda: Unknown USB bridge [0x04e8:0x61f5 (0x100)]")
    no_ata(case, "sda")
    no_unmap(case, "sda")
    part = {"start": 1, "size": 953867, "type": "7", "blkid": filesystem("exfat", "Samsung_T7")}
    contents(case, disk, DOS, [part])
    expect(
        case, "sda", "S5TANS0R900000K", "free", "USB; not in use",
        {
            "transport": "usb-uas", "usb_speed": 480, "usb_capable_speed": 10000, "usb_hubs": 1,
            "port": "1-4.2", "trim": False,
        },
        {"ncq": NO_PASS, "health": NO_PASS, "temperature": NO_PASS,
         "rotational": "the drive does not report its rotation rate"},
    )  # fmt: skip
    return case


def bot_stick() -> Case:
    case = Case("bot-stick", "Removable BOT stick: not asked anything it may not know")
    interface = usb_device(
        case, xhci(case), "1-3", ids="0781:5581", maker="SanDisk", product="Ultra",
        driver="usb-storage", protocols=[BOT], speed=480, version="2.10",
        serial="4C530001230101112233", bos=bos(gigabits=5),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "7:0:0:0", "sdb", size=30765219840, vendor="SanDisk", model="Ultra",
        removable=1, seq=9,
    )  # fmt: skip
    smartctl_error(case, "sdb", "/dev/sdb: Unknown USB bridge [0x0781:0x5581 (0x100)]")
    part = {"start": 1, "size": 29338, "type": "c", "blkid": filesystem("vfat", "STICK")}
    contents(case, disk, DOS, [part])
    reason = "not asked: sticks with removable media may hang on commands they do not know"
    expect(
        case, "sdb", "4C530001230101112233", "free", "USB; not in use",
        {
            "transport": "usb-bot", "model": "SanDisk Ultra", "usb_interfaces": ["BOT"],
            "queue_depth": 1, "usb_speed": 480, "usb_capable_speed": 5000, "trim_kernel": 0,
        },
        {"trim": reason, "smart": reason, "health": reason, "security": reason},
    )  # fmt: skip
    return case


def no_pass_through() -> Case:
    case = Case("bridge-without-pass-through", "UAS hard disk whose bridge blocks ATA (quirk t)")
    interface = usb_device(
        case, xhci(case), "2-1", ids="0bc2:ab28", maker="Seagate", product="BUP Portable",
        driver="uas", protocols=[BOT, UAS], speed=5000, serial="NA8TRWQ1",
        bos=bos(gigabits=5),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "6:0:0:0", "sda", size=4000787029504, vendor="Seagate",
        model="BUP Portable", depth=30, queue={"rotational": 1, "physical_block_size": 4096},
        pages={"vpd_pgb1": bytes([0, 0xB1, 0, 0x3C, 0x14, 0xB4]) + bytes(58)},
    )  # fmt: skip
    smartctl_error(case, "sda", "/dev/sda: Unsupported USB bridge [0x0bc2:0xab28 (0x100)]")
    case.answer(
        ("hdparm", "--Istdout", "/dev/sda"), "\n/dev/sda:\n", "5",
        "SG_IO: bad/missing sense data, sb[]:  70 00 05 00 00 00 00 0a 00 00 00 00 20 00",
    )  # fmt: skip
    no_unmap(case, "sda")
    windows = {"start": 1, "size": 3815446, "type": BASIC, "blkid": filesystem("ntfs", "Backup")}
    contents(case, disk, GPT, [windows])
    case.answer(("ntfsls", "-f", "-a", "-s", "-p", "/", "/dev/sda1"), "$MFT\n$Volume\nBackups\n")
    expect(
        case, "sda", "NA8TRWQ1", "free", "USB; not in use",
        {
            "transport": "usb-uas", "rotational": True, "queue_depth": 30, "trim": False,
            "physical_sector": 4096, "serial": "NA8TRWQ1",
        },
        {
            "ncq": NO_PASS, "trim_drive": NO_PASS, "smart": NO_PASS, "health": NO_PASS,
            "apm": NO_PASS, "devsleep": NO_PASS, "security": NO_PASS, "opal": NO_PASS,
            "temperature": NO_PASS, "sata_speed": NO_PASS,
        },
    )  # fmt: skip
    return case


def frozen() -> Case:
    case = Case("sata-frozen", "SATA hard disk, password set, frozen by the BIOS; 1.5 Gb/s link")
    port = ahci_port(case, 2, command="0004c017")
    case.put(f"{port}/link2/ata_link/link2", sata_spd="1.5 Gbps")
    disk = scsi_disk(
        case, port, "1:0:0:0", "sda", size=2000398934016, vendor="ATA", model="WDC WD20EZRZ-00Z",
        rev="0A80", depth=1, queue={"rotational": 1, "physical_block_size": 4096},
    )  # fmt: skip
    words = ata_words(
        serial="WD-WCC4N1234567", model="WDC WD20EZRZ-00Z5HB0", firmware="80.00A80", rate=5400,
        trim=False, security=0x2B, apm=128, current=1,
    )  # fmt: skip
    case.answer(("hdparm", "--Istdout", "/dev/sda"), words)
    ata_smart(
        case, "sda", "WD-WCC4N1234567", "WDC WD20EZRZ-00Z5HB0", 29, smart_status={"passed": False}
    )
    contents(case, disk)
    expect(
        case, "sda", "WD-WCC4N1234567", "locked", INTERNAL,
        {
            "security": "enabled, frozen", "health": "failed", "apm": "enabled, level 128",
            "sata_speed": 1500, "sata_capable_speed": 6000, "queue_depth": 1,
            "ncq": "supported, depth 32", "trim": False, "rotational": True,
        },
        {"wear": "the drive reports no wear"},
    )  # fmt: skip
    return case


def enclosure() -> Case:
    case = Case("enclosure-two-luns", "Two bays, one bridge, one USB serial: told apart by LUN")
    interface = usb_device(
        case, xhci(case), "2-2", ids="174c:55aa", maker="ASMedia", product="ASM1352R-PM",
        driver="uas", protocols=[BOT, UAS], speed=10000, serial="123456789012",
        bos=bos(gigabits=10),
    )  # fmt: skip
    for lun, name in enumerate(("sda", "sdb")):
        disk = scsi_disk(
            case, interface, f"6:0:0:{lun}", name, size=4000787030016, vendor="ASMT",
            model="2115", depth=30, seq=20 + lun,
        )  # fmt: skip
        smartctl_error(case, name, f"/dev/{name}: Unknown USB bridge [0x174c:0x55aa (0x100)]")
        no_ata(case, name)
        no_unmap(case, name)
        contents(case, disk)
        expect(
            case, name, f"port:2-2:{lun}", "free", "USB; not in use",
            {"serial": "123456789012", "lun": lun, "port": "2-2", "usb_speed": 10000},
        )  # fmt: skip
    return case


def two_with_one_serial() -> Case:
    case = Case("two-with-one-serial", "Two cheap sticks with the same serial, one without any")
    above = xhci(case)
    rows = (
        ("sda", "1-1", "0123456789ABCDEF"),
        ("sdb", "1-2", "0123456789ABCDEF"),
        ("sdc", "1-5", None),
    )
    for index, (name, port, serial) in enumerate(rows):
        interface = usb_device(
            case, above, port, ids="ffff:5678", maker="USB", product="Disk 2.0",
            driver="usb-storage", protocols=[BOT], speed=480, version="2.00", serial=serial,
        )  # fmt: skip
        disk = scsi_disk(
            case, interface, f"{6 + index}:0:0:0", name, size=8 * GB // 512 * 512,
            vendor="VendorCo", model="ProductCode", removable=1, seq=30 + index,
        )  # fmt: skip
        smartctl_error(case, name, f"/dev/{name}: Unknown USB bridge [0xffff:0x5678 (0x100)]")
        contents(case, disk)
        expect(
            case, name, f"port:{port}:0", "free", "USB; not in use",
            {"transport": "usb-bot", "usb_capable_speed": 480},
            {} if serial else {"serial": "the drive reports no serial"},
        )  # fmt: skip
    return case


def one_inner_serial() -> Case:
    case = Case("two-with-one-inner-serial", "Bridges with one serial: equal drives in two of them")
    above = xhci(case)
    rows = (("sda", "2-1", True), ("sdb", "2-2", True), ("sdc", "2-3", False))
    for index, (name, port, speaks) in enumerate(rows):
        interface = usb_device(
            case, above, port, ids="152d:0578", maker="JMicron", product="External Disk",
            driver="uas", protocols=[BOT, UAS], speed=5000, serial="DB98765432109",
            bos=bos(gigabits=5),
        )  # fmt: skip
        disk = scsi_disk(
            case, interface, f"{6 + index}:0:0:0", name, size=1000204886016, vendor="CT1000MX",
            model="500SSD1", depth=30, seq=30 + index,
        )  # fmt: skip
        if speaks:
            words = ata_words(
                serial="1949E22A1B2C", model="CT1000MX500SSD1", firmware="M3CR023", apm=254,
                current=3,
            )  # fmt: skip
            case.answer(("hdparm", "--Istdout", f"/dev/{name}"), words)
            ata_smart(case, name, "1949E22A1B2C", "CT1000MX500SSD1", 36)
        else:
            smartctl_error(case, name, f"/dev/{name}: Unknown USB bridge [0x152d:0x0578 (0x100)]")
            no_ata(case, name)
        no_unmap(case, name)
        contents(case, disk)
        expect(
            case, name, f"port:{port}:0" if speaks else "DB98765432109", "free",
            "USB; not in use", {"serial": "1949E22A1B2C" if speaks else "DB98765432109"},
        )  # fmt: skip
    return case


def uas_refused() -> Case:
    case = Case("uas-by-usb-storage", "UAS offered, usb-storage bound: a module parameter, streams")
    case.put("sys/module/usb_storage/parameters", quirks="152d:0578:u,0bc2:2321:t")
    case.answer(
        ("dmesg",),
        "[    4.1] usb 2-2: USB controller 0000:00:14.0 does not support streams, which are "
        "required by the UAS driver.\n"
        "[    5.0] usb 2-4: UAS is ignored for this device, using usb-storage instead\n",
    )
    above = xhci(case)
    rows = (
        ("sda", "2-1", "152d:0578", "the module parameter usb-storage.quirks=152d:0578:u"),
        ("sdb", "2-2", "174c:55aa", "the USB controller has no streams"),
        ("sdc", "2-4", "0bc2:331a", "the kernel's built-in quirk"),
        ("sdd", "2-5", "0bc2:2321", "the kernel log does not show why"),
    )
    for index, (name, port, ids, reason) in enumerate(rows):
        interface = usb_device(
            case, above, port, ids=ids, maker="Maker", product=f"Disk {index}",
            driver="usb-storage", protocols=[BOT, UAS], speed=5000, serial=f"SERIAL{index}",
            bos=bos(gigabits=5),
        )  # fmt: skip
        disk = scsi_disk(
            case, interface, f"{6 + index}:0:0:0", name, size=500107862016, vendor="Maker",
            model=f"Disk {index}", seq=40 + index,
        )  # fmt: skip
        smartctl_error(case, name, f"/dev/{name}: Unknown USB bridge [0x{ids[:4]}:0x{ids[5:]}]")
        no_ata(case, name)
        no_unmap(case, name)
        contents(case, disk)
        expect(
            case, name, f"SERIAL{index}", "free", "USB; not in use",
            {
                "transport": "usb-bot", "usb_interfaces": ["BOT", "UAS"], "driver": "usb-storage",
                "driver_why": {"contains": reason},
            },
        )  # fmt: skip
    return case


def nvme_bridge() -> Case:
    case = Case("usb-nvme-bridge", "NVMe behind a JMicron bridge, which also makes up an ATA drive")
    interface = usb_device(
        case, xhci(case), "4-1", ids="152d:a583", maker="JMicron", product="USB to NVMe",
        driver="uas", protocols=[BOT, UAS], speed=20000, serial="012345678999", lanes=2,
        bos=bos(gigabits=20, lanes=2),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "6:0:0:0", "sda", size=2000398934016, vendor="JMicron", model="Tech",
        depth=30, provisioning="unmap", queue={"discard_max_bytes": 4294966784},
        pages={"vpd_pgb2": PAGE_B2},
    )  # fmt: skip
    smartctl(
        case, "sda", kind="sntjmicron", protocol="NVMe", model_name="WD_BLACK SN770 2TB",
        serial_number="22520A801234", firmware_version="731100WD", temperature={"current": 47},
        nvme_smart_health_information_log={"percentage_used": 0, "temperature": 47},
    )  # fmt: skip
    fake = ata_words(serial="FAKEFAKEFAKE", model="JMicron ATA", firmware="0")
    case.answer(("hdparm", "--Istdout", "/dev/sda"), fake)
    readcap = "   Logical block provisioning: lbpme=1, lbprz=0\n"
    case.answer(("sg_readcap", "--long", "/dev/sda"), readcap)
    contents(case, disk)
    expect(
        case, "sda", "22520A801234", "free", "USB; not in use",
        {
            "transport": "usb-uas", "model": "WD_BLACK SN770 2TB", "firmware": "731100WD",
            "usb_speed": 20000, "usb_lanes": 2, "usb_capable_speed": 20000, "trim": True,
            "trim_kernel": 4294966784, "temperature": 47, "smart": "supported",
        },
        {"ncq": "an NVMe drive is behind this bridge", "security": "an NVMe drive is behind"},
    )  # fmt: skip
    return case


def hanging() -> Case:
    case = Case("hanging-drive", "A drive that stops answering: locked, and asked nothing more")
    interface = usb_device(
        case, xhci(case), "2-6", ids="152d:0583", maker="JMicron", product="Bridge",
        driver="uas", protocols=[BOT, UAS], speed=10000, serial="DD564198838B8",
        bos=bos(gigabits=10),
    )  # fmt: skip
    disk = scsi_disk(
        case, interface, "6:0:0:0", "sda", size=1000204886016, vendor="JMicron", model="Tech",
        depth=30,
    )  # fmt: skip
    contents(case, disk)
    case.answer(("smartctl", "-j", "-i", "-H", "-A", "/dev/sda"), "", "timeout")
    reason = "the drive did not answer smartctl in 10 s"
    expect(
        case, "sda", "DD564198838B8", "locked", reason,
        {"transport": "usb-uas", "usb_speed": 10000},
        {"health": reason, "ncq": reason, "temperature": reason, "trim": reason},
    )  # fmt: skip
    return case


def thunderbolt() -> Case:
    case = Case("thunderbolt-nvme", "NVMe in a Thunderbolt case: external, so free when blank")
    folder = pci(
        case, "0000:00:07.0", "0000:04:00.0", "0000:05:01.0", "0000:06:00.0", driver="nvme",
        vendor="0x15b7", removable="removable",
    )  # fmt: skip
    controller = f"{folder}/nvme/nvme1"
    case.put(controller, model="WDC WDS100T2B0C", serial="21033A800123", firmware_rev="211210WD")
    case.link(f"{controller}/device", "../..")
    disk = Disk("nvme1n1", f"{controller}/nvme1n1", controller, "259:4", 1000204886016)
    block(case, disk, queue={"nr_requests": 1023})
    contents(case, disk)
    expect(
        case, "nvme1n1", "21033A800123", "free", "Thunderbolt or USB4",
        {"transport": "nvme", "external": True, "port": "0000:06:00.0"},
        {"temperature": "smartctl", "pcie_speed": "the PCI device reports no link"},
    )  # fmt: skip
    return case


def esata() -> Case:
    case = Case("esata", "SATA drive on a port marked external: free when blank")
    # PxCMD bit 21 (ESP), CAP bit 5 (SXS).
    port = ahci_port(case, 6, command="0024c017", caps="c734ff25")
    disk = scsi_disk(
        case, port, "5:0:0:0", "sda", size=500107862016, vendor="ATA", model="Hitachi HTS5450",
        depth=31, removable=1, queue={"rotational": 1},
    )  # fmt: skip
    words = ata_words(
        serial="110101PBN4000EXAMPLE", model="Hitachi HTS545050B9A300", firmware="PB4OC60G",
        rate=5400, trim=False,
    )  # fmt: skip
    case.answer(("hdparm", "--Istdout", "/dev/sda"), words)
    contents(case, disk)
    expect(
        case, "sda", "110101PBN4000EXAMPLE", "free", "eSATA",
        {"transport": "sata", "external": True, "port": "ata6"},
    )  # fmt: skip
    return case


def emmc() -> Case:
    case = Case("emmc", "A tablet's eMMC: internal; its boot areas are no drives")
    host = "sys/devices/platform/80860F14:00/mmc_host/mmc0"
    card = f"{host}/mmc0:0001"
    case.put(card, type="MMC", name="DF4032", serial="0x1a2b3c4d", fwrev="0x0200000000000000")
    case.driver(card, "mmcblk")
    disk = Disk("mmcblk0", f"{card}/block/mmcblk0", card, "179:0", 31268536320)
    block(case, disk, queue={"discard_max_bytes": 2199023255040, "discard_max_hw_bytes": 1})
    boot = Disk("mmcblk0boot0", f"{card}/block/mmcblk0boot0", card, "179:8", 4194304)
    block(case, boot, queue={})
    contents(case, disk)
    expect(
        case, "mmcblk0", "0x1a2b3c4d", "locked", INTERNAL,
        {"transport": "mmc", "external": False, "model": "DF4032", "port": "mmc0"},
        {"temperature": "a mmc drive has no sensor", "ncq": "not an ATA drive"},
    )  # fmt: skip
    return case


BUILDERS: tuple[Callable[[], Case], ...] = (
    sata_ssd, nvme_ssd, uas_bridge, usb2_port, bot_stick, no_pass_through, frozen, enclosure,
    two_with_one_serial, one_inner_serial, uas_refused, nvme_bridge, hanging, thunderbolt, esata,
    emmc,
)  # fmt: skip


if __name__ == "__main__":
    for build in BUILDERS:
        case = build()
        case.write(CASES)
        print(f"{case.name}: {case.about}")
