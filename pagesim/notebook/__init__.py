"""pagesim in a notebook: runs to step through, pictures, figures, questions and exercises, each in one call.

    %load_ext pagesim.notebook
    from pagesim.notebook import player
    player("figure-8")

``%load_ext`` brings the cell magics ``%%exercise`` and ``%%manager``, which leave what came of the check as
``checked``, and errors that are one sentence. Everything displays itself; ``player`` needs
anywidget (``pip install 'pagesim[notebooks]'``), and is a picture without it.
"""

from typing import TYPE_CHECKING

from pagesim.notebook.comparing import Compared, compare
from pagesim.notebook.learners import (
    Graded,
    OwnManager,
    check_exercise,
    check_manager,
    hint,
    task,
    template,
)
from pagesim.notebook.pictures import block_tables, frame, memory_map, plot
from pagesim.notebook.players import player
from pagesim.notebook.questions import question, quiz
from pagesim.notebook.recordings import Recording
from pagesim.notebook.shown import Plot, Shown

if TYPE_CHECKING:
    from pagesim.notebook.magics import Shell

__all__ = [
    "Compared",
    "Graded",
    "OwnManager",
    "Plot",
    "Recording",
    "Shown",
    "block_tables",
    "check_exercise",
    "check_manager",
    "compare",
    "frame",
    "hint",
    "memory_map",
    "player",
    "plot",
    "question",
    "quiz",
    "task",
    "template",
]


def load_ipython_extension(shell: "Shell") -> None:
    """What ``%load_ext pagesim.notebook`` calls."""
    from pagesim.notebook.magics import load

    load(shell)
