"""Replays a recorded case: the manifest becomes a file tree, the answers come from files.

python -m tests.hardware.playback --expect NAME     (writes NAME/expected.json)
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchstick.drives import device_query, discover
from benchstick.drives.subprocesses import Finished
from benchstick.drives.types import Drive

CASES = Path(__file__).parent


def recorded(folder: Path) -> device_query.Query:
    """Answers from a folder: the output in `NAME`, `NAME.exit` and `NAME.err` where not 0 or empty.

    What was not recorded answers like a tool that is not installed.
    """

    def ask(argv: Sequence[str]) -> Finished:
        base = folder / device_query.file_name(argv)
        side = {end: base.with_name(base.name + end) for end in (".exit", ".err")}
        if not base.exists() and not side[".exit"].exists():
            message = f"{argv[0]} was not recorded here".encode()
            return Finished(tuple(argv), device_query.NOT_INSTALLED, b"", message, 0.0)
        code = side[".exit"].read_text().strip() if side[".exit"].exists() else "0"
        return Finished(
            tuple(argv),
            exit_code=-9 if code == "timeout" else int(code),
            stdout=base.read_bytes() if base.exists() else b"",
            stderr=side[".err"].read_bytes() if side[".err"].exists() else b"",
            seconds=0.0,
            timed_out=code == "timeout",
        )

    return ask


def case_names() -> list[str]:
    """All recorded cases."""
    return sorted(path.parent.name for path in CASES.glob("*/tree.json"))


def expand(manifest: Mapping[str, Any], root: Path) -> None:
    """Write the manifest's files, folders and symlinks below `root`."""
    for path, content in manifest.items():
        target = root / path
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.write_text(content, encoding="utf-8")
        elif "hex" in content:
            target.write_bytes(bytes.fromhex(content["hex"]))
        else:
            target.symlink_to(content["link"])


def play(case: Path, root: Path, **arguments: Any) -> list[Drive]:
    """The drives of a case, as a scan finds them; `arguments` go to the scan."""
    expand(json.loads((case / "tree.json").read_text(encoding="utf-8")), root)
    return discover.scan(root=root, query=recorded(case / "tools"), **arguments)


def expectation(drives: list[Drive]) -> dict[str, Any]:
    """What expected.json holds of each drive; `unknown`: facts that are not available, and why."""
    return {
        drive.name: {
            "code": drive.code,
            "guard": drive.guard.state,
            "reason": drive.guard.reason,
            "facts": {n: f.value for n, f in drive.facts.items() if f.value is not None},
            "unknown": {n: f.reason for n, f in drive.facts.items() if f.value is None},
        }
        for drive in drives
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Write expected.json of a recorded case.")
    parser.add_argument("--expect", metavar="NAME", required=True, choices=case_names())
    case = CASES / parser.parse_args().expect
    with tempfile.TemporaryDirectory() as root:
        expected = expectation(play(case, Path(root)))
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (case / "expected.json").write_text(text + "\n", encoding="utf-8")
    print(f"{case / 'expected.json'}: check every line of it", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
