"""The API: its documents, the JSON versions of the pages, and garbage in every field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from tests.unit.test_erase import run_document
from tests.web.conftest import Bench, Browser, SignedIn, browser
from webui.pages import runs

CODE = "2318E6C0A1F2"
LOCKED = "S6PUNX0T312345A"
START = {"drive": "practice", "suite": "cdm", "erase": "practice"}

GARBAGE: list[Any] = [
    None, True, -1, 0, 1.5, 10**30, -(10**30), 1e308, "", " ", "x" * 5000, "9" * 400, "\x00",
    "a\x00b", "\ud800", "../../etc/passwd", "'; DROP TABLE runs; --", "<script>alert(1)</script>",
    "nan", "inf", "1e999", [], [1], {}, {"a": {"b": []}}, [[[[[]]]]], "\u202e\u0000", "٣",
]  # fmt: skip


def is_error(answer: Any) -> bool:
    """A 4xx with the API's error document."""
    if not 400 <= answer.status_code < 500:
        return False
    document = json.loads(answer.text)
    return set(document) == {"error"} and set(document["error"]) == {"code", "message", "field"}


# ---- documents


def test_drives_are_as_the_agent_saw_them(client: Browser) -> None:
    document = client.get("/api/v1/drives").json
    assert document["schema"] == "benchstick/drives/2"
    by_code = {drive["code"]: drive for drive in document["drives"]}
    assert by_code[CODE]["transport"]["value"] == "usb-uas"
    assert by_code[LOCKED]["guard"]["state"] == "locked"
    one = client.get(f"/api/v1/drives/{CODE}").json
    assert one["schema"] == "benchstick/drive/2"
    assert one["temperature"] == {"value": 41, "unit": "°C", "source": "smartctl, attribute 194"}
    assert client.get("/api/v1/drives/port:1-4:0").json["name"] == "sdc"
    assert is_error(client.get("/api/v1/drives/nothing"))


def test_runs_are_listed_newest_first_and_practice_apart(client: Browser, bench: Bench) -> None:
    real = client.get("/api/v1/runs").json["runs"]
    numbers = [run["number"] for run in real]
    assert numbers == sorted(numbers, reverse=True)
    assert not any(run["practice"] for run in real)
    practice = client.get("/api/v1/runs?kind=practice").json["runs"]
    assert [run["number"] for run in practice] == [bench.numbers["practice"]]
    page = client.get(f"/api/v1/runs?before={numbers[0]}&limit=2").json["runs"]
    assert [run["number"] for run in page] == numbers[1:3]


def test_a_run_has_plan_conditions_results_events(client: Browser, bench: Bench) -> None:
    document = client.get(f"/api/v1/runs/{bench.numbers['lost']}").json
    assert document["schema"] == "benchstick/run/2"
    assert document["state"] == "failed"
    assert document["exit_code"] == 4
    assert document["plan"]["schema"] == "benchstick/plan/2"
    assert document["conditions"]["filesystem"]["fs"] == "exfat"
    assert document["events"][0]["kind"] == "drive-lost"
    assert {"step", "name", "value", "unit", "pass", "target", "state", "reason"} <= set(
        document["results"][0]
    )


def test_samples_continue_from_the_cursor_into_the_live_record(
    client: Browser, bench: Bench
) -> None:
    path = f"/api/v1/runs/{bench.numbers['running']}/samples"
    whole = client.get(path).json
    numbers = [sample["n"] for sample in whole["samples"]]
    assert numbers == list(range(len(numbers)))
    assert whole["next"] == numbers[-1]
    assert whole["state"] == "running"
    assert whole["live"]["fraction"] == 0.62
    assert "samples" not in whole["live"]
    rest = client.get(f"{path}?after={numbers[-3]}").json
    assert [sample["n"] for sample in rest["samples"]] == numbers[-2:]
    none = client.get(f"{path}?after={numbers[-1]}").json
    assert none["samples"] == []
    assert none["next"] == numbers[-1]


