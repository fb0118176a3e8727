"""Writes what the image is made of, with versions and licences, as an SPDX 2.3 document.

    SOURCE_DATE_EPOCH=N licences.py --kernel VERSION INFO OUT

INFO is the JSON of Buildroot's `make show-info`. N, in seconds, becomes the document's date: the
same input gives the same document. No address and no path of the building machine gets into it.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NONE = "NOASSERTION"
GNU = ("GPL-1.0", "GPL-2.0", "GPL-3.0", "LGPL-2.0", "LGPL-2.1", "LGPL-3.0", "AGPL-3.0")
# Names by which Buildroot and SPDX mean the same licence.
SAME = frozenset(
    ["0BSD", "Apache-2.0", "Artistic-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-4-Clause",
     "BSL-1.0", "CC0-1.0", "HPND", "ISC", "MIT", "MPL-1.1", "MPL-2.0", "OFL-1.1", "PSF-2.0",
     "Python-2.0", "Unlicense", "WTFPL", "X11", "ZPL-2.1", "Zlib", "blessing"]
)  # fmt: skip
# Built, because Buildroot's Flask requires it, and then removed again by post-build.sh.
TAKEN_OUT = frozenset(["libopenssl"])


def identifier(name: str) -> str | None:
    """SPDX's name of one licence, None when Buildroot's is not certain to mean it."""
    if name in GNU:
        return f"{name}-only"
    if name.endswith("+") and name[:-1] in GNU:
        return f"{name[:-1]}-or-later"
    return name if name in SAME else None


def expression(wording: str) -> str | None:
    """The SPDX expression for Buildroot's wording, None where it is not certain.

    What stands in parentheses names parts of the package, and goes; an exception does not.
    """
    if re.search(r"\([^)]*exception", wording, re.IGNORECASE):
        return None
    together = []
    for part in re.sub(r"\([^()]*\)", "", wording).split(","):
        ids = [identifier(name.strip()) for name in part.split(" or ")]
        spdx_ids = [name for name in ids if name is not None]
        if len(spdx_ids) < len(ids):
            return None
        together.append(spdx_ids)
    if len(together) == 1:
        return " OR ".join(dict.fromkeys(together[0]))
    # "A, B or C": nobody says which of the two binds closer.
    if any(len(choices) > 1 for choices in together):
        return None
    return " AND ".join(dict.fromkeys(choices[0] for choices in together))


def package(name: str, version: str, licence: str | None, **more: str) -> dict[str, Any]:
    """One package of the document."""
    return {
        "name": name,
        "SPDXID": "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "versionInfo": version,
        "downloadLocation": NONE,
        "filesAnalyzed": False,
        "licenseConcluded": NONE,
        "licenseDeclared": licence or NONE,
        "copyrightText": NONE,
        **more,
    }


def of_buildroot(info: Mapping[str, Any], kernel: str) -> list[dict[str, Any]]:
    """What Buildroot builds for the target. Its own scaffolding is what has no version."""
    packages = []
    for name, entry in sorted(info.items()):
        if entry["type"] != "target" or entry["virtual"] or not entry["version"]:
            continue
        if name in TAKEN_OUT:
            continue
        # Buildroot's version of a kernel that is given as a file, and of that kernel's headers.
        version = kernel if entry["version"] == "custom" else entry["version"]
        wording = entry["licenses"]
        more = {"licenseComments": wording}
        if entry["downloads"]:
            more["packageFileName"] = Path(entry["downloads"][0]["source"]).name
        packages.append(package(name, version, expression(wording), **more))
    if not packages:
        raise ValueError("no package for the target")
    return packages


def own() -> list[dict[str, Any]]:
    """Benchstick itself and its front-end library."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licence = project.get("license")
    front_end = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return [
        package("benchstick", project["version"], licence if isinstance(licence, str) else None),
        package("uPlot", front_end["uplot"], "MIT"),
    ]


def document(packages: list[dict[str, Any]], seconds: int) -> dict[str, Any]:
    """The SPDX document; `seconds` is its date."""
    version = packages[0]["versionInfo"]
    creation_time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    spdx_doc = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"benchstick-{version}",
        "creationInfo": {
            "created": creation_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: benchstick-licences-{version}"],
            "comment": "licenseComments has Buildroot's own wording; licenseDeclared is that in "
            "SPDX's terms where it is certain, for the whole package, not each of its files.",
        },
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": item["SPDXID"],
            }
            for item in packages
        ],
    }
    content = hashlib.sha256(json.dumps(spdx_doc, sort_keys=True).encode()).hexdigest()
    spdx_doc["documentNamespace"] = f"https://spdx.org/spdxdocs/benchstick-{version}-{content[:32]}"
    return spdx_doc


def main() -> None:
    """Read INFO, write OUT; one line and exit code 2 when that cannot be."""
    parser = argparse.ArgumentParser(prog="licences.py", description=__doc__.split("\n")[0])
    parser.add_argument("--kernel", required=True, metavar="VERSION")
    parser.add_argument("info", type=Path, metavar="INFO")
    parser.add_argument("out", type=Path, metavar="OUT")
    options = parser.parse_args()
    try:
        info = json.loads(options.info.read_text(encoding="utf-8"))
        packages = own() + of_buildroot(info, options.kernel)
        spdx_doc = document(packages, int(os.environ["SOURCE_DATE_EPOCH"]))
        text = json.dumps(spdx_doc, indent=1, ensure_ascii=False)
        options.out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        sys.exit(_fail(f"{error.filename}: {error.strerror}"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        sys.exit(_fail(f"{options.info} or SOURCE_DATE_EPOCH is not as expected: {error!r}"))


def _fail(reason: str) -> int:
    print(f"licences: error: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
