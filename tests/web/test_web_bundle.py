"""Bundles: a run goes from one bench to another and is the same there; nothing else gets in."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from benchstick import cli
from benchstick.agent.agent import Agent
from benchstick.analysis.run_timeline import session
from benchstick.errors import BadInput, StoreFailed
from benchstick.reports import bundle, record, run_report
from benchstick.store import imported_runs, run_queries, run_reader
from benchstick.store.database import open_for_web, open_reader, open_writer
from tests.web.conftest import Bench, Browser, SignedIn, browser, served
from tests.web.watched import Watched
from webui.auth import request_guard
from webui.auth.pin import LoginKey
from webui.pages import runs
from webui.server.app import create_app

Files = dict[str, bytes]


def packed(home: Path, number: int, artifacts: bool = False) -> bytes:
    file = io.BytesIO()
    with contextlib.closing(open_reader(home)) as db:
        bundle.write(db, number, file, home if artifacts else None)
    return file.getvalue()


def unpacked(data: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(files: Files, *, hashes: bool = True) -> bytes:
    """The files as a bundle, with a manifest that fits them unless `hashes` is False."""
    files = dict(files)
    manifest = json.loads(files["manifest.json"])
    if hashes:
        manifest["files"] = [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.items()
            if name != "manifest.json"
        ]
        files["manifest.json"] = json.dumps(manifest).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files.items():
            target.writestr(name, data)
    return buffer.getvalue()


def changed(data: bytes, name: str, change: Callable[[Any], Any]) -> bytes:
    files = unpacked(data)
    document = json.loads(files[name])
    files[name] = json.dumps(change(document) or document).encode()
    return repacked(files)


@pytest.fixture(scope="module")
def das(bench: Bench) -> bytes:
    return packed(bench.home, bench.numbers["das"], artifacts=True)


@pytest.fixture(scope="module")
def small(bench: Bench) -> bytes:
    return packed(bench.home, bench.numbers["practice"])


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder of another bench."""
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "other"))
    open_writer(tmp_path / "other").close()
    yield tmp_path / "other"


def keep_bundle(home: Path, data: bytes) -> tuple[int, bool]:
    with contextlib.closing(open_writer(home)) as db:
        return bundle.keep(db, home, io.BytesIO(data))


def counts(home: Path) -> list[int]:
    tables = ("runs", "steps", "results", "samples", "temperatures", "events", "imports", "uploads")
    with contextlib.closing(open_reader(home)) as db:
        return [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables]


# ---- there and back


def test_a_run_is_the_same_on_the_other_bench(bench: Bench, other: Path, das: bytes) -> None:
    number, new = keep_bundle(other, das)
    assert (number, new) == (1, True)
    with contextlib.closing(open_reader(bench.home)) as db:
        before = run_reader.run_json(db, bench.numbers["das"])
        samples = run_reader.samples_of(db, bench.numbers["das"])
        home = run_queries.bench_id(db)
    with contextlib.closing(open_reader(other)) as db:
        after = run_reader.run_json(db, number)
        assert run_reader.samples_of(db, number) == samples
        assert run_queries.bench_id(db) != home
    origin = after.pop("imported")
    assert (origin["bench"], origin["number"]) == (home, bench.numbers["das"])
    before.pop("imported")
    # A step that left nothing has no folder there.
    for step in before["steps"]:
        if not (bench.home / step["artifacts"]).exists():
            step["artifacts"] = None
    assert {**before, "number": number} == after
    # What the steps left came along, readable by the page's group alone.
    step = next(step for step in after["steps"] if step["artifacts"])
    command = other / step["artifacts"] / "command"
    assert command.read_text() == (bench.home / step["artifacts"] / "command").read_text()
    assert stat.S_IMODE(command.stat().st_mode) == 0o640


def test_its_page_is_the_same_and_says_where_it_comes_from(
    bench: Bench, other: Path, das: bytes, client: Browser
) -> None:
    number, _ = keep_bundle(other, das)
    there = browser(create_app(other))
    page = there.get(f"/runs/{number}").text
    assert "Imported " in page
    assert f"where it was run {bench.numbers['das']}" in page
    for text in ("Every pass", "DAS suite", "invalid", "data differ: 00012.jpg"):
        assert (text in page) == (text in client.get(f"/runs/{bench.numbers['das']}").text)
    assert ">imported<" in there.get("/runs").text
    assert there.get("/api/v1/runs").json["runs"][0]["imported"] is True
    results = client.get(f"/api/v1/runs/{bench.numbers['das']}").json["results"]
    assert there.get(f"/api/v1/runs/{number}").json["results"] == results
    assert "Imported " in there.get(f"/runs/{number}/report.html").text


