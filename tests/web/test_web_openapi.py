"""The OpenAPI document: it agrees with the routes both ways, and with what the server answers."""

from __future__ import annotations

import contextlib
import copy
import re
from html import unescape
from typing import Any

import pytest
from flask import Flask
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import validate

from benchstick import __version__
from benchstick.appliance import clock
from benchstick.drives.bottlenecks import CODES
from benchstick.drives.types import TRANSPORTS
from benchstick.plan.labels import KINDS, MOST_CHARACTERS
from benchstick.plan.quantity import Metric, Statistic
from benchstick.plan.run_queue import MOST
from benchstick.plan.states import (
    GuardState,
    LimitState,
    QueueState,
    RequestState,
    RunState,
    SlotState,
    StepState,
    Validity,
)
from benchstick.plan.steps import FILESYSTEMS
from benchstick.recipes.model import OPERATORS
from benchstick.reports import bundle
from benchstick.store import bays, run_queries
from benchstick.store.database import open_writer
from benchstick.suites.reference_results import UNITS
from benchstick.suites.spec_sheets import PLAIN
from tests.unit.test_erase import run_document
from tests.web import every_page, made_charts, made_runs
from tests.web.api_document import Operation, node_at, operations_of
from tests.web.conftest import Bench, Browser, SignedIn, browser
from tests.web.test_web_bundle import packed
from webui.forms.inputs import LARGEST
from webui.pages import openapi, runs


def closed(schema: Any) -> Any:
    """The schema without room for a field that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: closed(item) for name, item in schema.items()}
    if "properties" in strict and "type" in strict:
        strict.setdefault("additionalProperties", False)
    return strict


DOCUMENT = closed(copy.deepcopy(openapi.document()))
OPERATIONS = operations_of(DOCUMENT)
NAMES = [operation.name for operation in OPERATIONS]


def check(operation: Operation, answer: Any) -> None:
    """The answer's status, type, headers and content are those that the document has for it."""
    response = operation.responses.get(str(answer.status_code))
    assert response is not None, f"{operation.name}: {answer.status_code} is not in the document"
    kind = answer.content_type.split(";")[0]
    assert kind in response["content"], f"{operation.name}: {kind} is not in the document"
    for name in response.get("headers", {}):
        assert name in answer.headers, f"{operation.name}: no {name}"
    if kind == "application/json":
        schema = {**response["content"][kind]["schema"], "components": DOCUMENT["components"]}
        problems = [
            f"{error.json_path}: {error.message[:200]}"
            for error in Draft202012Validator(schema).iter_errors(answer.json)
        ]
        assert problems == [], operation.name
    answer.close()


def find(name: str) -> Operation:
    return next(operation for operation in OPERATIONS if operation.name == name)


def address(operation: Operation, **values: Any) -> str:
    """The operation's path with the examples of its parameters, or with what is `given`."""
    path = operation.path
    for item in operation.parameters:
        if item.place == "path":
            path = path.replace(f"{{{item.name}}}", str(values.get(item.name, item.example)))
    return path


def query(operation: Operation) -> dict[str, Any]:
    """The examples of the query's parameters."""
    fields: dict[str, Any] = {}
    for item in operation.parameters:
        if item.place == "query" and item.example is not None:
            fields.update(item.example if item.is_map else {item.name: item.example})
    return fields


def test_the_document_is_valid_openapi() -> None:
    validate(openapi.document())
    assert openapi.document()["openapi"].startswith("3.1")
    assert len(set(NAMES)) == len(NAMES)


def at(path: str) -> Any:
    """What is at `path` in the document's schemas."""
    return node_at(openapi.document(), f"components/schemas/{path}")


