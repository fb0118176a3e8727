"""Starting a run: what it will cost, the code typed to erase, the second act to unlock.

The page only asks. The agent checks everything again before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as BaseResponse

from benchstick.engine.source_ram import ram_free
from benchstick.plan.errors import BadInput, BenchError, Refused
from benchstick.plan.params import Param
from benchstick.plan.steps import FILESYSTEMS, Plan
from benchstick.plan.units import binary_text
from benchstick.store import pages, records
from benchstick.suites import registry
from benchstick.suites.base import Suite
from webui import present
from webui.api import reply
from webui.bench import drives_seen, find_drive, reader, visitor, writer
from webui.errors import WebError, status_of
from webui.inputs import (
    json_body,
    optional_number,
    optional_text,
    optional_whole,
    plain_text,
    text_map,
)

bp = Blueprint("start", __name__)

FIELDS = (
    "drive", "suite", "params", "target", "fs", "scale", "erase", "unlock", "identity_key",
    "diskseq",
)  # fmt: skip
# Names files of the bench's own host, which only its own user may name: command line only.
NOT_IN_THE_PAGE = frozenset({"set"})

# The practice drive is too small for whole file sets; the form starts with what `make run` does.
PRACTICE_SCALE = 0.01


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody wants to run, as it came in. `params` holds only what differs from defaults."""

    drive: str
    suite: str
    params: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    fs: str | None = None
    scale: float | None = None
    erase: str | None = None
    unlock: str | None = None
    identity_key: str | None = None
    diskseq: int | None = None

    def to_request(self, drive: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the request to the agent, with the identity of the drive as it was shown."""
        return {
            "suite": self.suite,
            "drive": drive["code"],
            "identity_key": drive["identity"]["key"],
            "diskseq": drive.get("diskseq"),
            "params": dict(self.params),
            "target": self.target,
            "fs": self.fs,
            "scale": self.scale,
            "erase": self.erase,
            "unlock": self.unlock,
        }


def _from_fields(fields: Mapping[str, Any], params: Mapping[str, str]) -> Wish:
    return Wish(
        drive=plain_text(fields.get("drive"), "drive"),
        suite=plain_text(fields.get("suite"), "suite", most=60),
        params=_checked(params),
        target=optional_text(fields.get("target"), "target", most=20),
        fs=optional_text(fields.get("fs"), "fs", most=20),
        scale=optional_number(fields.get("scale"), "scale"),
        erase=optional_text(fields.get("erase"), "erase"),
        unlock=optional_text(fields.get("unlock"), "unlock"),
        identity_key=optional_text(fields.get("identity_key"), "identity_key", most=600),
        diskseq=optional_whole(fields.get("diskseq"), "diskseq"),
    )


def _checked(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters, none of them the command line's own."""
    for name in params:
        if name in NOT_IN_THE_PAGE:
            raise BadInput(
                f"{name}: names files of the bench itself; use the command line for it", field=name
            )
    return dict(params)


def wish_from_json() -> Wish:
    """The wish in a JSON body. `drive` and `suite` must be there."""
    body = json_body(FIELDS)
    return _from_fields(body, text_map(body.get("params"), "params"))


def wish_from_form(form: MultiDict[str, str]) -> Wish:
    """The wish in a form or query; suite parameters are the fields `p.NAME`."""
    given: dict[str, str] = {}
    for name in form:
        if name.startswith("p."):
            text = plain_text(form[name], name[2:], most=1000).strip()
            if text:
                given[plain_text(name[2:], "params", most=60)] = text
    suite = registry.all_suites().get(form.get("suite", ""))
    if suite is not None:
        default = {param.name: shown_default(param) for param in suite.params}
        given = {name: text for name, text in given.items() if default.get(name) != text}
    return _from_fields({name: form.get(name) for name in FIELDS if name in form}, given)


def shown_default(param: Param) -> str:
    """A parameter's default as its field shows it."""
    if isinstance(param.default, bool):
        return "yes" if param.default else "no"
    if param.kind == "size" and isinstance(param.default, int):
        return binary_text(param.default) if param.default else "0"
    return str(param.default)


def plan_of(wish: Wish, drive: Mapping[str, Any]) -> Plan:
    """The plan of the wish. BadInput with the field."""
    for name, text in wish.params.items():
        # Numbers of a thousand digits are not worth an attempt.
        if len(text) > 200:
            raise BadInput(f"{name}: longer than 200 characters", field=name)
    try:
        return registry.make_plan(
            wish.suite,
            drive,
            wish.params,
            target=wish.target,
            fs=wish.fs,
            scale=wish.scale,
            ram=ram_free(),
        )
    except (OverflowError, ArithmeticError):
        raise BadInput("a number is far too large", field="params") from None


def needs_unlock(drive: Mapping[str, Any]) -> bool:
    """A locked drive is unlocked for every run, as the guard demands."""
    return bool(drive["guard"]["state"] == "locked")


def check_possible(wish: Wish, drive: Mapping[str, Any]) -> None:
    """Refused or 409 when no run may start on this drive now, whatever is typed."""
    guard = drive["guard"]
    name = f"{drive['identity']['model']} ({drive['code']})"
    if guard["state"] not in ("free", "locked"):
        raise Refused(f"{name} is protected: {guard['why']}. It is never written.", field="drive")
    same = (None, drive["identity"]["key"])
    if wish.identity_key not in same or wish.diskseq not in (None, drive.get("diskseq")):
        raise WebError(
            409,
            "drive_changed",
            f"{name}: the drive was unplugged or replaced since this page was loaded; load it "
            "again and look.",
            field="drive",
        )
    for row in pages.running(reader()):
        if row["drive_key"] == drive["identity"]["key"]:
            raise WebError(
                409, "busy", f"{name}: run {row['number']} is using this drive.", field="drive"
            )


def check_codes(wish: Wish, drive: Mapping[str, Any], plan: Plan) -> None:
    """Refused unless the code was typed for erasing, and again for unlocking, where needed."""
    code = drive["code"]
    if plan.destroys and wish.erase != code:
        said = f"{wish.erase!r} is not this drive's code" if wish.erase else "not typed"
        raise Refused(
            f"erase: {said}; this run destroys the drive's data, type its code {code} to confirm",
            field="erase",
        )
    if needs_unlock(drive) and wish.unlock != code:
        said = f"{wish.unlock!r} is not this drive's code" if wish.unlock else "not typed"
        raise Refused(
            f"unlock: {said}; the drive is locked ({drive['guard']['why']}), type its code {code} "
            "once more to unlock it for this run",
            field="unlock",
        )


def ask_agent(wish: Wish, drive: Mapping[str, Any]) -> int:
    """Put the request into the store for the agent; its id. 409 when there is none: a request to
    destroy data must not wait for somebody to start one."""
    if not pages.agent_runs():
        said = "no agent is running, so no run can start: benchstick agent"
        raise WebError(409, "no_agent", said)
    return records.add_request(writer(), "run", wish.to_request(drive))


def preview(wish: Wish, drive: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The cost of a run before it starts."""
    return {
        "schema": "benchstick/start/1",
        "drive": drive["code"],
        "identity_key": drive["identity"]["key"],
        "diskseq": drive.get("diskseq"),
        "guard": drive["guard"],
        "suite": wish.suite,
        "needs": {"erase": plan.destroys, "unlock": needs_unlock(drive)},
        "plan": plan.to_json(),
    }


# ---- the API


@bp.get("/api/v1/runs/new")
def api_new() -> Response:
    """What a run would cost: `?drive=CODE&suite=NAME[&p.NAME=...][&target=][&fs=][&scale=]`."""
    wish = wish_from_form(request.args)
    drive = find_drive(wish.drive)
    return reply(preview(wish, drive, plan_of(wish, drive)))


@bp.post("/api/v1/runs")
def api_start() -> Response:
    """Ask the agent to start a run; answers 202 with the request to look at."""
    wish = wish_from_json()
    drive = find_drive(wish.drive)
    check_possible(wish, drive)
    check_codes(wish, drive, plan_of(wish, drive))
    number = ask_agent(wish, drive)
    href = url_for("start.api_request", number=str(number))
    document = {"schema": "benchstick/request/1", "id": number, "state": "waiting", "href": href}
    response = reply(document, 202)
    response.headers["Location"] = href
    return response


@bp.get("/api/v1/requests/<number>")
def api_request(number: str) -> Response:
    return reply(_find_request(number))


# ---- the pages


@bp.get("/runs/new")
def new() -> Response:
    """The form, filled in from the query."""
    form = request.args
    problem = None
    code = plain_text(form.get("drive", ""), "drive")
    if not code:
        return Response(_choose_drive(), content_type="text/html; charset=utf-8")
    drive = find_drive(code)
    suite = _suite_of(form)
    try:
        wish = wish_from_form(MultiDict([*form.items(), ("suite", suite.name)]))
    except BadInput as error:
        wish, problem = Wish(drive=code, suite=suite.name), error
    if suite.takes_scale and present.is_practice(drive) and "scale" not in form:
        wish = replace(wish, scale=PRACTICE_SCALE)
    return _form(wish, drive, suite, problem)


def _suite_of(form: Mapping[str, str]) -> Suite:
    """The suite asked for, else the first there is."""
    suites = registry.all_suites()
    name = form.get("suite") or next(iter(suites))
    return registry.find(name)


def _choose_drive() -> str:
    scanned, drives = drives_seen()
    return render_template(
        "choose_drive.html", scanned=scanned, drives=drives, twin=url_for("drives.api_index")
    )


@bp.post("/runs")
def start() -> BaseResponse:
    """Take the form: show the cost again, ask for the unlocking, or start."""
    drive = find_drive(plain_text(request.form.get("drive", ""), "drive"))
    suite = _suite_of(request.form)
    try:
        wish = wish_from_form(request.form)
    except BadInput as error:
        return _form(Wish(drive=drive["code"], suite=suite.name), drive, suite, error)
    if request.form.get("act") == "preview":
        return _form(wish, drive, suite)
    try:
        check_possible(wish, drive)
        plan = plan_of(wish, drive)
        # The first act is complete before the second one is asked for.
        check_codes(replace(wish, unlock=drive["code"]), drive, plan)
        if needs_unlock(drive) and wish.unlock != drive["code"]:
            return _unlock(wish, drive, suite, plan)
        number = ask_agent(wish, drive)
    except BenchError as error:
        return _form(wish, drive, suite, error)
    return redirect(url_for("start.request_page", number=number), 303)


def _form(
    wish: Wish, drive: Mapping[str, Any], suite: Suite, problem: BenchError | None = None
) -> Response:
    """The form with what was typed, its cost, and what was wrong with it."""
    plan = None
    try:
        plan = plan_of(wish, drive)
    except BadInput as error:
        problem = problem or error
    page = render_template(
        "new_run.html",
        wish=wish,
        drive=drive,
        suite=suite,
        suites=registry.all_suites().values(),
        params=[
            (param, shown_default(param))
            for param in suite.params
            if param.name not in NOT_IN_THE_PAGE
        ],
        filesystems=FILESYSTEMS,
        plan=plan,
        locked=plan is not None and needs_unlock(drive),
        problem=problem,
        may_write=visitor().known,
        practice=present.is_practice(drive),
        twin=_twin(wish, drive),
    )
    status = 200 if problem is None else status_of(problem)
    return Response(page, status, content_type="text/html; charset=utf-8")


def _twin(wish: Wish, drive: Mapping[str, Any]) -> str:
    """The address that tells the same cost as the form."""
    asked: dict[str, Any] = {"drive": drive["code"], "suite": wish.suite}
    asked |= {name: getattr(wish, name) for name in ("target", "fs", "scale")}
    asked |= {f"p.{name}": value for name, value in wish.params.items()}
    return url_for("start.api_new", **asked)


def _unlock(wish: Wish, drive: Mapping[str, Any], suite: Suite, plan: Plan) -> Response:
    """The second act: the code once more, on a page of its own."""
    problem = None
    if wish.unlock:
        problem = f"{wish.unlock!r} is not this drive's code."
    page = render_template(
        "unlock.html", wish=wish, drive=drive, suite=suite, plan=plan, problem=problem
    )
    status = 403 if problem else 200
    return Response(page, status, content_type="text/html; charset=utf-8")


def _find_request(text: str) -> dict[str, Any]:
    from webui.inputs import number_in_path

    found = pages.request_json(reader(), number_in_path(text, "Request"))
    if found is None:
        raise WebError(404, "not_found", f"Request {text[:20]}: there is no such request.")
    return found


@bp.get("/requests/<number>")
def request_page(number: str) -> BaseResponse:
    """Waits for the agent's answer; goes on to the run once there is one."""
    found = _find_request(number)
    if found["run"] is not None and found["state"] != "refused":
        return redirect(url_for("runs.run", number=found["run"]), 303)
    if found["kind"] == "clock" and found["state"] == "done":
        return redirect("/drives", 303)
    body = found["body"]
    kept = ("drive", "suite", "target", "fs", "scale")
    again = {name: body[name] for name in kept if body.get(name)}
    again.update({f"p.{name}": text for name, text in (body.get("params") or {}).items()})
    back = url_for("start.new", **again) if "suite" in again else url_for("runs.index")
    page = render_template("request.html", asked=found, back=back)
    return Response(page, content_type="text/html; charset=utf-8")
