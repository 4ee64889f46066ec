# law: gives-way
# says: so it gives way itself
"""The one that lacks a block waits for the next step."""


class Scheduler:
    def __init__(self, num_blocks, block_size):
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.running = []
        self.waiting = []
        self.prompts = {}
        self.outputs = {}
        self.computed = {}
        self.tables = {}

    def submit(self, seq, prompt_tokens):
        self.waiting.append(seq)
        self.prompts[seq], self.outputs[seq] = (prompt_tokens, [])
        self.computed[seq], self.tables[seq] = (0, [])

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
        self.free_blocks += self.tables[seq]
        self.tables[seq] = []
        self.computed[seq] = 0
        self.waiting.insert(0, seq)

    def plan(self, budget):
        planned = {}
        preempted = False
        for seq in self.running.copy():
            count = min(self._lacking(seq), budget)
            while count and seq in self.running:
                if self.extend(seq, self.computed[seq] + count):
                    planned[seq] = count
                    budget -= count
                    break
                if self.running[-1] == seq:
                    break
                self.preempt(self.running[-1])
                preempted = True
        while self.waiting and budget and (not preempted):
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

    def _lacking(self, seq):
        return self.num_tokens(seq) - self.computed[seq]
