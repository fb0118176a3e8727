"""The test conditions of a run, as text: the block layer, the purge."""

from __future__ import annotations

from typing import Any

from benchstick.reports import conditions as resting


def rows(**conditions: Any) -> dict[str, str]:
    run = {"result": {}, "conditions": conditions, "results": [], "plan": {"target": "block"},
           "drive": {}, "state": "done"}  # fmt: skip
    return {row.name: row.text for row in resting._conditions(run)}


def test_the_block_layers_settings_are_shown_as_text() -> None:
    queue = {"scheduler": "[none] mq-deadline", "nomerges": "0", "max_sectors_kb": "1280",
            "nr_requests": "128", "write_cache": "write back"}  # fmt: skip
    assert rows(queue=queue) == {
        "Queue": "scheduler none · kernel queue size 128 · requests of at most 1280 KiB"
        " · write cache: write back"
    }
    assert rows(queue={"max_sectors_kb": "many", "scheduler": "kyber"}) == {
        "Queue": "scheduler kyber"
    }
    assert rows(queue={}) == {}


def test_a_purge_shows_its_method_and_the_samples_after_it() -> None:
    purge = {"rung": "discard", "requested_rung": "auto", "seconds": 0.6,
    "tool": "blkdiscard 2.38.1",
            "command": ["blkdiscard", "/dev/sdx"], "tool_output": "discards for 8.59 GB were sent",
            "read_back": "all 64 marks are gone"}  # fmt: skip
    assert rows(purge=purge) == {
        "Purge": "discard · blkdiscard 2.38.1 · 0.6 s · discards for 8.59 GB were sent"
        " · read back: all 64 marks are gone"
    }
    purge = {"rung": "overwrite", "seconds": 4000.0, "resumes": 7}
    assert rows(purge=purge) == {"Purge": "overwrite · 1 h 6 min · resumes 7"}


def test_the_state_is_the_drives() -> None:
    assert rows(state="as found") == {"State of the drive": "as found"}
