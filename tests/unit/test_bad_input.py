"""Bad input to every suite that writes to a drive: one clear line that names the field, before
anything can be written. The cases: more than the drive has, odd block sizes, a queue
depth of 0, a span of 0, a drive smaller than the test."""

from __future__ import annotations

import builtins
import importlib
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import EXIT_BAD_INPUT, BadInput
from benchstick.suites import registry

Make = Callable[..., dict[str, Any]]
BEYOND, ODD, DEPTH_0, SPAN_0, SMALL = KINDS = (
    "beyond the drive", "odd block size", "queue depth 0", "span 0", "drive too small",
)  # fmt: skip
GB = 10**9
# The drive of a case, in bytes; everything but `SMALL` has one on which the suite itself would run.
USUAL = 10**12

# (suite, kind, parameters, field, drive in bytes, target, scale)
Case = tuple[str, str, dict[str, str], str, int, str | None, float | None]


def case(
    suite: str,
    kind: str,
    params: dict[str, str],
    field: str,
    capacity: int = USUAL,
    target: str | None = None,
    scale: float | None = None,
) -> Case:
    return (suite, kind, params, field, capacity, target, scale)


CASES = [
    case("das", BEYOND, {}, "scale", 10 * GB),
    case("das", BEYOND, {"sets": "ISOs"}, "scale", 28 * GB, scale=1.0),
    case("das", ODD, {"block": "5000"}, "block"),
    case("das", ODD, {"block": "0"}, "block"),
    case("das", DEPTH_0, {"threads": "0"}, "threads"),
    case("das", SPAN_0, {}, "scale", scale=0.0),
    case("das", SPAN_0, {}, "scale", scale=float("nan")),
    case("das", SMALL, {}, "scale", 4096),
    case("das", SMALL, {}, "scale", 0),
    case("cdm", BEYOND, {"size": "2g"}, "size", GB),
    case("cdm", BEYOND, {"size": "2g"}, "size", GB, "block"),
    case("cdm", ODD, {"size": "16777217"}, "size"),
    case("cdm", SPAN_0, {"size": "4096"}, "size"),
    case("cdm", SMALL, {"size": "16MiB"}, "size", 1 << 20, "block"),
    case("cdm", SMALL, {}, "size", 0, "block"),
    case("atto", BEYOND, {"length": "2g"}, "length", GB),
    case("atto", BEYOND, {"length": "2g"}, "length", GB, "block"),
    case("atto", BEYOND, {"length": "100tb"}, "length"),
    case("atto", ODD, {"sizes": "1000"}, "sizes"),
    case("atto", ODD, {"sizes": "0"}, "sizes"),
    case("atto", ODD, {"length": "100001"}, "length"),
    case("atto", DEPTH_0, {"depth": "0"}, "depth"),
    case("atto", SPAN_0, {"length": "0"}, "length"),
    case("atto", SMALL, {}, "length", 1 << 20, "block"),
    case("atto", SMALL, {}, "length", 0),
    case("asssd", BEYOND, {"size": "2g"}, "size", GB),
    case("asssd", BEYOND, {"size": "2g"}, "size", GB, "block"),
    case("asssd", ODD, {"size": "100MiB"}, "size"),
    case("asssd", SPAN_0, {"size": "0"}, "size"),
    case("asssd", SMALL, {}, "size", 1 << 20, "block"),
    case("asssd", SMALL, {"size": "64MiB", "parts": "copy"}, "scale", 100 << 20),
    case("asssd", SMALL, {}, "size", 0),
    case("consistency", BEYOND, {"span": "101"}, "span"),
    case("consistency", BEYOND, {"spare": "1", "nand": "2tb"}, "spare"),
    case("consistency", ODD, {"block": "5000"}, "block"),
    case("consistency", ODD, {"block": "4097"}, "block"),
    case("consistency", DEPTH_0, {"depth": "0"}, "depth"),
    case("consistency", SPAN_0, {"span": "0"}, "span"),
    case("consistency", SMALL, {}, "span", 15 << 20),
    case("consistency", SMALL, {"span": "1"}, "span", GB),
    case("consistency", SMALL, {"spare": "90"}, "spare", 100 << 20),
    case("consistency", SMALL, {}, "span", 0),
    case("sweep", BEYOND, {"span": "101"}, "span"),
    case("sweep", ODD, {"block": "5000"}, "block"),
    case("sweep", ODD, {"block": "0"}, "block"),
    case("sweep", DEPTH_0, {"depths": "0"}, "depths"),
    case("sweep", DEPTH_0, {"depths": "1,0,4"}, "depths"),
    case("sweep", SPAN_0, {"span": "0"}, "span"),
    case("sweep", SMALL, {}, "span", 15 << 20),
    case("sweep", SMALL, {"span": "1"}, "span", GB),
    case("sweep", SMALL, {}, "span", 0),
    case("sustained", BEYOND, {"span": "2tb"}, "span"),
    case("sustained", BEYOND, {"span": "101%"}, "span"),
    case("sustained", ODD, {"block": "5000"}, "block"),
    case("sustained", ODD, {"burst": "1048577"}, "burst"),
    case("sustained", DEPTH_0, {"depth": "0"}, "depth"),
    case("sustained", SPAN_0, {"span": "0"}, "span"),
    case("sustained", SPAN_0, {"span": "0%"}, "span"),
    case("sustained", SMALL, {}, "span", 63 << 20),
    case("sustained", SMALL, {}, "span", 0),
    case("pts", BEYOND, {"range": "101"}, "range"),
    case("pts", BEYOND, {"amount": "2tb"}, "amount"),
    case("pts", BEYOND, {"amount": "800gb"}, "amount"),
    case("pts", ODD, {"amount": "16777217"}, "amount"),
    case("pts", DEPTH_0, {"depth": "0"}, "depth"),
    case("pts", DEPTH_0, {"threads": "0"}, "threads"),
    case("pts", SPAN_0, {"range": "0"}, "range"),
    case("pts", SPAN_0, {"amount": "0"}, "amount"),
    case("pts", SPAN_0, {"amount": "4096"}, "amount"),
    case("pts", SMALL, {}, "range", 20 << 20),
    case("pts", SMALL, {"range": "1"}, "range", GB),
    case("pts", SMALL, {}, "range", 0),
    case("erase", DEPTH_0, {"samples": "0"}, "samples"),
    case("erase", SPAN_0, {"samples": "15"}, "samples"),
    case("erase", SMALL, {}, "rung", 15 * 4096),
    case("erase", SMALL, {}, "rung", 0),
]
# Cases for which the suite has no parameter.
HAS_NOT = {
    ("cdm", DEPTH_0): "its depths are those of the original's presets",
    ("asssd", DEPTH_0): "its depths are those of the original",
    ("erase", BEYOND): "it always takes the whole drive",
    ("erase", ODD): "its blocks are the drive's",
}
# A suite that scripts/new-suite made brings its cases in its own test.
for new in sorted(set(registry.all_suites()) - {item[0] for item in CASES}):
    own = importlib.import_module(f"tests.unit.test_{new.replace('-', '_')}")
    CASES += [case(new, *item) for item in getattr(own, "BAD_INPUT", ())]
    HAS_NOT |= {(new, kind): reason for kind, reason in getattr(own, "HAS_NOT", {}).items()}


