"""What somebody wants to run: read from a form, a query or JSON; its plan, its cost, its codes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from werkzeug.datastructures import MultiDict

from benchstick.engine.fileset_source.free_ram import ram_free
from benchstick.errors import BadInput, Refused
from benchstick.plan import run_queue
from benchstick.plan.params import Param
from benchstick.plan.request import OWN, RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.plan.states import GuardState
from benchstick.plan.steps import Plan
from benchstick.plan.units import binary_text
from benchstick.reports import formatting
from benchstick.suites import presets, registry
from webui.context import bench
from webui.errors import WebError
from webui.forms.inputs import (
    json_body,
    optional_number,
    optional_text,
    optional_whole,
    plain_text,
    text_map,
)

FIELDS = (
    "drive", "suite", "params", "target", "fs", "scale", "erase", "unlock", "drive_key",
    "diskseq", "medium",
)  # fmt: skip
# Names files of the bench's own host, which only its own user may name: command line only.
NOT_IN_THE_PAGE = frozenset({"set"})

# The practice drive is too small for whole file sets; the form starts with what `make run` does.
PRACTICE_SCALE = 0.01
LONGEST_DRAFT = 2000


def queue_request(run_requests: Sequence[RunRequest], drive: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the request to the agent for several runs on one drive: codes and identity once,
    and for each run what is its own."""
    first_body = run_requests[0].to_json(drive)
    runs = [
        {name: run_request.to_json(drive)[name] for name in OWN} for run_request in run_requests
    ]
    return {**{name: value for name, value in first_body.items() if name not in OWN}, "runs": runs}


def _from_fields(fields: Mapping[str, Any], params: Mapping[str, str]) -> RunRequest:
    return RunRequest(
        drive=plain_text(fields.get("drive"), "drive"),
        suite=plain_text(fields.get("suite"), "suite", most=60),
        params=_checked(params),
        target=optional_text(fields.get("target"), "target", most=20),
        fs=optional_text(fields.get("fs"), "fs", most=20),
        scale=optional_number(fields.get("scale"), "scale"),
        erase=optional_text(fields.get("erase"), "erase"),
        unlock=optional_text(fields.get("unlock"), "unlock"),
        drive_key=optional_text(fields.get("drive_key"), "drive_key", most=600),
        diskseq=optional_whole(fields.get("diskseq"), "diskseq"),
        medium=optional_text(fields.get("medium"), "medium"),
    )


