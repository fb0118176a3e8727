"""What the bench is made of, with versions and licences."""

from __future__ import annotations

from flask import Blueprint, Response, render_template

from benchstick.appliance import licences
from webui.responses import reply

bp = Blueprint("licences", __name__)


@bp.get("/licences")
def page() -> str:
    return render_template("licences.html", document=licences.document())


@bp.get("/api/v1/licences")
def api_licences() -> Response:
    return reply(licences.document())
