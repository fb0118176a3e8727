"""The SMART counters and the contents of a drive, as the facts that recipes judge."""

from __future__ import annotations

from typing import Any

import pytest

from benchstick.drives import smart
from benchstick.drives.partition_table import Contents, Partition, Signature
from benchstick.drives.smart import Smart


def row(number: int, name: str, raw: str) -> dict[str, Any]:
    return {"id": number, "name": name, "value": 100, "raw": {"value": 1 << 40, "string": raw}}


def test_counters_of_an_ata_drive_are_the_first_number_of_the_raw_value() -> None:
    table = [
        row(5, "Reallocated_Sector_Ct", "7 (2 0)"),
        row(197, "Current_Pending_Sector", "0"),
        row(199, "UDMA_CRC_Error_Count", "0x12"),
    ]
    facts = smart.facts(Smart({"ata_smart_attributes": {"table": table}}, "sat"))
    assert facts["reallocated_sectors"].value == 7
    assert facts["reallocated_sectors"].source == "smartctl -d sat, Reallocated_Sector_Ct"
    assert facts["pending_sectors"].value == 0
    assert facts["crc_errors"].value == 0
    assert facts["media_errors"].reason == "the drive does not count them"


def test_an_nvme_drive_counts_media_errors() -> None:
    log = {"media_errors": 3, "percentage_used": 1}
    facts = smart.facts(Smart({"nvme_smart_health_information_log": log}, "nvme"))
    assert facts["media_errors"].value == 3
    assert facts["reallocated_sectors"].value is None


def test_without_smart_every_counter_has_the_reason() -> None:
    facts = smart.facts(Smart(reason="the bridge passes nothing on"))
    assert {facts[name].reason for name in ("media_errors", "crc_errors", "wear")} == {
        "the bridge passes nothing on"
    }


NTFS = Signature(type="ntfs", usage="filesystem")


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (Contents(), "nothing"),
        (Contents(whole=NTFS), "ntfs"),
        (Contents(table="gpt"), "gpt partition table"),
        (
            Contents("dos", Signature(table="dos"), (Partition(1, 0, 9, signature=NTFS),)),
            "dos partition table, ntfs",
        ),
        (Contents(partitions=(Partition(1, 0, 9),)), "partitions"),
        (Contents(whole=Signature(table="gpt")), "gpt partition table"),
        (Contents(doubts=("it could not be read",)), None),
        (Contents(has_data=True), "data of no known kind"),
        (Contents(whole=NTFS, has_data=True), "ntfs"),
        (Contents(doubts=("it could not be read",), has_data=True), None),
    ],
)
def test_the_contents_of_a_drive_are_described_in_a_few_words(
    contents: Contents, expected: str | None
) -> None:
    assert contents.describe() == expected
