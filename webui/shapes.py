"""The documents of the API as JSON Schema (2020-12, as OpenAPI 3.1 takes it). Data only.

An object may hold more than its schema says: a later version adds fields without becoming another
document. The tests close every object, so that no field of today is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.appliance import clock
from benchstick.drives.bottlenecks import CODES
from benchstick.drives.types import TRANSPORTS
from benchstick.plan.labels import KINDS, MOST_CHARACTERS
from benchstick.plan.quantity import Metric, Statistic
from benchstick.plan.run_queue import MOST
from benchstick.plan.steps import FILESYSTEMS
from benchstick.recipes.model import OPERATORS
from benchstick.store.bays import STATES as SLOT_STATES
from benchstick.suites import spec_sheets as sheets
from benchstick.suites.reference_results import UNITS
from webui.inputs import LARGEST

Schema = dict[str, Any]


def text(description: str = "", **more: Any) -> Schema:
    """A string with this description."""
    return _described({"type": "string", **more}, description)


def whole(description: str = "", low: int | None = 0, high: int | None = None) -> Schema:
    """A whole number from `low` to `high`."""
    schema: Schema = {"type": "integer"}
    if low is not None:
        schema["minimum"] = low
    if high is not None:
        schema["maximum"] = high
    return _described(schema, description)


def number(description: str = "", **more: Any) -> Schema:
    """A number, whole or not."""
    return _described({"type": "number", **more}, description)


def flag(description: str = "") -> Schema:
    """true or false."""
    return _described({"type": "boolean"}, description)


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def several(item: Schema, description: str = "") -> Schema:
    """An array."""
    return _described({"type": "array", "items": item}, description)


def table(value: Schema, description: str = "") -> Schema:
    """An object of names that are not fixed, each with such a value."""
    return _described({"type": "object", "additionalProperties": value}, description)


def anything(description: str = "") -> Schema:
    """An object of its own kind, described elsewhere."""
    return table({}, description)


def record(
    fields: Mapping[str, Schema],
    description: str = "",
    *,
    may_lack: Sequence[str] = (),
    rest: Schema | None = None,
) -> Schema:
    """An object with these fields, all of them but `may_lack`. `rest`: what any other holds."""
    schema: Schema = {"type": "object", "properties": dict(fields)}
    required = [name for name in fields if name not in may_lack]
    if required:
        schema["required"] = required
    if rest is not None:
        schema["additionalProperties"] = rest
    return _described(schema, description)


def document(
    name: str, fields: Mapping[str, Schema], description: str = "", *, may_lack: Sequence[str] = ()
) -> Schema:
    """A document that starts with its `schema`, as `benchstick/runs/1`."""
    schema = {"schema": {"type": "string", "const": f"benchstick/{name}"}}
    return record({**schema, **fields}, description, may_lack=may_lack)


def ref(name: str) -> Schema:
    """One of the schemas below by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema


UTC = text("time in UTC, as 2026-01-31T12:00:00.123Z")
STATE = text("whether it counts", enum=["valid", "invalid", "skipped"])
# What a start and its cost take.
TARGET = text("on what the suite does its I/O", enum=["block", "file"])
FS = text("`auto` takes the suite's own, `keep` the drive's own", enum=list(FILESYSTEMS))
SCALE = number("how much of the file sets", exclusiveMinimum=0, maximum=1)
# One line of text: nothing of the bench takes control characters.
LINE = r"^[^\x00-\x1f\x7f]*$"
_TARGET = text("where it was measured: `block`, or `file on` a filesystem")
_SECONDS = number("seconds on the run's own clock")
_WHY = or_null(text("the reason, in words"))
_FIGURE_VALUE = or_null(number("null where there is none"))

