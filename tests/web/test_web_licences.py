"""The page of licences and its JSON version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchstick.appliance import licences
from tests.web.conftest import Browser


def test_a_host_says_whose_the_tools_are(
    client: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(licences, "SPDX", tmp_path / "nothing")
    page = client.get("/licences").text
    assert "the host&#39;s own packages" in page
    assert "<b>waitress</b>" in page
    document = client.get("/api/v1/licences").json
    assert document["schema"] == "benchstick/licences/2"
    assert "waitress" in {item["name"] for item in document["packages"]}


def test_the_image_shows_its_own_list(
    client: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spdx.json"
    package = {
        "name": "fio<b>", "versionInfo": "3.41", "licenseDeclared": "GPL-2.0-only",
        "licenseComments": "GPL-2.0 (all)",
    }  # fmt: skip
    path.write_text(json.dumps({"packages": [package]}))
    monkeypatch.setattr(licences, "SPDX", path)
    page = client.get("/licences").text
    for text in ("fio&lt;b&gt;", "3.41", "GPL-2.0-only", "GPL-2.0 (all)"):
        assert text in page
    assert client.get("/api/v1/licences").json["packages"] == [
        {"name": "fio<b>", "version": "3.41", "licence": "GPL-2.0-only", "comment": "GPL-2.0 (all)"}
    ]


def test_a_damaged_list_is_an_error_page(
    client: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spdx.json"
    path.write_text("{")
    monkeypatch.setattr(licences, "SPDX", path)
    for address in ("/licences", "/api/v1/licences"):
        answer = client.get(address)
        assert answer.status_code == 500
        assert "Traceback" not in answer.text


def test_the_methods_lead_there(client: Browser) -> None:
    assert '<a href="/licences">' in client.get("/methods").text
