"""The operations of the API as `webui/openapi.json` describes them, for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from webui.pages import openapi


@dataclass(frozen=True)
class Parameter:
    """A parameter of an address: `place` is path or query. `is_map`: it takes every `p.NAME`."""

    name: str
    place: str
    example: Any
    is_map: bool


@dataclass(frozen=True)
class Operation:
    """One method of one address, with its responses by status, references resolved."""

    name: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    body_example: Any
    security: tuple[dict[str, Any], ...]
    responses: dict[str, dict[str, Any]]

    @property
    def answers(self) -> set[int]:
        """The statuses of success."""
        return {int(status) for status in self.responses if status[0] in "23"}

    @property
    def open_to_all(self) -> bool:
        """Whether nobody needs to be signed in, also on the network."""
        return self.security == ()

    @property
    def reads(self) -> bool:
        """Whether everybody may use it on loopback."""
        return {} in self.security


def operations_of(document: dict[str, Any]) -> list[Operation]:
    """Every operation of an OpenAPI document, in its order."""
    return [
        _operation(document, path, method, entry)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    ]


def _operation(
    document: dict[str, Any], path: str, method: str, entry: dict[str, Any]
) -> Operation:
    content = entry.get("requestBody", {}).get("content", {})
    return Operation(
        name=entry["operationId"],
        method=method.upper(),
        path=path,
        parameters=tuple(
            Parameter(item["name"], item["in"], item.get("example"), "explode" in item)
            for item in entry.get("parameters", ())
        ),
        body_example=next((body.get("example") for body in content.values()), None),
        security=tuple(entry["security"]),
        responses={
            status: resolved(document, response) for status, response in entry["responses"].items()
        },
    )


def resolved(document: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """The item, or the one in the document that its `$ref` names."""
    if "$ref" not in item:
        return item
    target = node_at(document, item["$ref"].removeprefix("#/"))
    assert isinstance(target, dict)
    return target


def node_at(document: dict[str, Any], path: str) -> Any:
    """What is at a path of the document, as `components/schemas/Filesystem/anyOf/0`."""
    node: Any = document
    for name in path.split("/"):
        node = node[int(name) if isinstance(node, list) else name]
    return node


OPERATIONS = operations_of(openapi.document())
