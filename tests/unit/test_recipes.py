"""Recipes: the contents of a file, every error reported with its line, the built-in recipes."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick import cli
from benchstick.errors import BadInput
from benchstick.plan import run_queue
from benchstick.plan.quantity import IOPS, MARKS_SHARE, SCORE, SIZE, SPEED, ResultKey
from benchstick.plan.recipe_names import MOST_BYTES
from benchstick.plan.units import parse_duration
from benchstick.qa import recipe_library
from benchstick.recipes import describe, preconditions, ready, shelf
from benchstick.recipes.model import Entry, Limit, Match, Recipe, Size, Start, Stop
from benchstick.recipes.parser import RecipeMistakes, read
from benchstick.suites import registry

TOML = """# All that a recipe may say.
name = "Incoming"
about = "a test of it"
time_limit = "5 min"
retries = 1
allow_erase = true
erase_used = true

[match]
transport = ["usb-uas", "nvme"]
model = "Samsung*"
size = [">= 240GB", "<= 4TB"]

[start]
full_link = true
link = 5000
temperature = 45
trim = true

[[suite]]
name = "cdm:quick"
exclusive = true
params = { size = "512MiB", passes = 2 }

[[suite]]
name = "das"
fs = "exfat"
scale = 0.5

[[limit]]
figure = "SEQ1M Q8T1 read"
suite = "cdm"
op = ">="
value = 0.4
unit = "GB/s"

[[limit]]
figure = "SEQ1M Q8T1 write"
suite = "cdm"
op = "~"
value = "5 %"
of = "claim"

[[limit]]
figure = "Home write"
suite = "das"
op = ">="
value = "90 %"
of = "run 12"

[[limit]]
fact = "transport"
op = "=="
value = ["usb-uas", "nvme"]

[[limit]]
change = "wear"
op = "<="
value = 0

[[limit]]
peak = "temperature"
op = "~"
value = 50
within = "10 %"

[[stop]]
rate_below = 20
for = "30 s"
steps = "SEQ*"

[[stop]]
temperature_above = 70

[[stop]]
errors = 1

