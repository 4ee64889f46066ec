"""Questions and answers as HTML that takes the page's own colours, and as plain text.

Every text is escaped. Knows nothing about lessons or quizzes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import fill, indent

from pagesim.notebook.shown import Bundle, chosen
from pagesim.views.export import FONTS

BOX = "border-left: 4px solid #2f9bd8; padding: 0.1em 0 0.1em 1em; margin: 0.6em 0; max-width: 46em"
BLOCK = (
    f"font: 13px/1.3 {FONTS}; overflow-x: auto; background: none; color: inherit; margin: 0.6em 0"
)
COLORS = {True: "#00966b", False: "#d55e00", None: "inherit"}
WIDTH = 92


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
    """Questions, displayed. ``story`` comes before them: paragraphs, or lines that stay as they are."""

    title: str
    questions: Sequence[Asked]
    story: Sequence[str | Sequence[str]] = field(default=())
    closing: str = ""

    @property
    def num_right(self) -> int:
        return sum(asked.right is True for asked in self.questions)

    @property
    def right(self) -> bool:
        """Every question is answered, and right."""
        return self.num_right == len(self.questions)

    def __repr__(self) -> str:
        return "\n".join(_text_lines(self))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        return chosen(
            {"text/plain": repr(self), "text/html": "".join(_html(self))}, include, exclude
        )


def code_marked(text: str) -> str:
    """One paragraph, escaped; what stands in backticks is code."""
    safe = escape(" ".join(text.split()))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)


def _html(sheet: Sheet) -> Iterable[str]:
    yield f'<div style="{escape(BOX)}"><p><strong>{escape(sheet.title)}</strong></p>'
    for part in sheet.story:
        if isinstance(part, str):
            yield f"<p>{code_marked(part)}</p>"
        else:
            lines = escape("\n".join(part))
            yield f'<pre tabindex="0" style="{escape(BLOCK)}">{lines}</pre>'
    for asked in sheet.questions:
        label = f"<strong>{escape(asked.label)}</strong> " if asked.label else ""
        yield f"<p>{label}{code_marked(asked.prompt)}"
        if asked.right is None:
            yield f' <span style="opacity: 0.75">({escape(asked.form)})</span>'
        yield "</p>"
        if asked.options:
            items = "".join(
                f"<li><strong>{letter})</strong> {code_marked(text)}</li>"
                for letter, text in asked.options
            )
            yield f'<ul style="list-style: none; padding-left: 1em; margin: 0.3em 0">{items}</ul>'
        yield from _html_verdict(asked)
    if sheet.closing:
        yield f'<p style="opacity: 0.75">{code_marked(sheet.closing)}</p>'
    yield "</div>"


def _html_verdict(asked: Asked) -> Iterable[str]:
    if asked.verdict:
        color = COLORS[asked.right]
        yield f'<p><strong style="color: {color}">{escape(asked.verdict)}</strong></p>'
    for text in asked.more:
        yield f"<p>{code_marked(text)}</p>"


def _text_lines(sheet: Sheet) -> Iterable[str]:
    yield sheet.title
    for part in sheet.story:
        yield ""
        yield _filled(part) if isinstance(part, str) else "\n".join(part)
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


def _filled(text: str) -> str:
    return fill(" ".join(text.split()), WIDTH)
