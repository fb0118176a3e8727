"""The unit of temperatures in documents of older programs, which was `C`.

The migration `temperature_unit` and the import of bundles use it.
"""

from __future__ import annotations

import re

from benchstick.plan.units import CELSIUS

_OLD = re.compile(r'("unit"\s*:\s*)"C"')


def with_celsius(text: str) -> str:
    """A JSON text with today's unit of temperatures. In a string of it quotes are escaped, so
    only a key and its value match."""
    return _OLD.sub(rf'\1"{CELSIUS}"', text)
