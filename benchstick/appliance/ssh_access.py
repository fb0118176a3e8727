"""Logging in over the network: only with a key from the stick's settings.

The SSH server (`overlay/usr/libexec/benchstick/ssh`) reads the keys from a folder of root's in RAM
and leaves its own key's fingerprint there. It does not start when there are none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from benchstick import paths


def _folder() -> Path:
    return paths.run_folder() / "ssh"


def authorise(keys: Sequence[str]) -> None:
    """Let the owners of `keys` log in, and nobody else."""
    path = _folder() / "authorized_keys"
    path.unlink(missing_ok=True)
    if keys:
        _folder().mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        text = "".join(f"{key}\n" for key in keys)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(text.encode())


def fingerprint() -> str | None:
    """The fingerprint of the running server's key, `SHA256:...`; None where there is no server."""
    try:
        return (_folder() / "fingerprint").read_text(encoding="ascii").strip() or None
    except OSError:
        return None
