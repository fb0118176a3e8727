"""The build step that pyproject.toml cannot express: front-end files and docs go into the wheel.

The front-end files come from npm at set-up and are never committed; the docs lie outside the
packages. A build that lacks either stops with one line.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
VENDOR = ROOT / "webui/static/vendor"
FRONT_END = ("uPlot.esm.js", "uPlot.min.css", "uPlot.LICENSE")
DOCS = ROOT / "docs"
# Where webui/pages/docs.py looks for the docs when there is no clone around it.
DOCS_IN_PACKAGE = Path("webui/docs")


class BuildWithPage(build_py):
    """The packages, and what the page needs beside them."""

    def run(self) -> None:
        # An editable install reads both from the clone, and comes before the front end at set-up.
        if self.editable_mode:
            super().run()
            return
        for name in FRONT_END:
            if not (VENDOR / name).is_file():
                sys.exit(f"error: webui/static/vendor/{name} is missing; run: scripts/setup page")
        if not DOCS.is_dir():
            sys.exit("error: docs/ is missing; build from a clone or the source archive")
        super().run()
        shutil.copytree(
            DOCS,
            Path(self.build_lib) / DOCS_IN_PACKAGE,
            ignore=shutil.ignore_patterns("images", "__pycache__"),
            dirs_exist_ok=True,
        )


setup(cmdclass={"build_py": BuildWithPage})
