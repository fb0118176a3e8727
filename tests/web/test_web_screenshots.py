"""`make screenshots`: a picture in each look of the pages that were named."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
import screenshots
from flask import Flask

from tests.web.browser_tab import CHROMIUM
from webui.auth.pin import LoginKey


def test_each_page_has_four_pictures(
    app: Flask, key: LoginKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screenshots, "OUT", tmp_path)
    path = shutil.which(CHROMIUM)
    assert path is not None
    assert screenshots.take(app, key, {"tokens": "/settings/tokens"}, path) == 4
    widths = {
        file.name: struct.unpack(">I", file.read_bytes()[16:20])[0] for file in tmp_path.iterdir()
    }
    assert widths == {
        "tokens-light-wide.png": 1240, "tokens-dark-wide.png": 1240,
        "tokens-light-phone.png": 400, "tokens-dark-phone.png": 400,
    }  # fmt: skip
    light, dark = (tmp_path / f"tokens-{scheme}-wide.png" for scheme in screenshots.SCHEMES)
    assert light.read_bytes() != dark.read_bytes()


def test_an_unknown_page_is_named_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screenshots, "OUT", tmp_path / "none")
    for name in ("BENCHSTICK_HOME", "BENCHSTICK_RUN"):
        monkeypatch.setenv(name, str(tmp_path))
    assert screenshots.main(["nowhere"]) == 2
    assert "nowhere: no such page; there are drives, " in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
