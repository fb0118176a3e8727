#!/usr/bin/env python3
"""An example client of Benchstick's API: lists drives, and runs a suite or a recipe on one of them.

    export BENCHSTICK_TOKEN=...        a token from the web interface, Settings, Tokens
    client.py http://benchstick.local drives
    client.py http://benchstick.local run cdm --drive CODE --param passes=1 [--erase CODE]
    client.py http://benchstick.local test incoming-usb-stick --drive CODE [--erase CODE]

It needs only Python's standard library. `run` prints the results, `test` the verdict with its
reasons and limits. They exit with the exit code of the run or the verdict: 0 done or pass, 1
verdict fail, 2 bad input, 3 refused, 4 drive lost, 5 no valid result or inconclusive, 6 the store
failed, 70 internal error, 130 cancelled. 75: the bench cannot be reached, or does not answer in
time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

EXITS = {"bad_input": 2, "not_found": 2, "refused": 3, "drive_lost": 4, "store": 6, "internal": 70}
NO_ANSWER = 75
OVER = ("done", "corrupt", "failed", "cancelled", "interrupted")


class Failed(Exception):
    """An error message of the bench, and the exit code for it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Bench:
    """The API of a bench. `url` is the address of its web interface."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url, self.token = url.rstrip("/"), token

    def get(self, path: str) -> Any:
        """The document at `/api/v1/PATH`."""
        return self._ask(path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The bench's answer to a POST of `body`."""
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data=body)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise _failed(error.code, error.read()) from None
        except (OSError, ValueError) as error:
            raise Failed(f"{self.url}: {error}", NO_ANSWER) from None


def _failed(status: int, body: bytes) -> Failed:
    try:
        error = json.loads(body)["error"]
        return Failed(error["message"], EXITS.get(error["code"], 2 if status < 500 else 70))
    except (ValueError, KeyError, TypeError):
        return Failed(f"HTTP status {status}", NO_ANSWER)


def drives(bench: Bench) -> int:
    """Print the drives of the agent's last scan."""
    for drive in bench.get("drives")["drives"]:
        identity, guard = drive["identity"], drive["guard"]
        transport = drive["transport"]["value"] or drive["transport"]["reason"]
        print(f"{drive['code']}\t{identity['model']}\t{transport}\t{guard['state']}")
    return 0


def run(bench: Bench, request: dict[str, Any], patience: float) -> int:
    """Start a run, wait for its end, print its results; return its exit code. `patience` is the
    number of seconds to wait for the agent's answer."""
    request_id = bench.post("runs", request)["id"]
    # The agent checks the request, and may refuse it, before it starts the run.
    number = answer(bench, request_id, patience, lambda request: request["run"] is not None)["run"]
    print(f"run {number}: {bench.url}/runs/{number}", file=sys.stderr)
    while (report := bench.get(f"runs/{number}"))["state"] not in OVER:
        time.sleep(2)
    for result in report["results"]:
        value = "-" if result["value"] is None else f"{result['value']:g} {result['unit']}"
        at = "" if result["pass"] is None else f" pass {result['pass']}"
        reason = "" if result["reason"] is None else f" ({result['reason']})"
        print(f"{result['name']}{at}\t{value}\t{result['state']}{reason}")
    if report["reason"]:
        print(f"{report['state']}: {report['reason']}", file=sys.stderr)
    # A run whose process was killed has no exit code.
    return 70 if report["exit_code"] is None else int(report["exit_code"])


def answer(
    bench: Bench, request_id: int, patience: float, there: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The agent's answer to a request, when `there` returns true for it."""
    deadline = time.monotonic() + patience
    while not there(request := bench.get(f"requests/{request_id}")):
        if request["state"] == "refused":
            error = request["error"]
            raise Failed(error["message"], EXITS.get(error["code"], 70))
        if time.monotonic() > deadline:
            raise Failed(f"no answer in {patience:.0f} s; is the bench's agent running?", NO_ANSWER)
        time.sleep(0.5)
    return dict(request)


def test(bench: Bench, request: dict[str, Any], patience: float) -> int:
    """Test a drive with a recipe, wait for the verdict, print it; return its exit code."""
    newest = bench.get("verdicts?limit=1")["verdicts"]
    before = newest[0]["number"] if newest else 0
    request_id = bench.post("desk/new", request)["id"]
    answer(bench, request_id, patience, lambda request: request["state"] == "done")
    number, deadline = None, time.monotonic() + patience
    while number is None:
        time.sleep(1)
        now = bench.get("desk")["slots"]
        # Each repetition of a test has a verdict. The last one exists when the test has ended.
        if any(slot["code"] == request["drive"] and slot["state"] == "testing" for slot in now):
            deadline = time.monotonic() + patience
            continue
        verdicts = bench.get("verdicts?limit=100")["verdicts"]
        number = next(
            (
                one["number"]
                for one in verdicts
                if one["drive_code"] == request["drive"] and one["number"] > before
            ),
            None,
        )
        if number is None and time.monotonic() > deadline:
            raise Failed("the test ended without a verdict; was the agent stopped?", NO_ANSWER)
    verdict = bench.get(f"verdicts/{number}")
    print(f"{verdict['verdict'].upper()}\t{verdict['drive']['code']}\t{verdict['recipe']['name']}")
    for one in (*verdict["failures"], *verdict["inconclusive"]):
        print(f"{one['code']}\t{one['text']}")
    for one in verdict["limits"]:
        unit = one["unit"] or ""
        condition = f"{one['op']} {one['required']} {unit}"
        print(f"{one['state']}\t{one['description']}\t{one['measured']}\t{condition}")
    print(f"verdict {number}: {bench.url}/verdicts/{number}", file=sys.stderr)
    return int(verdict["exit_code"])


def pair(text: str) -> tuple[str, str]:
    """A suite parameter, NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError("expected NAME=VALUE")
    return name, value


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="List drives and start tests on a Benchstick.")
    parser.add_argument("url", help="address of its web interface, e.g. http://benchstick.local")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("drives", help="list the drives")
    start = commands.add_parser("run", help="run a suite")
    start.add_argument("suite")
    start.add_argument("--param", action="append", default=[], type=pair, metavar="NAME=VALUE")
    judge = commands.add_parser("test", help="test a drive with a recipe")
    judge.add_argument("recipe")
    for command in (start, judge):
        command.add_argument("--drive", required=True, help="its code, as `drives` prints it")
        command.add_argument("--erase", metavar="CODE", help="its code, to confirm erasing")
        command.add_argument("--patience", type=float, default=60, metavar="SECONDS")
    args = parser.parse_args()
    bench = Bench(args.url, os.environ.get("BENCHSTICK_TOKEN"))
    try:
        if args.command == "drives":
            return drives(bench)
        request = {"drive": args.drive} | ({} if args.erase is None else {"erase": args.erase})
        if args.command == "test":
            return test(bench, {**request, "recipe": args.recipe}, args.patience)
        request |= {"suite": args.suite, "params": dict(args.param)}
        return run(bench, request, args.patience)
    except Failed as error:
        print(f"client: {error}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
