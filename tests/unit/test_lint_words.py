"""scripts/lint_words.py: what it reports in each kind of file, and what it ignores."""

from __future__ import annotations

from pathlib import Path

import lint_words
import pytest

LIST = """\
# A comment.
figures?\tresult
what (?:it|the figures) rests? on\ttest conditions
tell(?:s|ing)?\tshow
carried out\trun

[not yet]
benchstick/drives
webui/*.py
"""


@pytest.fixture(scope="module")
def rules() -> lint_words.Rules:
    return lint_words.read_rules(LIST)


def hits(name: str, text: str, rules: lint_words.Rules) -> list[tuple[int, str]]:
    return [(hit.line, hit.text) for hit in lint_words.find_hits(name, text, rules)]


CASES = {
    "template": (
        "page.html",
        "<h2>Results</h2>\n<p>{{ _('The drive shows it.') }}</p>\n",
        "<h2>Results</h2>\n<p>{{ _('The drive tells it.') }}</p>\n",
        [(2, "tells")],
    ),
    "text of a template": (
        "page.html",
        "<h2>\nResults</h2>\n",
        "<h2>\nFigures</h2>\n",
        [(2, "Figures")],
    ),
    "attribute of a template": (
        "page.html",
        "<p\ntitle=\"{{ _('All results') }}\">x</p>\n",
        "<p\ntitle=\"{{ _('All figures') }}\">x</p>\n",
        [(2, "figures")],
    ),
    "Markdown": (
        "x.md",
        "# Results\n\nThe suite runs.\n",
        "# Results\n\nThe suite is carried\nout. All figures.\n",
        [(3, "carried out"), (4, "figures")],
    ),
    "table in Markdown": ("x.md", "| result |\n", "| figure |\n", [(1, "figure")]),
    "Python string": (
        "benchstick/x.py",
        'raise BadInput(f"{name}: no such result")\n',
        'raise BadInput(f"{name}: no such figure")\n',
        [(1, "figure")],
    ),
    "Python string over two lines": (
        "benchstick/x.py",
        'text = (\n    "The suite is run "\n    "again"\n)\n',
        'text = (\n    "The suite is carried "\n    "out again"\n)\n',
        [(2, "carried out")],
    ),
    "heading in Python": (
        "benchstick/x.py",
        'heads = ("Result", "Unit")\n',
        'heads = ("Figure", "Unit")\n',
        [(1, "Figure")],
    ),
    "help text": (
        "benchstick/cli/x.py",
        '@click.option("--json", help="print the results as JSON")\ndef f():\n    """Show it."""\n',
        '@click.option("--json", help="print the figures as JSON")\ndef f():\n    """Tell it."""\n',
        [(1, "figures"), (3, "Tell")],
    ),
    "comment": (
        "webui/x.py",
        "n = 1  # The run's results.\n",
        "n = 1  # The run's figures.\n",
        [(1, "figures")],
    ),
    "comment over two lines": (
        "webui/x.py",
        "n = 1\n# It is run\n# again.\n",
        "n = 1\n# It is carried\n# out.\n",
        [(2, "carried out")],
    ),
    "docstring": (
        "benchstick/x.py",
        'def f():\n    """Shows it.\n\n    All results."""\n',
        'def f():\n    """Tells it.\n\n    All figures."""\n',
        [(2, "Tells"), (4, "figures")],
    ),
    "name of a test": (
        "tests/unit/test_x.py",
        "def test_the_page_shows_it():\n    pass\n",
        "def test_the_page_tells_it():\n    pass\n",
        [(1, "tells")],
    ),
    "TOML comment": (
        "docs/first.toml",
        '# Two results.\nfigure = "tells"\n',
        '# Two figures.\nfigure = "tells"\n',
        [(1, "figures")],
    ),
    "JavaScript": (
        "webui/static/js/x.js",
        'import "./tell.js";\n// Shows it.\nconst a = say("All results");\n',
        'import "./tell.js";\n// Tells it.\nconst a = say("All figures");\n',
        [(2, "Tells"), (3, "figures")],
    ),
    "OpenAPI document": (
        "webui/openapi.json",
        '{"why": {"type": "string", "description": "the results"},\n "summary": "Show it"}\n',
        '{"told": {"type": "string", "description": "the figures"},\n "summary": "Tell it"}\n',
        [(1, "figures"), (2, "Tell")],
    ),
    "shell": (
        "scripts/x",
        '#!/bin/sh\ntell=1 # Shows it.\ndie "no result in $tell"\n',
        '#!/bin/sh\ntell=1 # Tells it.\ndie "no figure in $tell"\n',
        [(2, "Tells"), (3, "figure")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_banned_phrase_is_reported_with_its_line(case: str, rules: lint_words.Rules) -> None:
    name, clean, unclean, expected = CASES[case]
    assert hits(name, clean, rules) == []
    assert hits(name, unclean, rules) == expected


def test_a_file_name_of_a_test_is_checked(rules: lint_words.Rules) -> None:
    assert hits("tests/unit/test_figures.py", "", rules) == [(1, "figures")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "See https://example.org/tell/figures.html, and [x](figures.md#figures).\n"),
        ("x.md", "A\n\n```sh\nbenchstick tell figures\n```\n\n~~~\ntell\n~~~\n"),
        ("x.md", "A\n\n    benchstick tell\n\n    figures\n"),
        ("x.md", "The JSON key `figures`, the list `what it\nrests on`, ``a ` figure``.\n"),
        ("x.md", "The file /api/v1/runs/1/figures.csv, and --tell.\n"),
        ("benchstick/x.py", 'a = run["figures"], row["what"]["tell"], "tell"\n'),
        ("benchstick/x.py", 'def f():\n    """The key `figures`."""\n    # The name `tell`.\n'),
        ("benchstick/x.py", 'a = "the key `figure` is missing", f"run {figure} of {tell}"\n'),
        ("benchstick/x.py", 'db.execute("SELECT name FROM figures WHERE run = ?")\n'),
        ("benchstick/x.py", 'a = re.compile(r"tell (figures)"), b"tell figures"\n'),
        ("benchstick/x.py", "tell = figures(said)\n"),
        ("tests/unit/test_x.py", 'assert "figures tell" in text\n\ndef helper_tells(): ...\n'),
        ("page.html", '<ul class="figures" id="tell">{% for figure in figures %}{{ figure }}'),
        ("page.html", "<code>figures</code><script>\nconst tell = 1;\n</script>"),
        ("page.html", "{{ run['figures']|tell('figures of all') }}"),
        ("webui/static/js/x.js", 'const tell = run.figures["figure"]; // `tell`\n'),
        ("webui/static/js/x.js", "const a = text.replace(/'/, `${figures} x`);\n"),
        ("scripts/x", '#!/bin/sh\nfigures=$(tell "$figures")\n'),
        ("scripts/x", "no shell script: it tells figures\n"),
        ("x.toml", 'figure = "# all figures"\n'),
        ("x.md", "retell, figurehead, tell_it, figure_limit\n"),
    ],
)
def test_code_is_left_alone(name: str, text: str, rules: lint_words.Rules) -> None:
    assert hits(name, text, rules) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "It is carried\n\nout of the room.\n"),
        ("x.md", "It is carried `--x` out.\n"),
        ("benchstick/x.py", "a = 1  # It is carried\nb = 2  # out of it.\n"),
        ("benchstick/x.py", 'f("It is carried", "out of it")\n'),
        ("page.html", "<p>{{ _('It is carried') }} {{ _('out of it') }}</p>"),
    ],
)
def test_a_phrase_does_not_reach_across_code(name: str, text: str, rules: lint_words.Rules) -> None:
    assert hits(name, text, rules) == []


