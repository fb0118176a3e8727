"""The queries that several pages take."""

from __future__ import annotations

import re

from flask import request
from werkzeug.datastructures import MultiDict

from benchstick.errors import BadInput
from webui.forms.inputs import plain_text


def kind_asked() -> bool:
    """Whether practice runs are requested: they are never mixed with real ones."""
    text = request.args.get("kind")
    if text in (None, "", "real", "practice"):
        return text == "practice"
    raise BadInput("kind: expected real or practice", field="kind")


def numbers_of(form: MultiDict[str, str]) -> list[int]:
    """The run numbers of a query: `runs=1,2,3`, or one `runs=N` for each box that was ticked."""
    texts = [part.strip() for text in form.getlist("runs") for part in text.split(",")]
    numbers = []
    for text in filter(None, texts):
        if not re.fullmatch(r"[0-9]{1,15}", text):
            excerpt = plain_text(text[:40], "runs")
            raise BadInput(f"runs: {excerpt!r} is no run's number; write them as 3,5", field="runs")
        numbers.append(int(text))
    return numbers
