"""Spec sheets in the page: filled in, imported, shown with the results of a drive and of runs."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from benchstick import cli
from benchstick.store import run_queries, spec_sheets
from benchstick.store.database import open_writer
from benchstick.suites.spec_sheets import Sheet
from tests.web.conftest import Bench, Browser, SignedIn
from tests.web.test_web_pages import words

EVIL = "<script>alert(1)</script>"
FORM = {
    "model": "crucial x9*", "name": EVIL, "capacity": "1TB", "seq_read_mbps": "1050",
    "rand_read_iops": "60000", "raw_nand": "1024GiB", "controller": EVIL, "warranty_years": "5",
    "price": "89,90", "currency": "EUR", "price_date": "2026-01-31", "source": "a page",
    "claim_suite": ["cdm", "das"], "claim_result": ["RND4K Q1T1 read latency", ""],
    "claim_value": ["0.1", ""], "claim_unit": ["ms", "MB/s"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def none_left(bench: Bench) -> Iterator[None]:
    """No sheet of one test is in the next."""
    yield
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("DELETE FROM spec_sheets")


def test_a_spec_sheet_of_the_form_is_shown_with_the_results(
    signed_in: SignedIn, bench: Bench
) -> None:
    assert signed_in.post("/models", FORM).status_code == 303
    (sheet,) = signed_in.client.get("/api/v1/models").json["models"]
    assert (sheet["price"], sheet["capacity"], sheet["raw_nand"]) == (89.9, 10**12, 1 << 40)
    assert sheet["claims"] == [
        {"suite": "cdm", "result": "RND4K Q1T1 read latency", "value": 100.0, "unit": "us"}
    ]
    page = signed_in.client.get("/drives/2318E6C0A1F2")
    assert EVIL not in page.text
    text = words(page.text)
    assert "Price per GB 0.090 EUR" in text
    assert "1024 GiB, 10.0 % more than its capacity" in text
    assert re.search(rf"SEQ1M Q8T1 read cdm, run {bench.numbers['cdm']} 1050 MB/s "
                     r"10\d\d\.\d MB/s 101 %", text)  # fmt: skip
    assert re.search(r"RND4K Q1T1 read latency .* 100 µs \d+ µs 14\d %; lower is better", text)
    drive_sheet = signed_in.client.get("/api/v1/drives/2318E6C0A1F2").json["spec_sheet"]
    assert drive_sheet["price_per_gb"] == 0.0899
    query = f"runs={bench.numbers['cdm']},{bench.numbers['slow']}"
    (model,) = signed_in.client.get(f"/api/v1/compare?{query}").json["models"]
    assert model["run"] == bench.numbers["cdm"]
    assert [item["percent"] for item in model["claims"]] == [
        item["percent"] for item in drive_sheet["claims"]
    ]
    compare_page = signed_in.client.get(f"/compare?{query}")
    assert EVIL not in compare_page.text
    assert "Spec vs. measured" in words(compare_page.text)


def test_claims_are_shown_with_the_runs_of_one_label(signed_in: SignedIn, bench: Bench) -> None:
    """Behind another bridge the drive has another identity; its label shows that it is the same."""
    number, elsewhere = bench.numbers["cdm"], "ABC1|Another enclosure|1000204886016"
    statement = "UPDATE runs SET drive_key = ? WHERE number = ?"

    def get_claim() -> Any:
        return signed_in.client.get("/api/v1/drives/2318E6C0A1F2").json["spec_sheet"]["claims"][0]

    signed_in.post("/models", FORM)
    key = signed_in.client.get("/api/v1/drives/2318E6C0A1F2").json["identity"]["drive_key"]
    with contextlib.closing(open_writer(bench.home)) as db:
        try:
            db.execute(statement, (elsewhere, number))
            assert (get_claim()["run"], get_claim()["reason"]) == (
                None,
                "no complete run of cdm yet",
            )
            for name in (key, elsewhere):
                run_queries.set_label(db, name, "SSD 7")
            assert get_claim()["run"] == number
            assert get_claim()["measured"] is not None
        finally:
            for name in (key, elsewhere):
                run_queries.set_label(db, name, "")
            db.execute(statement, (key, number))


def test_a_sheet_can_be_changed_and_removed(signed_in: SignedIn) -> None:
    signed_in.post("/models", FORM)
    (sheet,) = signed_in.client.get("/api/v1/models").json["models"]
    html = signed_in.client.get(f"/models?edit={sheet['id']}").text
    for value in ("crucial x9*", "1000GB", "1024GiB", "89.9", "2026-01-31"):
        assert f'value="{value}"' in html
    assert EVIL not in html
    form = {**FORM, "edit": sheet["id"], "name": "X9", "capacity": "1000GB"}
    assert signed_in.post("/models", form).status_code == 303
    (other,) = signed_in.client.get("/api/v1/models").json["models"]
    assert other["name"] == "X9"
    assert signed_in.post(f"/models/{other['id']}/remove", {}).status_code == 303
    assert signed_in.post(f"/models/{other['id']}/remove", {}).status_code == 404
    assert signed_in.client.get(f"/models?edit={other['id']}").status_code == 404


def test_a_file_is_taken_as_well(signed_in: SignedIn) -> None:
    def upload(text: str) -> Any:
        data = {"csrf": signed_in.csrf, "file": (io.BytesIO(text.encode()), "x9.toml")}
        return signed_in.client.post("/models", data=data, content_type="multipart/form-data")

    answer = upload('model = "T7"\nprice = 1\n')
    assert answer.status_code == 400
    assert "x9.toml: line 2: currency: is required with price" in words(answer.text)
    assert upload('model = "T7"').status_code == 303
    (sheet,) = signed_in.client.get("/api/v1/models").json["models"]
    assert sheet["name"] == "T7"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": ""}, "model: is missing"),
        ({"price": "cheap"}, "price: a number"),
        ({"price_date": "31.1.2026"}, "price_date: a date is required"),
        ({"currency": ""}, "currency: is required with price"),
        ({"capacity": "1000"}, "write it with its unit"),
        ({"claim_value": ["", ""]}, "claim 1: value: a number"),
        ({"claim_result": ["", ""]}, "claim 1: result: is empty"),
        ({"claim_suite": ["nix", "das"]}, "claim 1: suite: 'nix' is none"),
        ({"name": "x\x00y"}, "name: has control characters"),
        ({"edit": "x"}, "edit: expected a whole number"),
    ],
)
def test_an_error_is_shown_and_the_form_keeps_its_values(
    signed_in: SignedIn, bench: Bench, change: dict[str, Any], message: str
) -> None:
    answer = signed_in.post("/models", {**FORM, **change})
    assert answer.status_code == 400
    assert message in words(answer.text)
    if "edit" not in change and "name" not in change:
        assert 'value="a page"' in answer.text
    assert bench.count("spec_sheets") == 0


def test_the_api_keeps_checks_and_removes(signed_in: SignedIn, bench: Bench) -> None:
    claim = {"suite": "das", "result": "Home write", "value": 900, "unit": "MB/s"}
    body = {"model": "T7*", "seq_read_mbps": 1000, "claim": [claim]}
    answer = signed_in.api("/api/v1/models", body)
    assert answer.status_code == 201
    for wrong, field in (
        ({}, "model"), ({"model": 7}, "model"), ({**body, "claim": 3}, "claim"),
        ({**body, "claim": [{**claim, "unit": "x"}]}, "claim.0.unit"), ({"x": 1}, "x"),
        ({**body, "price": 10**400}, "price"),
        ({**body, "capacity": 10**400}, "capacity"), ({"model": "\ud800"}, "model"),
        ({"model": ["T7"]}, "model"), ({**body, "seq_read_mbps": True}, "seq_read_mbps"),
    ):  # fmt: skip
        refusal = signed_in.api("/api/v1/models", wrong)
        assert refusal.status_code == 400, wrong
        assert refusal.json["error"]["field"] == field
    number = answer.json["id"]
    assert signed_in.api(f"/api/v1/models/{number}/remove", {}).status_code == 200
    for bad in (number, "x", "9" * 30):
        assert signed_in.api(f"/api/v1/models/{bad}/remove", {}).status_code == 404
    assert bench.count("spec_sheets") == 0


def test_who_is_not_signed_in_may_look_and_not_write(client: Browser) -> None:
    page = client.get("/models?model=T7")
    assert page.status_code == 200
    assert 'value="T7"' in page.text
    for path in ("/models", "/api/v1/models", "/models/1/remove"):
        assert client.post(path).status_code == 401


def test_the_command_line_shows_claims_too(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = Sheet(
        model="Crucial*", name="X9", seq_read_mbps=1050.0, price=100.0, currency="EUR",
        price_date="2026-01-31",
    )  # fmt: skip
    with contextlib.closing(open_writer(bench.home)) as db:
        spec_sheets.save(db, sheet)
    assert cli.invoke(["compare", str(bench.numbers["cdm"])]) == 0
    text = capsys.readouterr().out
    assert "claims of X9: 100.00 EUR on 2026-01-31, 0.1 EUR per GB" in text
    assert re.search(r"SEQ1M Q8T1 read +1050\.0 +10\d\d\.\d +MB/s +101 %", text)
