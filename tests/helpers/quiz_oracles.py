"""Right answers of quiz problems by brute force, from what a problem states and nothing else.

Written apart from the simulator: no class of pagesim is used. ``right_answer(topic, given, asks)`` gives a plain
value: a number, a list (sorted, where order does not matter), a fraction, or a truth value.
"""

from fractions import Fraction
from itertools import count

GIB = 1024 * 1024 * 1024


def right_answer(topic, given, asks):
    return ORACLES[topic](given, *asks)


# -- scripts over paged memory ---------------------------------------------------------------------------


class Pages:
    """Tables are lists, the free list is a list, a count is found by looking at every table."""

    def __init__(self, given, caching=False):
        self.size = given["block_size"]
        self.free = list(given["free_list"])
        self.to_front = given["freed_blocks_go"] == "to the front"
        self.caching = caching
        self.tables = {}
        self.length = {}
        self.prompt_of = {}  # whose prompt a request has
        self.cache = []  # (prompt, place in it, block), in order of registration
        self.copies = []
        self.copied = 0
        self.in_place = set()
        self.once_shared = set()
        self.evicted = []

    def count(self, block):
        return sum(block in table for table in self.tables.values())

    def take(self):
        block = self.free.pop(0)
        if any(entry[2] == block for entry in self.cache):
            self.evicted.append(block)
            self.cache = [entry for entry in self.cache if entry[2] != block]
        return block

    def start(self, name, tokens, other):
        origin = self.prompt_of[name] = self.prompt_of.get(other, name)
        table = []
        for place in range((tokens - 1) // self.size):
            same = [block for prompt, at, block in self.cache if (prompt, at) == (origin, place)]
            if not same:
                break
            table.append(same[0])
            if same[0] in self.free:
                self.free.remove(same[0])
        found = len(table)
        while len(table) * self.size < tokens:
            table.append(self.take())
        if self.caching:
            for place in range(found, tokens // self.size):
                self.cache.append((origin, place, table[place]))
        self.tables[name], self.length[name] = table, tokens
        return found * self.size

    def grow(self, name, tokens):
        """Write the new tokens one by one."""
        table = self.tables[name]
        for position in range(self.length[name], tokens):
            place, offset = divmod(position, self.size)
            if place == len(table):
                table.append(self.take())
            elif self.count(table[place]) > 1:
                old, table[place] = table[place], self.take()
                self.copies.append((old, table[place]))
                self.copied += offset
            elif table[place] in self.once_shared and offset:
                self.in_place.add(name)
        self.length[name] = tokens

    def fork(self, name, other):
        self.tables[name] = list(self.tables[other])
        self.once_shared.update(self.tables[other])
        self.length[name] = self.length[other]
        self.prompt_of[name] = self.prompt_of[other]

    def end(self, name):
        table = self.tables.pop(name)
        front = []
        for block in reversed(table):
            if self.count(block):
                continue
            kept = any(entry[2] == block for entry in self.cache)
            if self.to_front and not kept:
                front.append(block)
            else:
                self.free.append(block)
        self.free = front + self.free

    def play(self, script):
        for kind, name, tokens, other in script:
            if kind == "start":
                self.start(name, tokens, other)
            elif kind == "grow":
                self.grow(name, tokens)
            elif kind == "fork":
                self.fork(name, other)
            else:
                self.end(name)
        return self


def pages(given, what, *about):
    played = Pages(given).play(given["script"])
    match what:
        case "table":
            return played.tables[about[0]]
        case "free list":
            return played.free[: about[0]]
        case "empty":
            name = about[0]
            return len(played.tables[name]) * played.size - played.length[name]
        case "count":
            return played.count(about[0])
        case "free":
            return len(played.free)
        case "freed":
            return sorted(b for b in played.tables[about[0]] if played.count(b) == 1)
        case "copies":
            return played.copies
        case "copied slots":
            return played.copied
        case "in place":
            return sorted(played.in_place)


def eviction(given, what, *about):
    *before, last = given["script"]
    played = Pages(given, caching=True).play(before)
    if what == "free list before N":
        return played.free
    if what == "cached free before N":
        return [block for block in played.free if block in [entry[2] for entry in played.cache]]
    played.play([last])
    if what == "evicted":
        return played.evicted
    again, tokens = about
    return played.start("Z", tokens, again)


# -- addresses and pieces --------------------------------------------------------------------------------


def slots(given, what, *about):
    size, table = given["block_size"], list(given["table"])
    every = [block * size + offset for block in table for offset in range(size)]
    match what:
        case "slot":
            return every[about[0]]
        case "position":
            return every.index(about[0])
        case "held slots":
            return len(every)
        case "next slot":
            block = given["free_list"][0]
            every += [block * size + offset for offset in range(size)]
            return every[given["tokens"]]


class Piece:
    """A piece of a buddy arena: held, free, or two halves."""

    def __init__(self, start, size):
        self.start, self.size = start, size
        self.holder, self.halves = None, None

    def free(self):
        if self.halves:
            return [piece for half in self.halves for piece in half.free()]
        return [] if self.holder else [self]

    def release(self, name):
        if self.holder == name:
            self.holder = None
        for half in self.halves or ():
            half.release(name)
        if self.halves and all(not half.halves and not half.holder for half in self.halves):
            self.halves = None


def buddy(given, what, *about):
    roots, start = [], 0
    for power in reversed(range(20)):
        if given["num_slots"] >> power & 1:
            roots.append(Piece(start, 2**power))
            start += 2**power
    held, wanted = {}, {}

    def free():
        return [piece for root in roots for piece in root.free()]

    def piece_for(slots):
        enough = [piece for piece in free() if piece.size >= slots]
        return min(enough, key=lambda piece: (piece.size, piece.start), default=None)

    for name, slots_wanted in given["script"]:
        if not slots_wanted:
            for root in roots:
                root.release(name)
            del held[name]
            continue
        piece = piece_for(slots_wanted)
        while piece.size // 2 >= slots_wanted:
            half = piece.size // 2
            piece.halves = [Piece(piece.start, half), Piece(piece.start + half, half)]
            piece = piece.halves[0]
        piece.holder = name
        held[name], wanted[name] = piece, slots_wanted
    match what:
        case "start":
            return held[about[0]].start
        case "free pieces":
            return [piece.size for piece in free()]
        case "rounding":
            return sum(piece.size - wanted[name] for name, piece in held.items())
        case "fits":
            return piece_for(about[0]) is not None


# -- the cache of prompts --------------------------------------------------------------------------------


def prefix_hits(given, what, *about):
    size = given["block_size"]

    def found(prompt, known):
        tokens = 0
        while tokens + size < len(prompt) and tuple(prompt[: tokens + size]) in known:
            tokens += size
        return tokens

    known, num_blocks = set(), 0
    for prompt in given["served"].values():
        first = found(prompt, known)
        for end in range(size, len(prompt) + 1, size):
            num_blocks += end > first
            known.add(tuple(prompt[:end]))
    match what:
        case "cached":
            return found(given["asked"][about[0]], known)
        case "computed":
            return sum(len(p) - found(p, known) for p in given["asked"].values())
        case "blocks cached":
            return num_blocks


# -- waste -----------------------------------------------------------------------------------------------


def _doubled(number):
    power = 1
    while power < number:
        power *= 2
    return power


def waste(given, what):
    """Paint every slot."""
    kind, size = given["kind"], given["block_size"]
    painted = []
    for _, prompt, made, outputs in given["requests"]:
        stored = [True] * (prompt + made - 1)
        later = [True] * (prompt + outputs - 1)
        if kind == "paged":
            slots_held = 0
            while slots_held < len(stored):
                slots_held += size
        elif kind == "pow2":
            slots_held = min(prompt + _doubled(outputs), given["longest"])
        else:
            slots_held = given["longest"]
        for slot in range(slots_held):
            if slot < len(stored):
                painted.append("used")
            elif slot < len(later):
                painted.append("reserved")
            else:
                painted.append("internal")
        if kind == "buddy":
            painted += ["external"] * (_doubled(slots_held) - slots_held)
    painted += ["external"] * (given["num_slots"] - len(painted))
    assert len(painted) == given["num_slots"]
    if what == "share used":
        return Fraction(painted.count("used"), len(painted))
    return painted.count(what)


# -- steps -----------------------------------------------------------------------------------------------


def budget(given, what, *about):
    """Step by step, token by token."""
    left = {name: prompt for name, prompt, _, _ in given["requests"]}
    to_make = {name: outputs for name, _, outputs, _ in given["requests"]}
    running, waiting, steps, first = [], [], [], {}
    for step in count():
        waiting += [name for name, _, _, arrival in given["requests"] if arrival == step]
        if not running and not waiting and step > 10:
            break
        rest, batch = given["budget"], {}
        for name in running:
            share = min(left[name] or 1, rest)
            if share:
                batch[name] = share
            rest -= share
        while waiting and rest and len(running) < given["limit"]:
            name = waiting.pop(0)
            running.append(name)
            batch[name] = min(left[name], rest)
            rest -= batch[name]
        for name, share in batch.items():
            left[name] = max(left[name] - share, 0)
            if not left[name]:
                first.setdefault(name, step)
                to_make[name] -= 1
        running = [name for name in running if to_make[name]]
        steps.append(batch)
    match what:
        case "batch":
            return list(steps[about[0]])
        case "counts":
            return list(steps[about[0]].values())
        case "chunks":
            name = about[0]
            return [batch[name] for batch in steps[: first[name] + 1] if name in batch]
        case "first output":
            return first[about[0]]
        case "left over":
            return given["budget"] - sum(steps[about[0]].values())


def preemption(given, what):
    size = given["block_size"]
    stored = {name: tokens for name, tokens, _ in given["running"]}
    outputs = {name: made for name, _, made in given["running"]}
    order = [name for name, _, _ in given["running"]]
    arrived = list(given["arrived"])
    blocks = {name: -(-tokens // size) for name, tokens in stored.items()}
    total, policy = given["num_blocks"], given["policy"]
    step = given["step"] - 1
    while True:
        step += 1
        before, victims, served = dict(stored), [], []
        for name in order:
            while name not in victims:
                if stored[name] < blocks[name] * size:
                    stored[name] += 1
                    served.append(name)
                    break
                if sum(blocks.values()) < total:
                    blocks[name] += 1
                    continue
                left = [other for other in order if other not in victims]
                victim = _victim(policy, left, stored, outputs, arrived)
                victims.append(victim)
                blocks[victim] = 0
        if victims:
            break
        for name in order:
            outputs[name] += 1
    match what:
        case "when":
            return step
        case "victims":
            return victims
        case "lost":
            return sum(before[name] for name in victims)
        case "queue":
            return [name for name in arrived if name in victims or name in given["waiting"]]
        case "free":
            return total - sum(blocks.values())


def _victim(policy, left, stored, outputs, arrived):
    if policy == "latest":
        return left[-1]
    others = left[1:] or left
    late = {name: arrived.index(name) for name in others}
    if policy == "largest":
        return sorted(others, key=lambda name: (stored[name], late[name]))[-1]
    return sorted(others, key=lambda name: (-outputs[name], late[name]))[-1]


def admission(given, what):
    size = given["block_size"]

    def blocks(tokens):
        return len(range(0, tokens, size))

    running = dict(given["running"])
    free = given["num_blocks"] - sum(blocks(stored) for stored in running.values())
    taken = sum(blocks(stored + 1) - blocks(stored) for stored in running.values())
    free -= taken
    started, missing = [], None
    for name, prompt in given["waiting"]:
        enough = free - blocks(prompt) >= given["watermark"]
        if not enough or len(running) + len(started) >= given["limit"]:
            missing = max(blocks(prompt) + given["watermark"] - free, 0)
            break
        free -= blocks(prompt)
        started.append(name)
    return {"taken": taken, "started": started, "free": free, "missing": missing}[what]


def beam(given, what, *about):
    old = {name: list(listed) for name, listed in given["tables"].items()}
    new, left = {}, []
    for parent in given["continuations"]:
        if parent in new:
            left.append(parent)
        else:
            new[parent] = old[parent]
    dropped = sorted(set(old) - set(new))
    for name, parent in zip(dropped, sorted(left), strict=True):
        new[name] = old[parent]
    listed = [block for table in new.values() for block in table]
    match what:
        case "dropped":
            return dropped
        case "table":
            return new[about[0]]
        case "freed":
            return sorted({block for table in old.values() for block in table} - set(listed))
        case "count":
            return listed.count(about[0])
        case "copies":
            if given["stored"] % given["block_size"] == 0:
                return 0
            last = [table[-1] for table in new.values()]
            return len(last) - len(set(last))


# -- sizes -----------------------------------------------------------------------------------------------


def _token_bytes(given):
    """Add up what is kept, layer by layer and head by head."""
    numbers = 0
    for _ in range(given["layers"]):
        if given.get("latent_rank"):
            numbers += given["latent_rank"] + given["latent_rope"]
            continue
        for _ in range(given["kv_heads"]):
            numbers += given["head_dim"]  # K
            numbers += given["head_dim"]  # V
    return numbers * given["bytes"]


def sizes(given, what, *about):
    token = _token_bytes(given)
    match what:
        case "layer bytes":
            return token // given["layers"]
        case "token bytes":
            return token
        case "block bytes" | "request bytes":
            return token * about[0]
        case "tokens in GiB":
            return about[0] * GIB // token


def concurrency(given, what, *about):
    share = Fraction(given["share_percent"], 100)
    left = Fraction(given["gpu_gib"]) * share
    left -= Fraction(given["weights_gib"]) + Fraction(given["workspace_gib"])
    memory = int(left) * GIB
    token, size = _token_bytes(given), given["block_size"]
    num_blocks = memory // (token * size)
    match what:
        case "kv GiB":
            return int(left)
        case "blocks":
            return num_blocks
        case "paged":
            need = len(range(0, about[0], size))
            return num_blocks // need
        case "slabs":
            return memory // (token * about[0])


ORACLES = {
    "bytes-per-token": sizes,
    "concurrency": concurrency,
    "waste": waste,
    "buddy": buddy,
    "block-tables": pages,
    "slots": slots,
    "reference-counts": pages,
    "copy-on-write": pages,
    "prefix-hits": prefix_hits,
    "eviction": eviction,
    "preemption": preemption,
    "budget": budget,
    "admission": admission,
    "beam": beam,
}
