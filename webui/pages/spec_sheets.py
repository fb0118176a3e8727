"""Spec sheets in the page: listed, entered or imported from a file, removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from benchstick.errors import BadInput
from benchstick.plan.units import binary_text
from benchstick.suites import registry
from benchstick.suites import spec_sheets as sheets
from benchstick.suites.reference_results import UNITS
from benchstick.suites.spec_sheets import Sheet
from webui.context import bench
from webui.errors import not_found, status_of
from webui.forms.inputs import LARGEST, json_body, no_body, number_in_path, plain_text, whole
from webui.responses import reply

bp = Blueprint("models", __name__)

# Label and hint of each field of the form.
LABELS: Mapping[str, tuple[str, str]] = {
    "model": (
        "Drives' model",
        "as reported by the drive; * matches any text, e.g. Crucial X9 Pro*",
    ),
    "name": ("Name of the sheet", "default: the model"),
    "capacity": ("Capacity", "e.g. 1TB; the sheet then applies only to drives of about that size"),
    "seq_read_mbps": ("Sequential read, MB/s", "compared with SEQ1M Q8T1 read (cdm)"),
    "seq_write_mbps": ("Sequential write, MB/s", "compared with SEQ1M Q8T1 write (cdm)"),
    "rand_read_iops": ("Random read, IOPS", "compared with RND4K Q32 read (cdm)"),
    "rand_write_iops": ("Random write, IOPS", "compared with RND4K Q32 write (cdm)"),
    "raw_nand": ("Raw NAND", "all flash in the drive, e.g. 1024GiB"),
    "nand": ("Kind of NAND", "e.g. Micron 176 layers TLC"),
    "controller": ("Controller", "e.g. SM2320"),
    "warranty_years": ("Warranty, years", ""),
    "price": ("Price", "e.g. 89.90"),
    "currency": ("Currency", "three letters, e.g. EUR"),
    "price_date": ("Date of the price", "e.g. 2026-01-31"),
    "source": ("Source", "where the specifications are from"),
}
_ROWS = 4


def _json(number: int, sheet: Sheet) -> dict[str, Any]:
    return {"id": number, **sheet.to_json()}


@bp.get("/api/v1/models")
def api_index() -> Response:
    """All spec sheets."""
    models = [_json(number, sheet) for number, sheet in bench().sheets()]
    return reply({"schema": "benchstick/models/2", "models": models})


@bp.get("/models")
def index() -> str:
    """The sheets and the form; with `?edit=ID` the form has that sheet."""
    edit = whole(request.args.get("edit"), "edit", low=0, high=LARGEST, default=0)
    if not edit:
        model = plain_text(request.args.get("model", ""), "model")
        return _page({"model": model}, [], 0, None)
    for number, sheet in bench().sheets():
        if number == edit:
            data = sheet.to_json()
            values = {name: _format_field(name, data[name]) for name in LABELS}
            claims = [
                {**item, "value": _format_field("value", item["value"])} for item in data["claims"]
            ]
            return _page(values, claims, number, None)
    raise not_found(f"Spec sheet {edit}: there is none.")


def _format_field(name: str, value: Any) -> str:
    """A field's value as one would type it."""
    if value is None:
        return ""
    if name in ("capacity", "raw_nand"):
        whole_gb = isinstance(value, int) and value % 10**9 == 0
        return f"{value // 10**9}GB" if whole_gb else binary_text(value).replace(" ", "")
    return str(value).removesuffix(".0")


def _page(
    values: Mapping[str, str],
    claims: Sequence[Mapping[str, Any]],
    edit: int,
    problem: BadInput | None,
) -> str:
    empty = {"suite": "", "result": "", "value": "", "unit": ""}
    rows = [{**empty, **item} for item in claims]
    rows += [empty] * max(2 if rows else 0, _ROWS - len(rows))
    return render_template(
        "models.html",
        sheets=bench().sheets(),
        labels=LABELS,
        values=values,
        rows=rows,
        edit=edit,
        problem=problem,
        suites=list(registry.all_suites()),
        units=list(UNITS),
    )


def _raise_error(name: str | None, at: int | None, message: str) -> NoReturn:
    where = "" if at is None else f"claim {at + 1}: "
    field = name if at is None else f"claim.{at}.{name}"
    raise BadInput(f"{where}{message}", field=field)


@bp.post("/api/v1/models")
def api_add() -> Response:
    """A sheet with the fields of the TOML file; `claim` is a list of objects. One of the same name
    is replaced."""
    body = json_body((*sheets.FIELDS, "claim"))
    claims = body.pop("claim", [])
    if not isinstance(claims, list) or not all(isinstance(item, dict) for item in claims):
        raise BadInput("claim: expected a list of objects", field="claim")
    sheet = sheets.checked(_storable(body), [_storable(item) for item in claims], _raise_error)
    number = bench().save_sheet(sheet)
    return reply({"schema": "benchstick/model/2", **_json(number, sheet)}, 201)


def _storable(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record, its texts checked to be Unicode of one line."""
    return {
        plain_text(name, "body", most=60): plain_text(value, name, most=1000)
        if isinstance(value, str)
        else value
        for name, value in record.items()
    }


@bp.post("/models")
def add() -> BaseResponse:
    """Save the sheet of the form, or of an uploaded file."""
    edit = whole(request.form.get("edit"), "edit", low=0, high=LARGEST, default=0)
    values: dict[str, str] = {}
    claims: list[dict[str, str]] = []
    try:
        values = {
            name: plain_text(request.form.get(name, ""), name, most=1000).strip() for name in LABELS
        }
        claims = _claims()
        upload = request.files.get("file")
        if upload is not None and upload.filename:
            sheet = sheets.read(upload.read(), plain_text(upload.filename, "file", most=100))
        else:
            fields = {name: text for name, text in values.items() if text}
            sheet = sheets.checked(fields, claims, _raise_error)
        bench().save_sheet(sheet, replaces=edit or None)
    except BadInput as error:
        page = _page(values, claims, edit, error)
        return Response(page, status_of(error), content_type="text/html; charset=utf-8")
    return redirect(url_for("models.index"), 303)


def _claims() -> list[dict[str, str]]:
    """The rows of claims that have anything but a suite and a unit, which are chosen already."""
    names = ("suite", "result", "value", "unit")
    columns = [request.form.getlist(f"claim_{name}") for name in names]
    rows = [
        {name: plain_text(text, f"claim_{name}", most=1000).strip()
         for name, text in zip(names, row, strict=True)}
        for row in zip(*columns, strict=False)
    ]  # fmt: skip
    return [row for row in rows if row["result"] or row["value"]]


def _remove(number: str) -> int:
    sheet_id = number_in_path(number, "Spec sheet")
    try:
        bench().remove_sheet(sheet_id)
    except BadInput as error:
        raise not_found(f"Spec sheet {sheet_id}: there is none.") from error
    return sheet_id


@bp.post("/models/<number>/remove")
def remove(number: str) -> BaseResponse:
    _remove(number)
    return redirect(url_for("models.index"), 303)


@bp.post("/api/v1/models/<number>/remove")
def api_remove(number: str) -> Response:
    """Remove one; the body is empty or `{}`."""
    no_body()
    return reply({"schema": "benchstick/model-removed/1", "id": _remove(number)})
