"""No uploaded recipe stands in for another, and `autostart` starts only what its owner has seen."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.errors import BadInput
from benchstick.plan import recipe_names
from benchstick.qa import autostart, autostart_rules, recipe_library
from benchstick.recipes import ready, shelf
from benchstick.recipes.parser import read
from benchstick.store import bays, database, qa_station, settings
from tests.unit.test_hands import drive

MINE = "[[suite]]\nname = 'cdm'\n[[limit]]\npeak = 'temperature'\nop = '<='\nvalue = 70\n"
EVIL = f"allow_erase = true\nerase_used = true\n[match]\ntransport = 'usb-uas'\n{MINE}"
OURS = "incoming-usb-stick"
ALIKE = (
    OURS, "incoming_usb_stick", "incoming.usb.stick", "incoming-usb--stick", "incoming-usb-stick.",
    "inc0ming-usb-stick", "fu11-review", "ful1_review", "refurb1shed-sata",
)  # fmt: skip
ODD = (
    "Incoming-USB-Stick", "incoming-usb-stick ", " incoming-usb-stick", "incoming-usb-stick\n",
    "incoming-usb-stick\t", "incoming-usb-stick\x00", "incoming-usb-stick\u200b",
    "inc\u043eming-usb-stick", "incoming\u2010usb\u2010stick", "ｉncoming-usb-stick",
    "incoming-usb-stick.toml", "./incoming-usb-stick", "x/../incoming-usb-stick",
    "uploaded:incoming-usb-stick",
)  # fmt: skip


@pytest.fixture
def home(bench_home: Path) -> Path:
    return bench_home


def upload(home: Path, name: str, text: str = EVIL) -> None:
    """Stores a recipe as each process that may write to the store can."""
    with contextlib.closing(database.open_writer(home)) as db, db:
        db.execute("DELETE FROM recipes WHERE name = ?", (name,))
        db.execute("INSERT INTO recipes (name, text, created_utc) VALUES (?, ?, '2026')",
                   (name, text))  # fmt: skip


def on_stick(name: str, text: str = MINE) -> None:
    shelf.folder().mkdir(parents=True, exist_ok=True)
    (shelf.folder() / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in ALIKE if name != "refurb1shed-sata"])
def test_an_upload_may_not_be_called_as_one_of_the_bench(home: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"is taken by '.*', a built-in recipe"):
        shelf.check_upload(name, read(EVIL.encode(), f"{name}.toml"))
    shelf.check_upload(f"{name}-2", read(EVIL.encode(), "x.toml"))


@pytest.mark.parametrize("name", ODD)
def test_an_odd_form_of_a_name_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        recipe_names.check_name(name)
    path = tmp_path / "x.toml"
    path.write_text(EVIL)
    assert cli.invoke(["recipe", "add", str(path), "--name", name]) == 2


def test_an_upload_may_not_be_called_as_one_on_the_stick(home: Path, tmp_path: Path) -> None:
    on_stick("SHOP.TOML")
    path = tmp_path / "shop.toml"
    path.write_text(EVIL)
    assert cli.invoke(["recipe", "add", str(path)]) == 2
    assert cli.invoke(["recipe", "add", str(path), "--name", "sh0p"]) == 2
    assert cli.invoke(["recipe", "add", str(path), "--name", "my-shop"]) == 0


@pytest.mark.parametrize("title", ["Incoming USB stick", "incoming usb  STICK", OURS])
def test_an_upload_may_not_call_itself_so_in_its_verdicts(
    home: Path, tmp_path: Path, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"name = {json.dumps(title)}\n{EVIL}")
    assert cli.invoke(["recipe", "add", str(path)]) == 2
    assert "the recipe calls itself" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALIKE[:-1])
def test_one_that_is_in_the_store_replaces_nothing(
    home: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kept by an older bench, or before an update brought a recipe of that name."""
    upload(home, name)
    for ours in ready.names():
        assert recipe_library.find(ours, home).raw() == ready.raw(ours)
    aside = recipe_library.find(f"uploaded:{name}", home)
    assert (aside.origin, aside.text) == ("uploaded", EVIL)
    # It is shown, and can be removed.
    assert cli.invoke(["recipe", "show", f"uploaded:{name}", "--toml"]) == 0
    assert capsys.readouterr().out == EVIL
    assert cli.invoke(["recipe", "remove", f"uploaded:{name}"]) == 0
    assert len(recipe_library.shelved(home)) == len(ready.names())


def test_a_recipe_that_comes_to_the_stick_later_keeps_its_name(home: Path) -> None:
    upload(home, "shop")
    assert recipe_library.find("shop", home).origin == "uploaded"
    on_stick("shop.toml")
    assert recipe_library.find("shop", home).origin == "stick"
    assert recipe_library.find("uploaded:shop", home).text == EVIL


