"""Holes in dicts by their first slot and by their end; buddies in a tree."""


class FirstFit:
    def __init__(self, num_slots):
        self.by_start = {0: num_slots}
        self.taken = {}

    def place(self, size):
        fitting = [start for start, end in self.by_start.items() if end - start >= size]
        if not fitting:
            return None
        start = min(fitting)
        end = self.by_start.pop(start)
        if end - start - size:
            self.by_start[start + size] = end
        self.taken[start] = start + size
        return start

    def free(self, start):
        end = self.taken.pop(start)
        end = self.by_start.pop(end, end)
        before = {stop: first for first, stop in self.by_start.items()}.get(start)
        if before is not None:
            start = before
        self.by_start[start] = end

    def holes(self):
        return [(start, end - start) for start, end in self.by_start.items()]


class Piece:
    def __init__(self, start, size, whole):
        self.start, self.size, self.whole = start, size, whole
        self.halves = None
        self.held = False

    def leaves(self):
        if self.halves is None:
            return [self]
        return self.halves[0].leaves() + self.halves[1].leaves()


class Buddy:
    def __init__(self, num_slots):
        self.root = Piece(0, num_slots, None)

    def _holes(self):
        return [leaf for leaf in self.root.leaves() if not leaf.held]

    def place(self, size):
        fitting = [leaf for leaf in self._holes() if leaf.size >= size]
        if not fitting:
            return None
        piece = min(fitting, key=lambda leaf: leaf.size)
        while piece.size // 2 >= size:
            half = piece.size // 2
            piece.halves = [Piece(piece.start + at, half, piece) for at in (0, half)]
            piece = piece.halves[0]
        piece.held = True
        return piece.start

    def free(self, start):
        for piece in self.root.leaves():
            if piece.held and piece.start == start:
                piece.held = False
                self._join(piece.whole)
                return
        raise KeyError(start)

    def _join(self, whole):
        while whole and not any(half.held or half.halves for half in whole.halves):
            whole.halves = None
            whole = whole.whole

    def holes(self):
        return [(leaf.start, leaf.size) for leaf in self._holes()]
