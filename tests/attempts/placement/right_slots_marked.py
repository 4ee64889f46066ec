"""Every slot is marked with its slab; holes are found by looking at the slots."""


class FirstFit:
    def __init__(self, num_slots):
        self.owner = [None] * num_slots

    def holes(self):
        found, start = [], None
        for slot, owner in enumerate([*self.owner, "end"]):
            if owner is None:
                start = slot if start is None else start
            elif start is not None:
                found.append([start, slot - start])
                start = None
        return found

    def place(self, size):
        start = next((start for start, length in self.holes() if length >= size), None)
        if start is not None:
            self.owner[start : start + size] = [start] * size
        return start

    def free(self, start):
        if start not in self.owner:
            raise KeyError(start)
        self.owner = [None if owner == start else owner for owner in self.owner]


class Buddy:
    def __init__(self, num_slots):
        self.slabs = {}
        self.num_slots = num_slots

    def holes(self, start=0, size=None):
        size = size or self.num_slots
        ends = [(first, first + length) for first, length in self.slabs.items()]
        if not any(first < start + size and start < end for first, end in ends):
            return [(start, size)]
        if self.slabs.get(start) == size or size == 1:
            return []
        half = size // 2
        return self.holes(start, half) + self.holes(start + half, half)

    def place(self, size):
        power = 1
        while power < size:
            power += power
        enough = sorted((length, start) for start, length in self.holes() if length >= power)
        if not enough:
            return None
        self.slabs[enough[0][1]] = power
        return enough[0][1]

    def free(self, start):
        del self.slabs[start]
