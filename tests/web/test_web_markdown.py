"""Our own docs as HTML: what they use works, and nothing gets through unescaped."""

from __future__ import annotations

import re

import pytest

from tests.web.conftest import Browser
from webui import markdown, methods


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A *b*", '<h1 id="a-b">A <em>b</em></h1>'),
        ("one\ntwo", "<p>one two</p>"),
        ("a `<b>` c", "<p>a <code>&lt;b&gt;</code> c</p>"),
        ("**bold** and 2 * 3 * 4", "<p><strong>bold</strong> and 2 * 3 * 4</p>"),
        ("- a\n- b\n  more", "<ul><li>a</li><li>b more</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("- a\n  - b", "<ul><li><p>a</p><ul><li>b</li></ul></li></ul>"),
        ("```sh\na <b\n```", '<pre tabindex="0"><code>a &lt;b</code></pre>'),
        ("    indented", '<pre tabindex="0"><code>indented</code></pre>'),
        ("    ```sh\n    a\n    ```", '<pre tabindex="0"><code>```sha```</code></pre>'),
        ("> quoted", "<blockquote><p>quoted</p></blockquote>"),
        ("---", "<hr>"),
        ("[x](cdm.md)", '<p><a href="/methods/cdm">x</a></p>'),
        ("[x](https://a.org/b)", '<p><a href="https://a.org/b" rel="noreferrer">x</a></p>'),
        ("[x](javascript:alert)", "<p>x</p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ('[<b>](https://x"onclick=y)', None),
    ],
)  # fmt: skip
def test_markdown(text: str, html: str | None) -> None:
    made = str(markdown.render(text))
    if html is None:
        assert '"onclick' not in made
        assert "<b>" not in made
    else:
        assert made.replace("\n", "") == html


def test_a_table() -> None:
    made = str(
        markdown.render("| a | b |\n| --- | ---: |\n| `x|y` | <z> |".replace("x|y", "x\\|y"))
    )
    assert "<th>a</th><th>b</th>" in made
    assert "<td><code>x|y</code></td><td>&lt;z&gt;</td>" in made


@pytest.mark.parametrize(
    "text", ["", "\n\n", "- ", "|", "```", "# ", "1.", "    ", "> > >", "\t-\t"]
)
def test_odd_texts_end(text: str) -> None:
    markdown.render(text * 3)


def test_every_page_of_docs_is_shown(client: Browser) -> None:
    names = [page["name"] for page in methods.doc_pages()]
    assert {"settings", "web", "methods/cdm", "decisions/guard"} <= set(names)
    for name in names:
        page = client.get(f"/methods/{name}")
        assert page.status_code == 200
        assert client.get(f"/api/v1/methods/{name}").json["markdown"] == methods.doc_text(name)


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
    assert str(markdown.render(f"[x]({target})", folder)) == "<p>x</p>"


def test_the_pages_in_folders_are_linked_and_lead_to_pages(client: Browser) -> None:
    index = client.get("/methods").text
    for page in methods.doc_pages():
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
        assert methods.doc_text(suite["name"]) is not None, "a suite has a page in docs/"