def test_finished_steps_need_not_be_sent_again(client: Browser, bench: Bench) -> None:
    path = f"/api/v1/runs/{bench.numbers['running']}/samples"
    steps = client.get(path).json["steps"]
    assert [step["step_index"] for step in steps] == list(range(len(steps)))
    last = steps[-1]["step_index"]
    assert last > 1
    # A run of rounds has more than a thousand, and is asked for each second.
    assert client.get(f"{path}?after=0&steps={last}").json["steps"] == steps[-1:]
    assert client.get(f"{path}?steps={last + 1}").json["steps"] == []
    assert is_error(client.get(f"{path}?steps=-1"))


def test_long_runs_come_in_pieces(
    client: Browser, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webui.pages.runs.SAMPLES_AT_ONCE", 7)
    cursor, numbers = -1, []
    while True:
        answer = client.get(f"/api/v1/runs/{bench.numbers['cdm']}/samples?after={cursor}").json
        numbers += [sample["n"] for sample in answer["samples"]]
        cursor = answer["next"]
        if not answer["more"]:
            break
        assert len(answer["samples"]) == 7
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 100


def test_the_cost_of_a_run_comes_before_it(client: Browser) -> None:
    document = client.get(f"/api/v1/runs/new?drive={CODE}&suite=das&scale=0.05").json
    assert document["schema"] == "benchstick/start/2"
    assert document["needs"] == {"erase": True, "unlock": False}
    assert document["plan"]["bytes_written"] > 10**9
    assert document["plan"]["seconds"] > 60
    keep_document = client.get(f"/api/v1/runs/new?drive={LOCKED}&suite=cdm").json
    assert keep_document["needs"] == {"erase": False, "unlock": True}
    raw = client.get(f"/api/v1/runs/new?drive={LOCKED}&suite=cdm&target=block&p.only=read").json
    assert raw["needs"] == {"erase": False, "unlock": True}
    wrong = client.get(f"/api/v1/runs/new?drive={CODE}&suite=cdm&p.passes=99")
    assert is_error(wrong)
    assert wrong.json["error"]["field"] == "passes"


def test_starting_writes_a_request_for_the_agent(signed_in: SignedIn, bench: Bench) -> None:
    body = {
        "drive": CODE, "suite": "das", "params": {"passes": 2, "sets": "ISOs"}, "fs": "ext4",
        "scale": 0.01, "erase": CODE,
    }  # fmt: skip
    signed_in.client.get("/drives")
    answer = signed_in.api("/api/v1/runs", {**body, "drive": "port:1-4:0", "erase": "port:1-4:0"})
    assert answer.status_code == 202
    request = bench.last_request()
    assert request["kind"] == "run"
    request_body = json.loads(request["body_json"])
    assert request_body == {
        "suite": "das", "drive": "port:1-4:0", "diskseq": 12,
        "drive_key": request_body["drive_key"], "params": {"passes": "2", "sets": "ISOs"},
        "target": None, "fs": "ext4", "scale": 0.01, "erase": "port:1-4:0", "unlock": None,
        "medium": f"500000000000-12-{'5' * 32}",
    }  # fmt: skip
    status = signed_in.client.get(answer.headers["Location"]).json
    assert status["state"] == "waiting"
    assert status["run"] is None


@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"erase": None}, 403, "refused", "erase"),
        ({"erase": "Practice"}, 403, "refused", "erase"),
        ({"drive": "S4EWNX0R654321B", "erase": "S4EWNX0R654321B"}, 403, "refused", "drive"),
        ({"drive": LOCKED, "erase": LOCKED, "fs": "ext4"}, 403, "refused", "unlock"),
        ({"drive": LOCKED, "erase": LOCKED, "fs": "ext4", "unlock": "x"}, 403, "refused", "unlock"),
        ({"drive": LOCKED, "suite": "cdm", "fs": "keep", "erase": None}, 403, "refused", "unlock"),
        ({"drive": CODE, "erase": CODE}, 409, "busy", "drive"),
        ({"drive_key": "another"}, 409, "drive_changed", "drive"),
        ({"diskseq": 99}, 409, "drive_changed", "drive"),
        ({"medium": f"1-1-{'6' * 32}"}, 409, "drive_changed", "drive"),
        ({"medium": 5}, 400, "bad_input", "medium"),
        ({"drive": "nothing"}, 404, "not_found", None),
        ({"suite": "nosuch"}, 400, "bad_input", "suite"),
        ({"params": {"passes": "10"}}, 400, "bad_input", "passes"),
        ({"params": {"colour": "red"}}, 400, "bad_input", "colour"),
        ({"suite": "das", "params": {"set": "/etc"}}, 400, "bad_input", "set"),
        ({"scale": 2}, 400, "bad_input", "scale"),
        ({"fs": "zfs"}, 400, "bad_input", "fs"),
        ({"target": "tape"}, 400, "bad_input", "target"),
        ({"colour": "red"}, 400, "bad_input", "colour"),
    ],
)
def test_what_cannot_start_says_why(
    signed_in: SignedIn, bench: Bench, change: dict[str, Any], status: int, code: str, field: str
) -> None:
    before = bench.count("requests")
    body = {name: value for name, value in {**START, **change}.items() if value is not None}
    answer = signed_in.api("/api/v1/runs", body)
    assert is_error(answer)
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["field"]) == (status, code, field)
    assert bench.count("requests") == before


