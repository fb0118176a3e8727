"""`/openapi.json`: the API's OpenAPI 3.1 document, made of the tables of operations and shapes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response

from benchstick import __version__
from webui.api import reply
from webui.operations import HEADERS, JSON, OPERATIONS, Answer, Operation, Parameter
from webui.shapes import SCHEMAS, ref

bp = Blueprint("openapi", __name__)

# What each status means, where an operation does not say it itself.
_ERRORS = {
    400: "a field, parameter or body is wrong; `field` names it",
    401: "sign in first, or the token is not known",
    403: "refused: the guard, a wrong code or PIN, or a forged request",
    404: "there is no such thing",
    409: "not now: the drive is busy, or the agent is not there",
    413: "the body is larger than 64 KiB, or a bundle than 8 MiB",
    415: "the body must be application/json, a bundle application/zip",
    421: "the Host header names another machine",
    429: "too many wrong PINs",
    503: "the store cannot be read",
}
_SESSION: dict[str, list[str]] = {"session": [], "csrf": []}
_TOKEN: dict[str, list[str]] = {"token": []}


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Benchstick",
            "version": __version__,
            "description": "Drives, suites, runs and results of one bench. Units are SI: MB/s is "
            "10^6 bytes a second. Every page /x of the bench is available as JSON at /api/v1/x.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "headers": {name: {"schema": schema} for name, schema in HEADERS.items()},
            "securitySchemes": _schemes(),
        },
    }


def _schemes() -> dict[str, Any]:
    return {
        "session": {
            "type": "apiKey", "in": "cookie", "name": "benchstick",
            "description": "a browser's session; what writes needs `csrf` as well",
        },
        "csrf": {
            "type": "apiKey", "in": "header", "name": "X-CSRF-Token",
            "description": "`csrf` of /api/v1/login",
        },
        "token": {
            "type": "http", "scheme": "bearer",
            "description": "made at /settings/tokens, or by `benchstick web --new-token NAME`",
        },
    }  # fmt: skip


def _operation(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "security": _security(operation),
        "responses": {
            **{str(status): _answer(answer) for status, answer in operation.answers.items()},
            **{str(status): _error(status) for status in errors_of(operation)},
        },
    }
    if operation.parameters:
        entry["parameters"] = [_parameter(item) for item in operation.parameters]
    if operation.body is not None:
        content: dict[str, Any] = {"schema": ref(operation.body)}
        if operation.body_example is not None:
            content["example"] = operation.body_example
        entry["requestBody"] = {
            "required": operation.body_needed,
            "content": {operation.body_type: content},
        }
    return entry


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    """On loopback everybody may read: the empty one says that none is needed."""
    if operation.open_to_all:
        return []
    if operation.reads:
        return [{}, {"session": []}, _TOKEN]
    return [_SESSION] if operation.session_only else [_SESSION, _TOKEN]


def errors_of(operation: Operation) -> list[int]:
    """The statuses of failure that it may answer with."""
    statuses = {401, 421, 503, *operation.errors}
    if any(item.place == "query" for item in operation.parameters) or operation.body:
        statuses.add(400)
    if any(item.place == "path" for item in operation.parameters):
        statuses.add(404)
    if not operation.reads:
        statuses.add(403)
    if operation.body:
        statuses |= {413, 415}
    return sorted(statuses)


def _answer(answer: Answer) -> dict[str, Any]:
    entry: dict[str, Any] = {"description": answer.description}
    if answer.content:
        entry["content"] = {kind: {"schema": schema} for kind, schema in answer.content.items()}
    if answer.headers:
        entry["headers"] = {name: _header(name) for name in answer.headers}
    return entry


def _header(name: str) -> Mapping[str, str]:
    return {"$ref": f"#/components/headers/{name}"}


def _error(status: int) -> dict[str, Any]:
    headers = ("Retry-After",) if status == 429 else ()
    return _answer(Answer(_ERRORS[status], {JSON: ref("Error")}, headers))


def _parameter(item: Parameter) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": item.name,
        "in": item.place,
        "required": item.required or item.place == "path",
        "description": item.description,
        "schema": item.schema,
    }
    if item.is_map:
        entry |= {"style": "form", "explode": True}
    if item.example is not None:
        entry["example"] = item.example
    return entry


@bp.get("/openapi.json")
def serve() -> Response:
    """The document. Readable without signing in where everybody may read, and on loopback."""
    return reply(document())
