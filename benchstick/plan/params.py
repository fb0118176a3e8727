"""Parameters of suites: each declared once, with its default, its check and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.units import parse_size

Value = str | int | float | bool
AUTO = "auto"


@dataclass(frozen=True)
class Param:
    """One parameter. `parse` turns the user's text into the value or raises BadInput."""

    name: str
    default: Value
    help: str
    parse: Callable[[str, str], Value]
    kind: str = "text"
    choices: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "default": self.default,
            "help": self.help,
            "kind": self.kind,
            "choices": list(self.choices),
        }


def choice(name: str, options: tuple[str, ...], default: str, help: str) -> Param:
    """One of `options`."""

    def parse(text: str, field: str) -> Value:
        if text not in options:
            raise BadInput(f"{field}: {text!r} is not one of {', '.join(options)}", field=field)
        return text

    return Param(name, default, help, parse, "choice", options)


def whole(name: str, low: int, high: int, default: int, help: str) -> Param:
    """A whole number from `low` to `high`."""

    def parse(text: str, field: str) -> Value:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise BadInput(
                f"{field}: {text!r} is not a whole number from {low} to {high}", field=field
            )
        return number

    return Param(name, default, help, parse, "number")


def wholes(name: str, high: int, most: int, default: str, one: str, help: str) -> Param:
    """At most `most` different whole numbers from 1 to `high`, comma-separated. `one` is the name
    of one in errors. The value has no blanks."""

    def parse(text: str, field: str) -> Value:
        words = [word.strip() for word in text.split(",")]
        for word in words:
            if not re.fullmatch("[0-9]{1,9}", word) or not 1 <= int(word) <= high:
                raise BadInput(
                    f"{field}: {word[:20]!r} is not a {one} from 1 to {high}; write {default}",
                    field=field,
                )
        numbers = [int(word) for word in words]
        if len(set(numbers)) != len(numbers) or len(numbers) > most:
            raise BadInput(f"{field}: name each {one} once, at most {most}", field=field)
        return ",".join(str(number) for number in numbers)

    return Param(name, default, help, parse)


def or_auto(param: Param) -> Param:
    """`param`, or the word `auto` (the default) where the suite chooses. For parameters of which 0
    is an error."""

    def parse(text: str, field: str) -> Value:
        return AUTO if text == AUTO else param.parse(text, field)

    return Param(param.name, AUTO, param.help, parse)


def size(name: str, low: int, high: int, default: int, help: str) -> Param:
    """A size in bytes, written as `256MiB`, `1g`."""

    def parse(text: str, field: str) -> Value:
        number = parse_size(text, field)
        if not low <= number <= high:
            raise BadInput(f"{field}: {text!r} is not from {low} to {high} bytes", field=field)
        if number % 4096:
            raise BadInput(f"{field}: {text!r} is not a multiple of 4 KiB", field=field)
        return number

    return Param(name, default, help, parse, "size")


def text(name: str, default: str, help: str) -> Param:
    """Free text."""
    return Param(name, default, help, lambda value, field: value, "text")


def flag(name: str, default: bool, help: str) -> Param:
    """yes or no."""

    def parse(value: str, field: str) -> Value:
        if value not in ("yes", "no"):
            raise BadInput(f"{field}: {value!r} is not yes or no", field=field)
        return value == "yes"

    return Param(name, default, help, parse, "choice", ("yes", "no"))


def read(suite_params: tuple[Param, ...], texts: Mapping[str, str]) -> dict[str, Value]:
    """All declared parameters with the given texts parsed and the defaults filled in.

    BadInput naming the first unknown or wrong one.
    """
    params = {param.name: param for param in suite_params}
    for name in texts:
        if name not in params:
            raise BadInput(
                f"{name}: unknown parameter; available: {', '.join(params) or 'none'}", field=name
            )
    return {
        name: param.parse(texts[name], name) if name in texts else param.default
        for name, param in params.items()
    }
