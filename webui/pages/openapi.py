"""`/openapi.json`: the API's OpenAPI 3.1 document, which is the file `webui/openapi.json`.

An object may have more fields than its schema lists: a later version adds fields. The tests compare
the document with the routes, and every answer with the document.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from flask import Blueprint, Response

from webui.responses import reply

bp = Blueprint("openapi", __name__)


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    text = (resources.files("webui") / "openapi.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert isinstance(content, dict)
    return content


@bp.get("/openapi.json")
def serve() -> Response:
    """The document. Readable without signing in where everybody may read, and on loopback."""
    return reply(document())
