"""The pieces of HTML that the report is made of. `Html` is safe to insert; `text` makes it of anything."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import NewType

Html = NewType("Html", str)

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
LONGEST = 6000

CSS = """
:root { color-scheme: light; --ink: #1d242d; --soft: #5d6875; --line: #e1e5ea; --blue: #1f5fa8; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 36px 28px 60px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 0 0 10px; }
h3 { font-size: 14px; margin: 18px 0 6px; color: var(--soft); }
p { margin: 0 0 12px; max-width: 82ch; }
a { color: var(--blue); }
.lead { color: var(--soft); margin-bottom: 22px; }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px;
  padding: 22px 26px; margin: 18px 0; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 14px; margin: 0 0 18px; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 14px 18px; }
.tile b { display: block; font-size: 22px; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; display: block; }
.notice { background: #eef4fb; border: 1px solid #c9dcf2; border-radius: 10px;
  padding: 12px 18px; margin: 0 0 18px; }
.danger { background: #b3261e; color: #fff; border-radius: 10px; padding: 16px 22px; margin: 0 0 18px;
  font-weight: 600; font-size: 16px; }
figure { margin: 14px 0 16px; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 13px; margin-top: 4px; max-width: 92ch; }
table { border-collapse: collapse; width: 100%; margin: 6px 0 14px; font-size: 14px; }
th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; font-size: 13px; }
td { font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: 10px; border-radius: 2px; background: var(--blue); min-width: 1px; }
.shares { display: flex; height: 22px; border-radius: 5px; overflow: hidden; margin: 4px 0 12px; }
.shares i { display: block; }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 22px; }
.columns > div { min-width: 0; }
pre { background: #f7f8fa; border: 1px solid var(--line); border-radius: 6px;
  padding: 9px 12px; margin: 0 0 10px;
  font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 340px; overflow-y: auto; }
pre.right { border-left: 4px solid #2f8552; } pre.wrong { border-left: 4px solid #b3261e; }
.example { border-top: 1px solid var(--line); padding-top: 14px; margin-top: 14px; }
.label { color: var(--soft); font-size: 12.5px; font-weight: 600; margin: 0 0 3px; }
summary { cursor: pointer; color: var(--blue); }
footer { color: var(--soft); font-size: 13px; }
@media (max-width: 800px) { .tiles { grid-template-columns: 1fr 1fr; }
  .columns { grid-template-columns: 1fr; } }
@media print { body { background: #fff; } section { break-inside: avoid; } pre { max-height: none; } }
"""
# Nothing may be loaded or run, even if an escape were missing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def text(value: object) -> Html:
    """Any text, escaped for content and for attribute values."""
    return Html(html.escape(make_printable(str(value))))


def make_printable(content: str) -> str:
    """Control characters, and those that reorder the text around them, as backslash escapes."""
    return UNPRINTABLE.sub(lambda match: match.group().encode("unicode_escape").decode(), content)


def join(parts: Sequence[Html], between: str = "") -> Html:
    """The parts one after the other."""
    return Html(between.join(parts))


def element(name: str, *content: Html, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute class."""
    given = "".join(f' {key.rstrip("_")}="{text(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{''.join(content)}</{name}>")


def section(title: str, *content: Html) -> Html:
    """A titled card of the page."""
    return element("section", element("h2", text(title)), *content)


def paragraph(content: str, class_: str = "") -> Html:
    """A paragraph of plain text."""
    return element("p", text(content), **({"class_": class_} if class_ else {}))


def tile(value: str, label: str, note: str = "") -> Html:
    """A number with its name."""
    parts = [
        element("b", text(value)),
        element("span", text(label)),
        *([element("span", text(note))] * bool(note)),
    ]
    return element("div", *parts, class_="tile")


def table(header: Sequence[str], rows: Sequence[Sequence[Html]]) -> Html:
    """A table; an empty header gives none."""
    head = element("tr", *(element("th", text(name)) for name in header)) if header else Html("")
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    return element("table", head, *body)


def code(content: str, class_: str = "") -> Html:
    """Preformatted text, cut after LONGEST characters with a remark."""
    left = len(content) - LONGEST
    shown = content if left <= 0 else f"{content[:LONGEST]}\n[{left} more characters]"
    return element("pre", text(shown), **({"class_": class_} if class_ else {}))


def labelled(label: str, content: Html) -> Html:
    """Content under a small heading."""
    return join([paragraph(label, "label"), content])


def figure(svg: str, caption: str) -> Html:
    """A plot made by `plots`, with its caption; matplotlib escapes all but control characters."""
    return element("figure", Html(make_printable(svg)), element("figcaption", text(caption)))


def link(target: str) -> Html:
    """A link to a file or folder of the run."""
    return element("a", text(target), href=target)


def bar(share: float) -> Html:
    """A horizontal bar for a share in [0, 1]."""
    return element("span", class_="bar", style=f"width: {180 * share:.0f}px")


def shares(parts: Sequence[tuple[str, float, str]]) -> Html:
    """One bar cut into named parts, each with its share in [0, 1] and its colour."""
    pieces = [
        element("i", style=f"width: {100 * share:.2f}%; background: {colour}", title=f"{name} {share:.1%}")
        for name, share, colour in parts
    ]
    return element("div", *pieces, class_="shares")


def page(title: str, *content: Html) -> Html:
    """The whole file."""
    head = join(
        [
            Html('<meta charset="utf-8">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", text(title)),
            Html(f"<style>{CSS}</style>"),
        ],
        "\n",
    )
    body = element("main", join(content, "\n"))
    return Html(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'
    )
