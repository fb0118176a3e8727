"""The image's build: no required option gets lost, and the progress line is correct."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from benchstick.drives import in_use

CLONE = Path(__file__).resolve().parents[2]
EXTERNAL = CLONE / "buildroot-external"
CHECK = EXTERNAL / "scripts/check-config"


def meta() -> dict[str, str]:
    text = (EXTERNAL / "meta").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def check(tmp_path: Path, dotconfig: str, *fragments: str) -> subprocess.CompletedProcess[str]:
    paths = []
    for number, text in enumerate((dotconfig, *fragments)):
        paths.append(tmp_path / f"{number}.config")
        paths[-1].write_text(text)
    return subprocess.run([CHECK, *paths], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("dotconfig", "fragment"),
    [
        ("CONFIG_USB_UAS=y\n", "CONFIG_USB_UAS=y\n"),
        ("# CONFIG_MODULES is not set\n", "# CONFIG_MODULES is not set\n"),
        # What it depends on is off, so Kconfig does not write it at all.
        ("", "# CONFIG_SND is not set\n"),
        ('CONFIG_LOCALVERSION="-x"\n', '# why\nCONFIG_LOCALVERSION="-x"\n'),
    ],
)
def test_survived(tmp_path: Path, dotconfig: str, fragment: str) -> None:
    assert check(tmp_path, dotconfig, fragment).returncode == 0


@pytest.mark.parametrize(
    ("dotconfig", "fragment", "expected"),
    [
        ("", "CONFIG_USB_UAS=y\n", "wanted CONFIG_USB_UAS=y"),
        ("# CONFIG_USB_UAS is not set\n", "CONFIG_USB_UAS=y\n", "has n"),
        ("CONFIG_MODULES=y\n", "# CONFIG_MODULES is not set\n", "wanted CONFIG_MODULES=n"),
        ('CONFIG_A="x"\n', 'CONFIG_A="y"\n', 'has "x"'),
    ],
)
def test_lost(tmp_path: Path, dotconfig: str, fragment: str, expected: str) -> None:
    answer = check(tmp_path, dotconfig, fragment)
    assert answer.returncode == 1
    assert expected in answer.stderr


def test_later_fragment_counts(tmp_path: Path) -> None:
    both = ("CONFIG_A=y\n", "# CONFIG_A is not set\n")
    assert check(tmp_path, "# CONFIG_A is not set\n", *both).returncode == 0


def test_unreadable_is_bad_input(tmp_path: Path) -> None:
    answer = subprocess.run([CHECK, tmp_path / "a", tmp_path / "b"], capture_output=True, text=True)
    assert answer.returncode == 2
    assert "cannot be read" in answer.stderr


def test_partitions_are_those_that_the_guard_knows() -> None:
    signature = meta()["DISK_SIGNATURE"]
    assert {f"{signature}-01", f"{signature}-02"} <= in_use.STICK_PARTUUIDS


def test_label_is_the_one_that_grub_looks_for() -> None:
    text = (EXTERNAL / "board/x86_64/grub-builtin.cfg").read_text()
    assert f"--label {meta()['FAT_LABEL']} " in text


def test_kernel_is_the_same_on_both_routes() -> None:
    version = meta()["KERNEL_VERSION"]
    assert f'"{version}"' in (EXTERNAL / "configs/release.config").read_text()
    assert f"linux_{version}.orig.tar.xz" in (EXTERNAL / "debian-sources.tsv").read_text()


def test_every_source_has_a_hash_and_an_origin() -> None:
    packages = set()
    for line in (EXTERNAL / "debian-sources.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            package, version, origin, file, sha = line.split("\t")
            assert package not in packages
            packages.add(package)
            assert version
            assert re.fullmatch(r"deb [a-z0-9.+-]+|pypi [\w.-]+==[\w.]+", origin), line
            assert "/" not in file
            assert re.fullmatch(r"[0-9a-f]{64}", sha), line


@pytest.mark.parametrize(
    "name", ["flask", "waitress", "click", "segno", "mistune", "pyserial", "evdev"]
)
def test_the_image_has_each_python_package_that_the_bench_needs(name: str) -> None:
    project = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]
    pins = [*project["dependencies"], *project["optional-dependencies"]["scanner"]]
    assert name in {pin.split("==")[0] for pin in pins} and len(pins) == 7
    package = f"python-{name.removeprefix('py')}"
    option = f"BR2_PACKAGE_{package.upper().replace('-', '_')}=y"
    config = (EXTERNAL / "configs/benchstick_x86_64_defconfig").read_text()
    assert option in config.splitlines()
    rows = (EXTERNAL / "debian-sources.tsv").read_text().splitlines()
    (row,) = (row.split("\t") for row in rows if row.startswith(f"{package}\t"))
    assert row[2].startswith(f"pypi {name}==")
    # The image's evdev is the one that is tested here.
    assert name != "evdev" or row[2].removeprefix("pypi ") in pins


def test_other_versions_are_not_checked_against_buildroots_hashes(tmp_path: Path) -> None:
    script = CLONE / "scripts/image.d/overrides"
    subprocess.run([script, tmp_path / "debian"], check=True)
    text = (tmp_path / "debian/overrides.mk").read_text()
    for package, expected in (("util-linux", True), ("busybox", False)):
        file = tmp_path / f"debian/patches/{package}/{package}.hash"
        assert file.read_text().startswith("sha256  ")
        for name in ("", "HOST_"):
            line = f"override {name}{package.upper().replace('-', '_')}_HASH_FILES := {file}\n"
            assert (line in text) == expected


# ---- progress


@pytest.fixture(scope="module")
def progress() -> ModuleType:
    path = CLONE / "scripts/image.d/progress.py"
    spec = importlib.util.spec_from_file_location("image_progress", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_one_line_a_package(progress: ModuleType) -> None:
    follow = progress.Progress(["zlib", "fio", "linux"], {"zlib"}, 0.0)
    assert follow.line("gcc -c x.c\n", 1.0) is None
    first = follow.line("\x1b[7m>>> fio 3.41 Extracting\x1b[27m\n", 2.0)
    assert first == "benchstick: 2 of 3: fio; under a minute so far, about 8 min to go"
    assert follow.line(">>> fio 3.41 Building\n", 20.0) is None
    second = follow.line(">>> linux custom Extracting\n", 120.0)
    assert second is not None
    assert second.startswith("benchstick: 3 of 3: linux; 2 min so far, about 1")
    assert follow.line(">>>   Finalizing target directory\n", 600.0) is None


def test_slow_machine_gets_a_longer_estimate(progress: ModuleType) -> None:
    estimates = []
    for seconds in (150.0, 1500.0):
        follow = progress.Progress(["host-binutils", "linux"], set(), 0.0)
        follow.line(">>> host-binutils 2.44 Extracting\n", 0.0)
        line = follow.line(">>> linux custom Extracting\n", seconds)
        match = re.search(r"about (\d+) min", line)
        assert match is not None
        estimates.append(int(match[1]))
    assert estimates[1] > 3 * estimates[0]


def test_what_is_built_is_known(progress: ModuleType, tmp_path: Path) -> None:
    for folder in ("host-zlib-1.3", "linux-custom", "python3-3.13.15", "python-flask-3.1.3"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ".stamp_installed").touch()
    for package in ("host-zlib", "linux", "python3", "python-flask"):
        assert progress.is_built(tmp_path, package)
    for package in ("zlib", "python", "linux-headers"):
        assert not progress.is_built(tmp_path, package)


# --- busybox's applets -------------------------------------------------------------------------


def check_applets(target: Path, *links: str) -> subprocess.CompletedProcess[str]:
    """check-applets for a busybox whose applets are `links`; mount and umount are kept."""
    links_file = target.parent / "busybox.links"
    links_file.write_text("".join(f"{link}\n" for link in links))
    command = [str(EXTERNAL / "scripts/check-applets"), str(target), str(links_file)]
    return subprocess.run([*command, "mount", "umount"], capture_output=True, text=True)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A target with busybox's ls and mount's own program."""
    for folder in ("bin", "sbin", "usr/bin", "usr/sbin"):
        (tmp_path / "target" / folder).mkdir(parents=True)
    (tmp_path / "target/bin/busybox").write_text("program")
    (tmp_path / "target/bin/ls").symlink_to("busybox")
    (tmp_path / "target/bin/mount").write_text("program")
    return tmp_path / "target"