def test_the_longer_phrase_and_its_advice_are_reported() -> None:
    rules = lint_words.read_rules("what the figures rest on\tTest conditions\nfigures\tresults\n")
    (hit,) = lint_words.find_hits("x.md", "# What the figures rest on\n", rules)
    assert str(hit) == "x.md:1: 'What the figures rest on': write Test conditions"


def test_paths_that_are_not_checked_yet(rules: lint_words.Rules) -> None:
    assert rules.entry_of("benchstick/drives/guard.py") == "benchstick/drives"
    assert rules.entry_of("webui/pages/runs.py") == "webui/*.py"
    for name in ("benchstick/drives.py", "webui/x.html", "benchstick/drives/x.toml", "README.md"):
        assert rules.entry_of(name) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("figures", "line 1: expected an expression, a tab"),
        ("# x\nfigures\t ", "line 2: expected an expression, a tab"),
        ("(figures\tresult", "line 1: '(figures': "),
        ("x?\ty", "line 1: 'x?' matches an empty text"),
    ],
)
def test_a_wrong_line_of_the_list_is_named(text: str, message: str) -> None:
    with pytest.raises(lint_words.BadWords) as caught:
        lint_words.read_rules(text)
    assert str(caught.value).startswith(message)


def test_the_projects_list_can_be_used() -> None:
    rules = lint_words.read_rules(lint_words.WORDS.read_text(encoding="utf-8"))
    assert len(rules.phrases) > 100
    text = "It tells the figures, reckoned anew: what the figures rest on, and a mistake.\n"
    assert len(hits("x.md", text, rules)) == 6
    assert len(set(rules.not_yet)) == len(rules.not_yet)
    for entry in rules.not_yet:
        assert list(lint_words.CLONE.glob(entry)), f"{entry}: remove it from the list"


def test_the_page_of_a_new_suite_is_clean() -> None:
    rules = lint_words.read_rules(lint_words.WORDS.read_text(encoding="utf-8"))
    page = lint_words.CLONE / "scripts/new-suite.d/page"
    assert hits("page.md", page.read_text(encoding="utf-8"), rules) == []


def test_the_command_prints_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Results\n\nAll figures.\n", encoding="utf-8")
    assert lint_words.main([str(page)]) == 1
    assert capsys.readouterr().out.startswith(f"{page}:3: 'figures': write result")
    page.write_text("# Results\n", encoding="utf-8")
    assert lint_words.main([str(page)]) == 0
    assert capsys.readouterr().out == ""
    assert lint_words.main([str(tmp_path / "missing.md")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
