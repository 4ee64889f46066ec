"""Preemption: no block is left for a sequence that runs. Who gives way, what does it keep, and when does it come back?

Whoever was admitted last gives way: the victim. So the oldest always gets on, ends, and makes room. The victim gives
back all its blocks, as a part of a sequence is of no use to anybody. It keeps its text: prompt and outputs so far.
When it is admitted again, K and V of all these tokens are computed, as if they were one long prompt.

It waits at the front of the queue: it came before all who wait there. In a step in which somebody was preempted nobody
is admitted; else a victim might come back at once, with the first part of its text, and be the next victim. Blocks
of 2; sequences 0, 1 and 2 have 4 tokens in 2 blocks each, and a fifth, which is to be computed:

                    running                              waiting      free
    before plan     0 [0 1]     1 [2 3]    2 [4 5]       3            none
                    0 lacks 1 block: 2 gives way         2 3          4 5
                    0 takes 4, 1 takes 5
    after plan      0 [0 1 4]   1 [2 3 5]                2 3          none        plan(8) == {0: 1, 1: 1}

    later           1 [2 3 5]                            2 3          0 1 4       sequence 0 has finished
    after plan      1 [2 3 5]   2 [0 1 4]                3            none        plan(8) == {1: 1, 2: 5}

Everything but ``preempt`` and ``plan`` is ready. Write these. The attributes are looked at by the checks, so leave them
their names and meanings.
"""


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

    # -- to be written ---------------------------------------------------------------------------------------

    def preempt(self, seq: int) -> None:
        """The last of those that run gives way: its blocks are free, in any order, and it waits, before all others."""
        raise NotImplementedError

    def plan(self, budget: int) -> dict[int, int]:
        """Plan one step of at most ``budget`` tokens (at least 1): how many each sequence computes, if any.

        First those that run, in order. Each computes all tokens that it has and that are not computed, or as many as
        are left of the budget. Where it lacks blocks for them, the last of those that run is preempted, and again the
        last, until the blocks suffice, or the one that lacked them was preempted itself.

        Then, if nobody was preempted in this step, waiting sequences are admitted from the front, in the same way: all
        tokens or what is left of the budget, at least 1. The first whose blocks for these are not free ends it.

        What is planned counts as computed from then on.
        """
        raise NotImplementedError
