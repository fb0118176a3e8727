"""Tokens in the page: made, shown once, used, revoked; and who may not."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest
from flask import Flask

from benchstick.store import auth, database
from benchstick.store.database import open_writer, utc_now
from tests.web.conftest import Bench, Browser, SignedIn, browser

PAGE = "/settings/tokens"
TWIN = f"/api/v1{PAGE}"


@pytest.fixture(autouse=True)
def no_tokens(bench: Bench) -> Iterator[None]:
    """Each test starts without tokens."""
    with contextlib.closing(open_writer(bench.home)) as db:
        for token in auth.tokens(db):
            auth.revoke_token(db, token.name)
    yield


def asks(app: Flask, token: str) -> int:
    """The answer to a script that sends this token."""
    headers = {"Authorization": f"Bearer {token}"}
    return int(browser(app).get("/api/v1/status", headers=headers).status_code)


def test_a_token_is_shown_once_works_and_is_revoked(signed_in: SignedIn, app: Flask) -> None:
    answer = signed_in.post(PAGE, {"name": "nightly"})
    assert answer.status_code == 200
    match = re.search(r'<span class="code mono">([\w-]{43})</span>', answer.text)
    assert match is not None
    assert asks(app, match[1]) == 200
    again = signed_in.client.get(PAGE).text
    assert "nightly" in again
    assert match[1] not in again
    answer = signed_in.post(f"{PAGE}/nightly/revoke", {})
    assert (answer.status_code, answer.location) == (303, PAGE)
    assert asks(app, match[1]) == 401
    assert "nightly" not in signed_in.client.get(PAGE).text.split("No tokens yet")[1]


def test_the_api_does_the_same(signed_in: SignedIn, app: Flask) -> None:
    create_answer = signed_in.api(TWIN, {"name": "rig 2"})
    assert create_answer.status_code == 201
    assert asks(app, create_answer.json["token"]) == 200
    tokens = signed_in.client.get(TWIN).json["tokens"]
    assert [item["name"] for item in tokens] == ["rig 2"]
    assert tokens[0]["used_utc"] == f"{utc_now()[:13]}:00:00.000Z"
    assert create_answer.json["token"] not in signed_in.client.get(TWIN).text
    answer = signed_in.api(f"{TWIN}/rig%202/revoke", {})
    assert (answer.status_code, answer.json["tokens"]) == (200, [])
    assert asks(app, create_answer.json["token"]) == 401
    assert signed_in.api(f"{TWIN}/rig%202/revoke", {}).status_code == 404


def test_its_use_is_written_down_once_an_hour(
    signed_in: SignedIn, app: Flask, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = signed_in.api(TWIN, {"name": "nightly"}).json["token"]
    assert signed_in.client.get(TWIN).json["tokens"][0]["used_utc"] is None
    writes: list[None] = []
    note_use = auth.note_use
    monkeypatch.setattr(auth, "note_use", lambda db, name: writes.append(note_use(db, name)))
    for at in ("2031-05-06T07:00:00.000Z", "2031-05-06T07:59:59.000Z", "2031-05-06T08:00:00.000Z"):
        monkeypatch.setattr(auth, "utc_now", lambda at=at: at)
        assert asks(app, token) == 200
    assert len(writes) == 2
    assert signed_in.client.get(TWIN).json["tokens"][0]["used_utc"] == "2031-05-06T08:00:00.000Z"
    assert "2031-05-06 08:00" in signed_in.client.get(PAGE).text


def test_a_name_in_use_is_not_replaced(signed_in: SignedIn, app: Flask) -> None:
    token = signed_in.api(TWIN, {"name": "nightly"}).json["token"]
    answer = signed_in.api(TWIN, {"name": "nightly"})
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "taken")
    page = signed_in.post(PAGE, {"name": "nightly"})
    assert page.status_code == 409
    assert "revoke it first" in page.text
    assert asks(app, token) == 200


@pytest.mark.parametrize("name", ["", " ", "-x", "a" * 65, "a/b", "<script>", "ä", "a\nb", "\x00"])
def test_a_bad_name_makes_none(signed_in: SignedIn, bench: Bench, name: str) -> None:
    for answer in (signed_in.post(PAGE, {"name": name}), signed_in.api(TWIN, {"name": name})):
        assert answer.status_code == 400
        assert answer.is_json or "<script>" not in answer.text
    assert bench.count("tokens") == 0


def test_a_token_makes_and_revokes_no_tokens(signed_in: SignedIn, app: Flask, bench: Bench) -> None:
    token = signed_in.api(TWIN, {"name": "nightly"}).json["token"]
    headers = {"Authorization": f"Bearer {token}"}
    script = browser(app)
    for path, body in ((TWIN, {"name": "more"}), (f"{TWIN}/nightly/revoke", {})):
        answer = script.post(path, json=body, headers=headers)
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "session_only")
    assert script.post(PAGE, data={"name": "more"}, headers=headers).status_code == 403
    assert script.post(f"{PAGE}/nightly/revoke", headers=headers).status_code == 403
    assert bench.count("tokens") == 1


def test_who_has_not_signed_in_makes_none(client: Browser, bench: Bench) -> None:
    assert client.post(PAGE, data={"name": "x"}).status_code == 401
    assert client.post(TWIN, json={"name": "x"}).status_code == 401
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "disabled>Create token" in page.text
    assert bench.count("tokens") == 0


def test_a_forged_form_makes_and_revokes_none(signed_in: SignedIn, bench: Bench) -> None:
    signed_in.api(TWIN, {"name": "nightly"})
    for path, form in ((PAGE, {"name": "x"}), (f"{PAGE}/nightly/revoke", {})):
        assert signed_in.client.post(path, data={**form, "csrf": "x"}).status_code == 403
        assert signed_in.client.post(f"/api/v1{path}", json=form).status_code == 403
    assert bench.count("tokens") == 1


def test_a_store_that_cannot_be_written_still_answers_a_token(
    signed_in: SignedIn, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = signed_in.api(TWIN, {"name": "nightly"}).json["token"]
    monkeypatch.setattr(database, "WEB_TABLES", frozenset())
    assert asks(app, token) == 200
