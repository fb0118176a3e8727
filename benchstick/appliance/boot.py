"""`benchstick appliance start`: at boot, before the agent and the page, once.

After any error the bench runs from RAM and shows the reason: drives can be tested without a usable
stick.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchstick import paths
from benchstick.appliance import clock, data_partition, ssh_access, state
from benchstick.appliance import stick as sticks
from benchstick.appliance.stick import Machine, Stick
from benchstick.drives.in_use import parse_mountinfo
from benchstick.errors import BadInput, BenchError
from benchstick.plan.recipe_names import MOST_BYTES
from benchstick.store import recipes, settings
from benchstick.store.database import utc_now
from benchstick.store.settings import Settings

Say = Callable[[str], None]
# What the image calls itself.
_SYSTEM = re.compile(r"^ID=[\"']?benchstick[\"']?$", re.MULTILINE)


def boot_folder() -> Path:
    """Where the stick's FAT partition is mounted."""
    return paths.run_folder() / "stick"


def start(machine: Machine, say: Say = lambda text: None) -> dict[str, Any]:
    """Find the stick, mount it, read its settings; returns the record that it wrote.

    A second call changes nothing. BadInput on a machine that was not booted from a stick.
    """
    _refuse_on_a_host(machine)
    paths.make_run_folder()
    earlier = state.read()
    if earlier is not None and is_mounted(paths.data_folder()):
        return earlier
    boot_stick, reason, all_sticks = sticks.find_booted(machine)
    notes: list[str] = []
    if boot_stick is not None:
        say(f"booted from {boot_stick.path} ({boot_stick.model})")
        reason = _take(machine, boot_stick, notes, say)
    if reason:
        say(f"results will not last: {reason}")
        store_in_ram(machine, notes)
    make_home(notes)
    found_settings, error = _settings(machine, boot_stick, notes)
    _copy_recipes(notes)
    wrong = clock.from_rtc(found_settings.clock, machine.run)
    if wrong is not None:
        say(wrong)
    document = {
        "schema": state.SCHEMA,
        "stick": None if boot_stick is None else _stick_json(machine, boot_stick, notes),
        "persistent": not reason,
        "reason": reason or None,
        "settings_error": error,
        "other_sticks": [
            {"path": other.path, "model": other.model, "id": other.id}
            for other in all_sticks
            if boot_stick is None or other.name != boot_stick.name
        ],
        "notes": notes,
        "started_utc": utc_now(),
    }
    state.write(document)
    return document


def _refuse_on_a_host(machine: Machine) -> None:
    """What was booted by a stick's loader, or is the image's system (from the network, say)."""
    if machine.parameter() is None and not _SYSTEM.search(_release(machine)):
        raise BadInput(
            "appliance: this machine does not run the stick's system: its own start-up mounts "
            f"what it needs ({sticks.PARAMETER}= is missing from the kernel's command line)"
        )


def _release(machine: Machine) -> str:
    return machine.tree.text("etc/os-release") or machine.tree.text("usr/lib/os-release") or ""


