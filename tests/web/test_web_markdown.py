"""The pages of docs/ as HTML: what they use works, and nothing gets through unescaped."""

from __future__ import annotations

import re

import pytest

from tests.web.conftest import Browser
from webui.pages import docs
from webui.view import markdown


def html_of(text: str, folder: str = "") -> str:
    """The HTML without the spaces between its blocks."""
    html = " ".join(markdown.render(text, folder).split())
    return re.sub(
        r" ?(</?(?:p|li|ul|ol|pre|blockquote|table|thead|tbody|tr)\b[^>]*>) ?", r"\1", html
    )


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A *b*", '<h1 id="a-b">A <em>b</em></h1>'),
        ("one\ntwo", "<p>one two</p>"),
        ("a `<b>` c", "<p>a <code>&lt;b&gt;</code> c</p>"),
        ("**bold** and 2 * 3 * 4", "<p><strong>bold</strong> and 2 * 3 * 4</p>"),
        ("- a\n- b\n  more", "<ul><li>a</li><li>b more</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>"),
        ("```sh\na <b\n```", '<pre tabindex="0"><code>a &lt;b</code></pre>'),
        ("    indented", '<pre tabindex="0"><code>indented</code></pre>'),
        ("    ```sh\n    a\n    ```", '<pre tabindex="0"><code>```sh a ```</code></pre>'),
        ("> quoted", "<blockquote><p>quoted</p></blockquote>"),
        ("---", "<hr />"),
        ("[x](cdm.md)", '<p><a href="/methods/cdm">x</a></p>'),
        ("[x](https://a.org/b)", '<p><a href="https://a.org/b" rel="noreferrer">x</a></p>'),
        ("[`x`](cdm.md)", '<p><a href="/methods/cdm"><code>x</code></a></p>'),
        ("<https://a.org/b>", '<p><a href="https://a.org/b" rel="noreferrer">https://a.org/b</a></p>'),
        ("[x](#a-b)", '<p><a href="#a-b">x</a></p>'),
        ("# [A](cdm.md) & `b`",
         '<h1 id="a-b"><a href="/methods/cdm">A</a> &amp; <code>b</code></h1>'),
    ],
)  # fmt: skip
def test_markdown(text: str, html: str) -> None:
    assert html_of(text) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>"),
        ("<div>\n<img src=x onerror=y>\n</div>",
         "<p>&lt;div&gt; &lt;img src=x onerror=y&gt; &lt;/div&gt;</p>"),
        ("<!-- c -->", "<p>&lt;!-- c --&gt;</p>"),
        ("[x](javascript:alert)", "<p>x</p>"),
        ("[x](java&#115;cript:alert)", "<p>x</p>"),
        ("[x](JaVaScRiPt:alert)", "<p>x</p>"),
        ("[x](data:text/html;base64,eA)", "<p>x</p>"),
        ("[x](//a.org/b)", "<p>x</p>"),
        ("[x](/drives)", "<p>x</p>"),
        ("<javascript:alert>", "<p>javascript:alert</p>"),
        ("[x][1]\n\n[1]: javascript:alert", "<p>x</p>"),
        ("![a *b*](https://a.org/b.png)", "<p>a <em>b</em></p>"),
        ('[x](https://a.org "y\\" onclick=z")',
         '<p><a href="https://a.org" rel="noreferrer">x</a></p>'),
        ('[<i>](https://x"onclick=y)',
         '<p><a href="https://x%22onclick=y" rel="noreferrer">&lt;i&gt;</a></p>'),
        ('# "><b>', '<h1 id="b">&quot;&gt;&lt;b&gt;</h1>'),
        ('```"><b>\na\n```', '<pre tabindex="0"><code>a</code></pre>'),
    ],
)  # fmt: skip
def test_no_raw_html_and_no_other_link_gets_through(text: str, html: str) -> None:
    assert html_of(text) == html


def test_lines_of_code_stay_lines() -> None:
    for text in ("```\na\n\n  b\n```", "    a\n\n      b\n"):
        assert "<code>a\n\n  b</code>" in markdown.render(text)


def test_a_table() -> None:
    # A style attribute is refused by the page's Content-Security-Policy.
    html = html_of("| a | b |\n| --- | ---: |\n| `x\\|y` | <z> |")
    assert html.startswith('<div class="scroll" tabindex="0"><table><thead>')
    assert "<th>a</th><th>b</th>" in html
    assert "<td><code>x|y</code></td><td>&lt;z&gt;</td>" in html


@pytest.mark.parametrize(
    "text", ["", "\n\n", "- ", "|", "```", "# ", "1.", "    ", "> > >", "\t-\t"]
)
def test_odd_texts_end(text: str) -> None:
    markdown.render(text * 3)


def test_every_page_of_docs_is_shown(client: Browser) -> None:
    names = [page["name"] for page in docs.doc_pages()]
    assert {"settings", "web", "methods/cdm", "decisions/guard"} <= set(names)
    for name in names:
        page = client.get(f"/methods/{name}")
        assert page.status_code == 200
        assert client.get(f"/api/v1/methods/{name}").json["markdown"] == docs.doc_text(name)


@pytest.mark.parametrize(
    ("folder", "target", "address"),
    [
        ("", "methods/cdm.md", "/methods/methods/cdm"),
        ("", "cdm.md#steps", "/methods/cdm#steps"),
        ("decisions", "copier.md", "/methods/decisions/copier"),
        ("decisions", "../guard.md", "/methods/guard"),
        ("decisions", "../methods/cdm.md#the-steps", "/methods/methods/cdm#the-steps"),
    ],
)
def test_a_link_is_relative_to_the_folder_of_its_page(
    folder: str, target: str, address: str
) -> None:
    assert f'<a href="{address}">x</a>' in markdown.render(f"- a [x]({target})", folder)


@pytest.mark.parametrize(
    ("folder", "target"),
    [("", "../CONTRIBUTING.md"), ("decisions", "../../x.md"), ("", "/etc/x.md"), ("", "a/b/c.md")],
)
def test_what_lies_outside_of_docs_is_no_link(folder: str, target: str) -> None:
    assert html_of(f"[x]({target})", folder) == "<p>x</p>"


def test_the_pages_in_folders_are_linked_and_lead_to_pages(client: Browser) -> None:
    index = client.get("/methods").text
    for page in docs.doc_pages():
        if "/" in page["name"]:
            assert f'<a href="/methods/{page["name"]}">' in index, page
            html = client.get(f"/methods/{page['name']}").text
            addresses = set(re.findall(r'href="(/methods/[^"#]+)', html))
            assert addresses, f"{page['name']} links to no other page"
            for address in addresses:
                assert client.get(address).status_code == 200, (page, address)
    assert client.get("/methods/decisions/nothing").status_code == 404
    assert client.get("/methods/nothing/guard").status_code == 404
    assert client.get("/api/v1/methods/decisions/nothing").status_code == 404


def test_every_suite_has_its_page(client: Browser) -> None:
    for suite in client.get("/api/v1/suites").json["suites"]:
        html = client.get(f"/suites/{suite['name']}").text
        for param in suite["params"]:
            assert f"<code>{param['name']}</code>" in html
        assert docs.doc_text(suite["name"]) is not None, "a suite has a page in docs/"