def test_unlocking_takes_both_codes(signed_in: SignedIn, bench: Bench) -> None:
    body = {"drive": LOCKED, "suite": "cdm", "fs": "ext4", "erase": LOCKED, "unlock": LOCKED}
    assert signed_in.api("/api/v1/runs", body).status_code == 202
    assert json.loads(bench.last_request()["body_json"])["unlock"] == LOCKED


def test_cancel_asks_the_agent_and_only_for_running_runs(signed_in: SignedIn, bench: Bench) -> None:
    answer = signed_in.api(f"/api/v1/runs/{bench.numbers['running']}/cancel", {})
    assert answer.status_code == 202
    assert json.loads(bench.last_request()["body_json"]) == {"run": bench.numbers["running"]}
    refusal = signed_in.api(f"/api/v1/runs/{bench.numbers['cdm']}/cancel", {})
    assert refusal.status_code == 409
    assert is_error(refusal)


def test_exports(client: Browser, bench: Bench) -> None:
    number = bench.numbers["das"]
    whole = client.get(f"/api/v1/runs/{number}/export?format=json")
    assert (
        whole.headers["Content-Disposition"]
        == f'attachment; filename="benchstick-run-{number}.json"'
    )
    assert len(whole.json["samples"]) > 100
    assert whole.json["results"]
    lines = client.get(f"/runs/{number}/export?format=csv").text.splitlines()
    assert lines[0].startswith("run,suite,drive,model,step,name,test,direction,metric")
    assert lines[0].endswith(",reason,drive_state,run_state")
    assert any(",invalid,data differ" in line for line in lines)
    samples = client.get(f"/runs/{number}/export?format=samples").text.splitlines()
    assert len(samples) == len(whole.json["samples"]) + 1
    assert is_error(client.get(f"/api/v1/runs/{number}/export?format=html"))


