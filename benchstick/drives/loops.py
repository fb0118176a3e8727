"""Which loop device is the practice drive: only one whose file lies in the bench's own folder."""

from __future__ import annotations

import re
from pathlib import Path

from benchstick.drives import places
from benchstick.drives.tree import Tree

FILE_NAME = "practice.img"


def practice_file(home: Path | None = None) -> Path:
    """The practice drive's backing file, symlinks resolved as the kernel shows it."""
    return (home or places.home()).resolve() / "practice" / FILE_NAME


def is_practice(tree: Tree, name: str, home: Path | None = None) -> bool:
    """True for the loop device over the bench's own practice file, and for no other."""
    if not re.fullmatch(r"loop\d+", name):
        return False
    return tree.text(f"sys/block/{name}/loop/backing_file") == str(practice_file(home))
