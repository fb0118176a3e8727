"""Reference results in the page: imported, shown in a comparison, removed."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from tests.web.conftest import Bench, Browser, SignedIn
from tests.web.test_web_pages import words

HEAD = "drive,suite,result,value,unit,source\n"
EVIL = "<script>alert(1)</script>"
GOOD = f'{HEAD}{EVIL}\u202e,cdm,SEQ1M Q8T1 read,1060,MB/s,"{EVIL} & co"\n'


def upload(signed_in: SignedIn, text: str, name: str = "my.csv") -> Any:
    form = {"csrf": signed_in.csrf, "file": (io.BytesIO(text.encode()), name)}
    return signed_in.client.post(
        "/references", data=form, content_type="multipart/form-data", follow_redirects=True
    )


def test_a_file_is_imported_shown_as_text_and_removed(signed_in: SignedIn, bench: Bench) -> None:
    page = upload(signed_in, GOOD)
    assert page.status_code == 200
    assert "1 saved." in words(page.text)
    assert EVIL not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    document = signed_in.client.get("/api/v1/references?suite=cdm").json
    (reference,) = document["references"]
    assert (reference["value"], reference["unit"]) == (1060.0, "MB/s")
    query = f"runs={bench.numbers['cdm']},{bench.numbers['slow']}"
    compared = signed_in.client.get(f"/compare?{query}")
    assert EVIL not in compared.text
    (row,) = re.findall(r'<li class="ref">(.*?)</li>', compared.text, re.S)
    assert "reference, not measured here" in row
    assert "\u202e" not in row
    # Next to the measured ones by its value, and without a rank.
    (result,) = [
        item
        for item in signed_in.client.get(f"/api/v1/compare?{query}").json["results"]
        if item["name"] == "SEQ1M Q8T1 read"
    ]
    values = [item["value"] for item in result["rows"]]
    assert values == sorted(values, reverse=True)
    assert sorted(item["rank"] or 0 for item in result["rows"]) == [0, 1, 2]
    without = signed_in.client.get(f"/compare?{query}&references=no")
    assert 'class="ref"' not in without.text
    assert f"/api/v1/compare?{query.split('&')[0]}" in without.text
    assert 'references=no">JSON</a>' in without.text
    assert signed_in.post(f"/references/{reference['id']}/remove", {}).status_code == 303
    assert signed_in.client.get("/api/v1/references").json["references"] == []
    assert signed_in.post(f"/references/{reference['id']}/remove", {}).status_code == 404


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (f"{HEAD}T7,cdm,A,x,MB/s,y\n", "my.csv", "my.csv: line 2: value: a number"),
        ("drive = 1\n", "<b>.toml", "<b>.toml: has no results"),
        (GOOD, "my.exe", "my.exe: neither .toml nor .csv"),
        (GOOD, "", "file: choose a TOML or CSV file first"),
    ],
)
def test_a_file_with_an_error_is_refused(
    signed_in: SignedIn, bench: Bench, text: str, name: str, message: str
) -> None:
    before = bench.count("reference_results")
    page = upload(signed_in, text, name)
    assert page.status_code == 400
    assert message in words(page.text.replace("&lt;b&gt;", "«b»")).replace("«b»", "<b>")
    assert bench.count("reference_results") == before
    if name:
        answer = signed_in.api("/api/v1/references", {"file": name, "text": text})
        assert answer.status_code == 400
        assert message in answer.json["error"]["message"]


def test_the_api_keeps_and_removes(signed_in: SignedIn, bench: Bench) -> None:
    answer = signed_in.api("/api/v1/references", {"file": "x.csv", "text": GOOD})
    assert (answer.status_code, answer.json["kept"]) == (201, 1)
    (reference,) = signed_in.client.get("/api/v1/references").json["references"]
    assert (
        signed_in.api(f"/api/v1/references/{reference['id']}/remove", {}).json["id"]
        == reference["id"]
    )
    for body in ({}, {"file": "x.csv"}, {"file": 7, "text": GOOD}, {"file": "x.csv", "text": 7},
                 {"file": "x.csv", "text": "\ud800"}, {"x": 1}):  # fmt: skip
        assert signed_in.api("/api/v1/references", body).status_code == 400
    for number in ("0", "99999", "x", "9" * 30):
        answer = signed_in.api(f"/api/v1/references/{number}/remove", {})
        assert answer.status_code == 404
    assert bench.count("reference_results") == 0


def test_who_is_not_signed_in_may_look_and_not_write(client: Browser) -> None:
    page = client.get("/references")
    assert page.status_code == 200
    assert "Sign in to import" in words(page.text)
    assert client.post("/references", data={}).status_code == 401
    assert client.post("/api/v1/references", json={}).status_code == 401
    assert client.post("/references/1/remove").status_code == 401


def test_a_large_upload_is_refused(signed_in: SignedIn) -> None:
    assert upload(signed_in, HEAD + "x" * 70_000).status_code == 413
