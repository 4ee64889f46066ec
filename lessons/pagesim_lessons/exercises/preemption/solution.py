"""Preemption, solved: the latest goes, gives back everything, and stands in front."""


class Scheduler:
    """Who runs, who waits, and which blocks they have.

    ``running`` is in order of admission, and ``waiting`` has the one to be admitted next first. Of each sequence
    ``prompts`` has the number of its prompt's tokens, ``outputs`` the tokens that came out so far, ``computed`` for how
    many tokens K and V are in its blocks (0 while it waits), and ``tables`` these blocks (none while it waits).
    ``free_blocks`` are those in no table.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.prompts: dict[int, int] = {}
        self.outputs: dict[int, list[int]] = {}
        self.computed: dict[int, int] = {}
        self.tables: dict[int, list[int]] = {}

    def submit(self, seq: int, prompt_tokens: int) -> None:
        """A new sequence, at the back of the queue. Alone, it fits into the memory for all its life."""
        self.waiting.append(seq)
        self.prompts[seq], self.outputs[seq] = prompt_tokens, []
        self.computed[seq], self.tables[seq] = 0, []

    def update(self, sampled: dict[int, int]) -> None:
        """After a step: one more token of each sequence of which all tokens are computed."""
        for seq, token in sampled.items():
            self.outputs[seq].append(token)

    def finish(self, seq: int) -> None:
        """A running sequence has all its tokens."""
        self.running.remove(seq)
        self.free_blocks += self.tables.pop(seq)
        del self.prompts[seq], self.outputs[seq], self.computed[seq]

    def num_tokens(self, seq: int) -> int:
        """Prompt and outputs. Of the last output there is no K and V yet."""
        return self.prompts[seq] + len(self.outputs[seq])

    def extend(self, seq: int, num_tokens: int) -> bool:
        """Take the blocks that the sequence lacks for its first ``num_tokens`` tokens.

        Returns False, and changes nothing, if too few are free.
        """
        table = self.tables[seq]
        lacking = -(-num_tokens // self.block_size) - len(table)
        if lacking > len(self.free_blocks):
            return False
        for _ in range(lacking):
            table.append(self.free_blocks.pop(0))
        return True

    def preempt(self, seq: int) -> None:
        """The last of those that run gives way: its blocks are free, and it waits, before all others."""
        self.running.remove(seq)
        self.free_blocks += self.tables[seq]
        self.tables[seq] = []
        self.computed[seq] = 0
        # The latest is preempted first, so whoever comes to the front after it came earlier: the order is kept.
        self.waiting.insert(0, seq)

    def plan(self, budget: int) -> dict[int, int]:
        """Plan one step of at most ``budget`` tokens: how many each sequence computes."""
        planned: dict[int, int] = {}
        preempted = False
        for seq in self.running.copy():
            count = min(self._lacking(seq), budget)
            # Whoever was preempted meanwhile stands behind us in the copy, and is passed over.
            while (
                count and seq in self.running and not self.extend(seq, self.computed[seq] + count)
            ):
                self.preempt(self.running[-1])
                preempted = True
            if count and seq in self.running:
                planned[seq] = count
                budget -= count
        while self.waiting and budget and not preempted:
            seq = self.waiting[0]
            count = min(self._lacking(seq), budget)
            if not self.extend(seq, count):
                break
            self.running.append(self.waiting.pop(0))
            planned[seq] = count
            budget -= count
        for seq, count in planned.items():
            self.computed[seq] += count
        return planned

    def _lacking(self, seq: int) -> int:
        """Tokens that are known and not computed, the same for new ones, for those that run, and for victims."""
        return self.num_tokens(seq) - self.computed[seq]