_IDENTITY = record(
    {
        "serial": or_null(text("of the drive, where it can be read")),
        "model": text(),
        "bridge": or_null(text("the USB bridge's own name")),
        "bridge_serial": or_null(text()),
        "capacity": whole("bytes"),
        "port": text("USB port path, SATA port or PCI address"),
        "lun": whole(),
        "key": text("labels and history are kept under this"),
    },
    "who a drive is",
)
_GUARD = record(
    {
        "state": text(enum=["free", "locked", "protected"]),
        "why": text(),
        "retry": flag("true: locked until it answers; try again, no code unlocks it before"),
    },
    "may it be written, and why not",
    may_lack=("retry",),
)
_DRIVE_FIELDS: dict[str, Schema] = {
    "code": text("type this to confirm erasing; identifies the drive in addresses"),
    "label": or_null(text("the operator's")),
    "name": text("the kernel's, as sdb"),
    "path": text("its node"),
    "diskseq": or_null(whole("the kernel's count of disks")),
    "medium": or_null(text("the medium in it: size, disk sequence, hash of both ends")),
    "identity": _IDENTITY,
    "guard": _GUARD,
    "transport": {**ref("Fact"), "description": f"one of {', '.join(TRANSPORTS)}"},
    "worse": several(
        record(
            {
                "code": text(enum=list(CODES)),
                "text": text("the same as a sentence in English"),
                "values": anything("the facts that it is based on, by name, in the facts' units"),
            }
        ),
        "how the connection limits the drive; empty where it does not",
    ),
}
_RUNNING = or_null(whole("the run that is on; null: none"))
_LINE_OF_HEADLINE = record(
    {
        "label": text(), "value": _FIGURE_VALUE, "unit": text(), "state": text(), "why": _WHY,
    },
    may_lack=("state", "why"),
    rest={},
)  # fmt: skip
_PARAM = record(
    {
        "name": text(),
        "default": {"type": ["string", "number", "boolean"]},
        "help": text(),
        "kind": text(),
        "choices": several(text()),
    }
)
_SUITE_FIELDS: dict[str, Schema] = {
    "name": text(),
    "title": text(),
    "summary": text(),
    "targets": several(text(enum=["block", "file"])),
    "default_target": text(enum=["block", "file"]),
    "default_fs": text(),
    "takes_scale": flag("whether its file sets can be made smaller"),
    "params": several(_PARAM),
    "presets": several(
        record(
            {
                "name": text(),
                "title": text(),
                "told": text("in a few words"),
                "params": table(text()),
                "target": or_null(TARGET),
                "fs": or_null(FS),
                "scale": or_null(SCALE),
            }
        ),
        "named sets of parameters; what is null or not given has the suite's default",
    ),
}
_COST = record(
    {
        "seconds": number("expected"),
        "bytes_written": whole(),
        "bytes_read": whole(),
        "destroys": flag("the drive's data is lost"),
        "at_most": flag("it may end before `seconds`"),
    }
)
_OF_RUN: dict[str, Schema] = {
    "suite": text(),
    "params": table(text()),
    "target": or_null(TARGET),
    "fs": or_null(FS),
    "scale": or_null(number("how much of the file sets")),
}
_STEP = record(
    {"name": text(), "seconds": number("expected"), "kind": text(), "timed": flag(),
     "bytes_written": whole(), "bytes_read": whole(), "destroys": flag()},
    "one step of a plan; the rest depends on its kind",
    rest={},
)  # fmt: skip
_TEMPERATURE = record(
    {
        "t": _SECONDS,
        "step": whole(),
        "celsius": or_null(number("degrees Celsius; null where it could not be read")),
        "source": or_null(text()),
        "why": _WHY,
    }
)
_EVENT = record({"t": or_null(_SECONDS), "utc": UTC, "kind": text(), "text": text()})
_STEP_STATE = text(enum=["running", "done", "failed", "skipped", "cancelled", "interrupted"])
_RUN_STATE = text(
    "corrupt: what was read back differs from what was written, however the run ended",
    enum=["running", "done", "corrupt", "failed", "cancelled", "interrupted", "refused"],
)
_FINDING = record(
    {
        "step": whole("index of the step that compared"),
        "name": text("of that step"),
        "set": or_null(text("the set of files, where files were compared")),
        "pass": or_null(whole("1, 2, ...")),
        "files": whole("how many files differ; 0 where no files were compared"),
        "differences": several(
            record(
                {
                    "path": text(),
                    "offset": or_null(whole("first byte that differs; null: the whole file")),
                    "what": text(),
                }
            ),
            "the first of the files that differ",
        ),
        "text": text(),
    }
)
_SAMPLE_FIELDS: dict[str, Schema] = {
    "n": whole("0, 1, 2, ...: the cursor"),
    "t": number("end of the interval, seconds on the run's own clock"),
    "dt": number("length of the interval in seconds"),
    "step": or_null(whole("index of the step")),
    **{
        name: whole()
        for name in ("read_bytes", "write_bytes", "discard_bytes", "reads", "writes", "discards",
                     "flushes")
    },
    "inflight": whole("requests that the drive held at the instant t"),
    "queue": number("mean of requests, those waiting in the kernel included"),
}  # fmt: skip
_QUEUE_FIELDS: dict[str, Schema] = {
    "number": whole("that of the request which asked for it"),
    "drive": record({"code": text(), "key": text("its identity")}),
    "state": text(
        "waiting: for the agent; refused: nothing was started; stopped: a run did not finish, or "
        "the process that ran the queue has ended",
        enum=["waiting", "open", "done", "stopped", "cancelled", "refused"],
    ),
    "why": _WHY,
    "created_utc": UTC,
    "ended_utc": or_null(UTC),
    "by": text("who runs it: the agent, or a command in a terminal", enum=["agent", "command"]),
    "total": or_null(_COST)
    | {"description": "of all but those removed or not started; null: the drive is not there"},
    "left": or_null(record({"seconds": number(), "at_most": flag()}))
    | {"description": "the time remaining; null: it is over, or the time is unknown"},
    "entries": several(
        record(
            {
                "place": whole("0, 1, 2, ..."),
                **_OF_RUN,
                "state": text(
                    "of its run, once that has started",
                    enum=["waiting", "starting", "taken_out", "not_started", "refused", "running",
                          "done", "corrupt", "failed", "cancelled", "interrupted"],
                ),
                "run": or_null(whole("the run's number, once it has started")),
                "exit_code": or_null(whole("of the run, as of `benchstick run`")),
                "why": _WHY,
                "cost": or_null(_COST),
            }
        ),
        "its runs in order",
    ),
}  # fmt: skip
_REQUEST_STATE = text(enum=["waiting", "taken", "done", "refused"])
# What a start takes.
_START_FIELDS: dict[str, Schema] = {
    "drive": text("its code, label or node", maxLength=200),
    "suite": text(maxLength=60),
    "params": or_null(
        {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
            "maxProperties": 100,
            "description": "parameters of the suite; what is not given has its default",
        }
    ),
    "target": or_null(TARGET),
    "fs": or_null(FS),
    "scale": or_null(SCALE),
    "erase": or_null(text("the drive's code, where data is lost", maxLength=200)),
    "unlock": or_null(text("the code once more, of a locked drive", maxLength=200)),
    "identity_key": or_null(text("as `runs/new` shows it", maxLength=600)),
    "diskseq": or_null(whole("as `runs/new` shows it", high=LARGEST)),
    "medium": or_null(text("as `runs/new` shows it", maxLength=200)),
}
_RUN_FIELDS: dict[str, Schema] = {
    "number": whole("on this bench"),
    "uuid": text("everywhere else", format="uuid"),
    "suite": text(),
    "practice": flag("on the practice drive: never mixed with real ones"),
    "state": _RUN_STATE,
    "exit_code": or_null(whole("as of `benchstick run`")),
    "why": _WHY,
    "corrupt": several(
        _FINDING, "comparisons in which read-back data differs; also of a running run"
    ),
    "created_utc": UTC,
    "ended_utc": or_null(UTC),
    "seconds": or_null(number("what it took")),
    "imported": or_null(
        record(
            {
                "bench": text("the bench that measured", format="uuid"),
                "number": whole("of the run there"),
                "imported_utc": UTC,
                "digest": text("SHA-256 of the record as it came"),
            }
        )
    )
    | {"description": "where it was measured; null on the bench itself"},
    "drive": record(_DRIVE_FIELDS, "as it was when the run started", rest=ref("Fact")),
    "plan": ref("Plan"),
    "conditions": anything("test conditions: host, filesystem, queue, drive state"),
    "result": or_null(ref("Result")),
    "so_far": or_null(ref("Result"))
    | {"description": "the result of the finished steps, of a run without a result"},
    "steps": several(
        record(
            {
                "index": whole(),
                "name": text(),
                "kind": text(),
                "state": _STEP_STATE,
                "why": _WHY,
                "t_start": _SECONDS,
                "t_end": or_null(_SECONDS),
                "artefacts": or_null(text("folder of what it left, in the data folder")),
                "detail": anything(),
            }
        ),
        "the steps that have started",
    ),
    "figures": several(ref("Measurement")),
    "temperatures": several(_TEMPERATURE),
    "events": several(_EVENT),
}
# Of a ranked result: which values are better.
_BETTER = {
    "type": ["string", "null"],
    "enum": ["higher", "lower", None],
    "description": "which values are better; null where that is not known",
}
_CLAIM_FIELDS: dict[str, Schema] = {
    "suite": text(), "figure": text(), "value": number(), "unit": text(),
}  # fmt: skip
_CLAIM = record(_CLAIM_FIELDS)
# Of a spec sheet: its fields, and how they are given.
_SIZE: Schema = {"type": ["string", "integer"], "description": "bytes, or a size as 1TB, 1024GiB"}
_SHEET_FIELDS: dict[str, Schema] = {
    "model": text("of drives, * for any text"),
    "name": text("the sheet's; default: the model"),
    "capacity": whole("bytes; only drives of about that size then have this sheet"),
    **{
        name: number(f"{unit}, compared with {' or '.join(names)} of cdm")
        for name, (names, unit) in sheets.PLAIN.items()
    },
    "raw_nand": whole("bytes"),
    "nand": text("its kind"),
    "controller": text(),
    "warranty_years": number(),
    "price": number(),
    "currency": text("three letters"),
    "price_date": text("YYYY-MM-DD"),
    "source": text("where the specifications are from"),
}
_SHEET: dict[str, Schema] = {
    **{
        name: schema if name in ("model", "name") else or_null(schema)
        for name, schema in _SHEET_FIELDS.items()
    },
    "claims": several(_CLAIM, "of other results than those above"),
}
_CLAIMED: dict[str, Schema] = {
    "suite": text(),
    "figure": text(),
    "unit": text(),
    "better": _BETTER,
    "claimed": number(),
    "measured": _FIGURE_VALUE,
    "percent": or_null(number("measured in percent of claimed")),
    "why": _WHY,
}


