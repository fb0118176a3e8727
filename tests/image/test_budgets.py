"""What the image may cost: bytes to download, memory at idle, time until the page answers."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.image.machine import IMAGE, Machine, system_of

PACKED_MB = 45
IDLE_MB = 150


def test_image_is_small() -> None:
    packed_image = subprocess.run(
        ["xz", "-1", "-T0", "-c", str(IMAGE)], capture_output=True, check=True
    )
    size = len(packed_image.stdout) / 1e6
    print(f"\nbudget: image packed {size:.1f} MB of {PACKED_MB} MB")
    assert size <= PACKED_MB


def test_memory_at_idle(booted_machine: Machine) -> None:
    # Idle: what looks at the drives after the boot has ended.
    time.sleep(20)
    out = booted_machine.shell("sync; cat /proc/meminfo")
    value = {line.split(":")[0]: int(line.split()[1]) for line in out.splitlines() if ":" in line}
    # The root is in RAM, so it is in here too: page cache that can be dropped is not.
    used_mb = (value["MemTotal"] - value["MemAvailable"]) * 1024 / 1e6
    print(
        f"\nbudget: RAM in use at idle {used_mb:.0f} MB of {IDLE_MB} MB ({booted_machine.firmware})"
    )
    assert used_mb <= IDLE_MB


def bare_initramfs(folder: Path, initramfs: Path) -> Path:
    """busybox of the image as init, and nothing but one word on the console."""
    whole, bare = folder / "whole", folder / "bare"
    whole.mkdir()
    with initramfs.open("rb") as file:
        subprocess.run(["cpio", "-idm", "--quiet"], cwd=whole, stdin=file, check=True)
    for part in ("bin", "lib", "etc", "dev", "proc"):
        (bare / part).mkdir(parents=True)
    shutil.copy2(whole / "bin/busybox", bare / "bin/busybox")
    shutil.copy2(whole / "lib/ld-musl-x86_64.so.1", bare / "lib/ld-musl-x86_64.so.1")
    (bare / "bin/sh").symlink_to("busybox")
    (bare / "init").symlink_to("bin/busybox")
    (bare / "etc/inittab").write_text("::sysinit:/bin/busybox echo bare init is up\n")
    names = subprocess.run(["find", "."], cwd=bare, capture_output=True, check=True).stdout
    with (folder / "bare.cpio").open("wb") as file:
        command = ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"]
        subprocess.run(command, cwd=bare, input=names, stdout=file, check=True)
    return folder / "bare.cpio"


def kernel_start(machine: Machine) -> float:
    """When the kernel's first line came."""
    machine.serial.wait("Linux version", 120)
    output = ""
    for when, text in machine.serial.arrivals:
        output += text
        if "Linux version" in output:
            return when
    raise AssertionError("the line is there and never came")


def test_time_to_the_page(make_machine: Callable[..., Machine], tmp_path: Path) -> None:
    """As a ratio to the same kernel with nothing but busybox init, both started here and now."""
    kernel, whole = system_of(IMAGE, tmp_path)

    def boot(initramfs: Path, words: str = "") -> Machine:
        extra = Machine.by_kernel(kernel, initramfs, words)
        return make_machine("bios", drives=False, extra=extra)

    bare = boot(bare_initramfs(tmp_path, whole))
    bare.serial.wait("bare init is up", 120)
    alone = bare.serial.arrivals[-1][0] - kernel_start(bare)
    bare.kill()
    bench = boot(whole, "benchstick.stick=")
    up = bench.began + bench.wait_page() - kernel_start(bench)
    ratio = f"{up / alone:.1f} times a bare init's {alone:.1f} s"
    print(f"\nbudget: from the kernel's start to the page {up:.1f} s, {ratio}")
    assert bench.shell("cat /proc/cmdline").strip().endswith("benchstick.stick=")
    assert up > alone