def _checked(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters, none of them the command line's own."""
    for name in params:
        if name in NOT_IN_THE_PAGE:
            raise BadInput(
                f"{name}: names files of the bench itself; use the command line for it", field=name
            )
    return dict(params)


def request_from_json() -> RunRequest:
    """The request in a JSON body. `drive` and `suite` must be there."""
    body = json_body(FIELDS)
    return _from_fields(body, text_map(body.get("params"), "params"))


def queue_from_json() -> list[RunRequest]:
    """The requests in a JSON body that asks for a queue."""
    body = json_body([name for name in FIELDS if name not in OWN] + ["runs"])
    entries = run_queue.entries_of(body)
    for index, run in enumerate(body["runs"]):
        for name in run:
            if name not in OWN:
                excerpt = name[:60].encode("ascii", "backslashreplace").decode()
                raise BadInput(
                    f"runs.{index}.{excerpt}: no such field; there are {', '.join(OWN)}",
                    field="runs",
                )
    return [_from_fields(item, text_map(item.get("params"), "params")) for item in entries]


def drafts_in(form: MultiDict[str, str], drive: str) -> list[RunRequest]:
    """The runs that the page has put together so far: its fields `q`, each a query of its own.
    They take the form's codes and identity. BadInput for what the page has not made."""
    texts = form.getlist("q")
    if len(texts) > run_queue.MOST:
        raise BadInput(f"q: a queue has at most {run_queue.MOST} suites", field="q")
    shared_fields = [(name, form[name]) for name in FIELDS if name in form and name not in OWN]
    run_requests = []
    for text in texts:
        try:
            own = parse_qsl(plain_text(text, "q", most=LONGEST_DRAFT), max_num_fields=100)
        except ValueError:
            raise BadInput("q: not a run as the page writes it", field="q") from None
        fields = [(name, value) for name, value in own if name in OWN or name.startswith("p.")]
        run_request = request_from_form(MultiDict([*shared_fields, ("drive", drive), *fields]))
        registry.find(run_request.suite)
        run_requests.append(run_request)
    return run_requests


def draft(run_request: RunRequest) -> str:
    """The request as a field `q`."""
    own = [
        ("suite", run_request.suite),
        ("target", run_request.target),
        ("fs", run_request.fs),
        ("scale", run_request.scale),
    ]
    fields = [(name, str(value)) for name, value in own if value is not None]
    return urlencode(
        [*fields, *((f"p.{name}", value) for name, value in run_request.params.items())]
    )


def request_from_form(form: MultiDict[str, str]) -> RunRequest:
    """The request in a form or query; suite parameters are the fields `p.NAME`."""
    params: dict[str, str] = {}
    for name in form:
        if name.startswith("p."):
            text = plain_text(form[name], name[2:], most=1000).strip()
            if text:
                params[plain_text(name[2:], "params", most=60)] = text
    suite = registry.all_suites().get(form.get("suite", ""))
    if suite is not None:
        default = {param.name: shown_default(param) for param in suite.params}
        params = {name: text for name, text in params.items() if default.get(name) != text}
    return _from_fields({name: form.get(name) for name in FIELDS if name in form}, params)


def shown_default(param: Param) -> str:
    """A parameter's default as its field shows it."""
    if isinstance(param.default, bool):
        return "yes" if param.default else "no"
    if param.kind == "size" and isinstance(param.default, int):
        return binary_text(param.default) if param.default else "0"
    return str(param.default)


def plan_of(run_request: RunRequest, drive: Mapping[str, Any]) -> Plan:
    """The plan of the request. BadInput with the field."""
    for name, text in run_request.params.items():
        # Numbers of a thousand digits are not worth an attempt.
        if len(text) > 200:
            raise BadInput(f"{name}: longer than 200 characters", field=name)
    try:
        return registry.make_plan(
            run_request.suite,
            drive,
            run_request.params,
            target=run_request.target,
            fs=run_request.fs,
            scale=run_request.scale,
            ram=ram_free(),
        )
    except (OverflowError, ArithmeticError):
        raise BadInput("a number is far too large", field="params") from None


def cost_of(run_request: RunRequest, drive: Mapping[str, Any]) -> Cost | str:
    """The cost of the request, or why it cannot be met. Remembered: a page asks for many."""
    return _cost(
        json.dumps(drive, sort_keys=True),
        draft(run_request),
        # To the GiB: it changes all the time, and only large steps count.
        ram_free() >> 30,
    )


@functools.lru_cache(maxsize=256)
def _cost(drive_text: str, text: str, ram_gib: int) -> Cost | str:
    drive = json.loads(drive_text)
    try:
        run_request = request_from_form(MultiDict([("drive", drive["code"]), *parse_qsl(text)]))
        return run_queue.cost([plan_of(run_request, drive)])
    except BadInput as error:
        return error.message


def plans_of(run_requests: Sequence[RunRequest], drive: Mapping[str, Any]) -> list[Plan]:
    """The plans of a queue. BadInput with the field, also where they cannot follow each other."""
    plans = [plan_of(run_request, drive) for run_request in run_requests]
    run_queue.check(plans)
    return plans


def preset_request(preset: presets.Preset, suite: str, drive: Mapping[str, Any]) -> RunRequest:
    """What a preset asks for on this drive."""
    run_request = RunRequest(
        drive=drive["code"],
        suite=suite,
        params=preset.params,
        target=preset.target,
        fs=preset.fs,
        scale=preset.scale,
    )
    return scaled(run_request, drive)


def scaled(run_request: RunRequest, drive: Mapping[str, Any]) -> RunRequest:
    """The request, on the practice drive with the scale that fits there unless it has one."""
    takes = registry.find(run_request.suite).has_scale and formatting.is_practice(drive)
    return (
        replace(run_request, scale=PRACTICE_SCALE)
        if takes and run_request.scale is None
        else run_request
    )


def same_run(one: RunRequest, other: RunRequest, drive: Mapping[str, Any]) -> bool:
    """Whether both ask for the same run, defaults written out or not."""
    return _whole_request(one, drive) == _whole_request(other, drive)


def _whole_request(run_request: RunRequest, drive: Mapping[str, Any]) -> tuple[Any, ...]:
    suite = registry.find(run_request.suite)
    target = run_request.target or suite.default_target
    fs_choice = run_request.fs or suite.default_fs
    fs = "auto" if fs_choice == "keep" and formatting.is_practice(drive) else fs_choice
    params = {
        item.name: run_request.params.get(item.name, shown_default(item)) for item in suite.params
    }
    return suite.name, params, target, fs if target == "file" else None, run_request.scale or 1.0


def preset_of(run_request: RunRequest, drive: Mapping[str, Any]) -> presets.Preset | None:
    """The preset that asks for the same run, None when none does."""
    for preset in presets.of_suite(run_request.suite):
        if same_run(run_request, preset_request(preset, run_request.suite, drive), drive):
            return preset
    return None


def request_text(run_request: RunRequest, drive: Mapping[str, Any]) -> str:
    """What a line of a queue says of a run: its preset, or what differs from the defaults."""
    preset = preset_of(run_request, drive)
    if preset is not None:
        return preset.title
    suite = registry.find(run_request.suite)
    parts = [f"{name.replace('_', ' ')} {value}" for name, value in run_request.params.items()]
    if run_request.target not in (None, suite.default_target):
        parts.append("raw drive" if run_request.target == "block" else "file")
    if run_request.fs not in (None, suite.default_fs):
        parts.append(str(run_request.fs))
    if run_request.scale not in (None, 1.0):
        parts.append(f"scale {run_request.scale:g}")
    return ", ".join(parts) or "defaults"


def needs_unlock(drive: Mapping[str, Any]) -> bool:
    """A locked drive is unlocked for every run, as the guard demands. One that does not answer is
    not unlocked at all."""
    guard = drive["guard"]
    return bool(guard["state"] == GuardState.LOCKED and not guard.get("retry"))


def check_possible(run_request: RunRequest, drive: Mapping[str, Any]) -> None:
    """Refused or 409 when no run may start on this drive now, whatever is typed."""
    guard = drive["guard"]
    name = f"{drive['identity']['model']} ({drive['code']})"
    if guard["state"] not in (GuardState.FREE, GuardState.LOCKED):
        reason = guard["reason"]
        message = f"{name} is protected: {reason}. It is never written."
        raise Refused(message, field="drive")
    if guard.get("retry"):
        raise Refused(f"{name}: {guard['reason']}.", field="drive")
    same = (None, drive["identity"]["drive_key"])
    other = run_request.diskseq not in (None, drive.get("diskseq"))
    other = other or run_request.medium not in (None, drive.get("medium"))
    if run_request.drive_key not in same or other:
        raise WebError(
            409,
            "drive_changed",
            f"{name}: the drive was unplugged or replaced since this page was loaded; "
            "load it again and look.",
            field="drive",
        )
    for run in bench().running():
        if run.drive_key == drive["identity"]["drive_key"]:
            message = f"{name}: run {run.number} is using this drive."
            raise WebError(409, "busy", message, field="drive")
    # Between two runs of a queue nothing runs, and the drive is not free.
    waits = bench().queue_of_drive(drive["identity"]["drive_key"])
    if waits is not None and bench().agent_runs():
        message = f"{name}: queue {waits} has this drive."
        raise WebError(409, "busy", message, field="drive")


def check_codes(
    run_request: RunRequest, drive: Mapping[str, Any], plans: Sequence[Plan], what: str = "this run"
) -> None:
    """Refused unless the code was typed for erasing, and again for unlocking, where needed."""
    code = drive["code"]
    if any(plan.destroys for plan in plans) and run_request.erase != code:
        fault = (
            f"{run_request.erase!r} is not this drive's code" if run_request.erase else "not typed"
        )
        raise Refused(
            f"erase: {fault}; {what} destroys the drive's data, type its code {code} to confirm",
            field="erase",
        )
    if needs_unlock(drive) and run_request.unlock != code:
        fault = (
            f"{run_request.unlock!r} is not this drive's code"
            if run_request.unlock
            else "not typed"
        )
        raise Refused(
            f"unlock: {fault}; the drive is locked ({drive['guard']['reason']}), type its code"
            f" {code} "
            f"once more to unlock it for {what}",
            field="unlock",
        )


def ask_agent(body: Mapping[str, Any]) -> int:
    """Put the request into the store for the agent; its id. 409 when there is none: a request to
    destroy data must not wait for somebody to start one."""
    if not bench().agent_runs():
        message = "no agent is running, so no run can start: benchstick agent"
        raise WebError(409, "no_agent", message)
    return bench().add_request("run", body)
