"""Renderables as a piece of HTML for somebody else's page, dark or light: plain text takes that page's own colour.

Knows nothing about what is drawn, and nothing about the page.
"""

from collections.abc import Iterable, Sequence
from html import escape

from rich.color import Color, ColorType
from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.style import Style

from pagesim.views.export import FONTS, Look, recorded

NAMED = ("#7f7f7f", "#d55e00", "#00966b", "#9a8a00", "#3f7fd0", "#c4689a", "#0a9396", "#7f7f7f")
"""The eight colours that have names, from hues that stand out from black and from white."""
PRE = (
    "white-space: pre; overflow-x: auto; margin: 0; padding: 0.2em 0; background: none; color: inherit; "
    f"font: 13px/1.25 {FONTS}"
)


def to_fragment(parts: Sequence[RenderableType], look: Look, label: str = "") -> str:
    """One ``<pre>`` with the parts, one below the other, with an empty line between.

    It can be scrolled with keys where it is too wide; ``label`` is what it is then called.
    """
    spaced: list[RenderableType] = []
    for number, part in enumerate(parts):
        spaced += ["", part] if number else [part]
    console = recorded([], look)
    segments = console.render(Group(*spaced))
    name = f' role="region" aria-label="{escape(label)}"' if label else ""
    text = "".join(_spans(segments)).rstrip("\n")
    return f'<pre class="pagesim-picture" tabindex="0"{name} style="{escape(PRE)}">{text}</pre>'


def _spans(segments: Iterable[Segment]) -> Iterable[str]:
    """Blanks at the ends of lines are left out."""
    for line in Segment.split_lines(Segment.simplify(segments)):
        while line and not line[-1].text.strip() and not _paints(line[-1].style):
            line.pop()
        for text, style, control in line:
            if not control:
                css = _css(style)
                safe = escape(text, quote=False)
                yield f'<span style="{css}">{safe}</span>' if css else safe
        yield "\n"


def _paints(style: Style | None) -> bool:
    return style is not None and style.bgcolor is not None


def _css(style: Style | None) -> str:
    if style is None:
        return ""
    found: list[str] = []
    if style.color is not None and (color := _color(style.color)):
        found.append(f"color: {color}")
    if style.bgcolor is not None and (color := _color(style.bgcolor)):
        found.append(f"background: {color}")
    for is_so, css in (
        (style.bold, "font-weight: bold"),
        (style.dim, "opacity: 0.72"),
        (style.italic, "font-style: italic"),
        (style.underline, "text-decoration: underline"),
    ):
        if is_so:
            found.append(css)
    return "; ".join(found)


def _color(color: Color) -> str:
    """Empty: the page's own."""
    if color.is_default:
        return ""
    if color.type is ColorType.STANDARD and color.number is not None:
        return NAMED[color.number % len(NAMED)]
    return color.get_truecolor().hex
