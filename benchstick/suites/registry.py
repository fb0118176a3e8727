"""All suites by name, and the one way to a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan import params as parameters
from benchstick.plan.fileset import FileSet
from benchstick.plan.steps import FILESYSTEMS, Plan
from benchstick.suites import presets
from benchstick.suites.asssd import AsSsd
from benchstick.suites.atto import Atto
from benchstick.suites.cdm import Cdm
from benchstick.suites.consistency import Consistency
from benchstick.suites.das import Das
from benchstick.suites.erase import Erase
from benchstick.suites.interface import PlanRequest, Suite
from benchstick.suites.pts import Pts
from benchstick.suites.sustained import Sustained
from benchstick.suites.sweep import Sweep

_SUITES: tuple[Suite, ...] = (
    Das(),
    Cdm(),
    Atto(),
    AsSsd(),
    Consistency(),
    Sweep(),
    Sustained(),
    Pts(),
    Erase(),
)


def all_suites() -> dict[str, Suite]:
    """Every suite by its name."""
    return {suite.name: suite for suite in _SUITES}


def find(name: str) -> Suite:
    """The suite called `name`. BadInput naming the suites there are."""
    suites = all_suites()
    if name not in suites:
        raise BadInput(
            f"suite {name!r}: no such suite; there are {', '.join(suites)}", field="suite"
        )
    return suites[name]


def suite_json(suite: Suite) -> dict[str, Any]:
    """One suite with what it takes, as the command line and the page list it."""
    return {
        "name": suite.name,
        "title": suite.title,
        "summary": suite.summary,
        "targets": list(suite.targets),
        "default_target": suite.default_target,
        "default_fs": suite.default_fs,
        "has_scale": suite.has_scale,
        "params": [param.to_json() for param in suite.params],
        "presets": [preset.to_json() for preset in presets.of_suite(suite.name)],
    }


def check_choices(
    suite: Suite, target: str | None, fs: str | None, scale: float | None
) -> tuple[str, str]:
    """Target and filesystem that are taken when these are asked for. BadInput with the field when
    the suite takes none such, on whatever drive."""
    final_target = target or suite.default_target
    if final_target not in suite.targets:
        raise BadInput(
            f"target {final_target!r}: {suite.name} takes {' or '.join(suite.targets)}",
            field="target",
        )
    if (fs or suite.default_fs) not in FILESYSTEMS:
        raise BadInput(f"fs {fs!r}: not one of {', '.join(FILESYSTEMS)}", field="fs")
    if final_target == "block" and fs not in (None, "keep"):
        raise BadInput("fs: a raw drive (--target block) has no filesystem", field="fs")
    if scale is not None and not suite.has_scale:
        raise BadInput(f"scale: {suite.name} has no file sets to scale", field="scale")
    # `not (0 < scale <= 1)` is also true of NaN.
    if scale is not None and not 0 < scale <= 1:
        raise BadInput(f"scale {scale}: more than 0, up to 1", field="scale")
    return final_target, fs or suite.default_fs


def make_plan(
    suite_name: str,
    drive: Mapping[str, Any],
    params: Mapping[str, str],
    *,
    target: str | None = None,
    fs: str | None = None,
    scale: float | None = None,
    sets: Sequence[FileSet] = (),
    ram: int = 0,
) -> Plan:
    """The plan of suite `suite_name` for `drive` (a `Drive.to_json()`). BadInput with the field.

    What is not given takes the suite's default; the practice drive always takes `fs` auto on a
    file target, as it has no filesystem that somebody would want to keep. `ram` is how many bytes
    of RAM a file set's source may take.
    """
    suite = find(suite_name)
    chosen_target, chosen_fs = check_choices(suite, target, fs, scale)
    transport = (drive.get("transport") or {}).get("value")
    if transport == "virtual" and chosen_target == "file" and chosen_fs == "keep":
        chosen_fs = "auto"
    return suite.plan(
        PlanRequest(
            drive=drive,
            params=parameters.read(suite.params, params),
            target=chosen_target,
            fs=chosen_fs,
            scale=scale,
            sets=sets,
            ram=ram,
            user_params=frozenset(params),
        )
    )
