"""It is counted first who can stay; then the victims go, and then blocks are taken. Queues are deques."""

from collections import deque


class Scheduler:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.running = []
        self.waiting = deque()
        self.prompts = {}
        self.outputs = {}
        self.computed = {}
        self.tables = {}

    def submit(self, seq, prompt_tokens):
        self.waiting.append(seq)
        self.prompts[seq], self.outputs[seq] = prompt_tokens, []
        self.computed[seq], self.tables[seq] = 0, []

    def update(self, sampled):
        for seq, token in sampled.items():
            self.outputs[seq].append(token)

    def finish(self, seq):
        self.running.remove(seq)
        self.free_blocks += self.tables.pop(seq)
        del self.prompts[seq], self.outputs[seq], self.computed[seq]

    def num_tokens(self, seq):
        return self.prompts[seq] + len(self.outputs[seq])

    def extend(self, seq, num_tokens):
        table = self.tables[seq]
        lacking = -(-num_tokens // self.block_size) - len(table)
        if lacking > len(self.free_blocks):
            return False
        for _ in range(lacking):
            table.append(self.free_blocks.pop(0))
        return True

    def preempt(self, seq):
        self.running.remove(seq)
        self.free_blocks.extend(reversed(self.tables[seq]))
        self.tables[seq] = ()
        self.computed[seq] = 0
        self.waiting.appendleft(seq)

    def plan(self, budget):
        stay, victims, left, free = [], [], budget, len(self.free_blocks)
        queue = deque(self.running)
        while queue:
            seq = queue[0]
            count = min(self.num_tokens(seq) - self.computed[seq], left)
            need = self.blocks(self.computed[seq] + count) - len(self.tables[seq]) if count else 0
            if need > free:
                victim = queue.pop()
                victims.append(victim)
                free += len(self.tables[victim])
                continue
            queue.popleft()
            stay.append((seq, count))
            free, left = free - need, left - count
        for victim in victims:
            self.preempt(victim)
        if not victims:
            for seq in list(self.waiting):
                count = min(self.num_tokens(seq), left)
                if not count or self.blocks(count) > free:
                    break
                stay.append((seq, count))
                self.running.append(self.waiting.popleft())
                free, left = free - self.blocks(count), left - count
        for seq, count in stay:
            self.tables[seq] = list(self.tables[seq])
            if count:
                assert self.extend(seq, self.computed[seq] + count)
                self.computed[seq] += count
        return dict(stay)

    def blocks(self, tokens):
        return (tokens + self.block_size - 1) // self.block_size
