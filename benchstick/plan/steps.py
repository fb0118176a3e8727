"""Steps and plans: what a run will do, as data that can be printed, costed and tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from benchstick.errors import BadInput

SCHEMA = "benchstick/plan/2"
TARGETS = ("block", "file")
FILESYSTEMS = ("auto", "exfat", "ntfs", "ext4", "keep")
# Fields of steps whose JSON key is another word.
_KEYS: Mapping[str, str] = {"user_rung": "requested_rung", "number": "round"}
# The order of a fio step's own keys in JSON, where the fields of its parts have no object of their
# own.
_FIO_KEYS = (
    "test", "rw", "block", "depth", "threads", "size", "runtime", "pass_no", "fill", "mix",
    "counted", "latency_log", "needs", "files", "whole_drive", "compress", "write_through",
    "series", "offset", "group", "round", "enough", "busy", "rest", "drive_state", "part",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Step:
    """One act of a plan.

    `seconds` is the expected duration; `bytes_written` and `bytes_read` the expected amounts;
    `destroys` whether data on the drive is lost by it. A `timed` step gives results: no other
    command is sent to the drive while it runs.
    """

    name: str
    seconds: float = 0.0
    bytes_written: int = 0
    bytes_read: int = 0
    destroys: bool = False
    kind: ClassVar[str] = "step"
    timed: ClassVar[bool] = False

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "timed": self.is_timed, **_flat(asdict(self))}

    @property
    def is_timed(self) -> bool:
        return self.timed


@dataclass(frozen=True, kw_only=True)
class Prepare(Step):
    """Makes the target ready: formats and mounts (`fs`), mounts only (`keep`), or takes the raw
    drive exclusively (`block`)."""

    target: str
    fs: str
    kind: ClassVar[str] = "prepare"


@dataclass(frozen=True, kw_only=True)
class Job:
    """The accesses of a fio process.

    `rw` as fio writes it; `block` bytes; `depth` a thread; `threads` jobs; `runtime` seconds, or
    None to access the span once. `mix` is the read share of `rw`/`randrw` in percent.
    `write_through`: each write is on the medium before it completes. `needs` names fio options
    that must exist (probed by `fio --cmdhelp`).
    """

    rw: str
    block: int
    depth: int
    threads: int
    runtime: float | None
    mix: int | None = None
    write_through: bool = False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Span:
    """The part of the target that a job accesses: `size` bytes from `offset`.

    `files` above 1: that many files of `size` bytes each (on a raw drive: areas, one behind the
    other), one for each thread, or filled one after the other by a single thread. `whole_drive`:
    reads the raw drive, opened read-only, also where the target is a file; `size` is then the
    drive's.
    """

    size: int
    offset: int = 0
    files: int = 1
    whole_drive: bool = False


@dataclass(frozen=True, kw_only=True)
class Data:
    """The data that a job writes: `fill` is `random` (incompressible, new for each block) or
    `zero`. `compress` is how many percent of each block are zeros, the rest of it being random."""

    fill: str = "random"
    compress: int | None = None


@dataclass(frozen=True, kw_only=True)
class Round:
    """One of the rounds (`number`, from 1) of a `group`; 0 where the step is of no group.

    The suite ends the group (`suites.interface.RoundSuite`) at steady state, or when `enough` bytes
    were written in it; the remaining rounds are then skipped.
    """

    group: str = ""
    number: int = 0
    enough: int = 0


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """A job that works for `busy` seconds and then waits for `rest`, repeatedly. Its rates are
    those of the time in which it works. No pauses where `rest` is 0."""

    busy: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What is recorded of a job. Not `counted`: no results. `latency_log`: fio's log of latency.
    `series`: each second's IOPS and latency; for one thread in one direction only."""

    counted: bool = True
    latency_log: bool = False
    series: bool = False


@dataclass(frozen=True, kw_only=True)
class Fio(Step):
    """One fio process.

    `test` groups the passes of one test; `pass_no` 0 is the preparing pass, which is recorded and
    not counted. `drive_state` is the state at the start of the step as the plan has changed it,
    where that is not all of `states`. `part` is the part of the suite that the step belongs to,
    where the suite has several whose jobs may be the same.
    """

    test: str
    pass_no: int
    job: Job
    span: Span
    data: Data = Data()
    round: Round = Round()
    pauses: Pauses = Pauses()
    recording: Recording = Recording()
    drive_state: str | None = None
    part: str = ""
    kind: ClassVar[str] = "fio"

    def to_json(self) -> dict[str, Any]:
        values = super().to_json()
        parts = {name: values.pop(name) for name in _FIO_KEYS}
        return values | parts

    @property
    def direction(self) -> str:
        """`read`, `write` or `mix`."""
        if self.job.mix is not None:
            return "mix"
        return "read" if self.job.rw.endswith("read") else "write"

    @property
    def is_timed(self) -> bool:
        return self.recording.counted

    @property
    def busy_seconds(self) -> float | None:
        """The total working time of a step with pauses; None for a step without."""
        busy, rest = self.pauses.busy, self.pauses.rest
        if not rest or self.job.runtime is None:
            return None
        return self.job.runtime * busy / (busy + rest)