def _spec_sheet(description: str, claimed: Mapping[str, Schema], **more: Schema) -> Schema:
    """A spec sheet with measured values."""
    return record(
        {
            **more,
            "sheet": record(_SHEET),
            "price_per_gb": or_null(number("of 10^9 bytes, in the sheet's currency")),
            "claims": several(record(claimed), "each specification with the measured value"),
        },
        description,
    )


_AXIS = record({"label": text(), "unit": text(), "scale": text(enum=["linear", "log2", "log"])})
_COMPARED_CHART = record(
    {
        "title": text(),
        "x": _AXIS,
        "y": _AXIS,
        "y2": _AXIS,
        "dots": flag(),
        "series": several(
            record(
                {
                    "run": whole(),
                    "name": text(),
                    "points": several(several(or_null(number())), "(x, y); null: no value"),
                    "low": several(or_null(number())),
                    "high": several(or_null(number())),
                    "on": text(enum=["y2"]),
                    "guide": flag(),
                },
                "a line of a run; a guide was not measured, as a limit or a fitted line",
                may_lack=("low", "high", "on", "guide"),
                rest={},
            )
        ),
        "from": number(),
        "to": number(),
        "marks": several(record({"x": number(), "label": text(), "run": whole()})),
    },
    "a chart that several of the runs have",
    may_lack=("y2", "dots", "from", "to", "marks"),
)
_COMPARED_ROW = record(
    {
        "run": or_null(whole("null: a reference")),
        "label": text(),
        "marked": flag("on the drive under test"),
        "reference": or_null(whole("id of the reference result")),
        "rank": or_null(whole("1 is the best; null where it is not ranked", low=1)),
        "value": _FIGURE_VALUE,
        "min": or_null(number("of the valid passes")),
        "max": or_null(number("of the valid passes")),
        "passes": several(number(), "values of the valid passes"),
        "passes_all": whole("how many passes there are, valid or not"),
        "target": or_null(_TARGET),
        "state": text(enum=["valid", "invalid", "skipped", "missing", "reference"]),
        "why": _WHY,
        "source": or_null(text("of a reference result")),
    },
    "one run or reference, the best first",
)

