"""The pages of docs/ as HTML, by mistune. Raw HTML is shown as text.

Links lead to http(s) addresses, to other pages of docs/ and to headings; of any other link only the
text is shown.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

import mistune
from markupsafe import Markup, escape
from mistune.plugins.table import table
from mistune.renderers.html import HTMLRenderer

_PAGE = re.compile(r"((?:\.\./)?(?:[a-z]+/)?[A-Za-z0-9_-]+)\.md(#[A-Za-z0-9_-]+)?")


class _Renderer(HTMLRenderer):
    """HTML as the page's stylesheet and its Content-Security-Policy expect it.

    Its methods get the HTML of what is inside, and the names of what Markdown calls them.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(escape=True)
        self._folder = folder

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        name = anchor(Markup(text).striptags())
        return f'<h{level} id="{name}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        page = _PAGE.fullmatch(url)
        if page is not None:
            path = posixpath.normpath(posixpath.join(self._folder, page[1]))
            # What lies outside docs/ is not served.
            if path.startswith("../"):
                return text
            return f'<a href="/methods/{path}{page[2] or ""}">{text}</a>'
        if re.match(r"https?://", url):
            return f'<a href="{escape(url)}" rel="noreferrer">{text}</a>'
        return f'<a href="{escape(url)}">{text}</a>' if url.startswith("#") else text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return text

    def block_code(self, code: str, info: str | None = None) -> str:
        # What scrolls sideways must be reached by keyboard, here and in tables.
        return f'<pre tabindex="0"><code>{escape(code.rstrip())}</code></pre>\n'

    def table(self, text: str) -> str:
        return f'<div class="scroll" tabindex="0"><table>{text}</table></div>\n'

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        # Without the style attribute of the alignment, which the policy refuses.
        tag = "th" if head else "td"
        # mistune leaves the backslash in code.
        bare = text.replace(r"\|", "|")
        return f"<{tag}>{bare}</{tag}>"


def render(text: str, folder: str = "") -> Markup:
    """The HTML of Markdown `text`, a page in `folder` of docs/."""
    to_html = mistune.create_markdown(renderer=_Renderer(folder), plugins=[table])
    # mistune escapes all that is not its own or the renderer's markup.
    return Markup(to_html(text))


def title_of(text: str, otherwise: str) -> str:
    """The first heading's text."""
    for line in text.splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return otherwise


def anchor(text: str) -> str:
    """A heading's id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
