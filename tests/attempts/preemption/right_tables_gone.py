"""What waits has no table at all, and computed is made of what is planned; a loop with for and else."""


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
        self.computed[seq] = 0

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
        table = self.tables.setdefault(seq, [])
        lacking = -(-num_tokens // self.block_size) - len(table)
        if lacking > len(self.free_blocks):
            return False
        for _ in range(lacking):
            table.append(self.free_blocks.pop(0))
        return True

    def preempt(self, seq):
        assert self.running.pop() == seq
        self.free_blocks = self.tables.pop(seq) + self.free_blocks
        self.computed.pop(seq)
        self.waiting.insert(0, seq)

    def plan(self, budget):
        planned = {}
        num_running = len(self.running)
        for seq in tuple(self.running):
            if seq not in self.running or not self._serve(seq, budget, planned):
                break
            budget -= planned.get(seq, 0)
        if len(self.running) < num_running:
            return planned
        while self.waiting and budget > 0:
            head = self.waiting[0]
            part = min(budget, self.num_tokens(head))
            if not self.extend(head, part):
                self.tables.pop(head, None)
                break
            self.running.append(self.waiting.pop(0))
            self.computed[head] = planned[head] = part
            budget -= part
        return planned

    def _serve(self, seq, budget, planned):
        """False if it was preempted."""
        part = min(budget, self.num_tokens(seq) - self.computed[seq])
        if part == 0:
            return True
        while not self.extend(seq, self.computed[seq] + part):
            victim = self.running[-1]
            self.preempt(victim)
            if victim == seq:
                return False
        planned[seq] = part
        self.computed[seq] += part
        return True
