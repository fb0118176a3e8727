"""Follows a value through the calls of the bench: which functions get it, in which form.

A form is the type and the key of what holds the value, as `Result.value` or `dict.mbps`. As a
program it is the process of a recipe's drive (`qa.drive_session`), followed too.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

CLONE = Path(__file__).resolve().parents[2]
_FOLDERS = (f"{CLONE}/benchstick/", f"{CLONE}/webui/")
_DEEPEST = 9


def function_of(frame: FrameType) -> str | None:
    """`engine.runner.Runner._step` or `webui.pages.runs.run`; None outside the product."""
    return _name_of(frame.f_code)


@functools.cache
def _name_of(code: CodeType) -> str | None:
    file = code.co_filename
    if not file.startswith(_FOLDERS):
        return None
    module = file.removeprefix(f"{CLONE}/").removesuffix(".py").replace("/", ".")
    module = module.removesuffix(".__init__").removeprefix("benchstick.")
    return f"{module}.{code.co_qualname}"


def forms(item: Any, value: float, depth: int = 0) -> Iterator[str]:
    """The forms in which `item` holds the value."""
    if depth > _DEEPEST or item is None or isinstance(item, int | float | str | bytes | type):
        return
    if dataclasses.is_dataclass(item):
        names = [field.name for field in dataclasses.fields(item)]
        names += [name for name in ("mbps",) if hasattr(type(item), name)]
        fields = {name: getattr(item, name) for name in names}
    elif isinstance(item, Mapping):
        fields = {str(name): one for name, one in item.items()}
    elif isinstance(item, list | tuple):
        for one in item:
            yield from forms(one, value, depth + 1)
        return
    else:
        return
    for name, one in fields.items():
        values = one if isinstance(one, list | tuple) else (one,)
        if any(isinstance(each, float) and each == value for each in values):
            yield f"{type(item).__name__}.{name}"
        else:
            yield from forms(one, value, depth + 1)


@dataclasses.dataclass
class Call:
    """One call: the forms of the value in its arguments, in its result, and in its variables when
    it returned."""

    function: str
    arguments: list[str]
    result: list[str]
    variables: list[str] = dataclasses.field(default_factory=list)


class Follower:
    """Follows `value`, in the order in which the functions return. `start(function, result)` may
    supply it later, from a call's result."""

    def __init__(
        self,
        functions: set[str],
        value: float | None = None,
        start: Callable[[str, Any], float | None] = lambda name, result: None,
    ) -> None:
        self.functions, self.value, self._start = functions, value, start
        self.calls: list[Call] = []
        self.returned: dict[str, set[str]] = {}
        self.counts: dict[str, int] = {}
        self.stacks: list[tuple[list[str], list[str]]] = []
        self._open: dict[int, Call] = {}

    def __enter__(self) -> Follower:
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "return"):
            return
        name = function_of(frame)
        if name is None:
            return
        if event == "call":
            self.counts[name] = self.counts.get(name, 0) + 1
            if name == "drives.subprocesses.run":
                self.stacks.append((list(map(str, frame.f_locals["argv"])), _stack(frame)))
            if name in self.functions:
                arguments = [] if self.value is None else self._forms(list(frame.f_locals.values()))
                self._open[id(frame)] = Call(name, arguments, [])
            return
        if self.value is None and name in self.functions:
            self.value = self._start(name, argument)
        call = self._open.pop(id(frame), None)
        if call is not None:
            self.calls.append(call)
        if self.value is not None:
            result_forms = self._forms(argument)
            for form in result_forms:
                self.returned.setdefault(form, set()).add(name)
            if call is not None:
                call.result = result_forms
                call.variables = self._forms(list(frame.f_locals.values()))

    def _forms(self, item: Any) -> list[str]:
        assert self.value is not None
        return list(dict.fromkeys(forms(item, self.value)))


def _stack(frame: FrameType | None) -> list[str]:
    """The product's functions on the stack, the first caller first; of several in a row in one
    module only the first."""
    names: list[str] = []
    while frame is not None:
        name = function_of(frame)
        if name is not None:
            names.append(name)
        frame = frame.f_back
    return list(reversed(names))


def main() -> int:
    """`FILE VALUE FUNCTION...`: a recipe's process; what was followed goes to FILE as JSON."""
    from benchstick.qa import drive_session

    file, value, *functions = sys.argv[1:]
    with Follower(set(functions), float(value)) as follower:
        code = drive_session.main()
    calls = [dataclasses.asdict(call) for call in follower.calls]
    returned = {form: sorted(names) for form, names in follower.returned.items()}
    Path(file).write_text(json.dumps({"calls": calls, "returned": returned}), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
