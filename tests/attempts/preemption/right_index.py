"""Those that run are walked by index; a victim is always behind it."""


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
        self.running = [other for other in self.running if other != seq]
        while self.tables[seq]:
            self.free_blocks.append(self.tables[seq].pop())
        self.computed[seq] = 0
        self.waiting = [seq, *self.waiting]

    def plan(self, budget):
        planned, at, before = {}, 0, len(self.running)
        while at < len(self.running) and budget:
            seq = self.running[at]
            to = min(self.num_tokens(seq), self.computed[seq] + budget)
            if self.extend(seq, to):
                planned[seq] = to - self.computed[seq]
                budget -= planned[seq]
                self.computed[seq] = to
                at += 1
            else:
                self.preempt(self.running[-1])
        if len(self.running) == before:
            self.admit(planned, budget)
        return planned

    def admit(self, planned, budget):
        while budget and self.waiting:
            head = self.waiting[0]
            planned[head] = min(self.num_tokens(head), budget)
            if not self.extend(head, planned[head]):
                del planned[head]
                return
            del self.waiting[0]
            self.running.append(head)
            self.computed[head] = planned[head]
            budget -= planned[head]
