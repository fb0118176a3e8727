"""The part of Markdown that our own docs use, as HTML. Everything is escaped first.

Headings, paragraphs, lists, tables, fenced and indented code, quotes, rules; in a line: code,
bold, italics, links to http(s) addresses and to other pages of docs/, also in its folders.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from contextvars import ContextVar

from markupsafe import Markup, escape

_LINK = re.compile(r"\[([^\]]+)\]\(([^()\s]+)\)")
_PAGE = re.compile(r"((?:\.\./)?(?:[a-z]+/)?[A-Za-z0-9_-]+)\.md(#[A-Za-z0-9_-]+)?")
_ITEM = re.compile(r"(\s*)(?:[-*+]|(\d+)[.)])\s+(.*)")


# The folder of the page that is being rendered: its links are relative to it.
_FOLDER: ContextVar[str] = ContextVar("folder", default="")


def render(text: str, folder: str = "") -> Markup:
    """The HTML of Markdown `text`, a page in `folder` of docs/."""
    lines = text.replace("\t", "    ").splitlines()
    token = _FOLDER.set(folder)
    try:
        return Markup("\n").join(_blocks(lines))
    finally:
        _FOLDER.reset(token)


def title_of(text: str, otherwise: str) -> str:
    """The first heading's text."""
    for line in text.splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return otherwise


def inline(text: str) -> Markup:
    """One line's code, links, bold and italics."""
    html = Markup("")
    for index, part in enumerate(re.split(r"(`+[^`]+`+)", text)):
        if index % 2:
            html += Markup("<code>{}</code>").format(part.strip("`").strip())
        else:
            html += _spans(part)
    return html


def _spans(text: str) -> Markup:
    html, at = Markup(""), 0
    for match in _LINK.finditer(text):
        html += _emphasis(text[at : match.start()]) + _link(match[1], match[2])
        at = match.end()
    return html + _emphasis(text[at:])


def _link(label: str, target: str) -> Markup:
    page = _PAGE.fullmatch(target)
    if page is not None:
        path = posixpath.normpath(posixpath.join(_FOLDER.get(), page[1]))
        # What lies outside docs/ is not served.
        if path.startswith("../"):
            return escape(label)
        return Markup('<a href="/methods/{}{}">{}</a>').format(path, page[2] or "", label)
    if re.match(r"https?://", target):
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(target, label)
    if target.startswith("#"):
        return Markup('<a href="{}">{}</a>').format(target, label)
    return escape(label)


def _emphasis(text: str) -> Markup:
    html = str(escape(text))
    html = re.sub(r"\*\*(\S(?:.*?\S)?)\*\*", r"<strong>\1</strong>", html)
    html = re.sub(r"(?<![\w*])\*(\S(?:.*?\S)?)\*(?![\w*])", r"<em>\1</em>", html)
    return Markup(html)  # escaped above; only our own tags were added