def test_its_names_and_limits_are_those_of_the_code() -> None:
    assert openapi.document()["info"]["version"] == __version__
    names = {
        "Filesystem/anyOf/0": FILESYSTEMS,
        "Bottleneck/properties/code": CODES,
        "Measurement/properties/metric": [str(item) for item in Metric],
        "Measurement/properties/statistic/anyOf/0": [str(item) for item in Statistic],
        "LimitResult/properties/op": OPERATORS,
        "Desk/properties/slots/items/properties/state": [*SlotState, "unknown"],
        "Guard/properties/state": tuple(GuardState),
        "LimitResult/properties/state": tuple(LimitState),
        "Measurement/properties/state": tuple(Validity),
        "QueueState": tuple(QueueState),
        "Request/properties/state": ["waiting", *RequestState],
        "RunState": tuple(RunState),
        "RunStep/properties/state": tuple(StepState),
        "Samples/properties/steps/items/properties/state": tuple(StepState),
        "Desk/properties/scans/items/properties/kind": KINDS,
        "ModelBody/properties/claim/items/properties/unit": UNITS,
    }
    assert {path: at(path)["enum"] for path in names} == {
        path: list(values) for path, values in names.items()
    }
    assert all(name in at("Drive/properties/transport")["description"] for name in TRANSPORTS)
    assert set(PLAIN) <= set(at("ModelBody/properties"))
    assert at("QueueBody/properties/runs")["maxItems"] == MOST
    assert at("ScanBody/properties/text")["maxLength"] == MOST_CHARACTERS
    milliseconds = at("ClockBody/properties/ms")
    earliest, latest = milliseconds["minimum"], milliseconds["maximum"]
    assert (earliest, latest) == (int(clock.EARLIEST * 1000), int(clock.LATEST * 1000))
    assert at("StartBody/properties/diskseq")["maximum"] == LARGEST