_VERDICT_WORD = text(enum=["pass", "fail", "inconclusive"])
_REASONS = several(
    record(
        {
            "code": text("stable, as `figure-limit`"),
            "text": text(),
            "limit": or_null(whole("the limit that it is of")),
        }
    )
)
_LIMIT_VALUE = {"type": ["number", "string", "boolean", "array", "null"]}
_VERDICT = document(
    "verdict/1",
    {
        "number": whole(),
        "recipe": record({"name": text(), "file": text(), "sha256": text("of its file")}),
        "drive": record(
            {
                "code": text(),
                "label": or_null(text()),
                **{
                    name: schema
                    for name, schema in _IDENTITY["properties"].items()
                    if name not in ("bridge", "bridge_serial")
                },
                "transport": or_null(text()),
                "firmware": or_null(text()),
                "slot": or_null(text("of the settings")),
            }
        ),
        "labels": table(text(), "what was scanned or typed for it: asset, order, operator"),
        "verdict": _VERDICT_WORD,
        "exit_code": whole(),
        "why": or_null(text("the reason that decided")),
        "failures": _REASONS,
        "inconclusive": _REASONS,
        "limits": several(
            record(
                {
                    "number": whole("from 1, as in the recipe"),
                    "what": text(),
                    "op": text(enum=list(OPERATORS)),
                    "state": text(enum=["held", "failed", "unknown"]),
                    "wanted": _LIMIT_VALUE,
                    "within": or_null(number("percent")),
                    "unit": or_null(text()),
                    "measured": _LIMIT_VALUE,
                    "by": or_null(number("how far a failed one misses the limit")),
                    "by_percent": or_null(number("the same in percent of the limit")),
                    "run": or_null(whole("where it was measured")),
                    "code": or_null(text()),
                    "text": or_null(text()),
                }
            )
        ),
        "runs": several(
            record(
                {
                    "number": whole(),
                    "uuid": text(),
                    "suite": text(),
                    "state": text(),
                    "exit_code": or_null(whole()),
                    "why": _WHY,
                }
            )
        ),
        "retries": whole("how often it was tested again"),
        "earlier": several(
            record({"verdict": _VERDICT_WORD, "exit_code": whole(), "why": _WHY, "begun_utc": UTC}),
            "of the tests before this one",
        ),
        "after": or_null(
            record(
                {"asked": text(enum=["eject", "power_off"]), "done": flag(), "why": _WHY},
                "what was done with the drive then",
            )
        ),
        "begun_utc": UTC,
        "ended_utc": UTC,
        "seconds": number(),
    },
    "the verdict of a recipe on a drive",
)
_VERDICT_OF_RUN = record(
    {
        **_VERDICT["properties"],
        "number": or_null(whole("null: it came with the run from another bench")),
        "imported": record(
            {"bench": text("that gave it", format="uuid"), "number": whole("there")},
            "where it was given; all numbers in it are of that bench",
        ),
    },
    may_lack=("imported", *(set(_VERDICT["properties"]) - set(_VERDICT["required"]))),
)
_MISTAKES = several(
    record(
        {
            "line": or_null(whole("null: in the whole", low=1)),
            "field": text("the key's path"),
            "message": text(),
        }
    ),
    "in the order of the lines",
)
_SHELVED: dict[str, Schema] = {
    "name": text(),
    "origin": text("where it is from; the stick's override the uploaded ones, these the built-in "
                   "ones", enum=["stick", "uploaded", "ready"]),
    "path": or_null(text("of one of the stick's")),
    "recipe": or_null(anything("benchstick/recipe/1, as `benchstick recipe show --json` has it")),
    "error": or_null(text("why it is none")),
    "mistakes": _MISTAKES,
}  # fmt: skip
_SLOT = record(
    {
        "name": text(),
        "state": text(enum=[*SLOT_STATES, "unknown"]),
        "drive_key": or_null(text()),
        "code": or_null(text()),
        "model": or_null(text()),
        "label": or_null(text()),
        "until": or_null(number("when its countdown ends, in seconds since 1970")),
        "left": or_null(whole("seconds that are left of its countdown")),
        "run": or_null(whole("the run that is on")),
        "verdict": or_null(whole("number of the verdict")),
        "word": or_null(_VERDICT_WORD),
        "said": _WHY,
        "utc": or_null(UTC),
        "can": or_null(text("the request that it accepts now", enum=["stop", "again"])),
    },
    "a port of the bench, and the drive in it or that was tested in it last",
)
# Every schema that has a name. A document's field `schema` states which one it is.
_SHARED = or_null(text("what the drive has in common with others that are being tested"))