def test_a_file_in_the_folder_is_not_taken_for_a_recipe_of_the_bench(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path(OURS).write_text(EVIL)
    assert cli.invoke(["recipe", "show", OURS, "--toml"]) == 0
    assert capsys.readouterr().out == ready.raw(OURS).decode()
    assert cli.invoke(["recipe", "show", f"./{OURS}", "--toml"]) == 0
    assert capsys.readouterr().out == EVIL


# ---- autostart


def bench(value: str) -> settings.Settings:
    return settings.read(
        f'autostart = "{value}"\ncountdown = 0\n[bench_ports]\n"slot 1" = "2-1"\n', "test"
    )


def started(home: Path, value: str) -> tuple[list[Any], dict[str, Any], list[str]]:
    """Plugs a blank drive into slot 1 of a bench: the tests started, the slot, the event lines."""
    requests: list[Any] = []

    class Silent:
        def is_alive(self) -> bool:
            return True

        def end(self) -> None:
            pass

        def verdict(self) -> dict[str, Any]:
            return {}

    def child(request: Any, _: Path) -> Silent:
        requests.append(request)
        return Silent()

    lines: list[str] = []
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.closing(database.open_writer(home)) as db,
    ):
        patch.setattr("benchstick.qa.parallel_drives.Child", child)
        station: autostart.BenchSlots = autostart_rules.make_slots(bench(value), home, lines.append)
        station.look([], ())
        station.tick(db, [])
        station.look([drive()], {5})
        station.tick(db, [drive()])
        slot = bays.list_slots(db)[0]
        if not requests:
            with pytest.raises(BadInput, match="autostart"):
                station.handle_request({"slot": "slot 1", "do": "again"})
    return requests, slot, lines


def test_a_pinned_recipe_starts_automatically(home: Path) -> None:
    upload(home, "shop", MINE)
    requests, slot, _ = started(home, settings.pinned("shop", MINE.encode()))
    assert [item.test_request.recipe for item in requests] == [read(MINE.encode(), "shop.toml")]
    assert slot["state"] == "testing"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("shop", "no SHA-256 for the recipe 'shop'"),
        (settings.pinned("shop", MINE.encode()), "the recipe 'shop' changed"),
        (settings.pinned("shop", EVIL.encode() + b" "), "the recipe 'shop' changed"),
    ],
)
def test_another_text_of_that_name_starts_nothing(
    home: Path, value: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An uploaded recipe of the autostart's name erased the next drive without a code."""
    upload(home, "shop", EVIL)
    requests, slot, lines = started(home, value)
    assert requests == []
    assert slot["state"] == "here"
    assert expected in slot["message"]
    assert "no test starts automatically" in slot["message"]
    assert "benchstick recipe show shop --pin" in slot["message"]
    err = capsys.readouterr().err
    assert err == f"benchstick agent: {slot['message']}\n"
    assert sum("event=autostart" in line for line in lines) == 1


def test_a_recipe_that_an_update_changed_waits_for_its_owner(home: Path) -> None:
    requests, slot, _ = started(home, f"{OURS}@sha256:{'0' * 64}")
    assert requests == []
    assert "changed (its SHA-256 is" in slot["message"]


def test_an_empty_slot_shows_the_reason_too(home: Path) -> None:
    station = autostart_rules.make_slots(bench(OURS), home, lambda line: None)
    with contextlib.closing(database.open_writer(home)) as db:
        station.look([], ())
        station.tick(db, [])
        slot = bays.list_slots(db)[0]
        assert "no SHA-256" in slot["message"]
        document = qa_station.document(db, bench(OURS))
    assert document["autostart"] == OURS
    assert document["slots"][0]["action"] is None


@pytest.mark.parametrize("name", [*ready.names(), "shop"])
def test_the_line_for_the_settings_is_printed(
    home: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    upload(home, "shop", MINE)
    assert cli.invoke(["recipe", "show", name, "--pin"]) == 0
    line = capsys.readouterr().out
    digest = hashlib.sha256(recipe_library.find(name, home).raw()).hexdigest()
    assert tomllib.loads(line) == {"autostart": f"{name}@sha256:{digest}"}
    config = settings.read(line, "test")
    assert (config.autostart_recipe, config.autostart_sha256) == (name, digest)
    assert autostart_rules.problem(config, home) is None
    assert settings.read(settings.to_toml(config), "test") == config


def test_a_file_cannot_be_pinned(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my recipe.toml"
    path.write_text(MINE)
    assert cli.invoke(["recipe", "show", str(path), "--pin"]) == 2
    assert f"benchstick recipe add '{path}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "value",
    ["x@sha256:", "x@sha256:12", f"x@sha256:{'g' * 64}", f"x@sha256:{'0' * 63}",
     f"@sha256:{'0' * 64}", f"X@sha256:{'0' * 64}", f"x@sha256:{'0' * 64}\n", "x@md5:12", "x y"],
)  # fmt: skip
def test_a_damaged_pin_is_a_clear_error(value: str) -> None:
    with pytest.raises(settings.SettingsError, match=r"recipe show NAME --pin"):
        settings.read(f"autostart = {json.dumps(value)}", "test")


def test_a_pin_may_be_in_capitals() -> None:
    config = bench(f"x@sha256:{'A' * 64}")
    assert config.autostart_sha256 == "a" * 64