def test_an_erase_gives_its_certificate_and_nothing_else_does(
    client: Browser,
    bench: Bench,
    drive_json: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = bench.numbers["cdm"]
    for form in ("certificate", "certificate-text"):
        refusal = client.get(f"/api/v1/runs/{number}/export?format={form}")
        assert is_error(refusal)
        assert "cdm is no erase" in refusal.json["error"]["message"]
    monkeypatch.setattr(runs, "document", lambda number: run_document(drive_json(), number=number))
    response = client.get(f"/api/v1/runs/{number}/export?format=certificate")
    assert response.json["schema"] == "benchstick/certificate/2"
    assert response.json["run"]["number"] == number
    text = client.get(f"/runs/{number}/export?format=certificate-text")
    assert text.content_type == "text/plain; charset=utf-8"
    assert text.text == response.json["text"]
    name = f'filename="benchstick-run-{number}-certificate.txt"'
    assert name in text.headers["Content-Disposition"]


def test_artefacts_are_served_as_they_are(client: Browser, bench: Bench) -> None:
    number = bench.numbers["cdm"]
    document = client.get(f"/api/v1/runs/{number}/steps/1").json
    assert [file["name"] for file in document["files"]] == ["command", "fio.json", "stdout"]
    with client.get(f"/runs/{number}/steps/1/command") as answer:
        assert answer.content_type == "text/plain; charset=utf-8"
        assert "<&>" in answer.text
    with client.get(f"/api/v1/runs/{number}/steps/1/fio.json") as answer:
        assert answer.json == {"fio version": "fio-3.39"}
    for name in ("nothing", "..", ".hidden", "%2e%2e", "..%2fcommand", "%2fetc%2fpasswd"):
        assert client.get(f"/runs/{number}/steps/1/{name}").status_code == 404, name
    assert client.get(f"/runs/{number}/steps/0/command").status_code == 404
    assert client.get(f"/runs/{number}/steps/999/command").status_code == 404


def test_a_link_among_the_artefacts_is_not_followed(client: Browser, bench: Bench) -> None:
    number = bench.numbers["cdm"]
    uuid = client.get(f"/api/v1/runs/{number}").json["uuid"]
    link = bench.home / "runs" / uuid / "01-step" / "stderr"
    link.symlink_to("/etc/passwd")
    try:
        assert client.get(f"/runs/{number}/steps/1/stderr").status_code == 404
        files = client.get(f"/api/v1/runs/{number}/steps/1").json["files"]
        assert "stderr" not in [file["name"] for file in files]
    finally:
        link.unlink()


def test_every_page_has_a_json_version(app: Flask) -> None:
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    forms = {"/", "/static/<path:filename>", "/openapi.json"}
    lacking = [
        rule
        for rule in rules
        if not rule.startswith("/api/") and rule not in forms and f"/api/v1{rule}" not in rules
    ]
    assert lacking == []


def test_the_index_lists_every_address(client: Browser) -> None:
    document = client.get("/api/v1/").json
    paths = {item["path"]: item["methods"] for item in document["paths"]}
    assert paths["/api/v1/runs/<number>/samples"] == ["GET"]
    assert "POST" in paths["/api/v1/runs"] or "GET" in paths["/api/v1/runs"]
    assert client.get("/api/v1/status").json["schema"] == "benchstick/status/1"
    assert client.get("/api/v1/suites").json["suites"][0]["params"]


# ---- garbage


@pytest.mark.parametrize(
    "name",
    ["drive", "suite", "params", "target", "fs", "scale", "erase", "unlock", "drive_key",
     "diskseq"],
)  # fmt: skip
def test_garbage_in_each_field_of_a_start(signed_in: SignedIn, name: str) -> None:
    for value in GARBAGE:
        answer = signed_in.api("/api/v1/runs", {**START, name: value})
        # Some of it means "not given"; nothing of it may fail inside.
        fine = answer.status_code == 202 and name not in ("drive", "suite")
        assert fine or is_error(answer), ascii(value)[:80]


@pytest.mark.parametrize("name", ["passes", "preset", "size", "time", "fill", "\ud800", "\x00"])
def test_garbage_in_each_parameter(signed_in: SignedIn, name: str) -> None:
    for value in GARBAGE:
        answer = signed_in.api("/api/v1/runs", {**START, "params": {name: value}})
        assert answer.status_code == 202 or is_error(answer), ascii(value)[:80]


@pytest.mark.parametrize("value", GARBAGE, ids=lambda value: ascii(value)[:24])
def test_garbage_in_the_small_bodies(signed_in: SignedIn, value: Any, app: Flask) -> None:
    answer = signed_in.api("/api/v1/labels", {"drive": value, "label": "x"})
    assert is_error(answer)
    answer = signed_in.api("/api/v1/labels", {"drive": "practice", "label": value})
    assert answer.status_code == 200 or is_error(answer)
    assert is_error(signed_in.api("/api/v1/runs/1/cancel", {"x": value}))
    for name in ("pin", "key"):
        assert is_error(browser(app).post("/api/v1/login", json={name: value}))
    for body in (value, [value], {"drive": "practice"}):
        answer = signed_in.api("/api/v1/runs", body)
        assert is_error(answer), body


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"null", b"[]", b"1", b'"x"', b"{\"drive\": NaN}", b"{\"scale\": Infinity}",
        b"\xff\xfe", b"[" * 100_000, b'{"a":' * 20_000, b'{"drive": "a", "drive": "b"}',
        b'{"scale": 1e400}', b'{"scale": ' + b"9" * 5000 + b"}", b"\x00", b"{}{}",
    ],
    ids=lambda raw: ascii(raw)[:24],
)  # fmt: skip
def test_a_body_that_is_not_json_is_refused(signed_in: SignedIn, raw: bytes) -> None:
    headers = {"X-CSRF-Token": signed_in.csrf}
    answer = signed_in.client.post(
        "/api/v1/runs", data=raw, headers=headers, content_type="application/json"
    )
    assert is_error(answer)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = signed_in.client.post("/api/v1/runs", data=raw, headers=headers, content_type=kind)
        assert is_error(answer), kind


