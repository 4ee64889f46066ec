# law: fits
# says: has just so many
"""A hole must be longer than what is asked for."""


class FirstFit:
    def __init__(self, num_slots):
        self._holes = [(0, num_slots)]
        self._sizes = {}

    def place(self, size):
        for at, (start, length) in enumerate(self._holes):
            if length > size:
                self._holes[at] = (start + size, length - size)
                if length == size:
                    del self._holes[at]
                self._sizes[start] = size
                return start
        return None

    def free(self, start):
        size = self._sizes.pop(start)
        self._holes = sorted([*self._holes, (start, size)])
        at = 0
        while at + 1 < len(self._holes):
            (first, length), (second, more) = self._holes[at : at + 2]
            if first + length == second:
                self._holes[at : at + 2] = [(first, length + more)]
            else:
                at += 1

    def holes(self):
        return self._holes


class Buddy:
    def __init__(self, num_slots):
        self._holes = [(0, num_slots)]
        self._sizes = {}

    def place(self, size):
        wanted = 1 << (size - 1).bit_length()
        fitting = [hole for hole in self._holes if hole[1] >= wanted]
        if not fitting:
            return None
        start, length = min(fitting, key=lambda hole: (hole[1], hole[0]))
        self._holes.remove((start, length))
        while length > wanted:
            length //= 2
            self._holes.append((start + length, length))
        self._sizes[start] = wanted
        return start

    def free(self, start):
        size = self._sizes.pop(start)
        while (start ^ size, size) in self._holes:
            self._holes.remove((start ^ size, size))
            start = min(start, start ^ size)
            size *= 2
        self._holes.append((start, size))

    def holes(self):
        return self._holes
