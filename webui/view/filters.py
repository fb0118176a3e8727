"""The functions that templates call, and the states that they compare with."""

from __future__ import annotations

from flask import Flask

from benchstick.plan import states
from benchstick.plan.units import binary_text, duration_text, size_text
from benchstick.recipes.describe import time_text
from benchstick.reports.formatting import (
    ago,
    best_speed,
    capacity,
    clock,
    drive_title,
    fact,
    fact_groups,
    headline_text,
    is_practice,
    latency,
    link_line,
    number,
    place,
    share,
    share_text,
    speed,
    tag_of,
    utc,
    value_with_unit,
    why_not,
    word,
    worse_than_possible,
)
from benchstick.reports.ranking import spread_text, value_text
from benchstick.reports.sheet_texts import claimed_share, sheet_facts


def register(app: Flask) -> None:
    """Give the templates these functions."""
    own = (capacity, number, speed, latency, share_text, utc, ago, clock)
    for filter_ in (*own, size_text, binary_text, duration_text, time_text):
        app.add_template_filter(filter_)
    app.add_template_filter(value_with_unit, "with_unit")
    app.add_template_filter(tag_of)
    app.add_template_filter(word)
    for name in (fact, why_not, drive_title, is_practice, link_line, worse_than_possible,
                 fact_groups, headline_text, place, share, best_speed,
                 spread_text, value_text, sheet_facts, claimed_share):  # fmt: skip
        app.add_template_global(name)
    for state in (states.EntryState, states.GuardState, states.QueueState, states.RequestState,
                  states.RowState, states.RunState, states.SlotAction, states.SlotState,
                  states.StepState, states.Validity, states.Verdict):  # fmt: skip
        app.jinja_env.globals[state.__name__] = state