def anchor(text: str) -> str:
    """A heading's id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _blocks(lines: list[str]) -> list[Markup]:
    blocks: list[Markup] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        block, at = _block(lines, at)
        blocks.append(block)
    return blocks


def _block(lines: list[str], at: int) -> tuple[Markup, int]:
    line = lines[at]
    heading = re.match(r"(#{1,6})\s+(.*?)\s*#*$", line)
    if heading is not None:
        level = len(heading[1])
        text = f'<h{level} id="{{}}">{{}}</h{level}>'
        return Markup(text).format(anchor(heading[2]), inline(heading[2])), at + 1
    if line.startswith("    "):
        body, at = _while(lines, at, lambda text: text.startswith("    ") or not text.strip())
        return _code([text[4:] for text in body]), at
    if line.lstrip().startswith("```"):
        return _fence(lines, at)
    if re.fullmatch(r"\s*([-*_])(\s*\1){2,}\s*", line):
        return Markup("<hr>"), at + 1
    if line.lstrip().startswith(">"):
        body, at = _while(lines, at, lambda text: text.lstrip().startswith(">"))
        inner = [re.sub(r"^\s*> ?", "", text) for text in body]
        return Markup("<blockquote>{}</blockquote>").format(Markup("\n").join(_blocks(inner))), at
    if _is_table(lines, at):
        return _table(lines, at)
    if _ITEM.match(line):
        return _list(lines, at)
    body, at = _while(lines, at, lambda text: _is_prose(text))
    return Markup("<p>{}</p>").format(inline(" ".join(text.strip() for text in body))), at


def _is_prose(text: str) -> bool:
    special = re.match(r"#{1,6}\s|\s*```|\s*>", text) or _ITEM.match(text)
    return bool(text.strip()) and not special


def _while(lines: list[str], at: int, good: Callable[[str], bool]) -> tuple[list[str], int]:
    """The first line and all that follow as long as they are good."""
    end = at + 1
    while end < len(lines) and good(lines[end]):
        end += 1
    return lines[at:end], end


def _code(body: list[str]) -> Markup:
    # What scrolls sideways must be reached by keyboard, here and in tables.
    while body and not body[-1].strip():
        body.pop()
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format("\n".join(body))


def _fence(lines: list[str], at: int) -> tuple[Markup, int]:
    end = at + 1
    while end < len(lines) and not lines[end].lstrip().startswith("```"):
        end += 1
    return _code(lines[at + 1 : end]), end + 1


def _is_table(lines: list[str], at: int) -> bool:
    return (
        lines[at].lstrip().startswith("|")
        and at + 1 < len(lines)
        and re.fullmatch(r"\s*\|?[\s:|-]*-[\s:|-]*", lines[at + 1]) is not None
    )


def _cells(line: str) -> list[str]:
    parts = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    return [part.strip().replace("\\|", "|") for part in parts]


def _table(lines: list[str], at: int) -> tuple[Markup, int]:
    body, end = _while(lines, at, lambda text: text.lstrip().startswith("|"))
    head = Markup("").join(Markup("<th>{}</th>").format(inline(cell)) for cell in _cells(body[0]))
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(inline(cell)) for cell in _cells(line))
        )
        for line in body[2:]
    )
    text = (
        '<div class="scroll" tabindex="0"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    )
    return Markup(text).format(head, rows), end


def _list(lines: list[str], at: int) -> tuple[Markup, int]:
    first = _ITEM.match(lines[at])
    assert first is not None
    indent, ordered = len(first[1]), first[2] is not None
    items: list[Markup] = []
    while at < len(lines):
        match = _ITEM.match(lines[at])
        if match is None or len(match[1]) != indent or (match[2] is not None) != ordered:
            break
        body, at = _while(lines, at, lambda text: _continues(text, indent))
        inner = [match[3], *(_outdented(text, indent + 2) for text in body[1:])]
        blocks = _blocks(inner)
        plain = len(blocks) == 1 and str(blocks[0]).startswith("<p>")
        content = Markup(str(blocks[0])[3:-4]) if plain else Markup("").join(blocks)
        items.append(Markup("<li>{}</li>").format(content))
        while at < len(lines) and not lines[at].strip() and _next_item(lines, at, indent):
            at += 1
    tag = "ol" if ordered else "ul"
    return Markup(f"<{tag}>{{}}</{tag}>").format(Markup("").join(items)), at


def _outdented(text: str, most: int) -> str:
    """`text` with at most `most` spaces less in front."""
    return text[min(len(text) - len(text.lstrip()), most) :]


def _continues(text: str, indent: int) -> bool:
    """Whether a line belongs to the list item above it."""
    if not text.strip():
        return False
    match = _ITEM.match(text)
    if match is not None:
        return len(match[1]) > indent
    return text.startswith(" " * (indent + 1)) or _is_prose(text)


def _next_item(lines: list[str], at: int, indent: int) -> bool:
    following = next((line for line in lines[at:] if line.strip()), "")
    match = _ITEM.match(following)
    return match is not None and len(match[1]) == indent
