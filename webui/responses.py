"""How a document is sent."""

from __future__ import annotations

import json
import math
from typing import Any

from flask import Response

from benchstick.plan.states import RequestState


def reply(document: Any, status: int = 200) -> Response:
    """A JSON answer. NaN and infinities become null."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), ensure_ascii=False, allow_nan=False)
    return Response(text + "\n", status, content_type="application/json")


def reply_request(number: int, href: str) -> Response:
    """The answer to a request that the agent will run: 202, with the address of its state."""
    state = RequestState.WAITING
    document = {"schema": "benchstick/request/1", "id": number, "state": state, "href": href}
    response = reply(document, 202)
    response.headers["Location"] = href
    return response


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