def test_the_same_bundle_is_reported_and_not_stored_twice(
    bench: Bench, other: Path, das: bytes
) -> None:
    first = keep_bundle(other, das)
    before = counts(other)
    assert keep_bundle(other, das) == (first[0], False)
    assert counts(other) == before
    # Packed by the other bench it is still the same run, and names the bench that measured.
    again = packed(other, first[0])
    assert json.loads(unpacked(again)["manifest.json"])["bench"] == json.loads(
        unpacked(das)["manifest.json"]
    )["bench"]  # fmt: skip
    assert keep_bundle(other, again) == (first[0], False)
    assert keep_bundle(bench.home, again) == (bench.numbers["das"], False)
    assert counts(other) == before


def test_a_run_that_is_here_is_not_changed(other: Path, small: bytes) -> None:
    keep_bundle(other, small)
    before = counts(other)
    forged = changed(small, "run.json", lambda run: {**run, "reason": "another"})
    with pytest.raises(BadInput, match=r"here already, as run 1, with another record"):
        keep_bundle(other, forged)
    assert counts(other) == before


def test_the_same_run_makes_the_same_bundle(bench: Bench, small: bytes) -> None:
    assert packed(bench.home, bench.numbers["practice"]) == small


def test_a_running_run_makes_none(bench: Bench, client: Browser) -> None:
    with pytest.raises(BadInput, match="only a run that is over"):
        packed(bench.home, bench.numbers["running"])
    assert client.get(f"/api/v1/runs/{bench.numbers['running']}/bundle").status_code == 400


def test_an_imported_erase_is_not_certified_here(other: Path, small: bytes) -> None:
    forged = changed(small, "run.json", lambda run: {**run, "suite": "erase"})
    number, _ = keep_bundle(other, forged)
    answer = browser(create_app(other)).get(f"/api/v1/runs/{number}/export?format=certificate")
    assert answer.status_code == 400
    assert "another bench" in answer.json["error"]["message"]


# ---- what is no bundle


def no_zip(_: Files) -> bytes:
    return b"PK\x03\x04 nothing of the kind"


def added(name: str, data: bytes = b"x") -> Callable[[Files], bytes]:
    return lambda files: repacked({**files, name: data})


def zipped(write: Callable[[zipfile.ZipFile, Files], None]) -> Callable[[Files], bytes]:
    def make(files: Files) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as target:
            write(target, files)
        return buffer.getvalue()

    return make


