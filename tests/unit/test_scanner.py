"""What a barcode scanner's keys mean, and which input device it is."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from evdev import InputDevice

from benchstick import cli
from benchstick.agent.barcode import keymaps, scanner
from benchstick.agent.barcode.keymaps import LAYOUTS, MOST_CHARACTERS, QUIET_SECONDS, Decoder
from benchstick.agent.station import Desk
from benchstick.store import barcode_scans, database
from benchstick.store.settings import SCANNER_LAYOUTS, SettingsError, read

ROOT = Path(__file__).resolve().parents[2]
ENTER, TAB, SHIFT, CTRL, ALT, ALT_GR, CAPS, SPACE = 28, 15, 42, 29, 56, 100, 58, 57
A, B, Q, ONE, SEVEN, LEFT_OF_ONE = 30, 48, 16, 2, 8, 41


def type_keys(decoder: Decoder, *keys: int, at: float = 1.0) -> list[str]:
    """The scans of keys pressed and released one after the other; a negative one is held."""
    texts = []
    for key in keys:
        texts.append(decoder.key(abs(key), 1, at))
        if key > 0:
            decoder.key(key, 0, at)
    return [text for text in texts if text is not None]


def release(decoder: Decoder, key: int) -> None:
    assert decoder.key(key, 0, 1.0) is None


def test_letters_digits_and_enter() -> None:
    decoder = Decoder(LAYOUTS["us"])
    assert type_keys(decoder, A, ONE, B, ENTER) == ["a1b"]
    assert type_keys(decoder, -SHIFT, A) == []
    release(decoder, SHIFT)
    assert type_keys(decoder, A, TAB) == ["Aa"]
    assert type_keys(decoder, ENTER, ENTER, SPACE, ENTER) == []


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_character_of_a_layout_comes_back(name: str) -> None:
    layout = LAYOUTS[name]
    for plain, shift, code in zip(layout.plain, layout.shift, keymaps._KEYS, strict=True):
        decoder = Decoder(layout)
        after = (SPACE,) if plain in layout.dead else ()
        assert type_keys(decoder, code, *after, A, ENTER) == [plain + layout.plain[26]]
        type_keys(decoder, -SHIFT, code)
        release(decoder, SHIFT)
        after = (SPACE,) if shift in layout.dead else ()
        assert type_keys(decoder, *after, ENTER) == [shift]
        if plain in layout.alt_gr:
            type_keys(decoder, -ALT_GR, code)
            release(decoder, ALT_GR)
            assert type_keys(decoder, ENTER) == [layout.alt_gr[plain]]


def test_a_german_scanner() -> None:
    """S/N:Y-{7} as a keyboard of that country sends it; by the kernel's key numbers."""
    decoder = Decoder(LAYOUTS["de"])
    for modifier, key in ((SHIFT, 31), (SHIFT, 8), (SHIFT, 49), (SHIFT, 52), (SHIFT, 44), (0, 53)):
        type_keys(decoder, *([-modifier] if modifier else []), key)
        if modifier:
            release(decoder, modifier)
    for modifier, key in ((ALT_GR, 8), (0, 8), (ALT_GR, 11)):
        type_keys(decoder, *([-modifier] if modifier else []), key)
        if modifier:
            release(decoder, modifier)
    assert type_keys(decoder, ENTER) == ["S/N:Y-{7}"]


def test_caps_lock_turns_letters_only() -> None:
    decoder = Decoder(LAYOUTS["us"])
    assert type_keys(decoder, CAPS, A, ONE, CAPS, A, ENTER) == ["A1a"]
    type_keys(decoder, CAPS, -SHIFT, A, ONE)
    release(decoder, SHIFT)
    assert type_keys(decoder, ENTER) == ["a!"]


