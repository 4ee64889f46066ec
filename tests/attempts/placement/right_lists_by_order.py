"""Buddies in a list for each power, halved by a recursion; gaps between sorted slabs for first fit."""

from bisect import insort


class FirstFit:
    def __init__(self, num_slots):
        self.slabs = [(num_slots, 0)]

    def holes(self):
        found, end = [], 0
        for start, size in self.slabs:
            if start > end:
                found.append((end, start - end))
            end = start + size
        return found

    def place(self, size):
        for start, length in self.holes():
            if length >= size:
                insort(self.slabs, (start, size))
                return start
        return None

    def free(self, start):
        for slab in self.slabs[:-1]:
            if slab[0] == start:
                self.slabs.remove(slab)
                return
        raise KeyError(f"no slab at {start}")


class Buddy:
    def __init__(self, num_slots):
        self.top = num_slots.bit_length() - 1
        self.lists = [[] for _ in range(self.top + 1)]
        self.lists[self.top] = [0]
        self.orders = {}

    def _get(self, order):
        if order > self.top:
            return None
        if self.lists[order]:
            return self.lists[order].pop(0)
        start = self._get(order + 1)
        if start is not None:
            insort(self.lists[order], start + 2**order)
        return start

    def place(self, size):
        order = 0
        while 2**order < size:
            order += 1
        start = self._get(order)
        if start is not None:
            self.orders[start] = order
        return start

    def free(self, start):
        self._put(start, self.orders.pop(start))

    def _put(self, start, order):
        upper = (start >> order) % 2 == 1
        buddy = start - 2**order if upper else start + 2**order
        if order < self.top and buddy in self.lists[order]:
            self.lists[order].remove(buddy)
            self._put(buddy if upper else start, order + 1)
        else:
            insort(self.lists[order], start)

    def holes(self):
        return {(start, 2**order) for order, starts in enumerate(self.lists) for start in starts}