def with_link(target: zipfile.ZipFile, files: Files) -> None:
    for name, data in files.items():
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(info, data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def twice(target: zipfile.ZipFile, files: Files) -> None:
    for name, data in [*files.items(), *files.items()]:
        target.writestr(name, data)


BAD: dict[str, tuple[Callable[[Files], bytes], str]] = {
    "nothing": (lambda _: b"", "no bundle"),
    "no zip": (no_zip, "no bundle"),
    "cut": (lambda files: repacked(files)[:-100], "no bundle"),
    "no manifest": (zipped(lambda zip_, files: None), "manifest.json: is missing"),
    "above": (added("../../etc/passwd"), "is no file of a bundle"),
    "absolute": (added("/etc/passwd"), "is no file of a bundle"),
    "backslash": (added("artefacts\\..\\x"), "is no file of a bundle"),
    "hidden": (added("artefacts/00-x/.ssh"), "is no file of a bundle"),
    "deep": (added("artefacts/00-x/y/z"), "is no file of a bundle"),
    "folder": (added("artefacts/00-x/"), "is no file of a bundle"),
    "dots": (added("artefacts/00-../x"), "is no file of a bundle"),
    "link": (zipped(with_link), "expected a regular file"),
    "changed": (
        lambda files: repacked({**files, "run.json": files["run.json"] + b" "}, hashes=False),
        "run.json: expected ",
    ),
    "damaged": (
        lambda files: repacked(
            {**files, "run.json": files["run.json"].replace(b"cdm", b"xyz")}, hashes=False
        ),
        "SHA-256",
    ),
    "not listed": (
        lambda files: repacked({**files, "artefacts/00-x/command": b"x"}, hashes=False),
        "the names of the files",
    ),
    "twice a field": (
        lambda files: repacked({**files, "run.json": b'{"a": 1, "a": 2}'}), "twice"
    ),
    "nan": (lambda files: repacked({**files, "run.json": b'{"a": NaN}'}), "NaN"),
    "surrogate": (lambda files: repacked({**files, "run.json": b'{"a": "\\ud800"}'}), "JSON"),
    "deep json": (lambda files: repacked({**files, "run.json": b"[" * 100_000}), "JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_bundle_is_refused_whole(
    other: Path, small: bytes, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, words = BAD[name]
    data = make(unpacked(small))
    before, files = counts(other), sorted(other.rglob("*"))
    with pytest.raises(BadInput, match="bundle: ") as excinfo:
        keep_bundle(other, data)
    assert words in excinfo.value.message
    (tmp_path / "b.zip").write_bytes(data)
    assert cli.invoke(["import", str(tmp_path / "b.zip")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert counts(other) == before
    assert [path for path in sorted(other.rglob("*")) if "store.db" not in path.name] == [
        path for path in files if "store.db" not in path.name
    ]


def test_a_name_that_is_there_twice(other: Path, small: bytes) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped(twice)(unpacked(small))
    with pytest.raises(BadInput, match="each name once"):
        keep_bundle(other, data)


def test_what_unpacks_to_too_much_is_not_unpacked(
    other: Path, small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = repacked({**unpacked(small), "artefacts/00-x/stdout": bytes(3 << 20)})
    assert len(bomb) < 100_000
    for limit in ("LARGEST_FILE", "LARGEST_UNPACKED"):
        with monkeypatch.context() as patch:
            patch.setattr(bundle, limit, 2 << 20)
            with pytest.raises(BadInput, match="at most 2 MiB"):
                keep_bundle(other, bomb)
    with monkeypatch.context() as patch:
        patch.setattr(bundle, "LARGEST_DOCUMENT", 10)
        with pytest.raises(BadInput, match=r"manifest.json: expected at most"):
            keep_bundle(other, small)
    # A file that holds more than its head says is read no further than that.
    name = b"artefacts/00-x/stdout"
    lying = bytearray(bomb)
    entry = lying.rfind(name) - 46
    lying[entry + 24 : entry + 28] = (100).to_bytes(4, "little")
    with pytest.raises(BadInput):
        keep_bundle(other, bytes(lying))
    assert counts(other)[0] == 0


def test_a_folder_in_the_way_is_left_alone(other: Path, das: bytes) -> None:
    uuid = json.loads(unpacked(das)["run.json"])["uuid"]
    (other / "runs" / uuid).mkdir()
    (other / "runs" / uuid / "kept").write_text("x")
    with pytest.raises(StoreFailed, match="in the way"):
        keep_bundle(other, das)
    assert (other / "runs" / uuid / "kept").read_text() == "x"
    assert counts(other)[0] == 0


def test_what_fails_on_the_way_leaves_nothing(
    other: Path, das: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise StoreFailed("no")

    monkeypatch.setattr(imported_runs, "add_run", fail)
    with pytest.raises(StoreFailed):
        keep_bundle(other, das)
    assert list((other / "runs").iterdir()) == []


# ---- documents of another shape


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document holds something, one place of each kind: the first of each list."""
    yield way
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*way, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*way, 0))


def trimmed(value: Any) -> Any:
    """A document with at most two items in each list."""
    if isinstance(value, dict):
        return {name: trimmed(item) for name, item in value.items()}
    return [trimmed(item) for item in value[:2]] if isinstance(value, list) else value


def put(document: Any, way: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(document)
    at = result
    for name in way[:-1]:
        at = at[name]
    if value is ...:
        del at[way[-1]]
    else:
        at[way[-1]] = value
    return result


ODD: tuple[Any, ...] = (..., None, 5, "x", [], {}, [[1]], {"value": [{"size": None}]}, 10**30)


@pytest.mark.parametrize("name", ["das", "slow"])
def test_whatever_is_taken_can_be_shown(
    bench: Bench, client: Browser, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of place of a run's document is emptied and filled with odd values: either the
    document is refused, or its report can be made, and its page is shown."""
    number = bench.numbers[name]
    with contextlib.closing(open_reader(bench.home)) as db:
        run = trimmed(record.plain(run_reader.run_json(db, number)))
    run["uuid"] = "0" * 8 + run["uuid"][8:]
    record.check_run(run)
    accepted_count = refused = 0
    for at, way in enumerate(places(run)):
        for value in ODD if way else ():
            odd = put(run, way, value)
            try:
                record.check_run(odd)
            except BadInput:
                refused += 1
                continue
            accepted_count += 1
            document = {**odd, "imported": None, "partial_result": None}
            assert run_report.of_run(document, session([], set())).parts, (way, value)
            # Pages take longer: each odd value at each ninth place.
            if at % len(ODD) == ODD.index(value):
                monkeypatch.setattr(runs, "document", lambda _, document=document: document)
                assert client.get(f"/runs/{number}").status_code == 200, (way, value)
    assert refused > 400
    assert accepted_count > 100


@pytest.mark.parametrize(
    "change",
    [
        lambda samples: samples["columns"].pop(),
        lambda samples: samples["rows"].insert(0, samples["rows"][0]),
        lambda samples: samples["rows"][0].pop(),
        lambda samples: samples["rows"][0].__setitem__(1, "x"),
        lambda samples: samples["rows"][0].__setitem__(4, -1),
        lambda samples: samples["rows"][0].__setitem__(3, 10**6),
        lambda samples: samples["rows"][0].__setitem__(4, 2**70),
    ],
)
def test_samples_of_another_shape_are_refused(
    other: Path, small: bytes, change: Callable[[Any], Any]
) -> None:
    def with_change(document: Any) -> Any:
        change(document)
        return document

    with pytest.raises(BadInput, match=r"samples.json"):
        keep_bundle(other, changed(small, "samples.json", with_change))
    assert counts(other)[0] == 0


# ---- through the page


@pytest.fixture
def there(other: Path) -> Any:
    """The page of the other bench, and a session in it."""
    key = LoginKey()
    app = create_app(other, key=key)
    client = browser(app)
    answer = client.post("/api/v1/login", json={"key": key.current})
    return SignedIn(client, answer.json["csrf"])


def send_bundle(there: SignedIn, data: bytes, **form: Any) -> Any:
    fields = {"csrf": there.csrf, "bundle": (io.BytesIO(data), "run.zip"), **form}
    return there.client.post("/imports", data=fields, content_type="multipart/form-data")


def take(home: Path) -> None:
    """What the agent does with uploads."""
    with contextlib.closing(open_writer(home)) as db:
        Agent(home, threading.Event())._take_uploads(db)


def test_an_upload_is_checked_then_taken_by_the_agent(
    there: SignedIn, other: Path, das: bytes
) -> None:
    answer = send_bundle(there, das)
    assert (answer.status_code, answer.location) == (303, "/imports/1")
    assert "The agent will import it" in there.client.get("/imports/1").text
    assert counts(other)[0] == 0
    take(other)
    assert there.client.get("/api/v1/imports/1").json == {
        "schema": "benchstick/import/1", "id": 1, "state": "done", "run": 1,
        "text": "run 1 was imported",
    }  # fmt: skip
    assert counts(other)[0] == 1
    assert counts(other)[-1] == 0
    # Again: the answer comes at once, and nothing is pending.
    answer = send_bundle(there, das)
    assert answer.location == "/runs/1?here=1"
    assert "Already imported" in there.client.get(answer.location).text
    assert counts(other)[-1] == 0


def test_the_api_takes_the_body(there: SignedIn, other: Path, small: bytes) -> None:
    headers = {"X-CSRF-Token": there.csrf}
    path = "/api/v1/imports"
    for kind, status in (("application/json", 415), ("application/zip", 202)):
        answer = there.client.post(path, data=small, content_type=kind, headers=headers)
        assert answer.status_code == status
    assert answer.json["state"] == "waiting"
    take(other)
    answer = there.client.post(path, data=small, content_type=kind, headers=headers)
    assert (answer.status_code, answer.json["run"]) == (200, 1)
    assert there.client.get("/api/v1/imports/99").status_code == 404
    assert there.client.get("/imports/x").status_code == 404


def test_nobody_else_uploads(there: SignedIn, other: Path, small: bytes) -> None:
    stranger = browser(create_app(other))
    assert stranger.post("/api/v1/imports", data=small).status_code == 401
    assert stranger.post("/imports", data={}).status_code == 401
    assert send_bundle(there, small, csrf="x").status_code == 403
    assert counts(other)[-1] == 0


@pytest.mark.parametrize("name", ["nothing", "no zip", "above", "damaged"])
def test_a_bad_upload_is_refused_at_once(
    there: SignedIn, other: Path, small: bytes, name: str
) -> None:
    make, words = BAD[name]
    answer = send_bundle(there, make(unpacked(small)))
    assert answer.status_code == 400
    assert words.replace("'", "&#39;") in answer.text
    assert there.post("/imports", {}).status_code == 400
    assert counts(other)[-1] == 0


def test_a_large_upload_is_refused_with_a_message(there: SignedIn, other: Path) -> None:
    body, kind = bytes(request_guard.LARGEST_BUNDLE + 1), "multipart/form-data; boundary=x"
    answer = there.client.post("/imports", data=body, content_type=kind)
    assert answer.status_code == 413
    assert "larger than 8 MiB" in answer.text
    # Other forms take no more than before.
    answer = there.post("/labels", {"drive": "x" * (70 << 10), "label": "x"})
    assert answer.status_code == 413
    assert "64 KiB" in answer.text


def test_nothing_is_imported_while_a_run_is_on(
    bench: Bench, signed_in: SignedIn, small: bytes, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    forged = changed(small, "run.json", lambda run: {**run, "uuid": "0" * 8 + run["uuid"][8:]})
    files = unpacked(forged)
    manifest = json.loads(files["manifest.json"])
    manifest["run"] = json.loads(files["run.json"])["uuid"]
    forged = repacked({**files, "manifest.json": json.dumps(manifest).encode()})
    answer = send_bundle(signed_in, forged)
    assert answer.status_code == 409
    assert "nothing is imported while a drive is timed" in answer.text
    (tmp_path / "b.zip").write_bytes(forged)
    assert cli.invoke(["import", str(tmp_path / "b.zip")]) == 2
    assert "is on" in capsys.readouterr().err
    with contextlib.closing(open_writer(bench.home)) as db:
        upload = imported_runs.add_upload(db, forged)
    take(bench.home)
    assert bench.count("uploads") == 1
    with contextlib.closing(open_writer(bench.home)) as db:
        imported_runs.answer_upload(db, upload, None, "taken away")


def test_the_agent_checks_again(other: Path) -> None:
    with contextlib.closing(open_for_web(other)) as db:
        for _ in range(imported_runs.WAITING):
            imported_runs.add_upload(db, b"forged")
        with pytest.raises(BadInput, match="wait for the agent"):
            imported_runs.add_upload(db, b"forged")
    take(other)
    with contextlib.closing(open_reader(other)) as db:
        upload = imported_runs.upload_json(db, 1)
    assert upload is not None
    assert upload["state"] == "refused"
    assert "no bundle" in upload["text"]
    assert counts(other)[0] == counts(other)[-1] == 0


def test_from_file_to_page_in_a_browser(
    chromium: Any, other: Path, das: bytes, tmp_path: Path
) -> None:
    (tmp_path / "run.zip").write_bytes(das)
    key = LoginKey()
    with served(create_app(other, key=key)) as base:
        page = chromium.new_context().new_page()
        watched = Watched(page, base)
        watched.go(f"/login?key={key.current}")
        watched.go("/runs")
        page.get_by_text("Import a run from another bench…").click()
        page.get_by_label("Bundle").set_input_files(tmp_path / "run.zip")
        page.get_by_role("button", name="Import").click()
        expect(page.get_by_role("status")).to_contain_text("The agent will import it")
        take(other)
        page.get_by_role("link", name="Open the run").click()
        expect(page.get_by_text("where it was run")).to_be_visible()
        expect(page.locator("#chart canvas")).to_be_visible()
        page.context.close()
    assert watched.problems == []


# ---- the command


def test_the_command_exports_and_imports(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    file = tmp_path / "das.zip"
    argv = ["export", str(bench.numbers["das"]), "--format", "bundle", "--output", str(file)]
    assert cli.invoke([*argv, "--artefacts"]) == 0
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "new"))
    for text in ("run 1 was imported\n", "it was here, as run 1\n"):
        assert cli.invoke(["import", str(file)]) == 0
        assert capsys.readouterr().out == text
    assert cli.invoke(["import", str(tmp_path / "nothing")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert cli.invoke(["export", "1", "--artefacts"]) == 2
    monkeypatch.setenv("BENCHSTICK_HOME", str(tmp_path / "none"))
    (tmp_path / "bad.zip").write_bytes(b"x")
    assert cli.invoke(["import", str(tmp_path / "bad.zip")]) == 2
    assert not (tmp_path / "none").exists()
