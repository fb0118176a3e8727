"""schemathesis makes requests of the OpenAPI document, right ones and wrong ones, and sends them to
the real server: none may fail inside, and every answer must be in the document.

Nothing here reaches a drive: the bench is the sample, whose requests no agent takes. What the run
asks for ends as rows of a store that is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from benchstick.store.database import open_writer
from tests.host.bench import HANGS
from tests.web import every_page
from tests.web.api_document import OPERATIONS
from tests.web.conftest import Bench, SignedIn, serve
from tests.web.test_web_bundle import packed
from webui.auth.request_guard import COOKIE

PROGRAM = Path(sys.executable).parent / "schemathesis"
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance",
)  # fmt: skip
# For each operation, in addition to those from the document's own examples and limits. The
# generator is deterministic: the same document gives the same requests.
EXAMPLES = 5
LEFT_OUT = {"logout": "it ends the session with which all others are asked"}

# What schemathesis sends as a bundle: a run that is here, parts of it, nothing.
BUNDLES = """
import schemathesis
from hypothesis import strategies

WHOLE = open("run.zip", "rb").read()
BODIES = (WHOLE, WHOLE[:-9], WHOLE[9:], b"PK", b"")
schemathesis.serializer.alias("application/zip", "application/octet-stream")
schemathesis.openapi.media_type("application/zip", strategies.sampled_from(BODIES))
"""


@pytest.fixture
def live(app: Flask) -> Iterator[str]:
    """The address of the page under waitress, as `benchstick web` serves it."""
    with serve(app) as address:
        yield address


def test_the_server_answers_as_the_document_says(
    live: str, bench: Bench, signed_in: SignedIn, booted_stick: None, tmp_path: Path
) -> None:
    with contextlib.closing(open_writer(bench.home)) as db:
        ids = every_page.furnish(db)
    assert set(ids.values()) == {1}, "the examples of the document"
    cookie = signed_in.client.get_cookie(COOKIE).value
    for name, reason in LEFT_OUT.items():
        print(f"left out: {name}: {reason}")
    # Only a running run can be cancelled; the document's own example is another.
    (tmp_path / "schemathesis.toml").write_text(
        "[[operations]]\ninclude-operation-id = 'cancel'\n"
        f"parameters = {{ 'path.number' = {bench.numbers['running']} }}\n"
    )
    (tmp_path / "run.zip").write_bytes(packed(bench.home, bench.numbers["practice"]))
    (tmp_path / "bundles.py").write_text(BUNDLES)
    process = subprocess.run(
        [PROGRAM, "run", f"{live}/openapi.json", "--header", f"Cookie: {COOKIE}={cookie}",
         "--header", f"X-CSRF-Token: {signed_in.csrf}", "--checks", ",".join(CHECKS),
         *(part for name in LEFT_OUT for part in ("--exclude-operation-id", name)),
         "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES),
         "--generation-deterministic", "--no-shrink",
         "--generation-with-security-parameters", "false", "--continue-on-failure", "--no-color"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": ".", "SCHEMATHESIS_HOOKS": "bundles"},
        capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    print(process.stdout, process.stderr)
    assert process.returncode == 0
    operation_count = len(OPERATIONS) - len(LEFT_OUT)
    assert f"Selected: {operation_count}/{len(OPERATIONS)}" in process.stdout
    assert f"Tested: {operation_count}\n" in process.stdout
    # What every answer of an operation refused would not have been tested.
    assert "Authentication failed" not in process.stdout