SCHEMAS: dict[str, Schema] = {
    "Error": record(
        {
            "error": record(
                {
                    "code": text("a word for programs, as bad_input"),
                    "message": text("one line for people: what is wrong and what to do"),
                    "field": or_null(text("the field, parameter or header that is wrong")),
                    "mistakes": _MISTAKES,
                },
                may_lack=("mistakes",),
            )
        }
    ),
    "Fact": {
        "description": "one thing known about a drive with its source, or the reason why not",
        "oneOf": [
            record({"value": {"type": "null"}, "why": text()}),
            record(
                {
                    "value": {"type": ["string", "number", "boolean", "array", "object"]},
                    "unit": or_null(text("as Mb/s, B, C; null where it has none")),
                    "source": text("where it was read"),
                }
            ),
        ],
    },
    "Drive": record(
        {
            **_DRIVE_FIELDS,
            "runs": whole("how many it has under all identities that its label combines"),
            "last_run": or_null(ref("ListedRun")),
            "running": _RUNNING,
        },
        "a drive; all other known facts by name",
        rest=ref("Fact"),
    ),
    "DriveDocument": record(
        {
            "schema": {"type": "string", "const": "benchstick/drive/1"},
            **_DRIVE_FIELDS,
            "model_sheet": or_null(ref("DriveSheet")),
            "identities": several(text("its own key, then the others that its label combines")),
            "runs": whole("how many runs it has under all of them"),
            "history": several(ref("ListedRun"), "the last of them, the newest first"),
            "running": _RUNNING,
            "last_temperature": or_null(
                record(
                    {
                        "celsius": number(),
                        "source": or_null(text("from where")),
                        "run": whole("in which it was read"),
                        "t": _SECONDS,
                        "created_utc": UTC,
                    },
                    "the last reading in any of its runs",
                )
            ),
        },
        rest=ref("Fact"),
    ),
    "Drives": document(
        "drives/1",
        {
            "scanned_utc": {**or_null(UTC), "description": "the agent's last scan, null before"},
            "drives": several(ref("Drive")),
            "shared": several(
                record(
                    {
                        "kind": text("USB hub, controller, SATA port, ..."),
                        "name": text("as the kernel names it"),
                        "limit_mbps": or_null(number("MB/s before any protocol; null: not known")),
                        "drives": several(text("kernel name")),
                    }
                ),
                "links that several of the drives share, the narrowest first",
            ),
        },
    ),
    "DriveSheet": _spec_sheet(
        "manufacturer's specifications compared with the drive's last complete run of each suite",
        {**_CLAIMED, "run": or_null(whole("null: there is none"))},
    ),
    "Labels": document("labels/1", {"labels": table(text(), "labels by the drive's key")}),
    "Label": document("label/1", {"drive": text(), "label": or_null(text())}),
    "Measurement": record(
        {
            "step": text(),
            "name": text("for people: the test and the quantity"),
            "test": text(),
            "direction": or_null(text(enum=["read", "write", "mix"])),
            "metric": text(enum=[str(item) for item in Metric]),
            "statistic": or_null(text(enum=[str(item) for item in Statistic])),
            "percentile": or_null(number("of the statistic percentile, in percent")),
            "part": or_null(text("of the test; null: the whole")),
            "value": _FIGURE_VALUE,
            "unit": text(),
            "pass": or_null(whole("null: over all passes")),
            "target": _TARGET,
            "state": STATE,
            "why": _WHY,
            "detail": anything("the data that the value is based on"),
        },
        "one measured value",
    ),
    "Result": record(
        {"headline": several(_LINE_OF_HEADLINE)},
        "the suite's own tables and charts: `headline`, `text`, `tables`, `charts`, ...",
        may_lack=("headline",),
        rest={},
    ),
    "Plan": document(
        "plan/1",
        {
            "suite": text(),
            "params": anything("every parameter with its value"),
            "target": text(enum=["block", "file"]),
            "fs": text(),
            "scale": or_null(number()),
            "drive": text("its code"),
            "sets": several(anything()),
            "notes": several(text()),
            "state": or_null(text("in which state the drive is tested")),
            "states": several(text()),
            "departs": several(text(), "deviations from the published method"),
            "seconds": number("what it will take"),
            "ends_early": flag("`seconds` is the most that it can take"),
            "bytes_written": whole("to the drive"),
            "bytes_read": whole("from the drive"),
            "destroys": flag("whether the drive's data is lost"),
            "steps": several(_STEP),
        },
        "what a run does, in order",
    ),
    "Runs": document(
        "runs/1",
        {
            "runs": several(ref("ListedRun")),
        },
    ),
    "Comparisons": document(
        "comparisons/1",
        {
            "suite": text("whose runs these are"),
            "suites": several(record({"name": text(), "title": text()}), "all of them"),
            "runs": several(ref("ListedRun")),
        },
    ),
    "ListedRun": record(
        {
            **{
                name: _RUN_FIELDS[name]
                for name in (
                    "number",
                    "uuid",
                    "suite",
                    "exit_code",
                    "why",
                    "created_utc",
                    "ended_utc",
                    "seconds",
                    "practice",
                    "state",
                )
            },
            "imported": flag("measured on another bench"),
            "drive": record(
                {
                    "code": text(),
                    "model": text(),
                    "key": text(),
                    "label": or_null(text("the label that the drive has today")),
                }
            ),
            "headline": several(_LINE_OF_HEADLINE),
        },
        "a run in a list",
    ),
    "Run": document(
        "run/2",
        {
            **_RUN_FIELDS,
            "verdicts": several(_VERDICT_OF_RUN, "those that use it"),
            "queue": or_null(
                record({"number": whole(), "state": _QUEUE_FIELDS["state"]}, "what it is part of")
            ),
        },
    ),
    "RunExport": document(
        "run/2",
        {
            **_RUN_FIELDS,
            "samples": several(ref("Sample")),
            "verdicts": several(_VERDICT_OF_RUN, "those that use it"),
        },
        "the run with its per-second record",
    ),
    "Sample": record(_SAMPLE_FIELDS, "one second of the drive's block-layer counters"),
    "Samples": document(
        "samples/1",
        {
            "run": whole(),
            "state": _RUN_STATE,
            "after": whole("the cursor that was asked for", low=-1),
            "every": whole("1: all; else of each so many those with a counter's extremes", low=1),
            "next": whole("the cursor for the next call", low=-1),
            "more": flag("there are more already"),
            "samples": several(ref("Sample")),
            "live": or_null(
                record(
                    {
                        "step": or_null(whole()),
                        "name": or_null(text()),
                        "fraction": or_null(number("of this step, 0 to 1")),
                        "text": or_null(text()),
                        "t": _SECONDS,
                        "seconds_left": or_null(number("of the whole run")),
                    },
                    "how far a running run is",
                    may_lack=("step", "name", "fraction", "text", "t", "seconds_left"),
                    rest={},
                )
            ),
            "steps": several(
                record(
                    {
                        "idx": whole(),
                        "name": text(),
                        "kind": text(),
                        "state": _STEP_STATE,
                        "why": _WHY,
                        "t_start": _SECONDS,
                        "t_end": or_null(_SECONDS),
                    }
                )
            ),
            "temperatures": several(_TEMPERATURE),
            "events": several(_EVENT),
        },
    ),
    "Start": document(
        "start/1",
        {
            "drive": text(),
            "identity_key": text("send it with the start: a drive swapped since is refused"),
            "diskseq": or_null(whole("send it with the start")),
            "medium": or_null(text("send it with the start: a card swapped since is refused")),
            "guard": _GUARD,
            "suite": text(),
            "needs": record(
                {"erase": flag("the drive's code"), "unlock": flag("the code once more")},
                "which codes must be sent",
            ),
            "plan": ref("Plan"),
            "queue": or_null(
                record({"runs": several(record({**_OF_RUN, "cost": _COST})), "total": _COST})
            )
            | {"description": "the runs of the query's `q`; null where it has none"},
            "shared": _SHARED,
        },
        "what a run would cost",
    ),
    "Queue": document("queue/1", _QUEUE_FIELDS, "several suites for one drive"),
    "Queues": document(
        "queues/1",
        {"queues": several(document("queue/1", _QUEUE_FIELDS))},
        "those that the agent has taken, the newest first",
    ),
    "Request": document(
        "request/1",
        {
            "id": whole(),
            "kind": text(enum=["run", "cancel", "clock", "scan", "qa"]),
            "created_utc": UTC,
            "state": _REQUEST_STATE,
            "run": or_null(whole("the run's number, once it has started")),
            "answered_utc": or_null(UTC),
            "error": {
                "description": "why the agent refused it",
                "anyOf": [
                    record({"code": text(), "message": text(), "field": or_null(text())}, rest={}),
                    {"type": "null"},
                ],
            },
            "body": anything("the request itself"),
        },
        "a request to the agent and its answer",
    ),
    "Asked": document(
        "request/1",
        {
            "id": whole(),
            "state": {"type": "string", "const": "waiting"},
            "href": text("where the agent's answer will be", format="uri-reference"),
        },
        "a request that the agent will take",
    ),
    "Step": document(
        "step/1",
        {
            "run": whole(),
            "step": whole(),
            "files": several(record({"name": text(), "bytes": whole()})),
        },
        "what a step left",
    ),
    "Certificate": document(
        "certificate/1",
        {
            "run": record({"number": whole(), "uuid": text()}),
            "practice": flag(),
            "drive": anything(),
            "purge": anything("how it was purged"),
            "verification": anything("what proves it"),
            "times": anything(),
            "made_with": anything(),
            "is_not": several(text()),
            "warning": text(),
            "text": text("the same as plain text"),
        },
        "of a run of `erase`",
        may_lack=("warning",),
    ),
    "Import": document(
        "import/1",
        {
            "id": or_null(whole("null: the run was already here; the agent has nothing to do")),
            "state": text(enum=["waiting", "done", "refused"]),
            "run": or_null(whole("the run's number here")),
            "text": text("a message"),
        },
        "the state of an imported bundle",
    ),
    "Comparison": document(
        "comparison/1",
        {
            "suite": text(),
            "marked": whole("the run on the drive under test"),
            "runs": several(
                record(
                    {
                        "run": whole(),
                        "uuid": text(),
                        "label": text(),
                        "marked": flag(),
                        "state": _RUN_STATE,
                        "practice": flag(),
                        "created_utc": UTC,
                        "drive": record(
                            {"code": text(), "model": text(), "capacity": or_null(whole("bytes"))}
                        ),
                    }
                )
            ),
            "differ": several(
                record(
                    {
                        "name": text(),
                        "title": text(),
                        "values": several(record({"run": whole(), "text": text()})),
                    }
                ),
                "conditions that are not the same in all runs",
            ),
            "figures": several(
                record(
                    {
                        "name": text(),
                        "unit": text(),
                        "better": _BETTER,
                        "rows": several(_COMPARED_ROW),
                    }
                ),
                "those that at least two of the runs have",
            ),
            "apart": several(
                record({"name": text(), "unit": text(), "run": whole()}),
                "results that only one of the runs has",
            ),
            "charts": several(_COMPARED_CHART),
            "models": several(
                _spec_sheet("specifications compared with a run", _CLAIMED, run=whole()),
                "of the runs whose drive has a spec sheet",
            ),
        },
        "runs of one suite compared",
    ),
    "References": document(
        "references/1",
        {
            "references": several(
                record(
                    {
                        "id": whole(),
                        "drive": text(),
                        "suite": text(),
                        "figure": text(),
                        "value": number(),
                        "unit": text(),
                        "source": text("where it is from"),
                        "created_utc": UTC,
                    }
                )
            )
        },
        "results that were not measured on this bench",
    ),
    "ReferencesKept": document("references-kept/1", {"kept": whole("how many")}),
    "ReferenceRemoved": document("reference-removed/1", {"id": whole()}),
    "Models": document("models/1", {"models": several(record({"id": whole(), **_SHEET}))}),
    "ModelDocument": document("model/1", {"id": whole(), **_SHEET}),
    "ModelRemoved": document("model-removed/1", {"id": whole()}),
    "Suite": record(_SUITE_FIELDS),
    "SuiteDocument": document("suite/1", _SUITE_FIELDS),
    "Suites": document("suites/1", {"suites": several(ref("Suite"))}),
    "Methods": document("methods/1", {"pages": several(record({"name": text(), "title": text()}))}),
    "Method": document("method/1", {"name": text(), "title": text(), "markdown": text()}),
    "Licences": document(
        "licences/1",
        {
            "note": text(),
            "packages": several(
                record(
                    {
                        "name": text(),
                        "version": or_null(text()),
                        "licence": or_null(text("an SPDX expression")),
                        "said": or_null(text("what the package itself states")),
                    }
                )
            ),
        },
    ),
    "Clock": document(
        "clock/1",
        {
            "utc": UTC,
            "kept": flag("NTP keeps it right"),
            "may_be_set": flag("on a booted stick that no NTP keeps right"),
        },
    ),
    "Desk": document(
        "desk/1",
        {
            "agent": flag("whether the agent runs, which tests"),
            "autostart": text("the recipe that starts automatically in the slots, empty for none"),
            "slots": several(
                _SLOT, "in the order of the settings, then the tests at other ports, by port"
            ),
            "scanner": text("state of the bench's scanner, empty when none is set"),
            "ticket": record({kind: text() for kind in KINDS}, "what the next drive gets"),
            "scans": several(
                record(
                    {
                        "id": whole(),
                        "at_utc": UTC,
                        "source": text(enum=["scanner", "page"]),
                        "text": text("as it was read"),
                        "kind": text(enum=list(KINDS)),
                        "value": text("without its prefix"),
                        "taken": or_null(text("the drive that it went to; empty: to none")),
                    }
                ),
                "the last ones, newest first",
            ),
            "webhook": record(
                {
                    "url": text("empty when none is set"),
                    "waiting": whole("how many its receiver has not taken yet"),
                    "why": or_null(text("why the last try failed")),
                }
            ),
        },
    ),
    "Verdicts": document(
        "verdicts/1",
        {
            "verdicts": several(
                record(
                    {
                        "number": whole(),
                        "recipe": text("its name"),
                        "drive_key": text(),
                        "drive_code": text(),
                        "drive_model": or_null(text()),
                        "asset": or_null(text("its asset tag, as scanned or typed")),
                        "verdict": _VERDICT_WORD,
                        "exit_code": whole(),
                        "why": _WHY,
                        "begun_utc": UTC,
                        "ended_utc": UTC,
                    }
                )
            )
        },
        "verdicts of recipes on drives",
    ),
    "Verdict": _VERDICT,
    "RecipeCheck": document(
        "recipe-check/1",
        {
            "file": text(),
            "mistakes": _MISTAKES,
            "lines": several(text(), "the recipe in words; none where it has errors"),
        },
    ),
    "Recipes": document("recipes/1", {"recipes": several(record(_SHELVED))}),
    "Recipe": document(
        "shelved-recipe/1",
        {
            **_SHELVED,
            "text": text("its TOML"),
            "lines": several(text(), "the recipe in words"),
            "uploaded_utc": {**or_null(UTC), "description": "of one that was uploaded"},
        },
    ),
    "RecipeStart": document(
        "recipe-start/1",
        {
            "drive": or_null(text("its code; null where none is given")),
            "recipe": or_null(text()),
            "recipes": several(
                record({"name": text(), "about": text(), "why_not": _WHY}),
                "those without errors; `why_not`: why one does not match this drive",
            ),
            "lines": several(text(), "the recipe in words"),
            "runs": several(record({"suite": text(), "cost": or_null(_COST), "why": _WHY})),
            "destroys": flag("the drive's code must be typed"),
            "shared": _SHARED,
        },
        "what a test with a recipe would do",
    ),
    "RecipeRemoved": document("recipe-removed/1", {"name": text()}),
    "Appliance": {
        **anything("what a booted stick reports of itself"),
        "required": ["schema", "persistent", "why", "stick"],
    },
    "Status": document(
        "status/1",
        {
            "bench": text("the bench's own UUID"),
            "running": several(whole()),
            "scanned_utc": or_null(UTC),
            "agent": flag("whether the agent runs, which watches drives and takes requests"),
            "pin": flag("whether sign-in needs a PIN"),
            "signed_in": flag(),
            "notices": several(text()),
        },
    ),
    "Index": document(
        "api/1",
        {
            "about": text(),
            "openapi": text("where this document is", format="uri-reference"),
            "paths": several(record({"path": text(), "methods": several(text())})),
        },
    ),
    "SignedIn": document("session/1", {"csrf": text("for the header X-CSRF-Token")}),
    "SignedOut": document("session/1", {"signed_in": {"type": "boolean", "const": False}}),
    "Session": document(
        "session/1",
        {
            "signed_in": flag(),
            "token": or_null(text("name of the token that came with the request")),
            "csrf": or_null(text("of a browser's session")),
        },
    ),
    "Tokens": document(
        "tokens/1",
        {
            "tokens": several(
                record(
                    {
                        "name": text(),
                        "created_utc": UTC,
                        "used_utc": {**or_null(UTC), "description": "last used, to the hour"},
                    }
                )
            )
        },
        "without the tokens themselves, which nobody can read again",
    ),
    "NewToken": document("token/1", {"name": text(), "token": text("shown only this once")}),
    # ---- bodies
    "TokenBody": record(
        {
            "name": text(
                "letters, digits, spaces, dots, hyphens",
                pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$",
            )
        }
    ),
    "StartBody": record(
        _START_FIELDS,
        may_lack=(
            "params",
            "target",
            "fs",
            "scale",
            "erase",
            "unlock",
            "identity_key",
            "diskseq",
            "medium",
        ),
    ),
    "QueueBody": record(
        {
            **{name: schema for name, schema in _START_FIELDS.items() if name not in _OF_RUN},
            "runs": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST,
                "items": record(
                    {name: _START_FIELDS[name] for name in _OF_RUN},
                    may_lack=("params", "target", "fs", "scale"),
                )
                | {"additionalProperties": False},
                "description": "in the order in which they run",
            },
        },
        may_lack=("erase", "unlock", "identity_key", "diskseq", "medium"),
    ),
    "LabelBody": record(
        {
            "drive": text("its code", maxLength=200, pattern=LINE),
            "label": text("empty: remove it", maxLength=60, pattern=LINE),
        }
    ),
    "ScanBody": record({"text": text("what was scanned", maxLength=MOST_CHARACTERS)}),
    "SlotBody": record(
        {"do": text("end its countdown or test, or restart the countdown", enum=["stop", "again"])}
    ),
    "RecipeBody": record(
        {
            "name": text(pattern="^[a-z0-9][a-z0-9._-]{0,59}$"),
            "text": text("its TOML", maxLength=60_000),
        }
    ),
    "RecipeStartBody": record(
        {
            "drive": text("its code", maxLength=200, pattern=LINE),
            "recipe": text("its name", maxLength=200, pattern=LINE),
            **{
                name: _START_FIELDS[name] for name in ("erase", "identity_key", "diskseq", "medium")
            },
        },
        may_lack=("erase", "identity_key", "diskseq", "medium"),
    ),
    "RecipeCheckBody": record(
        {
            "name": text("for the error messages", pattern="^[a-z0-9][a-z0-9._-]{0,59}$"),
            "text": text("its TOML", maxLength=60_000),
        },
        may_lack=("name",),
    ),
    "ClockBody": record(
        {
            "ms": whole(
                "Unix time in milliseconds", int(clock.EARLIEST * 1000), int(clock.LATEST * 1000)
            )
        }
    ),
    "LoginBody": record(
        {
            "pin": text("six digits, spaces do not count", maxLength=200),
            "key": text("of the link that the terminal shows", maxLength=200),
        },
        "one of the two; `key` overrides `pin`",
        may_lack=("pin", "key"),
    )
    | {"anyOf": [{"required": ["pin"]}, {"required": ["key"]}]},
    "ReferencesBody": record(
        {
            "file": text("its name, which ends in .toml or .csv", maxLength=100, pattern=LINE),
            "text": text("what is in it", maxLength=60_000),
        }
    ),
    "ModelBody": record(
        {
            **_SHEET_FIELDS,
            "capacity": _SIZE,
            "raw_nand": _SIZE,
            "claim": several(
                record({**_CLAIM_FIELDS, "unit": text(enum=list(UNITS))})
                | {"additionalProperties": False}
            ),
        },
        "the fields of the TOML file",
        may_lack=[name for name in (*_SHEET_FIELDS, "claim") if name != "model"],
    ),
    "BundleBody": text("a bundle, as `runs/N/bundle` makes it", contentMediaType="application/zip"),
    "NoBody": {"type": "object", "maxProperties": 0, "description": "empty"},
}
# What is sent in has no other fields.
for _name, _schema in SCHEMAS.items():
    if _name.endswith("Body") and "properties" in _schema:
        _schema["additionalProperties"] = False
