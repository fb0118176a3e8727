"""What the bench is made of, with versions and licences.

The image carries an SPDX document, made when it was built. A host has none: there the tools are
the host's own, and what is listed is what the bench brings along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchstick import __version__
from benchstick.errors import BenchError

if TYPE_CHECKING:
    from importlib import metadata

SCHEMA = "benchstick/licences/2"
SPDX = Path("/usr/share/benchstick/spdx.json")
VENDOR = Path(__file__).resolve().parents[2] / "webui/static/vendor"
IMAGE_NOTE = "What the image is made of, from the list that was written when it was built."
HOST_NOTE = (
    "On a host the tools that the bench starts are the host's own packages; "
    "this is what the bench brings along."
)

Package = dict[str, str | None]
# A requirement of an extra that is for developers, or another package's own matter.
_EXTRA = r""";.*\bextra\b(?! *== *["']scanner["'])"""


def document(spdx: Path | None = None) -> dict[str, Any]:
    """The `benchstick/licences/2` document. BenchError when the image's own list is damaged."""
    path = SPDX if spdx is None else spdx
    try:
        packages = of_image(json.loads(path.read_text(encoding="utf-8")))
        note = IMAGE_NOTE
    except FileNotFoundError:
        packages, note = of_host(), HOST_NOTE
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{path}: not the image's list of licences ({error!r})") from None
    return {"schema": SCHEMA, "note": note, "packages": packages}


def of_image(spdx: Mapping[str, Any]) -> list[Package]:
    """The packages of an SPDX document."""
    packages: list[Package] = []
    for item in spdx["packages"]:
        licence = item["licenseDeclared"]
        packages.append(
            {
                "name": item["name"],
                "version": item["versionInfo"],
                "licence": None if licence == "NOASSERTION" else licence,
                "comment": item.get("licenseComments"),
            }
        )
    return packages


def of_host(vendor: Path = VENDOR) -> list[Package]:
    """The bench, the Python packages that it needs, and its front-end library."""
    distributions = needed("benchstick")
    own = distributions.pop("benchstick", None)
    first: Package = {
        "name": "benchstick",
        "version": __version__,
        "licence": None,
        "comment": None,
    }
    if own is not None:
        first |= stated(own)
    others = [of_distribution(dist) for _, dist in sorted(distributions.items())]
    return [first, *others, *_front_end(vendor)]


def needed(name: str) -> dict[str, metadata.Distribution]:
    """The installed distribution `name` and all that it pulls in; of extras, `scanner` alone."""
    # Here, as it takes memory that the page on a stick would not give back.
    from importlib import metadata

    dists: dict[str, metadata.Distribution] = {}
    todo = [name]
    while todo:
        key = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if key in dists:
            continue
        try:
            dists[key] = metadata.distribution(key)
        except metadata.PackageNotFoundError:
            continue
        for requirement in dists[key].requires or ():
            match = re.match(r"[A-Za-z0-9._-]+", requirement)
            if match is not None and not re.search(_EXTRA, requirement):
                todo.append(match[0])
    return dists


def of_distribution(dist: metadata.Distribution) -> Package:
    """A Python package, under the name that it gives itself."""
    return {"name": dist.metadata["Name"], "version": dist.version, **stated(dist)}


def stated(dist: metadata.Distribution) -> Package:
    """Its licence: an SPDX expression where it states one, else its own words."""
    expression = dist.metadata.get_all("License-Expression") or [None]
    classifiers = [
        text.rsplit(" :: ", 1)[1]
        for text in dist.metadata.get_all("Classifier") or []
        if text.startswith("License :: ")
    ]
    # Some put the licence's whole text into this field.
    short = [
        text
        for text in dist.metadata.get_all("License") or []
        if 0 < len(text) <= 80 and "\n" not in text and text != "UNKNOWN"
    ]
    return {"licence": expression[0], "comment": ", ".join(short or classifiers) or None}


def _front_end(vendor: Path) -> list[Package]:
    """uPlot, whose file has version and licence at its head. Nothing where it is not there."""
    try:
        head = (vendor / "uPlot.esm.js").read_text(encoding="utf-8")[:1000]
    except OSError:
        return []
    version = re.search(r"\(v([0-9.]+)\)", head)
    licence = "MIT" if "(MIT Licensed)" in head else None
    return [
        {"name": "uPlot", "version": version and version[1], "licence": licence, "comment": None}
    ]