def test_it_has_every_route_and_nothing_else(app: Flask) -> None:
    routes = {
        (method, re.sub(r"<(?:[^:>]+:)?([^>]+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    documented = {(operation.method, operation.path) for operation in OPERATIONS}
    assert sorted(routes - documented) == [], "routes that webui/openapi.json lacks"
    assert sorted(documented - routes) == [], "operations without a route"
    for operation in OPERATIONS:
        in_path = {item.name for item in operation.parameters if item.place == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", operation.path)), operation.name


def test_on_loopback_everybody_may_read_it_and_on_the_network_those_who_signed_in(
    client: Browser, network_app: Flask, token: str
) -> None:
    answer = client.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.content_type == "application/json"
    assert answer.json == openapi.document()
    other = {"REMOTE_ADDR": "192.0.2.9"}
    refused = browser(network_app).get("/openapi.json", environ_base=other)
    assert refused.status_code == 401
    assert refused.json["error"]["code"] == "sign_in"
    headers = {"Authorization": f"Bearer {token}"}
    answer = browser(network_app).get("/openapi.json", headers=headers, environ_base=other)
    assert answer.status_code == 200
    # The bench itself reads it without, also where the network reaches it.
    for address in ("127.0.0.1", "::1"):
        mine = browser(network_app).get("/openapi.json", environ_base={"REMOTE_ADDR": address})
        assert mine.status_code == 200
    assert browser(network_app).get("/api/v1/drives").status_code == 401
    assert client.get("/api/v1/").json["openapi"] == "/openapi.json"


def furnish(bench: Bench) -> dict[str, int]:
    """Give the bench one of each kind that an address may name: their ids."""
    with contextlib.closing(open_writer(bench.home)) as db:
        return every_page.furnish(db)


@pytest.mark.parametrize("name", NAMES)
def test_each_operation_answers_as_documented(
    signed_in: SignedIn, bench: Bench, booted_stick: None, name: str
) -> None:
    operation = find(name)
    values: dict[str, Any] = {}
    if name == "request":
        values["number"] = signed_in.api("/api/v1/runs", find("start").body_example).json["id"]
    elif name == "cancel":
        values["number"] = bench.numbers["running"]
    elif name in ("queue", "cancel_queue", "take_out"):
        with contextlib.closing(open_writer(bench.home)) as db:
            values = {"number": every_page.add_queue(db, bench.numbers), "position": 2}
    elif name in ("imported", "remove_reference", "remove_model"):
        values["number"] = furnish(bench)[name]
    elif name in ("verdict", "verdict_file"):
        with contextlib.closing(open_writer(bench.home)) as db:
            values["number"] = every_page.add_verdicts(bench.home, db, bench.numbers)[
                "verdict-fail"
            ]
    elif name == "remove_recipe":
        signed_in.api("/api/v1/recipes", find("add_recipe").body_example)
        values["name"] = "incoming"
    elif name == "ask_slot":
        with contextlib.closing(open_writer(bench.home)) as db:
            bays.keep(db, every_page.some_slots())
    elif name == "revoke_token":
        signed_in.api("/api/v1/settings/tokens", find("make_token").body_example)
    path = address(operation, **values)
    if operation.method == "GET":
        params = query(operation)
        if name == "compared_chart":
            # The runs of the example have results but no charts.
            params["runs"] = params["mark"] = with_charts(bench)
        answer = signed_in.client.get(path, query_string=params)
    elif name == "login":
        answer = browser(signed_in.client.application).post(path, json={"key": new_key(signed_in)})
    elif name == "import":
        answer = send(signed_in, packed(bench.home, bench.numbers["practice"]))
    else:
        answer = signed_in.api(path, operation.body_example)
    assert answer.status_code in operation.answers, answer.text
    check(operation, answer)


def with_charts(bench: Bench) -> int:
    """The number of a run that has charts."""
    with contextlib.closing(open_writer(bench.home)) as db:
        return made_runs.add_run(bench.home, db, "sweep", {}, made_charts.sweep)


def send(signed_in: SignedIn, data: bytes) -> Any:
    """A bundle to the bench."""
    headers = {"X-CSRF-Token": signed_in.csrf}
    return signed_in.client.post(
        "/api/v1/imports", data=data, headers=headers, content_type="application/zip"
    )


def new_key(signed_in: SignedIn) -> str:
    key = signed_in.client.application.extensions["benchstick"].key.current
    assert isinstance(key, str)
    return key


def test_every_run_is_as_the_document_says(client: Browser, bench: Bench) -> None:
    for name in ("practice", "das", "cdm", "slow", "lost", "running"):
        number = bench.numbers[name]
        for operation in ("run", "samples"):
            check(find(operation), client.get(address(find(operation), number=number)))
    for form in ("json", "csv", "samples"):
        path = address(find("export"), number=bench.numbers["das"])
        check(find("export"), client.get(path, query_string={"format": form}))
    check(find("runs"), client.get("/api/v1/runs"))
    for code in ("2318E6C0A1F2", "port:1-4:0", "S6PUNX0T312345A", "S4EWNX0R654321B"):
        check(find("drive"), client.get(address(find("drive"), code=code)))


def test_a_run_names_its_queue(client: Browser, bench: Bench) -> None:
    alone = client.get(f"/api/v1/runs/{bench.numbers['slow']}").json
    assert alone["queue"] is None
    with contextlib.closing(open_writer(bench.home)) as db:
        every_page.add_queue(db, bench.numbers)
    answer = client.get(f"/api/v1/runs/{bench.numbers['das']}")
    check(find("run"), answer)
    queue = client.get(f"/api/v1/queues/{answer.json['queue']['number']}").json
    assert answer.json["queue"]["state"] == queue["state"] == "open"
    assert bench.numbers["das"] in [entry["run"] for entry in queue["entries"]]


def test_a_bundle_of_another_bench_waits(
    signed_in: SignedIn, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(bench.home, bench.numbers["practice"])
    monkeypatch.setattr(bundle, "find", lambda db, number: None)
    busy = send(signed_in, data)
    assert busy.status_code == 409
    check(find("import"), busy)
    monkeypatch.setattr(run_queries, "running", lambda db: [])
    answer = send(signed_in, data)
    assert answer.status_code == 202
    check(find("import"), answer)
    check(find("imported"), signed_in.client.get(f"/api/v1/imports/{answer.json['id']}"))


def test_comparisons_and_spec_sheets_are_as_documented(client: Browser, bench: Bench) -> None:
    furnish(bench)
    with contextlib.closing(open_writer(bench.home)) as db:
        runs_by_suite = {
            suite: [
                made_runs.add_run(bench.home, db, suite, {}, getattr(made_charts, suite))
                for _ in range(2)
            ]
            for suite in ("sweep", "sustained")
        }
    pairs = (*runs_by_suite.values(), [bench.numbers["cdm"], bench.numbers["slow"]],
             [bench.numbers["lost"], bench.numbers["das"]])  # fmt: skip
    documents = []
    for pair in pairs:
        answer = client.get("/api/v1/compare", query_string={"runs": ",".join(map(str, pair))})
        assert answer.status_code == 200
        documents.append(answer.json)
        check(find("compare"), answer)
    sweep, sustained, cdm, _ = documents
    assert sweep["charts"] and any("marks" in chart for chart in sustained["charts"])
    assert cdm["models"] and cdm["differ"]
    assert any(row["reference"] for result in cdm["results"] for row in result["rows"])
    drive = client.get("/api/v1/drives/port:1-4:0")
    assert drive.json["spec_sheet"]["claims"]
    check(find("drive"), drive)


def test_a_certificate_is_as_the_document_says(
    client: Browser, bench: Bench, drive_json: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "document", lambda number: run_document(drive_json(), number=number))
    path = address(find("export"), number=bench.numbers["cdm"])
    for form in ("certificate", "certificate-text"):
        check(find("export"), client.get(path, query_string={"format": form}))


JSON_TYPE = {"Content-Type": "application/json"}
FAILURES: list[tuple[str, str, dict[str, Any], int]] = [
    ("runs", "/api/v1/runs?limit=x", {}, 400),
    ("cost", "/api/v1/runs/new?drive=practice", {}, 400),
    ("cost", "/api/v1/runs/new?drive=nothing&suite=cdm", {}, 404),
    ("run", "/api/v1/runs/999999", {}, 404),
    ("run", "/api/v1/runs/x", {}, 404),
    ("drives", "/api/v1/drives", {"headers": {"Authorization": "Bearer x"}}, 401),
    ("status", "/api/v1/status", {"headers": {"Host": "evil.example"}}, 421),
    ("appliance", "/api/v1/appliance", {}, 404),
    ("start", "/api/v1/runs", {"json": {"drive": "practice"}}, 400),
    ("start", "/api/v1/runs", {"json": {"drive": "practice", "suite": "cdm"}}, 403),
    ("start", "/api/v1/runs", {"json": {"drive": "x", "suite": "cdm"}}, 404),
    ("start", "/api/v1/runs", {"json": {"drive": "practice", "suite": "cdm", "erase": "practice",
                                        "diskseq": 99}}, 409),
    ("start", "/api/v1/runs", {"data": b" " * 70_000, "headers": JSON_TYPE}, 413),
    ("start", "/api/v1/runs", {"data": b"{}"}, 415),
    ("cancel", "/api/v1/runs/1/cancel", {"json": {}}, 409),
    ("cancel", "/api/v1/runs/1/cancel", {"json": {"x": 1}}, 400),
    ("cost", "/api/v1/runs/new?drive=practice&suite=cdm&q=x", {}, 400),
    ("start_queue", "/api/v1/queues", {"json": {"drive": "practice", "runs": []}}, 400),
    ("start_queue", "/api/v1/queues", {"json": {"drive": "practice",
                                                "runs": [{"suite": "cdm"}]}}, 403),
    ("start_queue", "/api/v1/queues", {"json": {"drive": "x", "runs": [{"suite": "cdm"}]}}, 404),
    ("queue", "/api/v1/queues/999999", {}, 404),
    ("queues", "/api/v1/queues?limit=0", {}, 400),
    ("cancel_queue", "/api/v1/queues/999999/cancel", {"json": {}}, 404),
    ("take_out", "/api/v1/queues/999999/entries/1/remove", {"json": {}}, 404),
    ("login", "/api/v1/login", {"json": {"pin": "123456"}}, 409),
    ("login", "/api/v1/login", {"json": {"key": "x"}}, 403),
    ("compare", "/api/v1/compare", {}, 400),
    ("compare", "/api/v1/compare?runs=3,999999", {}, 400),
    ("report_html", "/api/v1/runs/999999/report.html", {}, 404),
    ("report_pdf", "/api/v1/runs/x/report.pdf", {}, 404),
    ("results", "/api/v1/runs/999999/results.csv", {}, 404),
    ("chart", "/api/v1/runs/1/charts/99.svg", {}, 404),
    ("compared_html", "/api/v1/compare/report.html?runs=3,999999", {}, 400),
    ("compared_pdf", "/api/v1/compare/report.pdf", {}, 400),
    ("compared_results", "/api/v1/compare/results.csv?runs=2,3", {}, 400),
    ("compared_ranks", "/api/v1/compare/ranks/999.svg?runs=3,4", {}, 404),
    ("compared_chart", "/api/v1/compare/charts/1.svg?runs=x", {}, 400),
    ("bundle", "/api/v1/runs/6/bundle", {}, 400),
    ("import", "/api/v1/imports", {"data": b"x", "content_type": "application/zip"}, 400),
    ("import", "/api/v1/imports", {"json": {}}, 415),
    ("import", "/api/v1/imports", {"data": bytes((8 << 20) + 1),
                                   "content_type": "application/zip"}, 413),
    ("imported", "/api/v1/imports/999999", {}, 404),
    ("references", "/api/v1/references?suite=%00", {}, 400),
    ("add_references", "/api/v1/references", {"json": {"file": "x.csv", "text": "x"}}, 400),
    ("remove_reference", "/api/v1/references/999999/remove", {"json": {}}, 404),
    ("add_model", "/api/v1/models", {"json": {"model": "x", "capacity": "much"}}, 400),
    ("remove_model", "/api/v1/models/999999/remove", {"json": {"x": 1}}, 400),
    ("remove_model", "/api/v1/models/999999/remove", {"json": {}}, 404),
    ("drop_scans", "/api/v1/desk/drop", {"json": {"x": 1}}, 400),
    ("drop_scans", "/api/v1/desk/drop", {"data": b"x"}, 415),
    ("ask_slot", "/api/v1/desk/slots/none", {"json": {"do": "stop"}}, 404),
    ("verdicts", "/api/v1/verdicts?verdict=good", {}, 400),
    ("recipe_start", "/api/v1/desk/new?recipe=none", {}, 400),
    ("recipe_start", "/api/v1/desk/new?drive=none", {}, 404),
    ("start_recipe", "/api/v1/desk/new", {"json": {"drive": "port:1-4:0",
                                                   "recipe": "full-review"}}, 403),
    ("start_recipe", "/api/v1/desk/new", {"json": {"drive": "port:1-4:0", "recipe": "own",
                                                   "diskseq": 999}}, 400),
    ("verdict", "/api/v1/verdicts/999999", {}, 404),
    ("verdict_file", "/api/v1/verdicts/999999/export", {}, 404),
    ("recipe", "/api/v1/recipes/none", {}, 404),
    ("add_recipe", "/api/v1/recipes", {"json": {"name": "x", "text": "[[suite]]\nname = 5"}}, 400),
    ("add_recipe", "/api/v1/recipes", {"json": {"name": "../x", "text": ""}}, 400),
    ("check_recipe", "/api/v1/recipes/check", {"json": {"text": 5}}, 400),
    ("remove_recipe", "/api/v1/recipes/full-review/remove", {"json": {}}, 404),
    ("make_token", "/api/v1/settings/tokens", {"json": {"name": "/"}}, 400),
    ("revoke_token", "/api/v1/settings/tokens/none/revoke", {"json": {}}, 404),
    ("set_clock", "/api/v1/clock", {"json": {"ms": 1_800_000_000_000}}, 409),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "wish", "status"), FAILURES)
def test_failures_are_in_the_document(
    signed_in: SignedIn, name: str, path: str, wish: dict[str, Any], status: int
) -> None:
    operation = find(name)
    headers = {"X-CSRF-Token": signed_in.csrf, **wish.get("headers", {})}
    answer = signed_in.client.open(path, method=operation.method, **{**wish, "headers": headers})
    assert answer.status_code == status, answer.text
    check(operation, answer)


def test_a_refused_write_is_as_documented(
    app: Flask, signed_in: SignedIn, network_app: Flask
) -> None:
    stranger = browser(app)
    for operation in OPERATIONS:
        path = address(operation)
        if operation.reads:
            answer = browser(network_app).get(path)
            assert answer.status_code == 401, operation.name
            check(operation, answer)
        elif not operation.open_to_all:
            answer = stranger.post(path, json=operation.body_example)
            assert answer.status_code == 401, operation.name
            check(operation, answer)
            answer = signed_in.client.post(path, json=operation.body_example)
            assert answer.status_code == 403, operation.name
            check(operation, answer)


def test_too_many_wrong_pins_are_in_the_document(network_app: Flask) -> None:
    client = browser(network_app)
    statuses = []
    for _ in range(6):
        answer = client.post("/api/v1/login", json={"pin": "x"})
        statuses.append(answer.status_code)
        check(find("login"), answer)
    assert statuses == [403] * 5 + [429]


# ---- JSON versions of pages


ALTERNATE = re.compile(r'<link rel="alternate" type="application/json" href="([^"]+)">')
# What is a file to keep, and no page.
FILES = ("runs.export", "verdicts.export", "verdicts.export_all", "runs.artifact",
         "reports.as_html", "reports.as_pdf", "reports.results",
         "reports.chart", "reports.as_bundle", "reports.compared_html", "reports.compared_pdf",
         "reports.compared_results", "reports.compared_ranks",
         "reports.compared_chart")  # fmt: skip
QUERIES = ("", "?kind=practice", "?drive=practice", "?drive=practice&suite=das&p.passes=2",
         "?drive=port:1-4:0&suite=cdm&fs=exfat&p.size=1GiB")  # fmt: skip


def page_of(rule: str, bench: Bench, request: int, upload: int, queue: int, verdict: int) -> str:
    """An address of this rule on the sample bench."""
    values = {
        "/drives/<path:code>": "/drives/port:1-4:0",
        "/runs/<number>": f"/runs/{bench.numbers['das']}",
        "/requests/<number>": f"/requests/{request}",
        "/queues/<number>": f"/queues/{queue}",
        "/compare": f"/compare?runs={bench.numbers['cdm']},{bench.numbers['slow']}",
        "/imports/<number>": f"/imports/{upload}",
        "/suites/<name>": "/suites/cdm",
        "/methods/<name>": "/methods/guard",
        "/methods/<folder>/<name>": "/methods/decisions/guard",
        "/verdicts/<number>": f"/verdicts/{verdict}",
        "/recipes/<name>": "/recipes/full-review",
    }
    assert "<" not in values.get(rule, rule), f"{rule}: say here where there is one"
    return values.get(rule, rule)


def test_every_page_links_its_json_version_which_answers(
    app: Flask, signed_in: SignedIn, bench: Bench
) -> None:
    upload = furnish(bench)["imported"]
    request = signed_in.api("/api/v1/runs", find("start").body_example).json["id"]
    with contextlib.closing(open_writer(bench.home)) as db:
        queue = every_page.add_queue(db, bench.numbers)
        verdict = every_page.add_verdicts(bench.home, db, bench.numbers)["verdict-pass"]
    walked = 0
    for rule in app.url_map.iter_rules():
        skipped = rule.rule.startswith("/api/") or rule.rule in ("/", "/openapi.json")
        if skipped or "GET" not in (rule.methods or ()) or rule.endpoint in ("static", *FILES):
            continue
        for extra in QUERIES:
            path = page_of(rule.rule, bench, request, upload, queue, verdict)
            path += extra.replace("?", "&") if "?" in path else extra
            page = signed_in.client.get(path)
            assert page.status_code == 200, path
            assert page.content_type.startswith("text/html"), path
            named = ALTERNATE.findall(page.text)
            assert len(named) == 1, path
            twin = signed_in.client.get(unescape(named[0]))
            assert twin.status_code == 200, (path, named[0], twin.text)
            assert twin.json["schema"].startswith("benchstick/"), path
            walked += 1
    assert walked > 40


def test_the_json_version_has_the_estimate_of_its_page(client: Browser) -> None:
    page = client.get("/runs/new?drive=practice&suite=das")
    twin = client.get(unescape(ALTERNATE.findall(page.text)[0])).json
    assert twin["plan"]["scale"] == 0.01
    named = ALTERNATE.findall(client.get("/drives/port:1-4:0").text)[0]
    assert client.get(unescape(named)).json["code"] == "port:1-4:0"


def test_an_error_page_names_none(client: Browser) -> None:
    assert not ALTERNATE.findall(client.get("/runs/999999").text)
    assert not ALTERNATE.findall(client.get("/nowhere").text)