def test_a_large_body_is_refused(signed_in: SignedIn) -> None:
    headers = {"X-CSRF-Token": signed_in.csrf}
    answer = signed_in.client.post(
        "/api/v1/runs", data=b" " * 70_000, headers=headers, content_type="application/json"
    )
    assert answer.status_code == 413
    assert is_error(answer)


ADDRESSES = [
    "/api/v1/runs/{}", "/api/v1/runs/{}/samples", "/api/v1/runs/{}/export",
    "/api/v1/runs/{}/steps/0",
    "/api/v1/runs/999999/steps/{}", "/api/v1/runs/1/steps/0/{}", "/api/v1/requests/{}",
    "/api/v1/suites/{}", "/api/v1/methods/{}", "/api/v1/methods/decisions/{}",
    "/api/v1/methods/{}/guard", "/api/v1/drives/{}",
]  # fmt: skip
IN_ADDRESS = [
    "0", "-1", "999999", "9" * 15, "9" * 400, "1e3", "1.0", "x", "%00", "1%00", "%ff", "%ed%a0%80",
    "..%2f..%2fetc", "'", "%25", "1;2", "%E2%80%AE", "a" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("path", ADDRESSES)
def test_garbage_in_addresses(client: Browser, path: str) -> None:
    for text in IN_ADDRESS:
        assert is_error(client.get(path.format(text))), text[:80]
        page = client.get(path.format(text).removeprefix("/api/v1"))
        assert 400 <= page.status_code < 500, text[:80]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/runs/1/samples?after={}", "/api/v1/runs/1/samples?steps={}",
     "/api/v1/runs?before={}", "/api/v1/runs?limit={}",
     "/api/v1/runs?kind={}", "/api/v1/runs/1/export?format={}",
     "/api/v1/runs/new?drive=practice&suite=cdm&p.passes={}",
     "/api/v1/runs/new?drive=practice&suite=cdm&p.size={}",
     "/api/v1/runs/new?drive=practice&suite=das&scale={}",
     "/api/v1/runs/new?drive=practice&suite={}", "/api/v1/runs/new?drive={}&suite=cdm",
     "/api/v1/runs/new?drive=practice&suite=cdm&p.{}=1",
     "/api/v1/runs/new?drive=practice&suite=cdm&diskseq={}"],
)  # fmt: skip
def test_garbage_in_queries(client: Browser, path: str) -> None:
    for text in [*IN_ADDRESS, "-2", "", "null"]:
        answer = client.get(path.format(text))
        assert answer.status_code == 200 or is_error(answer), text[:80]
        page = client.get(path.format(text).removeprefix("/api/v1"))
        assert page.status_code in (200, 303) or 400 <= page.status_code < 500, text[:80]


def test_a_run_that_is_not_there_is_reported_before_a_wrong_query(client: Browser) -> None:
    for path in ("/api/v1/runs/999999/samples?after=x", "/api/v1/runs/999999/export?format=x"):
        answer = client.get(path)
        assert is_error(answer)
        assert answer.status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "FOO"])
def test_other_methods_are_refused_in_json(signed_in: SignedIn, method: str) -> None:
    headers = {"X-CSRF-Token": signed_in.csrf}
    answer = signed_in.client.open("/api/v1/runs", method=method, headers=headers)
    assert is_error(answer)
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]


def test_an_internal_error_is_reported_without_a_traceback(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("webui.pages.drives.drive_scans", fail)
    for path in ("/drives", "/api/v1/drives"):
        answer = browser(app).get(path)
        assert answer.status_code == 500
        assert "secret detail" not in answer.text
        assert "Traceback" not in answer.text
