"""Questions, answers and tasks as HTML that takes the page's own colours, and as plain text.

Every text is escaped. Knows nothing about lessons, quizzes or exercises.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import dedent, fill, indent

from rich.console import RenderableType

from pagesim.notebook.shown import WIDTH, Bundle, chosen
from pagesim.views.export import FONTS, Look, to_text
from pagesim.views.fragment import to_fragment

BOX = "border-left: 4px solid #2f9bd8; padding: 0.1em 0 0.1em 1em; margin: 0.6em 0"
TEXT = "max-width: 46em"
"""Of prose: longer lines are hard to read. Pictures may be wider."""
BLOCK = (
    f"font: 13px/1.3 {FONTS}; overflow-x: auto; background: none; color: inherit; margin: 0.6em 0"
)
COLORS = {True: "#00966b", False: "#d55e00", None: "inherit"}


@dataclass(frozen=True, slots=True)
class Items:
    """A list of short texts."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """It must not change any more. ``label`` is for who cannot see it."""

    picture: RenderableType
    label: str = "picture"


Part = str | Items | Picture | Sequence[str]
"""A paragraph, a list, a picture, or lines that stay as they are."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and what came of an answer. ``right`` is ``None`` where none was typed; ``verdict`` is a word or
    two, ``more`` are paragraphs behind it."""

    label: str
    prompt: str
    form: str
    options: Sequence[tuple[str, str]] = ()
    right: bool | None = None
    verdict: str = ""
    more: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """Questions, displayed, if there are any. ``story`` comes before them."""

    title: str
    questions: Sequence[Asked]
    story: Sequence[Part] = field(default=())
    closing: str = ""

    @property
    def num_right(self) -> int:
        return sum(asked.right is True for asked in self.questions)

    @property
    def right(self) -> bool:
        """Every question is answered, and right."""
        return 0 < len(self.questions) == self.num_right

    def __repr__(self) -> str:
        return "\n".join(_text_lines(self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return chosen(
            {"text/plain": repr(self), "text/html": "".join(_html(self))}, include, exclude
        )


def parts_of(text: str) -> Iterable[Part]:
    """A longer text: paragraphs with an empty line between them; lines of a list begin with "- "; a paragraph that is
    set in is lines that stay as they are."""
    for paragraph in re.split(r"\n[ \t]*\n", dedent(text.strip("\n")).rstrip()):
        lines = paragraph.strip("\n").splitlines()
        if lines and all(line.startswith("    ") for line in lines):
            yield dedent("\n".join(lines)).splitlines()
            continue
        before, *items = re.split(r"\n\s*(?=- )", f"\n{paragraph.strip()}")
        if before.strip():
            yield before.strip()
        if items:
            yield Items([item.removeprefix("- ") for item in items])


def code_marked(text: str) -> str:
    """One paragraph, escaped; what stands in backticks, single or double, is code."""
    safe = escape(_joined(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)


def _joined(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _html(sheet: Sheet) -> Iterable[str]:
    yield f'<div style="{escape(BOX)}"><p><strong>{escape(sheet.title)}</strong></p>'
    yield from map(_html_part, sheet.story)
    for asked in sheet.questions:
        label = f"<strong>{escape(asked.label)}</strong> " if asked.label else ""
        yield f'<p style="{TEXT}">{label}{code_marked(asked.prompt)}'
        if asked.right is None:
            yield f' <span style="opacity: 0.75">({escape(asked.form)})</span>'
        yield "</p>"
        if asked.options:
            items = "".join(
                f"<li><strong>{letter})</strong> {code_marked(text)}</li>"
                for letter, text in asked.options
            )
            yield f'<ul style="list-style: none; padding-left: 1em; margin: 0.3em 0 0.6em; {TEXT}">{items}</ul>'
        yield from _html_verdict(asked)
    if sheet.closing:
        yield f'<p style="opacity: 0.75">{code_marked(sheet.closing)}</p>'
    yield "</div>"


def _html_part(part: Part) -> str:
    if isinstance(part, str):
        return f'<p style="{TEXT}">{code_marked(part)}</p>'
    if isinstance(part, Picture):
        picture = to_fragment([part.picture], Look(WIDTH), part.label)
        return f'<div style="margin: 0.6em 0">{picture}</div>'
    if isinstance(part, Items):
        items = "".join(f"<li>{code_marked(text)}</li>" for text in part.texts)
        return f'<ul style="margin: 0.3em 0 0.6em; {TEXT}">{items}</ul>'
    lines = escape("\n".join(part))
    return f'<pre tabindex="0" style="{escape(BLOCK)}">{lines}</pre>'


def _html_verdict(asked: Asked) -> Iterable[str]:
    if asked.verdict:
        color = COLORS[asked.right]
        yield f'<p><strong style="color: {color}">{escape(asked.verdict)}</strong></p>'
    for text in asked.more:
        yield f'<p style="{TEXT}">{code_marked(text)}</p>'


def _text_lines(sheet: Sheet) -> Iterable[str]:
    yield sheet.title
    for part in sheet.story:
        yield ""
        yield _text_part(part)
    for asked in sheet.questions:
        yield ""
        yield _filled(f"{asked.label} {asked.prompt}".strip())
        for letter, text in asked.options:
            yield indent(_filled(f"{letter}) {text}"), "  ")
        if asked.right is None:
            yield f"({asked.form})"
        if asked.verdict:
            yield asked.verdict
        for text in asked.more:
            yield _filled(text)
    if sheet.closing:
        yield ""
        yield _filled(sheet.closing)


def _text_part(part: Part) -> str:
    if isinstance(part, str):
        return _filled(part)
    if isinstance(part, Picture):
        return to_text([part.picture], Look(WIDTH, color=False)).rstrip("\n")
    if isinstance(part, Items):
        items = (fill(_joined(text), WIDTH - 2) for text in part.texts)
        return "\n".join(f"- {indent(item, '  ').lstrip()}" for item in items)
    return "\n".join(part)


def _filled(text: str) -> str:
    return fill(_joined(text), WIDTH)
