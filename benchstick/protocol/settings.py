"""The settings as the page gets them, checked. The file is read by the process that starts it."""

from benchstick.store.settings import SETTINGS, Settings, load, pinned, read

__all__ = ["SETTINGS", "Settings", "load", "pinned", "read"]