def test_applets_without_a_namesake_are_right(target: Path) -> None:
    (target / "sbin/blkid").write_text("program")
    (target / "usr/bin/head").symlink_to("../../bin/busybox")
    (target / "usr/bin/[").symlink_to("../../bin/busybox")
    result = check_applets(target, "/bin/ls", "/usr/bin/head", "/usr/bin/[", "/bin/mount")
    assert (result.returncode, result.stderr) == (0, "")
    assert (target / "usr/bin/[").is_symlink()


@pytest.mark.parametrize("real", ["program", "link"])
def test_an_applet_in_another_folder_than_the_tool_is_an_error(target: Path, real: str) -> None:
    tool = target / "usr/bin/setpriv"
    if real == "program":
        tool.write_text("program")
    else:
        tool.symlink_to("/usr/libexec/setpriv")
    (target / "bin/setpriv").symlink_to("busybox")
    result = check_applets(target, "/bin/ls", "/bin/setpriv")
    assert result.returncode == 1
    assert "busybox's /bin/setpriv shadows /usr/bin/setpriv" in result.stderr


def test_an_applet_whose_link_is_the_tool_itself_is_an_error(target: Path) -> None:
    (target / "sbin/blkid").write_text("program")
    result = check_applets(target, "/bin/ls", "/sbin/blkid")
    assert result.returncode == 1
    assert "busybox's applet blkid shadows /sbin/blkid" in result.stderr


def test_an_applet_that_remains_must_not_shadow_the_tool(target: Path) -> None:
    (target / "sbin/mount").symlink_to("../bin/busybox")
    result = check_applets(target, "/bin/ls", "/sbin/mount")
    assert result.returncode == 1
    assert "busybox's /sbin/mount shadows /bin/mount" in result.stderr


def test_links_of_an_earlier_busybox_are_removed(target: Path) -> None:
    (target / "bin/setpriv").symlink_to("busybox")
    (target / "usr/bin/setpriv").write_text("program")
    result = check_applets(target, "/bin/ls")
    assert (result.returncode, result.stderr) == (0, "")
    assert not (target / "bin/setpriv").is_symlink()
    assert (target / "bin/ls").is_symlink()
    assert (target / "bin/busybox").is_file()


def test_a_busybox_without_applets_is_bad_input(target: Path) -> None:
    assert check_applets(target).returncode == 2
