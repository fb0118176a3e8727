"""Licences: Buildroot's words in SPDX's terms, the image's document, what a host lists."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchstick import __version__, cli
from benchstick.appliance import licences
from benchstick.errors import BenchError

CLONE = Path(__file__).resolve().parents[2]
SCRIPT = CLONE / "scripts/image.d/licences.py"


def entry(version: str | None, terms: str | None, source: str = "", **more: Any) -> dict[str, Any]:
    """A package of `make show-info`."""
    downloads = [{"source": source, "uris": [f"file:///home/me/{source}"]}] if source else []
    return {
        "type": "target", "virtual": False, "version": version, "licenses": terms,
        "downloads": downloads, **more,
    }  # fmt: skip


INFO = {
    "zlib": {"type": "target", "virtual": True, "version": None, "licenses": None},
    "libzlib": entry("1.3.1", "Zlib", "zlib_1.3.orig.tar.gz"),
    "linux": entry("custom", "GPL-2.0", "linux_6.12.orig.tar.xz"),
    "linux-headers": entry("custom", "GPL-2.0", "linux_6.12.orig.tar.xz"),
    "libopenssl": entry("3.5.7", "Apache-2.0", "openssl_3.5.7.orig.tar.gz"),
    "sg3_utils": entry("1.48", "BSD-Style", "sg3-utils_1.48.orig.tar.xz"),
    "grub2": entry("2.12", "GPL-3.0+", "grub2_2.12.orig.tar.xz", install_target=False),
    "skeleton-init-sysv": entry("", "unknown"),
    "host-python3": entry("3.13", "Python-2.0", "python.tar.xz", type="host"),
    "rootfs-squashfs": {"type": "rootfs"},
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("image_licences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write(tmp_path: Path, info: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "info.json").write_text(json.dumps(info))
    return subprocess.run(
        [sys.executable, SCRIPT, "--kernel", "6.12.107", "info.json", "out.json"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("licence", "expression"),
    [
        ("MIT", "MIT"),
        ("GPL-2.0", "GPL-2.0-only"),
        ("LGPL-2.1+", "LGPL-2.1-or-later"),
        ("GPL-2.0+ (programs), LGPL-2.1+ (a, b)", "GPL-2.0-or-later AND LGPL-2.1-or-later"),
        ("Apache-2.0 or MIT", "Apache-2.0 OR MIT"),
        ("BSD-2-Clause (library) , MIT, BSD-2-Clause (programs)", "BSD-2-Clause AND MIT"),
        # Which of the two binds closer?
        ("BSD-3-Clause, MIT or ISC", None),
        ("GPL-2.0, MIT-like with advertising clause (libss)", None),
        ("GPL-2.0+ (with OpenSSL exception)", None),
        ("GPL-3.0-with-GCC-exception", None),
        ("Python-2.0, others", None),
        ("GPL-2.1", None),
        ("MIT+", None),
        ("MIT ((a) b)", None),
        ("Public Domain", None),
        ("unknown", None),
        ("", None),
    ],
)
def test_only_what_is_certain_becomes_an_expression(
    script: ModuleType, licence: str, expression: str | None
) -> None:
    assert script.expression(licence) == expression


def test_the_document_has_what_goes_into_the_image(tmp_path: Path) -> None:
    result = write(tmp_path, INFO)
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "out.json").read_text()
    document = json.loads(text)
    packages = {item["name"]: item for item in document["packages"]}
    assert list(packages) == [
        "benchstick", "uPlot", "grub2", "libzlib", "linux", "linux-headers", "sg3_utils",
    ]  # fmt: skip
    assert packages["benchstick"]["versionInfo"] == __version__
    assert packages["uPlot"]["licenseDeclared"] == "MIT"
    assert packages["linux"]["versionInfo"] == "6.12.107"
    assert packages["linux-headers"]["versionInfo"] == "6.12.107"
    assert packages["libzlib"]["packageFileName"] == "zlib_1.3.orig.tar.gz"
    assert packages["sg3_utils"]["SPDXID"] == "SPDXRef-Package-sg3-utils"
    assert packages["sg3_utils"]["licenseDeclared"] == "NOASSERTION"
    assert packages["sg3_utils"]["licenseComments"] == "BSD-Style"
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    described_ids = [item["relatedSpdxElement"] for item in document["relationships"]]
    assert described_ids == [item["SPDXID"] for item in document["packages"]]


def test_no_address_and_no_path_gets_out(tmp_path: Path) -> None:
    write(tmp_path, INFO)
    document = json.loads((tmp_path / "out.json").read_text())
    name = document.pop("documentNamespace")
    assert re.fullmatch(r"https://spdx\.org/spdxdocs/benchstick-[0-9.]+-[0-9a-f]{32}", name)
    text = json.dumps(document)
    assert "//" not in text
    assert "/home" not in text


def test_the_same_input_gives_the_same_document(tmp_path: Path) -> None:
    texts = []
    for epoch in ("1700000000", "1700000000", "1700000001"):
        write(tmp_path, INFO, SOURCE_DATE_EPOCH=epoch)
        texts.append((tmp_path / "out.json").read_text())
    assert texts[0] == texts[1]
    names = [json.loads(text)["documentNamespace"] for text in texts]
    assert names[0] != names[2]


@pytest.mark.parametrize(
    ("info", "epoch"),
    [
        (INFO, "today"),
        ([], "1700000000"),
        ("x", "1700000000"),
        ({}, "1700000000"),
        ({"a": {}}, "1700000000"),
        ({"a": {"type": "target", "virtual": False}}, "1700000000"),
    ],
)
def test_other_input_is_reported_in_one_line(tmp_path: Path, info: Any, epoch: str) -> None:
    result = write(tmp_path, info, SOURCE_DATE_EPOCH=epoch)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


# ---- the command's document


def test_the_images_list_is_read_back(tmp_path: Path) -> None:
    write(tmp_path, INFO)
    document = licences.document(tmp_path / "out.json")
    assert document["schema"] == "benchstick/licences/2"
    assert document["note"] == licences.IMAGE_NOTE
    by_name = {item["name"]: item for item in document["packages"]}
    assert by_name["grub2"] == {
        "name": "grub2", "version": "2.12", "licence": "GPL-3.0-or-later", "comment": "GPL-3.0+",
    }  # fmt: skip
    assert by_name["sg3_utils"]["licence"] is None
    assert by_name["uPlot"]["comment"] is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"packages": [{}]}', '{"packages": 3}'])
def test_a_damaged_list_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spdx.json"
    path.write_text(text)
    with pytest.raises(BenchError, match="not the image's list"):
        licences.document(path)


def test_a_host_lists_what_the_bench_brings(tmp_path: Path) -> None:
    document = licences.document(tmp_path / "nothing")
    assert "the host's own packages" in document["note"]
    by_name = {str(item["name"]).lower(): item for item in document["packages"]}
    assert by_name["benchstick"]["version"] == __version__
    # flask is asked for, werkzeug by flask, markupsafe by werkzeug; pytest is for developers. evdev
    # is of the extra `scanner`; the extras of other packages are their own matter.
    for name in (
        "flask", "werkzeug", "markupsafe", "waitress", "click", "segno", "mistune", "pyserial",
        "evdev",
    ):  # fmt: skip
        assert by_name[name]["version"] == metadata.version(name)
        assert by_name[name]["licence"] or by_name[name]["comment"]
    assert not {"pytest", "ruff", "mypy", "playwright", "types-pyserial"} & set(by_name)


def test_the_front_end_is_listed_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "uPlot.esm.js").write_text("/* (MIT Licensed)\n * uplot (v1.6.32)\n*/\n")
    packages = {item["name"]: item for item in licences.of_host(tmp_path)}
    assert packages["uPlot"]["version"] == "1.6.32"
    assert packages["uPlot"]["licence"] == "MIT"
    assert "uPlot" not in {item["name"] for item in licences.of_host(tmp_path / "no")}


@pytest.mark.parametrize(
    ("fields", "licence", "text"),
    [
        ("License-Expression: MIT\n", "MIT", None),
        ("License: ZPL 2.1\nClassifier: License :: OSI Approved :: Zope\n", None, "ZPL 2.1"),
        ("Classifier: License :: OSI Approved :: BSD License\n", None, "BSD License"),
        ("License: UNKNOWN\n", None, None),
        (f"License: {'all of it ' * 20}\n", None, None),
        ("", None, None),
    ],
)
def test_the_licence_of_a_python_package_is_in_its_metadata(
    tmp_path: Path, fields: str, licence: str | None, text: str | None
) -> None:
    folder = tmp_path / "x-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: X\nVersion: 1\n{fields}")
    package = licences.of_distribution(metadata.Distribution.at(folder))
    assert package == {"name": "X", "version": "1", "licence": licence, "comment": text}


def test_the_command_prints_a_table_or_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["licences"]) == 0
    assert re.search(r"^waitress +\d", capsys.readouterr().out, re.MULTILINE)
    assert cli.invoke(["licences", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "benchstick/licences/2"