def test_alt_and_a_number_on_the_keypad() -> None:
    decoder = Decoder(LAYOUTS["fr"])
    for number in ((79, 80, 79), (82, 80, 81, 71), (79, 81, 82), (71, 71, 71)):
        type_keys(decoder, -ALT, *number)
        release(decoder, ALT)
    # 121 is y everywhere, 0237 is í in Windows' page, 130 is é in the PC's; 777 is nothing.
    assert type_keys(decoder, ENTER) == ["yíé"]


def test_controls_repeats_and_unknown_keys_are_no_characters() -> None:
    decoder = Decoder(LAYOUTS["us"])
    # GS1 barcodes have a group separator, which scanners send as Control and ].
    type_keys(decoder, -CTRL, 27)
    release(decoder, CTRL)
    assert decoder.key(A, 2, 1.0) is None
    assert type_keys(decoder, 250, 1, A, ENTER) == ["a"]


def test_a_scan_without_an_end_ends_when_it_is_quiet() -> None:
    decoder = Decoder(LAYOUTS["us"])
    type_keys(decoder, A, at=10.0)
    type_keys(decoder, B, at=10.4)
    assert decoder.quiet(10.4 + QUIET_SECONDS - 0.01) is None
    assert decoder.quiet(10.4 + QUIET_SECONDS) == "ab"
    assert decoder.quiet(99.0) is None


def test_no_scan_is_longer_than_the_most() -> None:
    decoder = Decoder(LAYOUTS["us"])
    assert type_keys(decoder, *[A] * 1000, ENTER) == ["a" * MOST_CHARACTERS]


def test_what_was_lost_is_not_made_up() -> None:
    decoder = Decoder(LAYOUTS["us"])
    type_keys(decoder, A, -SHIFT)
    decoder.drop()
    assert type_keys(decoder, B, ENTER) == ["b"]


def event(root: Path, number: int, name: str, vendor: str, product: str, keys: str) -> None:
    folder = root / f"class/input/event{number}/device"
    for path, text in (
        ("capabilities/key", keys), ("id/vendor", vendor), ("id/product", product),
        ("name", name), ("phys", f"usb-1/input{number}"),
    ):  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{text}\n", encoding="utf-8")


ALL_KEYS = "1000000000007 ff9f207ac14057ff febeffdfffefffff fffffffffffffffe"


def test_keyboards_are_what_can_type(tmp_path: Path) -> None:
    event(tmp_path, 10, "Honeywell 1900", "0c2e", "0b61", ALL_KEYS)
    event(tmp_path, 2, "AT Translated Set 2 keyboard", "0001", "0001", ALL_KEYS)
    event(tmp_path, 1, "Power Button", "0000", "0001", "10000000000000 0")
    event(tmp_path, 3, "broken", "0001", "0001", "xyz")
    (tmp_path / "class/input/event4/device").mkdir(parents=True)
    keyboards = scanner.keyboards(tmp_path, Path("/dev"))
    assert [(one.name, one.id, str(one.node)) for one in keyboards] == [
        ("AT Translated Set 2 keyboard", "0001:0001", "/dev/input/event2"),
        ("Honeywell 1900", "0c2e:0b61", "/dev/input/event10"),
    ]
    last = keyboards[-1]
    assert last.matches("0C2E:0b61") and last.matches("honey*") and last.matches("*1900")
    assert not last.matches("0c2e:0b62") and not last.matches("1900")


