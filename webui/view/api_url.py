"""Every page /x is available as JSON at /api/v1/x; each page links to its own."""

from __future__ import annotations

from urllib.parse import quote

from flask import request


def of_this_page() -> str | None:
    """The address of this page as JSON; None where it has none.

    A page whose JSON takes other parameters passes its own `json_url` to its template.
    """
    if request.method not in ("GET", "HEAD") or request.url_rule is None:
        return None
    if f"/api/v1{request.url_rule.rule}" not in _rules():
        return None
    # What was decoded is encoded again: a drive's code may hold anything.
    query = quote(request.query_string.decode("latin-1"), safe="%&=+,;:@!$'()*/?~-._")
    return f"/api/v1{quote(request.path)}" + (f"?{query}" if query else "")


def _rules() -> set[str]:
    from flask import current_app

    return {rule.rule for rule in current_app.url_map.iter_rules()}