@dataclass(frozen=True, kw_only=True)
class Idle(Step):
    """Waits `seconds` with the drive idle; reads the temperature when `temperature` is set."""

    temperature: bool = False
    kind: ClassVar[str] = "idle"


@dataclass(frozen=True, kw_only=True)
class BuildSet(Step):
    """Makes the source of file set `set_name`: in RAM, by a generator, or from a folder."""

    set_name: str
    source: str
    kind: ClassVar[str] = "build-set"


@dataclass(frozen=True, kw_only=True)
class Empty(Step):
    """Empties the bench's folder on the target, outside the clock."""

    kind: ClassVar[str] = "empty"


@dataclass(frozen=True, kw_only=True)
class Copy(Step):
    """Copies file set `set_name` to the drive (`write`) or back from it (`read`)."""

    set_name: str
    direction: str
    pass_no: int
    threads: int
    block: int
    kind: ClassVar[str] = "copy"
    timed: ClassVar[bool] = True

    @property
    def test(self) -> str:
        return f"{self.set_name} {self.direction}"


@dataclass(frozen=True, kw_only=True)
class LaySet(Step):
    """Puts file set `set_name` into the folder `FROM` on the target, outside the clock."""

    set_name: str
    threads: int
    block: int
    kind: ClassVar[str] = "lay-set"


@dataclass(frozen=True, kw_only=True)
class CopyWithin(Step):
    """Copies the set that `LaySet` laid from folder to folder on the drive itself.

    Through the page cache, which holds nothing of it at the start; the time includes the flush.
    `bytes_read` and `bytes_written` are both the set's bytes.
    """

    set_name: str
    pass_no: int
    threads: int
    block: int
    kind: ClassVar[str] = "copy-within"
    timed: ClassVar[bool] = True
    direction: ClassVar[None] = None

    @property
    def test(self) -> str:
        return f"{self.set_name} copy"


@dataclass(frozen=True, kw_only=True)
class Verify(Step):
    """Compares what was read back with what was written, outside the clock.

    `folder` is where it lies in the run's folder: its root, or `TO` after a copy within.
    """

    set_name: str
    pass_no: int
    folder: str = ""
    kind: ClassVar[str] = "verify"


@dataclass(frozen=True, kw_only=True)
class Skip(Step):
    """A test that this drive or target cannot do: recorded as skipped with the reason `reason`.

    `direction`, `part`, `block` and `set_name` are those of the step that it replaces.
    """

    test: str
    reason: str
    unit: str = "MB/s"
    pass_no: int = 1
    direction: str | None = None
    part: str = ""
    block: int = 0
    set_name: str = ""
    kind: ClassVar[str] = "skip"


@dataclass(frozen=True, kw_only=True)
class Mark(Step):
    """Writes marks of `size` bytes at `samples` places spread over the raw drive, and reads them
    back. After a purge their absence proves it."""

    samples: int
    size: int
    kind: ClassVar[str] = "mark"


@dataclass(frozen=True, kw_only=True)
class Purge(Step):
    """Purges the raw drive with one erase method (`rung`, see `drives.sanitize_methods`);
    `user_rung` is what the user wrote, which may be `auto`. `resumes` is the run whose interrupted
    purge is continued.

    `none` leaves the drive as it is; each result then has a note about it.
    """

    rung: str
    user_rung: str
    resumes: int | None = None
    kind: ClassVar[str] = "purge"


@dataclass(frozen=True, kw_only=True)
class ReadBack(Step):
    """Reads the places of `Mark` again and records what is there now. When marks are left, a step
    that is `required` ends the run; otherwise the results only note that the purge is not proved.
    """

    samples: int
    size: int
    required: bool = False
    kind: ClassVar[str] = "read-back"


# The parts of a step, by field.
_PARTS: Mapping[str, type[Job | Span | Data | Round | Pauses | Recording]] = {
    "job": Job,
    "span": Span,
    "data": Data,
    "round": Round,
    "pauses": Pauses,
    "recording": Recording,
}

# The two folders of a copy within the drive, in the run's folder.
FROM, TO = "from", "to"

