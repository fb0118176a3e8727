"""What a recipe says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = "benchstick/recipe/1"
OPERATORS = (">=", "<=", "==", "~")
FIGURE, FACT, CHANGE, PEAK = "figure", "fact", "change", "peak"
KINDS = (FIGURE, FACT, CHANGE, PEAK)
CLAIM = "claim"
RATE, HEAT, ERRORS = "rate", "temperature", "errors"

Value = float | str | bool


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One suite of a recipe; a preset's parameters, target, filesystem and scale are already among
    its own. `exclusive`: no other drive is tested meanwhile."""

    suite: str
    preset: str | None
    params: Mapping[str, str]
    target: str | None
    fs: str | None
    scale: float | None
    exclusive: bool
    line: int


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
    """What must hold for a test to tell anything, or it is inconclusive: a link as fast as drive
    and bridge can, or of `link` Mb/s (USB, SATA) at least; a temperature of at most so many
    degrees; TRIM that the kernel can send."""

    full_link: bool = False
    link: float | None = None
    temperature: float | None = None
    trim: bool = False


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a drive must meet to pass.

    `kind` is figure (`name` of suite `suite`, in `unit` where given), fact (as known before the
    test), change (how much a fact rose from before to after it) or peak (the highest temperature
    read). `value` is what is wanted, of a fact perhaps several of which one must be; with `of` it
    is None, and what is wanted is `percent` of the maker's claim (`claim`) or of that figure in a
    run (its number or UUID). `~` is within `within` percent.
    """

    kind: str
    name: str
    op: str
    line: int
    suite: str | None = None
    unit: str | None = None
    value: Value | tuple[Value, ...] | None = None
    of: str | None = None
    percent: float | None = None
    within: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When a test ends early, as failed: the rate stays below `value` MB/s for `seconds` in timed
    steps whose name is like `steps`; the temperature is above `value`; there were `value` errors.
    """

    kind: str
    value: float
    line: int
    seconds: float = 0.0
    steps: str = "*"


@dataclass(frozen=True, kw_only=True)
class After:
    """What becomes of the drive when it has its verdict."""

    eject: bool = False
    power_off: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A recipe that was checked. `time_limit` is seconds for one drive; `retries` how often a test
    that did not pass is done again; `sha256` that of its file."""

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
        return {"schema": SCHEMA, **asdict(self)}