[after]
eject = true
power_off = false
"""


def test_a_recipe_is_read_unchanged() -> None:
    recipe = read(TOML.encode(), "folder/my.toml")
    assert (recipe.name, recipe.about, recipe.file) == (
        "Incoming",
        "a test of it",
        "folder/my.toml",
    )
    assert (recipe.time_limit, recipe.retries) == (300.0, 1)
    assert (recipe.allow_erase, recipe.erase_used, recipe.after.eject) == (True, True, True)
    assert recipe.match == Match(
        transport=("usb-uas", "nvme"), model=("Samsung*",),
        size=(Size(">=", 240 * 10**9), Size("<=", 4 * 10**12)),
    )  # fmt: skip
    assert recipe.start == Start(full_link=True, link=5000, temperature=45, trim=True)
    assert recipe.entries == (
        Entry(suite="cdm", preset="quick", target=None, fs=None, scale=None, exclusive=True,
              line=20, params={"passes": "2", "time": "1", "interval": "0", "size": "512MiB"}),
        Entry(suite="das", preset=None, target=None, fs="exfat", scale=0.5, exclusive=False,
              line=25, params={}),
    )  # fmt: skip
    assert recipe.limits == (
        Limit(kind="figure", name="SEQ1M Q8T1 read", key=ResultKey("SEQ1M Q8T1 read", SPEED),
              suite="cdm", op=">=", value=400.0,
              unit="MB/s", line=30),
        Limit(kind="figure", name="SEQ1M Q8T1 write", key=ResultKey("SEQ1M Q8T1 write", SPEED),
              suite="cdm", op="~", of="claim",
              percent=100.0, within=5.0, line=37),
        Limit(kind="figure", name="Home write", key=ResultKey("Home write", SPEED),
              suite="das", op=">=", of="run 12", percent=90.0,
              line=44),
        Limit(kind="fact", name="transport", op="==", value=("usb-uas", "nvme"), line=51),
        Limit(kind="change", name="wear", op="<=", value=0.0, line=56),
        Limit(kind="peak", name="temperature", op="~", value=50.0, within=10.0, line=61),
    )  # fmt: skip
    assert recipe.stops == (
        Stop(kind="rate", value=20.0, seconds=30.0, steps="SEQ*", line=67),
        Stop(kind="temperature", value=70.0, line=72),
        Stop(kind="errors", value=1.0, line=75),
    )
    assert json.loads(json.dumps(recipe.to_json()))["schema"] == "benchstick/recipe/1"
    assert list(describe.lines(recipe))[-1] == "then ejects the drive"


def test_line_ends_and_the_way_it_is_written_change_nothing() -> None:
    other = TOML.replace('params = { size = "512MiB", passes = 2 }',
                         'params.size = "512MiB"\n"params".passes = "2"')  # fmt: skip
    assert other != TOML
    plain, dotted_recipe = read(TOML.encode(), "x"), read(other.encode(), "x")
    assert plain.entries[0].params == dotted_recipe.entries[0].params
    windows = read(b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode(), "x")
    assert windows.limits == plain.limits
    assert windows.sha256 != plain.sha256


NOTHING = '[[limit]]\nfact = "trim"\nop = "=="\nvalue = true\n'
SMALL = '[[suite]]\nname = "cdm"\n\n[[limit]]\nfact = "trim"\nop = "=="\nvalue = true\n'


def test_only_a_suite_and_a_limit_must_be_there() -> None:
    recipe = read(SMALL.encode(), "a/incoming.toml")
    assert recipe.name == "incoming"
    assert (recipe.match, recipe.time_limit, recipe.allow_erase) == (Match(), None, False)


def errors(text: str) -> list[str]:
    with pytest.raises(RecipeMistakes) as caught:
        read(text.encode(), "my.toml")
    messages = [item.format("my.toml") for item in caught.value.errors]
    assert all("\n" not in item for item in messages)
    assert caught.value.message.startswith(messages[0])
    return messages


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('name = "Incoming"', "name = 5", "2: name: text is required"),
        ('name = "Incoming"', 'nam = "x"', "2: 'nam': no such key; is name meant?"),
        ('name = "Incoming"', 'xyz.y = "x"', "2: 'xyz': no such key; there are name, about"),
        ('"5 min"', '"soon"', "4: time_limit: 'soon' is not a duration"),
        ('"5 min"', "300", "4: time_limit: a duration is required"),
        ('"5 min"', '"0 s"', "4: time_limit: '0 s' is not from 1 s to 30 d"),
        ("retries = 1", "retries = 9", "5: retries: a whole number from 0 to 5"),
        ("retries = 1", "retries = true", "5: retries: a whole number"),
        ("allow_erase = true", "allow_erase = 1", "6: allow_erase: true or false"),
        ("allow_erase = true", "", "7: erase_used: has no effect without"),
        ('"usb-uas", "nvme"]\nm', '"usb"]\nm', "10: transport: 'usb' is not one of sata"),
        ('["usb-uas", "nvme"]\nm', "[]\nm", "10: transport: is empty"),
        ('model = "Samsung*"', "model = [\n5]", "12: model: text is required"),
        ('">= 240GB"', '"> 240GB"', "12: size: '> 240GB' is not a size"),
        ('">= 240GB"', '"240"', "12: size: '240' is less than 1 MB"),
        ("full_link = true", "fullink = true", "15: 'fullink': no such key; is full_link meant?"),
        ("temperature = 45", 'temperature = "45"', "17: temperature: a number is required"),
        ("temperature = 45", "temperature = nan", "17: temperature: a number from 0 to 120"),
        ('"cdm:quick"', '"cdm:quik"', "21: name: preset 'quik': cdm has default, quick"),
        ('"cdm:quick"', '"nix"', "21: name: suite 'nix': no such suite; there are das"),
        ("passes = 2", "passes = 10", "23: passes: '10' is not a whole number from 0"),
        ("passes = 2", "passes = [1]", "23: passes: text is required"),
        ("passes = 2", "pases = 2", "23: 'pases': no such parameter; is passes meant?"),
        ('fs = "exfat"', 'fs = "fat"', "27: fs: 'fat' is not one of auto"),
        ('fs = "exfat"', 'target = "block"', "27: target 'block': das takes file"),
        ("scale = 0.5", "scale = 0", "28: scale: a number above 0"),
        ('figure = "Home write"', "", "44: limit: exactly one of figure, fact, change, peak"),
        ('fact = "transport"', 'fact = "transprt"', "52: 'transprt': no such fact; is transport"),
        ('["usb-uas", "nvme"]\n\n[[limit]]\nc', '"uas"\n\n[[limit]]\nc', "54: value: 'uas' is not"),
        ('["usb-uas", "nvme"]\n\n[[limit]]\nc', "[]\n\n[[limit]]\nc", "54: value: is empty"),
        ('change = "wear"', 'change = "ware"', "57: 'ware': no such change; is wear meant?"),
        ('peak = "temperature"', 'peak = "heat"', "62: 'heat': no such peak"),
        ('within = "10 %"', "", "61: within: is required with ~"),
        ('within = "10 %"', "within = 10", '65: within: a percentage is required, as "95 %"'),
        ('of = "run 12"', 'of = "run x"', '49: of: \'run x\' is not "claim" or "run N"'),
        ('value = "90 %"', "value = 90", "48: value: a percentage is required"),
        ('op = "~"\nvalue = "5 %"', 'op = "=="\nvalue = "5 %"', "40: op: == is not for a share"),
        ('suite = "das"', "", "44: suite: is missing in a limit: the recipe has cdm, das"),
        ('suite = "das"', 'suite = "atto"', "46: suite: 'atto' is not in the recipe"),
        ("value = 0.4", "value = true", "34: value: a number from"),
        ("value = 0.4", "", "30: value: is missing in a limit"),
        ("value = 0.4", "value = 1\nof = 5", "35: of: text is required"),
        ('unit = "GB/s"', 'unit = "MiB/s"', "35: unit: 'MiB/s' is not one of MB/s"),
        ('unit = "GB/s"', 'within = "5 %"', "35: within: is for ~ with a value of its own"),
        ('for = "30 s"', "", '67: for: is required with rate_below, as for = "30 s"'),
        ("errors = 1", 'errors = 1\nsteps = "x"', "77: steps: is for rate_below only"),
        ("errors = 1", "", "75: stop: exactly one of rate_below, temperature_above, errors"),
        ("eject = true", 'eject = "yes"', "79: eject: true or false is required"),
        ("[after]", "[[after]]", "78: after: a table is required, as [after]"),
        ("[[stop]]\nerrors = 1", "[stop.x]\nerrors = 1", "75: 'x': no such key; there are rate"),
        ("[match]", "[matc]", "9: 'matc': no such key; is match meant?"),
    ],
)  # fmt: skip
def test_an_error_is_reported_with_its_line(old: str, new: str, expected: str) -> None:
    text = TOML.replace(old, new, 1)
    assert text != TOML
    messages = errors(text)
    assert any(expected in item for item in messages), messages
    assert all(item.startswith("my.toml:") for item in messages)


def test_all_errors_of_a_file_are_reported_at_once_in_order() -> None:
    text = TOML.replace("retries = 1", "retries = -1").replace('"cdm:quick"', '"cdm:q"')
    text = text.replace("errors = 1", "errors = 0").replace("eject = true", "eject = 0")
    assert [item.split(":")[1] for item in errors(text)] == ["5", "21", "76", "79"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "my.toml:1: suite: is missing: what to run, as [[suite]]"),
        (SMALL.split("[[limit]]")[0], "my.toml:1: limit: is missing: what a drive must meet"),
        ("suite = 5", "my.toml:1: suite: tables are required, as [[suite]]"),
        (f"allow_erase = true\n{SMALL}", "my.toml:1: allow_erase: requires [match]"),
        (f"{SMALL}[match]\n", "my.toml:8: match: is empty"),
        (SMALL.replace('"=="', '">="'), "my.toml:6: op: trim is true or false; only == is for it"),
        (SMALL.replace("true", "1"), "my.toml:7: value: true or false is required"),
        (f'{SMALL}suite = "cdm"', "my.toml:8: suite: is for results only"),
        ('[[suite]]\nname = "cdm"\n' * 21, "my.toml:41: suite: 21 of them; at most 20"),
        ("a = [", "my.toml:1: not TOML: "),
        (f"a = {'[' * 9000}", "my.toml: nested too deeply"),
        ("#" * (MOST_BYTES + 1), "my.toml: larger than 64 KiB"),
    ],
)
def test_a_file_that_is_no_recipe_is_reported(text: str, expected: str) -> None:
    assert any(item.startswith(expected) for item in errors(text)), errors(text)


@pytest.mark.parametrize(
    ("suites", "expected"),
    [
        (
            '[[suite]]\nname = "das"\nfs = "auto"\nparams.sets = "Hom"\n',
            "4: sets: 'Hom' is not one of AV",
        ),
        (
            '[[suite]]\nname = "cdm"\nparams = { only = "read", mix = 70 }\n',
            "3: mix: writes, and only=read",
        ),
        ('[[suite]]\nname = "consistency"\nparams.nand = "1TB"\n', "3: nand: only used with spare"),
        ('[[suite]]\nname = "cdm"\nparams.size = "4TiB"\n[match]\nsize = "<= 2TB"\n', "3: size: "),
        (
            '[[suite]]\nname = "erase"\n[[suite]]\nname = "cdm"\n',
            "1: fs: cdm keeps the drive's filesystem, but erase before it leaves none",
        ),
    ],
)
def test_suites_that_no_drive_can_run_are_reported(suites: str, expected: str) -> None:
    (message,) = errors(suites + NOTHING)
    assert message.startswith(f"my.toml:{expected}")


@pytest.mark.parametrize(
    "suites",
    [
        '[[suite]]\nname = "consistency"\nparams = { spare = 25, nand = "1024GiB" }\n',
        '[[suite]]\nname = "erase"\nparams.rung = "sanitize-crypto"\n',
        '[[suite]]\nname = "cdm"\nparams.size = "64GiB"\n',
        '[[suite]]\nname = "erase"\n[[suite]]\nname = "cdm"\nfs = "auto"\n',
    ],
)
def test_a_suite_that_some_drive_can_run_is_no_error(suites: str) -> None:
    assert read((suites + NOTHING).encode(), "my.toml").entries


@pytest.mark.parametrize(
    ("entry", "name", "expected"),
    [
        ("cdm", "SEQ1M Q8T1 reed", "is SEQ1M Q8T1 read meant?"),
        ("cdm:demo", "RND4K Q1T1 read", "no such result of cdm"),
        ("das", "Hom write", "is Home write meant?"),
        ("erase", "x", "there are purge time, overwrite write, overwrite read, marks gone"),
        ("atto", "64 KiB read IOPSS", "is 64 KiB read IOPS meant?"),
        ("sustained", "sustained wrote", "is sustained write meant?"),
        ("asssd", "Score totl", "is Score total meant?"),
        ("sweep", "RND4K Q3T1 read", "no such result of sweep"),
        ("consistency", "RND4K Q32T1 write IOPS p1 from 1300 s", "from 1400 s meant?"),
    ],
)
def test_a_result_that_the_suite_does_not_have_is_reported(
    entry: str, name: str, expected: str
) -> None:
    text = f'[[suite]]\nname = "{entry}"\n[[limit]]\nfigure = "{name}"\nop = ">="\nvalue = 1\n'
    (message,) = errors(text)
    assert message.startswith(f"my.toml:4: '{name}': no such result of ")
    assert expected in message


@pytest.mark.parametrize(
    ("suite", "name", "key"),
    [
        ("sustained", "cache knee", ResultKey("cache knee", SIZE)),
        ("sustained", "marks gone", MARKS_SHARE),
        ("asssd", "Score total", ResultKey("Score total", SCORE)),
        ("sweep", "RND4K Q32T1 read IOPS", ResultKey("RND4K Q32T1 read", IOPS)),
    ],
)
def test_the_name_of_a_limit_is_read_into_a_key_that_goes_with_the_recipe(
    suite: str, name: str, key: ResultKey
) -> None:
    text = f'[[suite]]\nname = "{suite}"\n[[limit]]\nfigure = "{name}"\nop = ">="\nvalue = 1\n'
    recipe = read(text.encode(), "my.toml")
    assert (recipe.limits[0].name, recipe.limits[0].key) == (name, key)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe


def test_results_that_depend_on_the_drive_are_not_judged_before() -> None:
    text = (
        '[[suite]]\nname = "erase"\nparams = { rung = "sanitize-crypto" }\n'
        '[[limit]]\nfigure = "x"\nop = ">="\nvalue = 1\n'
    )
    assert read(text.encode(), "my.toml").limits[0].name == "x"


def test_a_file_that_is_no_text_is_reported_with_its_line() -> None:
    with pytest.raises(RecipeMistakes, match=r"my.toml:2: not UTF-8 text"):
        read(b"# x\n\xff\n", "my.toml")


# ---- durations and facts


@pytest.mark.parametrize(
    ("text", "seconds"), [("45 s", 45), ("5min", 300), ("1h 30min", 5400), ("0.5 h", 1800)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text, "x") == seconds


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "-5 s", "5 s x", "s", "1h30", "5 S"])
def test_a_bad_duration_is_reported(text: str) -> None:
    with pytest.raises(BadInput, match=r"x: .* is not a duration"):
        parse_duration(text, "x")


# ---- the ready ones


DriveJson = Callable[..., dict[str, Any]]


def fitting(recipe: Recipe, drive_json: DriveJson) -> list[dict[str, Any]]:
    """Drives that the recipe is for: of each transport, the smallest and the largest."""
    transports = recipe.match.transport or ("usb-uas",)
    lowest = next((bound.value for bound in recipe.match.size if bound.op == ">="), 8 * 10**9)
    highest = next((bound.value for bound in recipe.match.size if bound.op == "<="), 2 * 10**12)
    drives = []
    for transport in transports:
        usb = transport.startswith("usb")
        for capacity in (lowest, highest):
            facts: dict[str, Any] = {"usb_speed": 5000, "usb_capable_speed": 5000} if usb else {}
            if transport == "sata":
                facts = {"sata_speed": 6000, "sata_capable_speed": 6000, "usb_speed": None,
                         "usb_capable_speed": None}  # fmt: skip
            drive = drive_json(capacity=capacity, transport=transport, write_cache="enabled",
                               trim=True, trim_kernel=1 << 30, temperature=30, **facts)  # fmt: skip
            drives.append(drive)
    return drives


def ready_recipe(name: str) -> Recipe:
    return read(ready.raw(name), f"{name}.toml")


@pytest.mark.parametrize("name", ready.names())
def test_a_ready_recipe_keeps_its_promise(name: str, drive_json: DriveJson) -> None:
    recipe = ready_recipe(name)
    assert recipe.about and recipe.time_limit
    for drive in fitting(recipe, drive_json):
        assert preconditions.reasons(recipe, drive) == []
        plans = [
            registry.make_plan(entry.suite, drive, entry.params, target=entry.target, fs=entry.fs,
                               scale=entry.scale)
            for entry in recipe.entries
        ]  # fmt: skip
        run_queue.check(plans)
        seconds = run_queue.cost(plans).seconds
        assert seconds <= recipe.time_limit, (drive["transport"], seconds)
        assert run_queue.cost(plans).destroys == recipe.allow_erase
        for rule in recipe.stops:
            assert rule.kind != "rate" or rule.seconds <= seconds
    if recipe.allow_erase:
        assert recipe.match.transport


def test_the_five_minutes_of_the_portable_ssd_are_five() -> None:
    assert ready_recipe("incoming-portable-ssd").time_limit == 300
    assert len(ready.names()) == 4


# ---- the command


def test_check_lists_every_error_and_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my.toml"
    path.write_text(TOML.replace("retries = 1", "retries = -1").replace("[after]", "[aftr]"))
    assert cli.invoke(["recipe", "check", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        f"{path}:5: retries: a whole number from 0 to 5 is required\n"
        f"{path}:78: 'aftr': no such key; is after meant?\n"
    )
    assert cli.invoke(["recipe", "check", "--json", str(path)]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [item["line"] for item in document["errors"]] == [5, 78]
    assert document["schema"] == "benchstick/recipe-check/2"
    assert cli.invoke(["recipe", "show", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    path.write_text(TOML)
    assert cli.invoke(["recipe", "check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: Incoming: 2 suites, 6 limits; no errors\n"
    assert cli.invoke(["recipe", "check", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err.endswith("none.toml: No such file or directory\n")


def test_the_ready_recipes_are_listed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["recipe", "list", "--json"]) == 0
    recipes = json.loads(capsys.readouterr().out)["recipes"]
    assert [item["name"] for item in recipes] == ready.names()
    assert cli.invoke(["recipe", "list"]) == 0
    table = capsys.readouterr().out
    for name in ready.names():
        assert name in table
        assert cli.invoke(["recipe", "show", name, "--toml"]) == 0
        path = tmp_path / f"{name}.toml"
        path.write_text(capsys.readouterr().out, encoding="utf-8")
        assert cli.invoke(["recipe", "check", str(path)]) == 0
        capsys.readouterr()
        assert cli.invoke(["recipe", "show", name]) == 0
        assert capsys.readouterr().out.startswith(f"{ready_recipe(name).name}: ")
    assert cli.invoke(["recipe", "show", "nix"]) == 2
    assert "full-review" in capsys.readouterr().err


def test_the_sticks_own_recipes_are_listed_with_their_errors(
    bench_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shelf.folder()
    folder.mkdir(parents=True)
    (folder / "MINE.TOML").write_text(f'about = "of my own"\n{SMALL}')
    (folder / "incoming-usb-stick.toml").write_text(f'about = "instead"\n{SMALL}')
    (folder / "broken.toml").write_text("x = 1")
    (folder / "README.txt").write_text("no recipe")
    assert cli.invoke(["recipe", "list", "--json"]) == 0
    recipes = {item["name"]: item for item in json.loads(capsys.readouterr().out)["recipes"]}
    assert set(recipes) == {*ready.names(), "MINE", "broken"}
    assert recipes["MINE"]["recipe"]["about"] == "of my own"
    assert recipes["incoming-usb-stick"]["recipe"]["about"] == "instead"
    assert recipes["broken"]["error"].startswith(f"{folder}/broken.toml:1: 'x': no such key")
    assert recipes["broken"]["error"].endswith(" (and 2 more errors)")
    assert cli.invoke(["recipe", "list"]) == 0
    assert "of my own" in capsys.readouterr().out
    assert cli.invoke(["recipe", "show", "MINE"]) == 0
    assert capsys.readouterr().out.startswith("MINE: of my own\n")


def test_a_recipe_is_kept_and_removed_as_in_the_page(
    bench_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert cli.invoke(["recipe", "add", str(path)]) == 0
    assert cli.invoke(["recipe", "add", str(path), "--name", "other"]) == 0
    recipes = {item.name: item for item in recipe_library.shelved(bench_home)}
    assert (recipes["shop"].origin, recipes["shop"].raw()) == ("uploaded", SMALL.encode())
    path.write_text(f"speed = 1\n{SMALL}")
    capsys.readouterr()
    assert cli.invoke(["recipe", "add", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}:1: 'speed': no such key; ")
    assert cli.invoke(["recipe", "add", str(path), "--name", "Not So"]) == 2
    assert {item.name: item for item in recipe_library.shelved(bench_home)}["shop"].text == SMALL
    for code in (0, 2):
        assert cli.invoke(["recipe", "remove", "shop"]) == code
    names = [item.name for item in recipe_library.shelved(bench_home)]
    assert "shop" not in names and "other" in names
    assert cli.invoke(["recipe", "remove", "full-review"]) == 2


def test_the_commands_and_the_recipe_of_the_docs_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/recipes.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"^```toml (\S+)\n(.*?)^```", text, re.S | re.M):
        Path(name).write_text(content, encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.splitlines() if line]
    assert len(lines) >= 4
    for line in lines:
        name, *argv = shlex.split(line)
        assert name == "benchstick"
        assert cli.invoke(argv) == 0, (line, capsys.readouterr().err)
        assert capsys.readouterr().out, line
    for name in ready.names():
        assert f"| `{name}` | {duration(ready_recipe(name))} |" in text


def duration(recipe: Recipe) -> str:
    return describe.time_text(recipe.time_limit or 0)


def test_every_key_of_a_recipe_is_in_the_docs() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/recipes.md").read_text(encoding="utf-8")
    keys = {key.strip('"') for key in re.findall(r"^([a-z_]+) =", TOML, re.MULTILINE)}
    sections = set(re.findall(r"^\[+\w+\]+", TOML, re.MULTILINE))
    assert len(keys) > 20 and len(sections) == 6
    for word in keys | sections:
        assert f"`{word}" in text, word


# ---- fuzzing


_SIGNS = ('"', "'", "[", "]", "\\", "=", "#", "\x00", ".", "{", "é", "\u2028", "\n")
_VALUES = (
    "-1", "nan", "inf", "1e999", "true", '""', "[]", "{}", "'x'", "9" * 30, "[[1]]", "1979-05-27",
    '">= 1GB"', '"100 %"', '"a\\nb"', "{ a.b = 1 }", '["x", 5]', "0x10", "-0.0",
)  # fmt: skip
_HEADERS = (
    "[match]", "[[suite]]", "[[limit]]", "[stop]", "[limit.x]", "[[match]]", "[[suite.params]]",
)  # fmt: skip


def mutated(pick: random.Random, text: str) -> bytes:
    """The text with a few changes that people and damaged sticks make."""
    lines = text.splitlines(keepends=True)
    for _ in range(pick.randrange(1, 4)):
        at = pick.randrange(len(lines))
        match pick.randrange(12):
            case 0:
                lines[at] = ""
            case 1:
                lines.insert(at, lines[pick.randrange(len(lines))])
            case 2:
                line = lines[at]
                position = pick.randrange(len(line) + 1)
                lines[at] = line[:position] + pick.choice(_SIGNS) + line[position:]
            case 3:
                position = pick.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:position] + lines[at][position + 1 :]
            case 4 | 5:
                key = lines[at].partition("=")[0]
                lines[at] = f"{key}= {pick.choice(_VALUES)}\n"
            case 6:
                other = pick.choice(["value", "op", "name", "figure", "of", "within", "for"])
                lines[at] = f"{other} = {lines[at].partition('=')[2] or '1'}\n"
            case 7:
                lines[at] = f"{pick.choice(_HEADERS)}\n"
            case 8:
                lines = lines[:at] or lines
            case 9:
                pick.shuffle(lines)
            case 10 | 11:
                lines[at] = f"{pick.choice(['# [[limit]]', ' ', ''])}\n{lines[at]}"
    raw = "".join(lines).encode()
    if pick.random() < 0.05:
        position = pick.randrange(len(raw) + 1)
        raw = raw[:position] + bytes([pick.randrange(256)]) + raw[position:]
    return raw


def _begins_nothing_without_match_and_leave(recipe: Recipe, drive_json: DriveJson) -> None:
    """No mutation makes a recipe start on a drive that does not match, or erase unless allowed."""
    for transport, capacity in (("usb-bot", 10**9), ("sata", 10**12)):
        drive = drive_json(capacity=capacity, transport=transport, contents="ntfs")
        drive["guard"] = {"state": "free", "reason": "test"}
        drive["identity"]["port"] = "2-1"
        is_for = preconditions.why_no_match(recipe.match, drive) is None
        reasons = [item.code for item in preconditions.reasons(recipe, drive)]
        assert ("no-match" not in reasons) == is_for
        reason = preconditions.why_not_erased(
            recipe, drive, bench_ports=["2-1"], is_hotplugged=True, sample=lambda: None
        )
        assert (reason is None) == (is_for and recipe.allow_erase and recipe.erase_used)
        for ports, is_hotplugged in (([], True), (["2-1"], False)):
            assert preconditions.why_not_erased(
                recipe, drive, bench_ports=ports, is_hotplugged=is_hotplugged, sample=lambda: None
            )


def test_a_thousand_mutated_recipes_are_valid_or_have_an_error_with_a_line(
    drive_json: DriveJson,
) -> None:
    texts = [TOML, SMALL, *(ready.raw(name).decode() for name in ready.names())]
    valid = wrong = 0
    for seed in range(1000):
        pick = random.Random(seed)
        raw = mutated(pick, pick.choice(texts))
        try:
            recipe = read(raw, "my.toml")
        except RecipeMistakes as error:
            wrong += 1
            last = raw.count(b"\n") + 2
            for item in error.errors:
                assert item.line is not None and 1 <= item.line <= last, (seed, item)
                assert "\n" not in item.message and item.message, (seed, item)
        else:
            valid += 1
            assert recipe.entries and recipe.limits, seed
            assert not recipe.erase_used or recipe.allow_erase, seed
            assert not recipe.allow_erase or recipe.match != Match(), seed
            json.dumps(recipe.to_json(), allow_nan=False)
            assert all("\n" not in line for line in describe.lines(recipe)), seed
            _begins_nothing_without_match_and_leave(recipe, drive_json)
    assert valid > 100
    assert wrong > 500