@pytest.fixture
def scanner_grab() -> Iterator[tuple[scanner.Grabbed, int]]:
    """A scanner behind a pipe: what the kernel would give, without its device."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    one = scanner.Grabbed.__new__(scanner.Grabbed)
    one._decoder = Decoder(LAYOUTS["us"])
    one._device = InputDevice.__new__(InputDevice)
    one._device.fd = reads
    yield one, writes
    os.close(writes)
    one.close()


def test_events_are_the_kernels(scanner_grab: tuple[scanner.Grabbed, int]) -> None:
    one, writes = scanner_grab
    row = struct.Struct("@llHHi")
    assert row.size == 24, "a 64-bit kernel's input_event"
    keys = [(1, A, 1), (4, 4, 458756), (1, A, 0), (0, 0, 0), (1, ENTER, 1), (1, ENTER, 0)]
    os.write(writes, b"".join(row.pack(5, 0, *key) for key in keys))
    assert list(one.read(1)) == ["a"]
    events = [(1, A, 1), (0, 3, 0), (1, B, 1), (1, ENTER, 1)]
    os.write(writes, b"".join(row.pack(5, 0, *key) for key in events))
    assert list(one.read(1)) == ["b"]
    assert list(one.read(0.01)) == []


def test_a_scan_ends_by_a_clock_that_nobody_sets(scanner_grab: tuple[scanner.Grabbed, int]) -> None:
    one, writes = scanner_grab
    # A minute ahead of the clock, as events are when the time was set back after them.
    seconds = int(time.time()) + 60
    os.write(writes, struct.pack("@llHHi", seconds, 0, 1, A, 1))
    assert list(one.read(1)) == []
    deadline = time.monotonic() + 20
    texts: list[str] = []
    while not texts and time.monotonic() < deadline:
        texts += one.read(0.05)
    assert texts == ["a"]


@pytest.fixture
def without_evdev(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A bench whose settings name a scanner, without the extra; its folder."""
    monkeypatch.setitem(sys.modules, "evdev", None)
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path))
    (tmp_path / "benchstick.toml").write_text('scanner = "0c2e:0b61"\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("text", ["", 'scanner = "0c2e:0b61"\n'])
def test_without_the_extra_the_desk_shows_its_command(without_evdev: Path, text: str) -> None:
    (without_evdev / "benchstick.toml").write_text(text, encoding="utf-8")
    desk = Desk(without_evdev)
    desk.open()
    with contextlib.closing(database.open_writer(without_evdev)) as db:
        desk.tick(db)
        assert barcode_scans.scanner_state(db) == scanner.NEEDS_EXTRA
    desk.close()
    assert "pip install 'benchstick[scanner]'" in scanner.NEEDS_EXTRA
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "scanner" in extras["optional-dependencies"]


def test_without_the_extra_the_command_shows_it_in_one_line(
    without_evdev: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["scanner", "0c2e:0b61"]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert scanner.NEEDS_EXTRA in output.err
    # The list comes from sysfs.
    assert cli.invoke(["scanner", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["schema"] == "benchstick/scanner/1"
    assert scanner.NEEDS_EXTRA in output.err.splitlines()


def test_an_evdev_that_cannot_be_loaded_is_reported(
    without_evdev: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard = scanner.Keyboard(Path("/dev/input/event0"), "Honeywell", "0c2e:0b61", "")
    monkeypatch.setattr(scanner, "keyboards", lambda: [keyboard])
    thread = scanner.Scanner("Honeywell", "us", lambda scan: None)
    assert thread._grab() is None
    assert thread.state.startswith("scanner Honeywell: import of evdev halted")


def test_the_settings_know_the_same_layouts() -> None:
    assert tuple(LAYOUTS) == SCANNER_LAYOUTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scanner = 5", "5 is not a scanner"),
        ('scanner = "*"', "would take every keyboard"),
        ('scanner = "[!a]*"\nscanner_layout = "xx"', "'xx' is not one of us, uk, de, fr"),
        ('scanner_layout = ["us"]', "is not one of us, uk, de, fr"),
    ],
)
def test_bad_settings_are_reported_with_their_line(text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=r"benchstick\.toml:") as excinfo:
        read(text, "benchstick.toml")
    assert expected in str(excinfo.value)


def test_good_settings() -> None:
    settings = read('scanner = "0c2e:0b61"\nscanner_layout = "de"', "benchstick.toml")
    assert (settings.scanner, settings.scanner_layout) == ("0c2e:0b61", "de")
    assert read("", "benchstick.toml").scanner == ""
