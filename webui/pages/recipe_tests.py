"""A test with a recipe on a selected drive: what it would do, and the request for it.

The page only asks: the agent reads the recipe again, and the process that tests the drive looks for
it and passes the guard once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput, BenchError, Refused
from benchstick.plan.request import RunRequest
from benchstick.plan.run_queue import Cost
from benchstick.plan.states import GuardState
from benchstick.recipes import documents
from benchstick.recipes.model import Recipe
from benchstick.recipes.preconditions import why_no_match
from benchstick.reports import formatting
from webui.context import bench, drive_scans, find_drive
from webui.errors import WebError, status_of
from webui.forms.inputs import json_body, optional_text, optional_whole, plain_text
from webui.forms.run_requests import check_possible, cost_of
from webui.responses import reply, reply_request
from webui.view import sharing

bp = Blueprint("recipe_tests", __name__)

FIELDS = ("drive", "recipe", "erase", "drive_key", "diskseq", "medium")


def _recipes() -> dict[str, Recipe]:
    """Recipes without errors, by name."""
    pairs = ((item.name, documents.of_shelf(item)) for item in bench().shelved_recipes())
    return {name: recipe for name, recipe in pairs if isinstance(recipe, Recipe)}


def _runs(recipe: Recipe, drive: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each suite with its cost on this drive, or `reason` it cannot be run there."""
    runs = []
    for entry in recipe.entries:
        cost = cost_of(entry.request(drive["code"]), drive)
        has_cost = isinstance(cost, Cost)
        runs.append({
            "suite": entry.suite,
            "cost": cost.to_json() if isinstance(cost, Cost) else None,
            "reason": None if has_cost else cost,
        })  # fmt: skip
    return runs


def document() -> dict[str, Any]:
    """The `benchstick/recipe-start/2` document of `?drive=CODE&recipe=NAME`. Without a drive or a
    recipe it lists those available."""
    code = optional_text(request.args.get("drive"), "drive")
    name = optional_text(request.args.get("recipe"), "recipe")
    recipes = _recipes()
    drive = None if code is None else find_drive(code)
    choice = None if name is None else _find(name, recipes)
    runs = [] if drive is None or choice is None else _runs(choice, drive)
    return {
        "schema": "benchstick/recipe-start/2",
        "drive": None if drive is None else drive["code"],
        "recipe": name,
        "recipes": [
            {"name": item, "about": recipe.about or recipe.name,
             "why_not": None if drive is None else why_no_match(recipe.match, drive)}
            for item, recipe in recipes.items()
        ],
        "lines": [] if choice is None else documents.lines(choice),
        "runs": runs,
        "destroys": _destroys(runs),
        "shared": None if drive is None else sharing.describe_link(drive),
    }  # fmt: skip


def _destroys(runs: list[dict[str, Any]]) -> bool:
    return any(run["cost"] is not None and run["cost"]["destroys"] for run in runs)


def _find(name: str, recipes: Mapping[str, Recipe]) -> Recipe:
    if name not in recipes:
        raise BadInput(f"recipe: {name[:60]!r} does not exist, or has errors", field="recipe")
    return recipes[name]


@bp.get("/desk/new")
def new() -> str:
    return _page(None)


def _page(problem: BenchError | None) -> str:
    facts = document()
    drive = None if facts["drive"] is None else find_drive(facts["drive"])
    return render_template(
        "recipe_test.html",
        start=facts,
        drive=drive,
        drives=[
            item for item in drive_scans().drives
            if item["guard"]["state"] == GuardState.FREE and not formatting.is_practice(item)
        ],
        problem=problem,
    )  # fmt: skip


@bp.get("/api/v1/desk/new")
def api_new() -> Response:
    """What a test would do: `?drive=CODE&recipe=NAME`."""
    return reply(document())


def _ask(fields: Mapping[str, Any]) -> int:
    """Ask the agent for the test; the request's number. BadInput, Refused, WebError."""
    drive = find_drive(plain_text(fields.get("drive"), "drive"))
    name = plain_text(fields.get("recipe"), "recipe")
    recipe = _find(name, _recipes())
    erase = optional_text(fields.get("erase"), "erase")
    run_request = RunRequest(
        drive=drive["code"], suite="",
        drive_key=optional_text(fields.get("drive_key"), "drive_key", most=600),
        diskseq=optional_whole(fields.get("diskseq"), "diskseq"),
        medium=optional_text(fields.get("medium"), "medium"),
    )  # fmt: skip
    check_possible(run_request, drive)
    if drive["guard"]["state"] == GuardState.LOCKED:
        reason = drive["guard"]["reason"]
        message = f"{drive['code']} is locked: {reason}. No recipe unlocks a drive."
        raise Refused(message, field="drive")
    code = drive["code"]
    if erase not in (None, code) or (erase is None and _destroys(_runs(recipe, drive))):
        reason = f"{erase!r} is not this drive's code" if erase else "not typed"
        raise Refused(
            f"erase: {reason}; this recipe destroys the drive's data, type its code {code} to "
            "confirm", field="erase",
        )  # fmt: skip
    if not bench().agent_runs():
        raise WebError(409, "no_agent", "no agent is running, which tests: benchstick agent")
    run_request = replace(run_request, erase=erase)
    body = {key: run_request.to_json(drive)[key] for key in FIELDS if key != "recipe"}
    return bench().add_request("qa", {"recipe": name, **body})


@bp.post("/desk/new")
def start() -> BaseResponse:
    try:
        number = _ask(request.form)
    except (BadInput, Refused, WebError) as error:
        # The address has the choices as well.
        page = _page(error)
        return Response(page, status_of(error), content_type="text/html; charset=utf-8")
    return redirect(url_for("start.request_page", number=number), 303)


@bp.post("/api/v1/desk/new")
def api_start() -> Response:
    """Ask the agent to test a drive with a recipe; answers 202 with a request."""
    number = _ask(json_body(FIELDS))
    return reply_request(number, url_for("start.api_request", number=str(number)))
