"""Every operation of the API, one entry for each route and method: its parameters and answers.

A new route below /api/v1 needs an entry here; `tests/web/test_web_openapi.py` names those that
lack one, and entries without a route. `webui.openapi` makes the document of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchstick.plan.run_queue import MOST
from webui.inputs import LARGEST
from webui.shapes import FS, SCALE, TARGET, Schema, ref, several, text, whole

JSON = "application/json"
ZIP = "application/zip"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the address: `place` is path or query."""

    name: str
    place: str
    schema: Schema
    description: str
    example: Any = None
    required: bool = False
    # Takes every `p.NAME` of the query.
    is_map: bool = False


@dataclass(frozen=True)
class Answer:
    """One answer: its content by type, and the headers that come with it."""

    description: str
    content: Mapping[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one address.

    `reads` is False for what needs a session or a token; `open_to_all` needs no sign-in.
    `answers` are those of success; `errors` the statuses in addition to those that follow from
    the rest (401, 404 where the address has a name in it, ...). `session_only`: a token is
    refused.
    """

    method: str
    path: str
    name: str
    summary: str
    answers: Mapping[int, Answer]
    parameters: tuple[Parameter, ...] = ()
    body: str | None = None
    body_type: str = JSON
    body_example: Any = None
    body_needed: bool = True
    errors: tuple[int, ...] = ()
    reads: bool = True
    open_to_all: bool = False
    session_only: bool = False


def ok(schema: str, description: str = "the document", *headers: str) -> dict[int, Answer]:
    """200 with a document."""
    return {200: Answer(description, {JSON: ref(schema)}, headers)}


def a_file(description: str, *kinds: str) -> dict[int, Answer]:
    """200 with a file to keep, of one of these media types."""
    return {200: Answer(description, {kind: text() for kind in kinds}, ("Content-Disposition",))}


_ACCEPTED = {202: Answer("the request to look at", {JSON: ref("Asked")}, ("Location",))}
_NUMBER = Parameter("number", "path", whole(high=10**15 - 1), "the run's number", 1)
_VERDICT = Parameter("number", "path", whole(high=10**15 - 1), "the verdict's number", 1)
_RECIPE_NAME = Parameter(
    "name", "path", text(minLength=1), "the recipe's name", "incoming-usb-stick"
)
_RECIPE = """time_limit = "5 min"

[[suite]]
name = "cdm"

[[limit]]
figure = "SEQ1M Q8T1 read"
op = ">="
value = 380
unit = "MB/s"
"""
_QUEUE = Parameter("number", "path", whole(high=10**15 - 1), "the queue's number", 1)
_STEP_INDEX = Parameter("index", "path", whole(high=10**15 - 1), "the step's index", 1)
_CODE = Parameter(
    "code", "path", text(minLength=1), "the drive's code, label or node; slashes are not escaped",
    "practice",
)  # fmt: skip
_SUITE = Parameter("name", "path", text(minLength=1), "the suite's name", "cdm")
_PAGE = Parameter("name", "path", text(minLength=1), "the page's name", "web")
_FOLDER = Parameter("folder", "path", text(minLength=1), "the folder's name", "decisions")
_PAGE_IN_FOLDER = Parameter("name", "path", text(minLength=1), "the page's name", "guard")
_WHICH = Parameter(
    "which", "path", whole(low=1, high=10**15 - 1), "1, 2, ... as on the comparison's page", 1,
)  # fmt: skip
_FORMATS = ("json", "csv", "samples", "certificate", "certificate-text")


def _query(
    name: str, schema: Schema, description: str, example: Any = None, **more: Any
) -> Parameter:
    return Parameter(name, "query", schema, description, example, **more)


# Of a comparison and of each of its files.
_COMPARED = (
    _query(
        "runs", text(pattern=r"^[0-9]{1,15}(,[0-9]{1,15})*$", maxLength=200),
        "runs of one suite by their numbers, 12 at most", "3,4", required=True,
    ),
    _query("mark", whole(low=1, high=LARGEST), "the run on the drive under test; default: the "
           "first", 3),
    _query("references", text(enum=["yes", "no"]), "default: `yes`", "yes"),
)  # fmt: skip


OPERATIONS: tuple[Operation, ...] = (
    # ---- the bench
    Operation(
        method="GET", path="/api/v1/", name="index", answers=ok("Index"),
        summary="Every address of the API with its methods",
    ),
    Operation(
        method="GET", path="/api/v1/status", name="status", answers=ok("Status"),
        summary="Running runs, the time of the last scan, notices of a booted stick",
    ),
    Operation(
        method="GET", path="/api/v1/appliance", name="appliance", answers=ok("Appliance"),
        errors=(404,), summary="What a booted stick reports: itself, whether results last",
    ),
    Operation(
        method="GET", path="/api/v1/licences", name="licences", answers=ok("Licences"),
        summary="What the bench is made of, with versions and licences",
    ),
    Operation(
        method="GET", path="/api/v1/clock", name="clock", answers=ok("Clock"),
        summary="The bench's time, and whether it may be set from here",
    ),
    Operation(
        method="POST", path="/api/v1/clock", name="set_clock", answers=_ACCEPTED, reads=False,
        body="ClockBody", body_example={"ms": 1_800_000_000_000}, errors=(409,),
        summary="Ask the agent to set the clock of a booted stick",
    ),
    Operation(
        method="GET", path="/api/v1/desk", name="desk", answers=ok("Desk"),
        summary="The slots, the ticket of the next drive, the last scans, the webhook",
    ),
    Operation(
        method="POST", path="/api/v1/desk/scans", name="scan", answers=_ACCEPTED, reads=False,
        body="ScanBody", body_example={"text": "A-1007"}, errors=(409,),
        summary="Save a scan for the next drive",
    ),
    Operation(
        method="POST", path="/api/v1/desk/drop", name="drop_scans", answers=_ACCEPTED, reads=False,
        body="NoBody", body_example={}, body_needed=False, errors=(409,),
        summary="Clear scanned data",
    ),
    Operation(
        method="POST", path="/api/v1/desk/slots/{name}", name="ask_slot", answers=_ACCEPTED,
        reads=False, parameters=(
            Parameter("name", "path", text(minLength=1, maxLength=40), "the slot's name", "slot 1"),
        ),
        body="SlotBody", body_example={"do": "stop"}, errors=(409,),
        summary="Stop the countdown or the test in a slot, or test its drive again",
    ),
    Operation(
        method="GET", path="/api/v1/desk/new", name="recipe_start", answers=ok("RecipeStart"),
        parameters=(
            _query("drive", text(maxLength=200), "its code", "port:1-4:0"),
            _query("recipe", text(maxLength=200), "its name", "incoming-portable-ssd"),
        ),
        errors=(404,), summary="What a test with a recipe would do",
    ),
    Operation(
        method="POST", path="/api/v1/desk/new", name="start_recipe", answers=_ACCEPTED, reads=False,
        body="RecipeStartBody",
        body_example={"drive": "port:1-4:0", "recipe": "full-review", "erase": "port:1-4:0"},
        errors=(404, 409),
        summary="Ask the agent to test a drive with a recipe. 403 without the code where data are "
                "destroyed",
    ),
    Operation(
        method="GET", path="/api/v1/verdicts", name="verdicts", answers=ok("Verdicts"),
        parameters=(
            _query("verdict", text(enum=["pass", "fail", "inconclusive"]), "only these verdicts"),
            _query("before", whole(low=1, high=LARGEST), "verdicts with a number below this"),
            _query("limit", whole(low=1, high=500), "how many; default: 50", 5),
        ),
        summary="Verdicts of recipes on drives, the newest first",
    ),
    Operation(
        method="GET", path="/api/v1/verdicts/export", name="verdicts_file",
        answers={
            200: Answer(
                "one file",
                {
                    "text/csv": text("a header and a line a verdict"),
                    "application/xml": text("JUnit"),
                    JSON: several(ref("Verdict")),
                },
                ("Content-Disposition",),
            )
        },
        parameters=(
            _query("format", text(enum=["csv", "junit", "json"]), "default: `csv`", "csv"),
            _query("verdict", text(enum=["pass", "fail", "inconclusive"]), "only these verdicts"),
            _query("before", whole(low=1, high=LARGEST), "verdicts with a number below this"),
            _query("limit", whole(low=1, high=500), "how many; default: 500", 5),
        ),
        summary="Verdicts of recipes on drives as one file, the newest first",
    ),
    Operation(
        method="GET", path="/api/v1/verdicts/{number}", name="verdict", answers=ok("Verdict"),
        parameters=(_VERDICT,), summary="One verdict: why, its limits, its reasons, its runs",
    ),
    Operation(
        method="GET", path="/api/v1/verdicts/{number}/export", name="verdict_file",
        answers={
            200: Answer(
                "one file",
                {
                    JSON: ref("Verdict"),
                    "text/csv": text("a header and a line"),
                    "application/xml": text("JUnit"),
                    "text/plain": text("key=value lines"),
                },
                ("Content-Disposition",),
            )
        },
        parameters=(
            _VERDICT,
            _query("format", text(enum=["json", "junit", "csv", "events"]),
                   "default: `json`", "junit"),
        ),
        summary="The verdict as one file",
    ),
    Operation(
        method="GET", path="/api/v1/recipes", name="recipes", answers=ok("Recipes"),
        summary="The recipes: the stick's, those uploaded, the built-in ones",
    ),
    Operation(
        method="POST", path="/api/v1/recipes", name="add_recipe", reads=False,
        answers={201: Answer("the recipe as it is saved", {JSON: ref("Recipe")})},
        body="RecipeBody", body_example={"name": "incoming", "text": _RECIPE},
        summary="Save a recipe; 400 with every error where it has some",
    ),
    Operation(
        method="POST", path="/api/v1/recipes/check", name="check_recipe", reads=False,
        answers=ok("RecipeCheck", "its errors, if any"),
        body="RecipeCheckBody", body_example={"text": _RECIPE},
        summary="List every error of a recipe, each with its line; nothing is saved",
    ),
    Operation(
        method="GET", path="/api/v1/recipes/{name}", name="recipe", answers=ok("Recipe"),
        parameters=(_RECIPE_NAME,), summary="One recipe, with its text and in words",
    ),
    Operation(
        method="POST", path="/api/v1/recipes/{name}/remove", name="remove_recipe", reads=False,
        answers=ok("RecipeRemoved", "it was removed"), parameters=(_RECIPE_NAME,),
        body="NoBody", body_example={}, body_needed=False,
        summary="Remove a recipe that was uploaded",
    ),
    # ---- signing in
    Operation(
        method="GET", path="/api/v1/login", name="session", answers=ok("Session"),
        summary="Whether the caller is signed in, and how",
    ),
    Operation(
        method="POST", path="/api/v1/login", name="login", reads=False, open_to_all=True,
        answers=ok("SignedIn", "signed in", "Set-Cookie"), body="LoginBody",
        body_example={"pin": "482913"}, errors=(403, 409, 429),
        summary="Sign in with the PIN or a one-time key: a session's cookie and its CSRF token",
    ),
    Operation(
        method="POST", path="/api/v1/logout", name="logout", reads=False,
        answers=ok("SignedOut", "signed out", "Set-Cookie"), summary="End the session",
    ),
    Operation(
        method="GET", path="/api/v1/settings/tokens", name="tokens", answers=ok("Tokens"),
        summary="The tokens of scripts, without their secrets",
    ),
    Operation(
        method="POST", path="/api/v1/settings/tokens", name="make_token", reads=False,
        answers={201: Answer("the token, shown only this once", {JSON: ref("NewToken")})},
        body="TokenBody", body_example={"name": "nightly"}, errors=(409,), session_only=True,
        summary="Create a token. 409 where there is one of this name",
    ),
    Operation(
        method="POST", path="/api/v1/settings/tokens/{name}/revoke", name="revoke_token",
        reads=False, answers=ok("Tokens", "the tokens that are left"), session_only=True,
        parameters=(
            Parameter("name", "path", text(minLength=1), "the token's name", "nightly"),
        ),
        body="NoBody", body_example={}, body_needed=False,
        summary="Revoke a token at once",
    ),
    # ---- drives
    Operation(
        method="GET", path="/api/v1/drives", name="drives", answers=ok("Drives"),
        summary="The drives of the agent's last scan",
    ),
    Operation(
        method="GET", path="/api/v1/drives/{code}", name="drive", answers=ok("DriveDocument"),
        parameters=(_CODE,), summary="One drive with all that is known about it",
    ),
    Operation(
        method="GET", path="/api/v1/labels", name="labels", answers=ok("Labels"),
        summary="The operators' labels",
    ),
    Operation(
        method="POST", path="/api/v1/labels", name="set_label", reads=False,
        answers=ok("Label", "the label as it is now"), body="LabelBody",
        body_example={"drive": "practice", "label": "left bay"}, errors=(404,),
        summary="Label a drive, or remove its label",
    ),
    # ---- runs
    Operation(
        method="GET", path="/api/v1/runs", name="runs", answers=ok("Runs"),
        parameters=(
            _query("kind", text(enum=["real", "practice"]), "default: `real`", "practice"),
            _query("drive", text(maxLength=400), "of one drive alone, by its label, code or key, "
                   "whether it is plugged in or not; of both kinds", "practice"),
            _query("before", whole(low=1, high=LARGEST), "runs with a number below this"),
            _query("limit", whole(low=1, high=500), "how many; default: 50", 5),
        ),
        summary="The newest runs first",
    ),
    Operation(
        method="POST", path="/api/v1/runs", name="start", answers=_ACCEPTED, reads=False,
        body="StartBody",
        body_example={
            "drive": "practice", "suite": "cdm", "params": {"size": "64MiB", "passes": 1},
            "erase": "practice",
        },
        errors=(404, 409),
        summary="Ask the agent to start a run. 403 without the codes that it needs",
    ),
    Operation(
        method="GET", path="/api/v1/runs/new", name="cost", answers=ok("Start"),
        parameters=(
            _query("drive", text(maxLength=200), "its code", "practice", required=True),
            _query("suite", text(maxLength=60), "its name", "cdm", required=True),
            _query("target", TARGET, "default: the suite's own"),
            _query("fs", FS, "default: the suite's own"),
            _query("scale", SCALE, "default: 1"),
            _query(
                "params",
                {
                    "type": "object",
                    "additionalProperties": {"type": "string", "maxLength": 200},
                    "propertyNames": {"pattern": r"^p\.[a-z_]{1,20}$"},
                    "maxProperties": 20,
                },
                "parameters of the suite, each as `p.NAME=VALUE`", {"p.passes": "1"}, is_map=True,
            ),
            _query(
                "q",
                {"type": "array", "items": text(maxLength=2000), "maxItems": MOST},
                "each a run of a queue, as a query of its own: `suite=cdm&p.passes=1`",
                ["suite=cdm&p.passes=1"],
            ),
        ),
        errors=(404,), summary="What a run would cost, or a queue",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}", name="run", answers=ok("Run"),
        parameters=(_NUMBER,), summary="Plan, conditions, results, events and temperatures",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/samples", name="samples", answers=ok("Samples"),
        parameters=(
            _NUMBER,
            _query("after", whole("", -1, LARGEST), "the cursor: samples with a greater n", 3),
            _query("every", whole("", 1, 1000), "of every so many samples only those with the "
                   "minimum and maximum of a counter", 60),
            _query("steps", whole(high=LARGEST), "steps from this index on", 1),
        ),
        summary="The per-second record from a cursor on, while it runs too",
    ),
    Operation(
        method="POST", path="/api/v1/runs/{number}/cancel", name="cancel", answers=_ACCEPTED,
        reads=False, parameters=(_NUMBER,), body="NoBody", body_example={}, body_needed=False,
        errors=(409,), summary="Ask the agent to cancel a run",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/export", name="export",
        answers={
            200: Answer(
                "one file",
                {
                    JSON: {"oneOf": [ref("RunExport"), ref("Certificate")]},
                    "text/csv": text("results or samples"),
                    "text/plain": text("the certificate"),
                },
                ("Content-Disposition",),
            )
        },
        parameters=(
            _NUMBER,
            _query("format", text(enum=list(_FORMATS)), "default: `json`", "csv"),
        ),
        summary="The run as one file",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/steps/{index}", name="step", answers=ok("Step"),
        parameters=(_NUMBER, _STEP_INDEX), summary="The files that a step left",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/steps/{index}/{name}", name="artefact",
        answers={
            200: Answer(
                "the file as it is",
                {"text/plain": text(), JSON: {"description": "what the tool wrote"}},
            )
        },
        parameters=(
            _NUMBER, _STEP_INDEX,
            Parameter("name", "path", text(minLength=1), "the file's name", "command"),
        ),
        summary="One file that a step left",
    ),
    Operation(
        method="GET", path="/api/v1/requests/{number}", name="request", answers=ok("Request"),
        parameters=(
            Parameter("number", "path", whole(high=10**15 - 1), "the request's id", 1),
        ),
        summary="The agent's answer to a request",
    ),
    # ---- queues
    Operation(
        method="GET", path="/api/v1/queues", name="queues", answers=ok("Queues"),
        parameters=(_query("limit", whole(low=1, high=100), "how many; default: 20", 5),),
        summary="The newest queues first",
    ),
    Operation(
        method="POST", path="/api/v1/queues", name="start_queue", answers=_ACCEPTED, reads=False,
        body="QueueBody",
        body_example={
            "drive": "practice",
            "runs": [
                {"suite": "cdm", "params": {"size": "64MiB", "passes": 1}},
                {"suite": "das", "scale": 0.01},
            ],
            "erase": "practice",
        },
        errors=(404, 409),
        summary="Ask the agent to run several suites on a drive, one after the other",
    ),
    Operation(
        method="GET", path="/api/v1/queues/{number}", name="queue", answers=ok("Queue"),
        parameters=(_QUEUE,), summary="The running and the waiting runs of a queue",
    ),
    Operation(
        method="POST", path="/api/v1/queues/{number}/cancel", name="cancel_queue",
        answers=_ACCEPTED, reads=False, parameters=(_QUEUE,), body="NoBody", body_example={},
        body_needed=False, errors=(409,), summary="Ask the agent to cancel a queue",
    ),
    Operation(
        method="POST", path="/api/v1/queues/{number}/entries/{place}/remove", name="take_out",
        answers=_ACCEPTED, reads=False,
        parameters=(
            _QUEUE, Parameter("place", "path", whole(high=10**15 - 1), "from 0 on", 1),
        ),
        body="NoBody", body_example={}, body_needed=False, errors=(409,),
        summary="Ask the agent to remove a waiting run from a queue",
    ),
    # ---- reports and bundles
    Operation(
        method="GET", path="/api/v1/runs/{number}/report.html", name="report_html",
        answers=a_file("the report", "text/html"), parameters=(_NUMBER,),
        summary="The report as one HTML file, which needs no network",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/report.pdf", name="report_pdf",
        answers=a_file("the report", "application/pdf"), parameters=(_NUMBER,),
        summary="The report as PDF, A4",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/figures.csv", name="figures",
        answers=a_file("the results", "text/csv"), parameters=(_NUMBER,),
        summary="The results, one a line, as the export's `csv`",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/charts/{which}.svg", name="chart",
        answers=a_file("the chart", "image/svg+xml"),
        parameters=(
            _NUMBER,
            Parameter(
                "which", "path", whole(low=1, high=10**15 - 1),
                "1, 2, ... as on the run's page, the timeline last", 1,
            ),
        ),
        summary="One chart of the run",
    ),
    Operation(
        method="GET", path="/api/v1/runs/{number}/bundle", name="bundle",
        answers=a_file("the bundle", ZIP), parameters=(_NUMBER,), errors=(400,),
        summary="The run as a bundle that another bench imports. 400 while it runs",
    ),
    Operation(
        method="POST", path="/api/v1/imports", name="import", reads=False,
        answers={
            200: Answer("it is here already", {JSON: ref("Import")}),
            202: Answer("the agent will take it", {JSON: ref("Import")}),
        },
        body="BundleBody", body_type=ZIP, errors=(409,),
        summary="Import a bundle of another bench. 409 while a run is on",
    ),
    Operation(
        method="GET", path="/api/v1/imports/{number}", name="imported", answers=ok("Import"),
        parameters=(
            Parameter("number", "path", whole(high=10**15 - 1), "the import's id", 1),
        ),
        summary="The state of an imported bundle",
    ),
    # ---- comparisons
    Operation(
        method="GET", path="/api/v1/comparisons", name="comparisons", answers=ok("Comparisons"),
        parameters=(
            _query("suite", text(maxLength=100), "default: the suite of the newest run", "cdm"),
            _query("kind", text(enum=["real", "practice"]), "default: `real`", "practice"),
            _query("before", whole(low=1, high=LARGEST), "runs with a number below this"),
        ),
        summary="The runs of a suite that can be compared, the newest first",
    ),
    Operation(
        method="GET", path="/api/v1/compare", name="compare", answers=ok("Comparison"),
        parameters=_COMPARED, summary="Runs of one suite compared",
    ),
    Operation(
        method="GET", path="/api/v1/compare/report.html", name="compared_html",
        answers=a_file("the report", "text/html"), parameters=_COMPARED,
        summary="The comparison as one HTML file, which needs no network",
    ),
    Operation(
        method="GET", path="/api/v1/compare/report.pdf", name="compared_pdf",
        answers=a_file("the report", "application/pdf"), parameters=_COMPARED,
        summary="The comparison as PDF, A4",
    ),
    Operation(
        method="GET", path="/api/v1/compare/figures.csv", name="compared_figures",
        answers=a_file("the results", "text/csv"), parameters=_COMPARED,
        summary="The compared results, one a line for each run and reference",
    ),
    Operation(
        method="GET", path="/api/v1/compare/ranks/{which}.svg", name="compared_ranks",
        answers=a_file("the bars", "image/svg+xml"), parameters=(_WHICH, *_COMPARED),
        summary="One result as ranked bars",
    ),
    Operation(
        method="GET", path="/api/v1/compare/charts/{which}.svg", name="compared_chart",
        answers=a_file("the chart", "image/svg+xml"), parameters=(_WHICH, *_COMPARED),
        summary="One chart with the lines of all runs",
    ),
    Operation(
        method="GET", path="/api/v1/references", name="references", answers=ok("References"),
        parameters=(_query("suite", text(maxLength=60), "of one suite alone"),),
        summary="Reference results, which were not measured on this bench",
    ),
    Operation(
        method="POST", path="/api/v1/references", name="add_references", reads=False,
        answers={201: Answer("how many were saved", {JSON: ref("ReferencesKept")})},
        body="ReferencesBody",
        body_example={
            "file": "my.csv",
            "text": "drive,suite,figure,value,unit,source\n"
                    "Crucial X9 Pro,cdm,SEQ1M Q8T1 read,1050,MB/s,maker\n",
        },
        summary="Save the reference results of a file: all or none",
    ),
    Operation(
        method="POST", path="/api/v1/references/{number}/remove", name="remove_reference",
        reads=False, answers=ok("ReferenceRemoved", "it was removed"), parameters=(
            Parameter("number", "path", whole(high=10**15 - 1), "the reference result's id", 1),
        ),
        body="NoBody", body_example={}, body_needed=False,
        summary="Remove a reference result",
    ),
    Operation(
        method="GET", path="/api/v1/models", name="models", answers=ok("Models"),
        summary="The spec sheets: manufacturer's specifications",
    ),
    Operation(
        method="POST", path="/api/v1/models", name="add_model", reads=False,
        answers={201: Answer("the sheet as it is saved", {JSON: ref("ModelDocument")})},
        body="ModelBody",
        body_example={
            "model": "Samsung*", "capacity": "2TB", "seq_read_mbps": 1050, "price": 189.9,
            "currency": "EUR", "price_date": "2026-01-31",
            "claim": [{"suite": "das", "figure": "Photos write", "value": 900, "unit": "MB/s"}],
        },
        summary="Save a spec sheet; it replaces one of the same name",
    ),
    Operation(
        method="POST", path="/api/v1/models/{number}/remove", name="remove_model",
        reads=False, answers=ok("ModelRemoved", "it was removed"), parameters=(
            Parameter("number", "path", whole(high=10**15 - 1), "the sheet's id", 1),
        ),
        body="NoBody", body_example={}, body_needed=False,
        summary="Remove a spec sheet",
    ),
    # ---- suites and docs
    Operation(
        method="GET", path="/api/v1/suites", name="suites", answers=ok("Suites"),
        summary="The suites with their parameters",
    ),
    Operation(
        method="GET", path="/api/v1/suites/{name}", name="suite", answers=ok("SuiteDocument"),
        parameters=(_SUITE,), summary="One suite",
    ),
    Operation(
        method="GET", path="/api/v1/methods", name="methods", answers=ok("Methods"),
        summary="The pages of the documentation",
    ),
    Operation(
        method="GET", path="/api/v1/methods/{name}", name="method", answers=ok("Method"),
        parameters=(_PAGE,), summary="One page of the documentation as Markdown",
    ),
    Operation(
        method="GET", path="/api/v1/methods/{folder}/{name}", name="method_in_folder",
        answers=ok("Method"), parameters=(_FOLDER, _PAGE_IN_FOLDER),
        summary="One page of a folder of the documentation as Markdown",
    ),
)  # fmt: skip

# Texts of the headers that answers carry.
HEADERS: Mapping[str, Schema] = {
    "Location": text("where the request's answer will be", format="uri-reference"),
    "Content-Disposition": text("the file's name"),
    "Set-Cookie": text("the session"),
    "Retry-After": whole("seconds", low=1),
}