STEP_KINDS: Mapping[str, type[Step]] = {
    cls.kind: cls
    for cls in (
        Prepare,
        Fio,
        Idle,
        BuildSet,
        Empty,
        Copy,
        LaySet,
        CopyWithin,
        Verify,
        Skip,
        Mark,
        Purge,
        ReadBack,
    )
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A suite's ordered steps for one drive and one set of parameters.

    `target` is `block` or `file`; `fs` the requested filesystem; `scale` the factor of the file
    sets (None where the suite has none); `notes` sentences shown with every result; `states` the
    state in which the drive is tested, in parts: its state before the suite's own work (as found,
    or purged), then what the suite does to it. Empty where the target shows it. `deviations` lists
    the differences from the published method, where that has conditions.
    """

    suite: str
    params: Mapping[str, Any]
    target: str
    fs: str
    drive_code: str
    steps: tuple[Step, ...]
    scale: float | None = None
    sets: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()

    @property
    def state(self) -> str | None:
        """The state in one text; None where the target shows it."""
        return "; ".join(self.states) or None

    def state_after(self, purge_state: str | None, new_state: str | None = None) -> str:
        """The state when the plan's purge left the drive `purge_state` (None when there was no
        purge), with `new_state` instead of all later parts of `states`."""
        before = purge_state or (self.states[0] if self.states else None)
        if purge_state is None and any(isinstance(step, Purge) for step in self.steps):
            before = "purge not done"
        rest = self.states[1:] if new_state is None else (new_state,)
        return "; ".join((before, *rest)) if before else ""

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def bytes_written(self) -> int:
        return sum(step.bytes_written for step in self.steps)

    @property
    def bytes_read(self) -> int:
        return sum(step.bytes_read for step in self.steps)

    @property
    def destroys(self) -> bool:
        return any(step.destroys for step in self.steps)

    @property
    def may_end_early(self) -> bool:
        """Whether the run may end before `seconds`, which is then the most that it takes."""
        return any(isinstance(step, Fio) and step.round.number > 0 for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The `benchstick/plan/2` document."""
        return {
            "schema": SCHEMA,
            "suite": self.suite,
            "params": dict(self.params),
            "target": self.target,
            "fs": self.fs,
            "scale": self.scale,
            "drive": self.drive_code,
            "sets": [dict(item) for item in self.sets],
            "notes": list(self.notes),
            "state": self.state,
            "states": list(self.states),
            "deviations": list(self.deviations),
            "seconds": round(self.seconds, 1),
            "may_end_early": self.may_end_early,
            "bytes_written": self.bytes_written,
            "bytes_read": self.bytes_read,
            "destroys": self.destroys,
            "steps": [step.to_json() for step in self.steps],
        }


def step_from_json(data: Mapping[str, Any]) -> Step:
    """The step that `Step.to_json` wrote. BadInput when the kind is not known."""
    cls = STEP_KINDS.get(str(data.get("kind")))
    if cls is None:
        raise BadInput(f"plan: unknown step kind {data.get('kind')!r}")
    return cls(**_values(cls, data))


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a step by their JSON keys, those of its parts among them."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value) if name in _PARTS else {_KEYS.get(name, name): value}
    return flat


def _values(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a step or of its part, from its JSON."""
    values: dict[str, Any] = {}
    for name in (item.name for item in fields(cls)):
        key = _KEYS.get(name, name)
        if name in _PARTS:
            values[name] = _PARTS[name](**_values(_PARTS[name], data))
        elif key in data:
            values[name] = tuple(data[key]) if key == "needs" else data[key]
    return values


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """The plan that `Plan.to_json` wrote."""
    return Plan(
        suite=data["suite"],
        params=data["params"],
        target=data["target"],
        fs=data["fs"],
        scale=data["scale"],
        drive_code=data["drive"],
        sets=tuple(data.get("sets", ())),
        notes=tuple(data.get("notes", ())),
        states=_states(data),
        deviations=tuple(data.get("deviations", ())),
        steps=tuple(step_from_json(step) for step in data["steps"]),
    )


def _states(data: Mapping[str, Any]) -> tuple[str, ...]:
    # A plan of an older bench has the whole in one text.
    states = data.get("states")
    if states is None:
        states = [data["state"]] if data.get("state") else []
    return tuple(str(item) for item in states)


def unique_names(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, checked to have distinct names: results refer to steps by name."""
    checked_steps = tuple(steps)
    names: set[str] = set()
    for step in checked_steps:
        if step.name in names:
            raise ValueError(f"two steps are named {step.name!r}")
        names.add(step.name)
    return checked_steps
