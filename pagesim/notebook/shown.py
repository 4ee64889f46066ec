"""Pictures that display themselves: in a notebook as HTML that suits dark and light, elsewhere as text.

Knows nothing about what is drawn.
"""

import io
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult

from pagesim.views.export import Look, to_svg, to_text
from pagesim.views.fragment import to_fragment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 92
"""Columns of a picture; JupyterLab has room for so many beside its file list."""
DPI = 110

Bundle = dict[str, object]


def chosen(bundle: Bundle, include: object, exclude: object) -> Bundle:
    """What IPython asks for of all forms; ``None``: everything."""
    if isinstance(include, list | tuple | set) and include:
        bundle = {kind: data for kind, data in bundle.items() if kind in include}
    if isinstance(exclude, list | tuple | set) and exclude:
        bundle = {kind: data for kind, data in bundle.items() if kind not in exclude}
    return bundle


class Shown:
    """Renderables, one below the other; they must not change any more. ``title`` is for who cannot see them."""

    def __init__(self, *parts: RenderableType, title: str = "", width: int = WIDTH) -> None:
        self.parts = parts
        self.title = title
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.parts

    def __repr__(self) -> str:
        return to_text([Group(*self.parts)], self._look(color=False)).rstrip("\n")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:
        fragment = to_fragment([Group(*self.parts)], self._look(), self.title or "picture")
        return chosen({"text/plain": repr(self), "text/html": fragment}, include, exclude)

    def svg(self, *, light: bool = True) -> str:
        """The same as a file of its own."""
        return to_svg([Group(*self.parts)], self._look(light=light), self.title)

    def _look(self, *, light: bool = True, color: bool = True) -> Look:
        return Look(self.width, light=light, color=color)


class Plot:
    """A figure for print. It needs no settings of the notebook to be shown."""

    def __init__(self, figure: "Figure", what: str) -> None:
        """``what``: in words what it is, for who cannot see it."""
        self.figure = figure
        self.what = what

    def __repr__(self) -> str:
        return f"<a figure: {self.what}>"

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> "tuple[Bundle, Bundle]":
        width = round(float(self.figure.get_size_inches()[0]) * 100)
        metadata: Bundle = {"image/png": {"width": width, "alt": self.what}}
        bundle: Bundle = {"text/plain": repr(self), "image/png": self.png()}
        return chosen(bundle, include, exclude), metadata

    def png(self) -> bytes:
        from pagesim.views.plots import style

        file = io.BytesIO()
        with style():
            self.figure.savefig(file, format="png", dpi=2 * DPI)
        return file.getvalue()