def mounts_at(folder: Path) -> list[str]:
    """The filesystems mounted at `folder`, the last one on top."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    return [fs for _, point, fs, _ in parse_mountinfo(text) if point == str(folder)]


def is_mounted(folder: Path) -> bool:
    return bool(mounts_at(folder))


def _take(machine: Machine, stick: Stick, notes: list[str], say: Say) -> str:
    """Mount the booted stick and its store; why results cannot be stored on it, or nothing."""
    try:
        if data_partition.grow_partition(machine, stick):
            say(f"{stick.path}: its data partition now reaches to the end of the drive")
    except (BenchError, OSError) as error:
        notes.append(f"The stick keeps its size: {_words(error)}.")
    try:
        if is_mounted(paths.data_folder()):
            raise BadInput(f"{paths.data_folder()} is in use by another mount")
        data_partition.mount_store(machine, stick, paths.data_folder())
    except (BenchError, OSError) as error:
        return _words(error)
    try:
        if data_partition.fill_partition(machine, stick, paths.data_folder()):
            say(f"{stick.path}: the store has grown")
    except (BenchError, OSError) as error:
        if not is_mounted(paths.data_folder()):
            return _words(error)
        notes.append(f"The store keeps its size: {_words(error)}.")
    return ""


def _words(error: BenchError | OSError) -> str:
    return error.message if isinstance(error, BenchError) else error.strerror or str(error)


def store_in_ram(machine: Machine, notes: list[str]) -> None:
    """A quarter of the RAM at most: artefacts must not take RAM from the tests."""
    folder = paths.data_folder()
    if is_mounted(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    options = ("nosuid", "nodev", "noexec", "mode=2770", "size=25%")
    try:
        sticks.mount(machine, "tmpfs", options, "benchstick", folder)
    except BenchError as error:
        notes.append(f"The store shares the system's RAM: {error.message}.")


def make_home(notes: list[str]) -> None:
    """Give the data folder its owner and modes."""
    try:
        paths.make_home(paths.data_folder())
    except BenchError as error:
        notes.append(f"The data folder is not ready: {error.message}.")


def _settings(
    machine: Machine, stick: Stick | None, notes: list[str]
) -> tuple[Settings, dict[str, Any] | None]:
    """Read the stick's settings and apply them; returns them and the error, if any."""
    config, error = settings.read("", "defaults", on_stick=True), None
    if stick is not None:
        try:
            if not is_mounted(boot_folder()):
                sticks.mount_boot(machine, f"/dev/{stick.boot.kernel}", boot_folder())
            config = settings.load(boot_folder() / "benchstick.toml", on_stick=True)
        except settings.SettingsError as problem:
            error = {"line": problem.line, "message": problem.reason}
        except (BenchError, OSError) as problem:
            error = {"line": None, "message": _words(problem)}
    # Where both processes look on any host: the stick may be pulled after this.
    text = f"# From the stick's benchstick.toml, made at boot.\n{settings.to_toml(config)}"
    try:
        paths.settings_file().parent.mkdir(parents=True, exist_ok=True)
        paths.settings_file().write_text(text, encoding="utf-8")
        ssh_access.authorise(config.ssh_keys)
        # Read by the script that DHCP's answers start.
        (paths.run_folder() / "ntp").write_text(" ".join(config.ntp), encoding="ascii")
    except OSError as problem:
        notes.append(f"The settings could not be applied: {_words(problem)}.")
    return config, error


def _copy_recipes(notes: list[str]) -> None:
    """Copy the recipes from the stick's FAT partition; they are checked before use."""
    folder = paths.stick_recipes()
    try:
        for path in sorted((boot_folder() / "recipes").glob("*.toml"))[: recipes.MOST]:
            folder.mkdir(mode=0o755, exist_ok=True)
            with path.open("rb") as file:
                (folder / path.name).write_bytes(file.read(MOST_BYTES + 1))
    except OSError as problem:
        notes.append(f"The stick's recipes could not be read: {_words(problem)}.")


def _stick_json(machine: Machine, stick: Stick, notes: list[str]) -> dict[str, Any]:
    """The stick for the record; gives it its id on its first boot."""
    name = stick.id
    if name is None and not stick.read_only:
        fresh, text = sticks.new_config()
        try:
            with sticks.writing(machine, boot_folder()):
                sticks.replace_file(boot_folder() / sticks.CONFIG, text)
            name = fresh
        except (BenchError, OSError) as error:
            notes.append(f"The stick could not be given its id: {_words(error)}.")
    return {
        "path": stick.path,
        "name": stick.name,
        "model": stick.model,
        "capacity": stick.capacity,
        "diskseq": stick.diskseq,
        "id": name,
        "boot": f"/dev/{stick.boot.kernel}",
        "data": f"/dev/{stick.data.kernel}" if stick.data and stick.data.kernel else None,
        "mounted": str(boot_folder()),
    }
