"""The suite `pts`, tiny, on the practice drive: its rounds end by the rule, its counters are those
of its plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchstick.analysis.steady import judge_steady
from benchstick.drives.subprocesses import search_path
from tests.host.bench import SYSTEM_TOOLS, Bench

NEW_FIO = Path(__file__).resolve().parents[2] / ".cache/fio/bin"
TINY = ("--param", "preset=reduced", "--param", "amount=32MiB", "--param", "time=1",
        "--param", "depth=4", "--param", "threads=2")  # fmt: skip


def fios(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in document["steps"] if step["kind"] == "fio"]


def moved(document: dict[str, Any], name: str) -> dict[str, Any]:
    (step,) = [step for step in document["steps"] if step["name"] == name]
    return dict(step["detail"]["counters"])


def test_rounds_end_at_steady_state_and_the_rest_is_skipped(own_bench: Bench) -> None:
    document = own_bench.json(*own_bench.practice("pts", *TINY, "--param", "test=throughput"))
    assert (document["state"], document["exit_code"]) == ("done", 0)
    assert document["plan"]["may_end_early"]
    kinds = [step["kind"] for step in document["steps"]]
    assert kinds[:7] == ["mark", "purge", "read-back", "prepare", "idle", "fio", "fio"]
    assert document["conditions"]["state"] == document["plan"]["state"]
    # WIPC: the tested range twice, in order, by the drive's own counters.
    for number in (1, 2):
        counted = moved(document, f"fill SEQ128K Q32T1 write, pass {number}")
        assert (counted["write_bytes"], counted["read_bytes"]) == (32 << 20, 0)
    test = "reduced SEQ1M 0:100 Q8T1"
    passes = [item for item in document["results"]
              if item["name"] == test and item["pass"] is not None]  # fmt: skip
    steady = judge_steady(
        [item["value"] if item["state"] == "valid" else None for item in passes], unit="MB/s"
    )
    assert document["result"]["steady"]["SEQ1M"] == json.loads(json.dumps(steady.to_json()))
    # As many rounds were measured as the rule wants, and each other step says why it was not.
    assert len(passes) == steady.rounds
    rounds = [step for step in fios(document) if "round" in step["name"]]
    assert len(rounds) == 50
    done_rounds, skipped_rounds = rounds[: 2 * len(passes)], rounds[2 * len(passes) :]
    assert {step["state"] for step in done_rounds} == {"done"}
    if steady.reached:
        assert {(step["state"], step["reason"]) for step in skipped_rounds} <= {
            ("skipped", f"steady state after round {steady.rounds}")
        }
    assert not [item for item in document["results"] if item["step"] in
                {step["name"] for step in skipped_rounds}]  # fmt: skip
    for item in passes:
        assert item["state"] == "valid", item["reason"]
        counted, totals = item["detail"]["counters"], item["detail"]["totals"]
        assert abs(counted["write_bytes"] - totals["write_bytes"]) <= 0.005 * totals["write_bytes"]
        assert counted["read_bytes"] == 0
    (cell,) = [item for item in document["results"] if item["name"] == test
               and item["pass"] is None]  # fmt: skip
    assert "PTS-like, reduced: not SNIA-conformant" in cell["reason"]
    first, last = cell["detail"]["rounds"]
    window = [item["value"] for item in passes[first - 1 : last]]
    assert abs(cell["value"] - sum(window) / len(window)) < 1e-6 * cell["value"]
    name = document["result"]["verdicts"][0]["state"]
    assert name == steady.state


def test_saturation_ends_when_enough_is_written(own_bench: Bench) -> None:
    own_bench.run("practice")
    capacity = own_bench.json("drive", "practice")["identity"]["capacity"]
    document = own_bench.json(
        *own_bench.practice("pts", *TINY, "--param", "test=wsat", "--param", "limit=4")
    )
    rounds = fios(document)
    round_bytes = [moved(document, step["name"])["write_bytes"]
               for step in rounds if step["state"] == "done"]  # fmt: skip
    assert len(rounds) == 4
    # All four, unless the practice drive's capacity was written before.
    assert len(round_bytes) == 4 or sum(round_bytes) >= 0.995 * capacity
    results = {item["name"]: item["value"] for item in document["results"]
               if item["pass"] is None}  # fmt: skip
    reported_gb = results["reduced RND4K 0:100 Q4T2 written"]
    assert abs(reported_gb * 1e9 - sum(round_bytes)) <= 0.005 * sum(round_bytes)
    assert not [step for step in rounds if step["name"].startswith("fill")]


def test_an_access_of_hir_writes_and_waits(own_bench: Bench) -> None:
    assert (NEW_FIO / "fio").exists(), "build it: make test, or scripts/build-fio"
    own_bench.use_tools(NEW_FIO, search_path())
    document = own_bench.json(
        *own_bench.practice("pts", *TINY, "--param", "test=hir", "--param", "rounds=5",
                            "--param", "accesses=1", "--param", "waits=5"),
    )  # fmt: skip
    assert document["state"] == "done"
    (step,) = [step for step in fios(document) if step["name"].endswith(", wait 5 s")]
    assert step["detail"]["seconds_with_rests"] >= 9.5
    assert step["detail"]["totals"]["seconds"] == 5
    command = (own_bench.home / step["artifacts"] / "command").read_text()
    assert "--thinktime=5s --thinktime_iotime=5s" in command
    exported = json.loads(
        own_bench.run("export", str(document["number"]), "--format", "json").stdout
    )
    # The samples of the wait itself: after five seconds of work nothing is written until the end.
    # On a busy machine the work starts late, so the end is what the wait is measured from.
    own = [sample for sample in exported["samples"] if sample["step_index"] == step["step_index"]]
    total = sum(sample["write_bytes"] for sample in own)
    last_write = max(sample["t"] for sample in own if sample["write_bytes"] > 0.02 * total)
    assert step["t_end"] - last_write > 3.5, own


def test_an_older_fio_skips_the_waits_with_the_reason(own_bench: Bench) -> None:
    own_bench.use_tools(SYSTEM_TOOLS)
    document = own_bench.json(
        *own_bench.practice("pts", *TINY, "--param", "test=hir", "--param", "rounds=5",
                            "--param", "accesses=1", "--param", "waits=5"),
    )  # fmt: skip
    waits = [step for step in fios(document) if ", wait " in step["name"]]
    assert len(waits) == 1
    assert {step["state"] for step in waits} == {"skipped"}
    assert "3.38 or later is needed" in waits[0]["reason"]


def test_bad_input_is_one_line_and_writes_nothing(own_bench: Bench) -> None:
    own_bench.run("practice")
    name = own_bench.json("drive", "practice")["name"]
    stat = Path(f"/sys/block/{name}/stat")
    sectors_before = stat.read_text().split()[6]
    for param in ("amount=100TB", "amount=5000", "amount=1MiB", "range=101", "rounds=4",
                  "test=xsr", "purge=format"):  # fmt: skip
        result = own_bench.run(*own_bench.practice("pts", "--param", param))
        assert result.returncode == 2, (param, result.stderr)
        assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        assert param.split("=")[0] in result.stderr
    assert stat.read_text().split()[6] == sectors_before


def test_each_block_size_of_the_throughput_has_a_purge_of_its_own(own_bench: Bench) -> None:
    document = own_bench.json(
        *own_bench.practice("pts", "--param", "preset=enterprise", "--param", "test=throughput",
                            "--param", "amount=32MiB", "--param", "time=1", "--param", "rounds=5")
    )  # fmt: skip
    assert document["state"] == "done"
    kinds = [step["kind"] for step in document["steps"]]
    # The second one in the middle of the run, with the drive held for it already.
    assert kinds.count("purge") == 2
    assert {step["state"] for step in document["steps"] if step["kind"] != "fio"} == {"done"}
    mark_results = [item for item in document["results"] if item["name"] == "marks gone"]
    assert [item["value"] for item in mark_results] == [100.0, 100.0]
    assert document["conditions"]["state"] == document["plan"]["state"]
    assert set(document["result"]["steady"]) == {"SEQ128K", "SEQ1M"}
    assert document["result"]["method"] == "PTS-like, changed"
    for number in (1, 2):
        name = f"fill SEQ128K Q32T1 write, pass {number}, before SEQ1M"
        assert moved(document, name)["write_bytes"] == 32 << 20
