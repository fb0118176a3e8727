"""Back to the page of a refused form: after signing in, or to reload it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from flask import current_app, request
from werkzeug.exceptions import HTTPException

from webui.errors import WayBack
from webui.forms.inputs import local_path

# Typed to confirm or to sign in: never in an address.
SECRETS = frozenset({"erase", "unlock", "csrf", "key", "secret", "pin"})
# What the start form asks for. The drive's identity is that of the drive shown then.
_CHOICES = frozenset({"drive", "suite", "target", "fs", "scale", "q"})
_STARTS = frozenset({"start.start", "queues.start"})
# Pages of forms whose own address and those above it are none.
_PAGES = {"reports.upload": "/runs"}
# Escaped once more in the log-in's address it stays far below what servers and browsers take.
LONGEST = 8000


def of_form() -> WayBack:
    """The page that the form of this request was on: of the start form with the same choices,
    codes apart. Reads the body of the start form alone; others may bring a file."""
    if request.endpoint in _STARTS and (choices := _choices()):
        message = "What was chosen is kept; codes have to be typed again."
        return WayBack(f"/runs/new?{choices}", message)
    message = "Nothing was changed. What was typed there, or a file, is not kept."
    return WayBack(_of_referrer() or _above(request.path), message)


def _choices() -> str:
    """The query of the start form with what was chosen; empty where there is nothing to keep."""
    fields: list[tuple[str, str]] = []
    # A body that cannot be read is not what was asked about.
    with contextlib.suppress(HTTPException):
        fields = list(request.form.items(multi=True))
    choices = [(name, value) for name, value in fields if name in _CHOICES or name.startswith("p.")]
    query = urlencode(choices)
    return query if "drive" in dict(choices) and len(query) <= LONGEST else ""


def _of_referrer() -> str | None:
    """The page that the browser says it was on, where it is one of ours that can be loaded."""
    try:
        parts = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return None
    if f"{parts.scheme}://{parts.netloc}".lower() != f"http://{request.host}".lower():
        return None
    fields = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(name, value) for name, value in fields if name not in SECRETS])
    path = local_path(parts.path + (f"?{query}" if query else ""))
    return path if len(path) <= LONGEST and _is_page(urlsplit(path).path) else None


def _above(path: str) -> str:
    """The page at the form's own address, or the nearest above it."""
    if request.endpoint in _PAGES:
        return _PAGES[request.endpoint]
    return local_path(next((quote(at) for at in _upwards(path) if _is_page(at)), None))


def _upwards(path: str) -> Iterator[str]:
    while path.strip("/"):
        yield path
        path = path.rpartition("/")[0]


def _is_page(path: str) -> bool:
    """Whether the address can be loaded. Not `/recipes/check`, which takes a form and would be
    loaded as the recipe of that name."""
    rules = {}
    for method in ("GET", "POST"):
        with contextlib.suppress(HTTPException):
            rule, _values = current_app.url_map.bind("").match(path, method, return_rule=True)
            rules[method] = rule.rule
    return "GET" in rules and rules.get("POST", rules["GET"]) == rules["GET"]
