"""Whether KVM may be used: only after it has booted the kernel once, within a few seconds.

On some machines /dev/kvm exists and a guest under it spins for ever, so its presence says nothing.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from vm_machine import Settings, base_arguments, cpu_model

# Under KVM the kernel is up in one or two; under plain emulation it would take ten.
PROBE_LIMIT_S = 8


def choose(settings: Settings, kernel: Path, initrd: Path, cache: Path) -> str:
    """`kvm` or `tcg`: what the settings say, else what the probe found (kept in `cache`)."""
    if settings.accel:
        return settings.accel
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    key = hashlib.sha256(f"{os.uname().release} {cpu_model()} {kernel.name}".encode())
    probe_file = cache / f"kvm-probe-{key.hexdigest()[:16]}"
    if not probe_file.exists():
        result = "kvm" if probe(settings, kernel, initrd) else "tcg"
        probe_file.write_text(f"{result}\n")
    return probe_file.read_text().strip()


def probe(settings: Settings, kernel: Path, initrd: Path) -> bool:
    """Boots `kernel` under KVM as far as its first program; False when that takes too long."""
    arguments = base_arguments(settings, "kvm", kernel, initrd)
    arguments[arguments.index("-append") + 1] += " benchstick.probe"
    try:
        result = subprocess.run(
            [*arguments, "-serial", "stdio"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return False
    return b"benchstick-vm: probe passed" in result.stdout
