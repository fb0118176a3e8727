"""`benchstick agent`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from benchstick.agent import event_log
from benchstick.agent.agent import Agent
from benchstick.analysis.run_timeline import session, timed_steps
from benchstick.appliance.reports import Reports
from benchstick.cli.common import need_root
from benchstick.engine.signals import cancel_on_signals
from benchstick.paths import data_folder, settings_file
from benchstick.qa.autostart_rules import make_slots
from benchstick.store import settings


@click.command()
def agent() -> None:
    """Watch the drives and run what the page requests, until Ctrl-C."""
    need_root("the agent")
    with cancel_on_signals() as stop:
        config = settings.load(settings_file())
        with event_log.opened(config, data_folder()) as tell:
            slots = make_slots(config, data_folder(), tell)
            reports = Reports(more={"html": html_report}, verdicts=VERDICT_FILES)
            Agent(data_folder(), stop, reports, slots).serve()


def _csv(verdict: Mapping[str, Any]) -> str:
    # On use, here and below, on the booted stick alone: it imports what evaluates verdicts.
    from benchstick.recipes import outputs

    return outputs.csv_text([verdict])


def _junit(verdict: Mapping[str, Any]) -> str:
    from benchstick.recipes import outputs

    return outputs.junit([verdict])


# The files of a verdict on the stick, in addition to its JSON, by extension.
VERDICT_FILES = {"csv": _csv, "xml": _junit}


def html_report(document: Mapping[str, Any], bench: str) -> str:
    """The report of a run for the stick, which any PC opens."""
    # On use, on the booted stick alone: an agent that waits must not hold it.
    from benchstick.reports import html, run_report

    timeline = session(document["samples"], timed_steps(document["plan"]))
    return html.page(run_report.of_run(document, timeline, bench))