def named(item: Case) -> str:
    suite, kind, params, _, capacity, target, scale = item
    words = [f"{name}={value}" for name, value in params.items()]
    words += [f"{capacity} B"] if capacity != USUAL else []
    words += [target] if target else []
    words += [f"scale={scale}"] if scale is not None else []
    return f"{suite}, {kind}: {' '.join(words)}"


@pytest.fixture
def nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file or drive can be opened, no program started."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was opened or started")

    for place, name in ((builtins, "open"), (os, "open"), (subprocess, "Popen")):
        monkeypatch.setattr(place, name, refuse)


@pytest.mark.parametrize("item", CASES, ids=named)
def test_bad_input_is_one_line_before_anything_is_written(
    drive_json: Make, nothing_moves: None, item: Case
) -> None:
    suite, _, params, field, capacity, target, scale = item
    drive = drive_json(capacity=capacity, trim=True, trim_kernel=1 << 30)
    with pytest.raises(BadInput) as caught:
        registry.make_plan(suite, drive, params, target=target, scale=scale, ram=1 << 40)
    assert caught.value.field == field
    assert caught.value.exit_code == EXIT_BAD_INPUT
    message = caught.value.message
    assert message.isprintable(), message
    assert 15 < len(message) < 250, message
    # It names what was wrong, and does not advise what is not allowed either.
    assert field in message or "set " in message, message
    assert "scale 0" not in message.replace("scale 0.", "") or scale == 0.0, message


@pytest.mark.parametrize("suite", list(registry.all_suites()))
@pytest.mark.parametrize("kind", KINDS)
def test_each_suite_has_each_case_that_applies(suite: str, kind: str) -> None:
    has = any(item[:2] == (suite, kind) for item in CASES)
    assert has != ((suite, kind) in HAS_NOT)


@pytest.mark.parametrize("suite", list(registry.all_suites()))
def test_the_same_drive_runs_the_suite_as_it_is(drive_json: Make, suite: str) -> None:
    # The cases fail for their own reason, not for one that they all share.
    drive = drive_json(capacity=USUAL, trim=True, trim_kernel=1 << 30)
    assert registry.make_plan(suite, drive, {}, ram=1 << 40).steps
