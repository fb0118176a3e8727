"""The built-in recipes."""

from __future__ import annotations

from importlib import resources

_FOLDER = "ready"


def names() -> list[str]:
    """Their names: those of their files without `.toml`, in order."""
    files = (resources.files("benchstick.recipes") / _FOLDER).iterdir()
    return sorted(item.name.removesuffix(".toml") for item in files if item.name.endswith(".toml"))


def raw(name: str) -> bytes:
    """The file of one of `names`."""
    return (resources.files("benchstick.recipes") / _FOLDER / f"{name}.toml").read_bytes()
