"""A drive that returns other data than was written to it, and says nothing of it.

The data is changed below the filesystem, in the file of the practice drive, after it was written
and before it is read back: nothing of the comparison is replaced.
"""

from __future__ import annotations

import csv
import json
import signal
import zipfile
from pathlib import Path

from tests.host.bench import Bench, wait_for
from tests.host.flipped import Damage, damage

DAS = ("--scale", "0.001", "--param", "sets=BR", "--param", "idle=3")
AFTER_WRITE = "pass 1, idle after write"


def test_a_run_that_reads_back_other_data_is_corrupt_in_every_list(
    own_bench: Bench, tmp_path: Path
) -> None:
    bench = own_bench
    process = bench.start(*bench.practice("das", *DAS, "--param", "passes=2"))
    victim = damage(bench, AFTER_WRITE)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 4, err
    assert "DATA CORRUPT: BR, pass 1, compare: data differ: 1 file differs, the first: " in out
    assert f"{victim.name} at byte 700001: differs from there" in out
    assert "data corrupt: " in err and victim.name in err
    (item,) = bench.json("runs", "--practice")["runs"]
    assert (item["state"], item["exit_code"]) == ("corrupt", 4)
    assert victim.name in item["reason"] and "corrupt" in bench.run("runs", "--practice").stdout
    number = str(item["number"])
    run = bench.json("show", number)
    (entry,) = run["corrupt"]
    assert (entry["set"], entry["pass"], entry["files"]) == ("BR", 1, 1)
    (difference,) = entry["differences"]
    assert difference["path"].endswith(victim.name) and difference["offset"] == 700_001
    # The other pass was measured and stays.
    by_pass = {(one["name"], one["pass"]): one["state"] for one in run["results"]}
    assert by_pass["BR read", 1] == "invalid" and by_pass["BR read", 2] == "valid"
    (step,) = [one for one in run["steps"] if one["step_index"] == entry["step_index"]]
    assert (step["kind"], step["state"]) == ("verify", "failed") and victim.name in step["reason"]
    rows = list(csv.DictReader(bench.run("export", number, "--format", "csv").stdout.splitlines()))
    assert {row["run_state"] for row in rows} == {"corrupt"}
    assert json.loads(bench.run("export", number, "--format", "json").stdout)["corrupt"] == [entry]
    page = bench.run("export", number, "--format", "html").stdout
    assert "data corrupt" in page.lower() and victim.name in page
    pack = tmp_path / "run.zip"
    bench.run("export", number, "--format", "bundle", "--output", str(pack))
    with zipfile.ZipFile(pack) as archive:
        assert json.loads(archive.read("run.json"))["state"] == "corrupt"
    folder = tmp_path / "charts"
    bench.run("export", number, "--format", "svg", "--output", str(folder))
    charts = list(folder.glob("*.svg"))
    assert charts and all("data corrupt" in path.read_text() for path in charts)


def test_a_cancel_does_not_hide_that_the_data_is_corrupt(own_bench: Bench) -> None:
    bench = own_bench
    process = bench.start(*bench.practice("das", *DAS, "--param", "passes=3"), "--json")
    victim = damage(bench, AFTER_WRITE)
    live = bench.root / "run" / "live"
    wait_for(lambda: any("pass 2, " in path.read_text() for path in live.glob("*.json")))
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    run = json.loads(out)
    assert (run["state"], run["exit_code"]) == ("corrupt", 130)
    assert victim.name in run["reason"] and "then cancelled" in run["reason"]


def test_a_killed_bench_does_not_hide_that_the_data_is_corrupt(own_bench: Bench) -> None:
    bench = own_bench
    process = bench.start(*bench.practice("das", *DAS, "--param", "passes=3"), "--json")
    victim = damage(bench, AFTER_WRITE)
    live = bench.root / "run" / "live"
    wait_for(lambda: any("pass 2, " in path.read_text() for path in live.glob("*.json")))
    process.kill()
    process.communicate(timeout=60)
    # Its runner is gone, and nothing has cleared up yet.
    assert bench.json("runs", "--practice")["runs"][0]["state"] == "corrupt"
    bench.run(*bench.practice("das", *DAS, "--param", "passes=1", "--dry-run"))
    bench.run(*bench.practice("das", *DAS, "--param", "passes=1"))
    last, first = bench.json("runs", "--practice")["runs"]
    assert (first["state"], first["exit_code"]) == ("corrupt", 70)
    assert victim.name in first["reason"] and "then interrupted" in first["reason"]
    assert last["state"] == "done"


def test_a_recipe_whose_limits_hold_fails_a_drive_that_corrupts_data(
    own_bench: Bench, tmp_path: Path
) -> None:
    bench = own_bench
    recipe = tmp_path / "copy.toml"
    recipe.write_text(
        'retries = 1\n[[suite]]\nname = "das"\nscale = 0.001\n'
        'params = { sets = "BR", passes = 1, idle = 3 }\n'
        '[[suite]]\nname = "cdm"\n'
        'params = { passes = 1, time = 1, interval = 0, size = "32MiB", profile = "demo" }\n'
        '[[limit]]\nfact = "transport"\nop = "=="\nvalue = "virtual"\n',
        encoding="utf-8",
    )
    flipping = Damage(bench, AFTER_WRITE)
    flipping.start()
    files = {name: tmp_path / f"out.{name}" for name in ("junit", "csv", "events")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    document = bench.json(
        "qa", str(recipe), "--drive", "practice", "--erase", "practice", *options, code=1
    )
    flipping.join(10)
    assert flipping.victim is not None
    (verdict,) = document["verdicts"]
    assert (verdict["verdict"], verdict["exit_code"], verdict["retries"]) == ("fail", 1, 0)
    assert [item["state"] for item in verdict["limits"]] == ["held"]
    assert [item["code"] for item in verdict["failures"]] == ["data-corrupt"]
    assert flipping.victim.name in verdict["reason"]
    # The next suite was not started on a drive that returns other data.
    assert [(run["suite"], run["state"], run["exit_code"]) for run in verdict["runs"]] == [
        ("das", "corrupt", 4)
    ]
    assert 'type="data-corrupt"' in files["junit"].read_text(encoding="utf-8")
    (row,) = csv.DictReader(files["csv"].read_text(encoding="utf-8").splitlines())
    assert (row["verdict"], row["failures"]) == ("fail", "data-corrupt")
    lines = files["events"].read_text(encoding="ascii")
    assert " state=corrupt " in lines and " code=data-corrupt " in lines
