"""How much memory sharing saves: blocks that tables list, against blocks that are there for it.

Knows nothing about managers. Where two tables list one block, one block is saved. As the PagedAttention paper
counts it (Kwon et al., SOSP 2023, section 6.3): blocks saved by sharing over blocks without sharing.
"""

from fractions import Fraction

from pagesim.core import events as ev
from pagesim.core.types import BlockId, Geometry
from pagesim.replay.run_state import RunState


class SharingMeter:
    """Feed it every event of a run. ``listed`` and ``present`` are sums over steps, of blocks.

    Requests whose samples have not all started are left out: while a leader computes the prompt alone, nobody
    shares yet. So is what is on the host. O(blocks held) a step.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.listed = 0  # with sharing left aside: the length of every table
        self.present = 0  # different blocks among these
        self._state = RunState(geometry)

    def apply(self, event: ev.Event) -> None:
        self._state.apply(event)
        if isinstance(event, ev.StepPlanned):
            self._count()

    @property
    def saving(self) -> Fraction | None:
        """Blocks saved per block without sharing; ``None`` before anything was held."""
        return Fraction(self.listed - self.present, self.listed) if self.listed else None

    def _count(self) -> None:
        sequences = self._state.sequences
        behind = {view.request for view in sequences.values() if view.status != "running"}
        present: set[BlockId] = set()
        for seq in self._state.running:
            view = sequences[seq]
            if view.request not in behind:
                self.listed += len(view.table)
                present.update(view.table)
        self.present += len(present)
