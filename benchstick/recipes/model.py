"""Recipes as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.plan.quantity import ResultKey, key_of
from benchstick.plan.request import RunRequest

SCHEMA = "benchstick/recipe/1"
OPERATORS = (">=", "<=", "==", "~")
RESULT, FACT, CHANGE, PEAK = "figure", "fact", "change", "peak"
KINDS = (RESULT, FACT, CHANGE, PEAK)
CLAIM = "claim"
RATE, HEAT, ERRORS = "rate", "temperature", "errors"

Value = float | str | bool


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One suite of a recipe, for any drive; a preset's parameters, target, filesystem and scale are
    already among its own. `exclusive`: no other drive is tested at the same time. It is a part of
    the recipe's document, and becomes a `RunRequest` when there is a drive."""

    suite: str
    preset: str | None
    params: Mapping[str, str]
    target: str | None
    fs: str | None
    scale: float | None
    exclusive: bool
    line: int

    def request(self, drive: str, **more: Any) -> RunRequest:
        """The request for a run of this suite; `more` are other fields of it."""
        return RunRequest(
            suite=self.suite, drive=drive, params=self.params, target=self.target, fs=self.fs,
            scale=self.scale, **more,
        )  # fmt: skip


@dataclass(frozen=True)
class Size:
    """A bound of a drive's capacity in bytes; `~` is within 3 %."""

    op: str
    value: int


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which drives a recipe is for: one of the transports, one of the patterns of models (as in a
    shell, case does not count), all of the sizes. What is empty holds for every drive."""

    transport: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    size: tuple[Size, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Start:
    """Conditions at the start; without them a test is inconclusive: a link at the full speed of
    drive and bridge, or of at least `link` Mb/s (USB, SATA); at most `temperature` °C; TRIM that
    the kernel can send."""

    full_link: bool = False
    link: float | None = None
    temperature: float | None = None
    trim: bool = False


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a drive must meet to pass.

    `kind` is `figure` (the result `key` of suite `suite`, in `unit` where given; `name` is the text
    in the recipe), fact (as known
    before the test), change (how much a fact rose from before to after it) or peak (the highest
    temperature read). `value` is the required value, or several values of a fact of which one must
    match. With `of` it is None, and `percent` of the manufacturer's specification (`claim`) or of
    the same result in a run (its number or UUID) is required. `~` is within `within` percent.
    """

    kind: str
    name: str
    op: str
    line: int
    suite: str | None = None
    key: ResultKey | None = None
    unit: str | None = None
    value: Value | tuple[Value, ...] | None = None
    of: str | None = None
    percent: float | None = None
    within: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When a test ends early, as failed: the rate stays below `value` MB/s for `seconds` in timed
    steps whose name matches `steps`; the temperature is above `value`; there were `value` errors.
    """

    kind: str
    value: float
    line: int
    seconds: float = 0.0
    steps: str = "*"


@dataclass(frozen=True, kw_only=True)
class After:
    """What to do with the drive after its verdict."""

    eject: bool = False
    power_off: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A valid recipe. `time_limit` is seconds for one drive; `retries` how often a test that did
    not pass is repeated; `sha256` that of its file."""

    name: str
    about: str
    entries: tuple[Entry, ...]
    limits: tuple[Limit, ...]
    match: Match
    start: Start
    stops: tuple[Stop, ...]
    after: After
    time_limit: float | None
    retries: int
    allow_erase: bool
    erase_used: bool
    file: str
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """The `benchstick/recipe/1` document."""
        limits = [
            {**asdict(limit), "key": limit.key and limit.key.to_json()} for limit in self.limits
        ]
        return {"schema": SCHEMA, **asdict(self), "limits": limits}

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Recipe:
        """The recipe of `to_json`, for another process of the bench: it is not checked again."""
        fields = {name: value for name, value in document.items() if name != "schema"}
        match = dict(fields["match"])
        return Recipe(
            **{
                **fields,
                "entries": tuple(Entry(**item) for item in fields["entries"]),
                "limits": tuple(_limit(item) for item in fields["limits"]),
                "stops": tuple(Stop(**item) for item in fields["stops"]),
                "match": Match(
                    transport=tuple(match["transport"]),
                    model=tuple(match["model"]),
                    size=tuple(Size(**item) for item in match["size"]),
                ),
                "start": Start(**fields["start"]),
                "after": After(**fields["after"]),
            }
        )


def _limit(item: Mapping[str, Any]) -> Limit:
    value, key = item["value"], item["key"]
    return Limit(
        **{
            **item,
            "key": key and key_of(key),
            "value": tuple(value) if isinstance(value, list) else value,
        }
    )
