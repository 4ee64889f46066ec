"""Renderables as files: SVG, HTML, PNG and plain text.

Files stand for themselves: no font, script or picture is fetched from anywhere. Knows nothing about what is
drawn.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.terminal_theme import TerminalTheme

from pagesim.core.errors import InputError

FONTS = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_ANSI = [
    (0, 0, 0), (160, 30, 30), (0, 110, 60), (140, 100, 0),
    (40, 80, 170), (130, 50, 130), (0, 110, 120), (90, 90, 90),
]  # fmt: skip
DARK = TerminalTheme((20, 22, 26), (220, 223, 228), _ANSI)
LIGHT = TerminalTheme((255, 255, 255), (28, 30, 34), _ANSI)

HTML = (
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>{title}</title>
<style>
body {{ color: {foreground}; background-color: {background}; margin: 1.5em; }}
pre {{ font-family: FONTS; font-size: 14px; line-height: 1.25; }}
{stylesheet}
</style>
</head>
<body>
<pre>{code}</pre>
</body>
</html>
"""
).replace("FONTS", FONTS)


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is drawn. ``width`` in columns."""

    width: int = 100
    light: bool = False
    color: bool = True
    ascii_only: bool = False

    @property
    def theme(self) -> TerminalTheme:
        return LIGHT if self.light else DARK


class _Unshown(io.StringIO):
    """Where a recording console writes; its encoding decides in which characters views draw."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._name = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._name


class _Colourless:
    """A part without its colours; what is bold, dim or slanted stays so."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from Segment.remove_color(console.render(self._part, options))


def recorded(parts: Sequence[RenderableType], look: Look) -> Console:
    """A console on which the parts were printed, one below the other, with an empty line between."""
    console = Console(
        record=True,
        width=look.width,
        file=_Unshown("ascii" if look.ascii_only else "utf-8"),
        force_terminal=look.color,
        force_jupyter=False,  # in a notebook, rich would display it instead
        color_system="truecolor" if look.color else None,
        no_color=not look.color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(part if look.color else _Colourless(part))
    return console


def to_text(parts: Sequence[RenderableType], look: Look) -> str:
    lines = recorded(parts, look).export_text(styles=False).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def to_svg(parts: Sequence[RenderableType], look: Look, title: str) -> str:
    svg = recorded(parts, look).export_svg(title=title, theme=look.theme, unique_id="pagesim")
    svg = re.sub(r"<!--.*?-->\s*", "", svg, count=1)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}").replace(
        "font-family: Fira Code", f"font-family: {FONTS}"
    )


def to_html(parts: Sequence[RenderableType], look: Look, title: str) -> str:
    safe = escape(title).replace("{", "{{").replace("}", "}}")
    return recorded(parts, look).export_html(
        theme=look.theme, code_format=HTML.replace("{title}", safe)
    )


def to_png(svg: str) -> bytes:
    """An SVG picture at twice its size. Raises InputError where resvg-py is not installed."""
    try:
        import resvg_py  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InputError(
            "PNG needs resvg-py, which is not installed; `pip install 'pagesim[png]'` or name a .svg file"
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=2))
