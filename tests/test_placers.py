"""Laws over every placer, against oracles that know only which slots are held; the paper's arena.

The oracles hold one boolean a slot and look at all of them each time: too slow to ship, too plain
to be wrong in the same way.
"""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.buddy import Buddy, next_power_of_two
from pagesim.core.errors import InputError
from pagesim.core.placers import BestFit, FirstFit, NotGrantedError, Placer

Held = list[bool]
Oracle = Callable[[Held, int], range | None]

OPT_SLOTS = 15_728  # OPT-13B in 12 GiB: the paper's Table 1


# -- oracles ---------------------------------------------------------------------------------------


def maximal_holes(held: Held) -> list[range]:
    """Every run of free slots with a held slot, or the arena's end, on both sides."""
    edges = [-1, *(slot for slot, is_held in enumerate(held) if is_held), len(held)]
    return [range(a + 1, b) for a, b in pairwise(edges) if b - a > 1]


def first_fit(held: Held, needed: int) -> range | None:
    for start in range(len(held) - needed + 1):
        if not any(held[start : start + needed]):
            return range(start, start + needed)
    return None


def best_fit(held: Held, needed: int) -> range | None:
    fitting = [hole for hole in maximal_holes(held) if len(hole) >= needed]
    if not fitting:
        return None
    start = min(fitting, key=lambda hole: (len(hole), hole.start)).start
    return range(start, start + needed)


def free_blocks(held: Held, block: range) -> list[range]:
    """The largest wholly free blocks that halving ``block`` again and again leads to."""
    if not any(held[block.start : block.stop]):
        return [block]
    if len(block) == 1:
        return []
    middle = block.start + len(block) // 2
    return free_blocks(held, range(block.start, middle)) + free_blocks(
        held, range(middle, block.stop)
    )


def all_free_blocks(held: Held) -> list[range]:
    """Free blocks of every root; roots are cut off greedily, the largest power of two first."""
    blocks: list[range] = []
    start = 0
    while start < len(held):
        size = max(2**k for k in range(20) if 2**k <= len(held) - start)
        blocks += free_blocks(held, range(start, start + size))
        start += size
    return blocks


def buddy(held: Held, needed: int) -> range | None:
    size = min(2**k for k in range(20) if 2**k >= needed)
    fitting = [block for block in all_free_blocks(held) if len(block) >= size]
    if not fitting:
        return None
    start = min(fitting, key=lambda block: (len(block), block.start)).start
    return range(start, start + size)


PLACERS: list[tuple[Callable[[int], Placer], Oracle, Callable[[Held], list[range]]]] = [
    (FirstFit, first_fit, maximal_holes),
    (BestFit, best_fit, maximal_holes),
    (Buddy, buddy, all_free_blocks),
]
every_placer = pytest.mark.parametrize(
    ("make", "oracle", "holes_of"), PLACERS, ids=["first-fit", "best-fit", "buddy"]
)
make_only = pytest.mark.parametrize("make", [FirstFit, BestFit, Buddy])

arenas = st.integers(1, 64)
# (True, n): place n slots. (False, n): release the live run at position n modulo their number.
actions = st.lists(st.tuples(st.booleans(), st.integers(1, 70)), max_size=60)
# Small requests fragment an arena, which large ones seldom do.
small_actions = st.lists(st.tuples(st.booleans(), st.integers(1, 6)), min_size=12, max_size=80)


def state(placer: Placer) -> tuple[object, ...]:
    return placer.holes(), placer.num_free, placer.largest_hole


# -- laws ------------------------------------------------------------------------------------------


@every_placer
@given(num_slots=arenas, actions=actions | small_actions)
def test_every_placer_agrees_with_its_oracle(make, oracle, holes_of, num_slots, actions):
    """The same run or refusal and the same holes, action by action; no slot lost or held twice."""
    placer = make(num_slots)
    held = [False] * num_slots
    live: list[range] = []
    for placing, number in actions:
        if placing:
            before = state(placer)
            expected = oracle(held, number)
            assert placer.fits_now(number) == (expected is not None)
            run = placer.place(number)
            assert run == expected
            if run is None:
                assert state(placer) == before
                continue
            assert len(run) == placer.footprint(number) >= number
            assert not any(held[run.start : run.stop])
            live.append(run)
        elif live:
            run = live.pop(number % len(live))
            placer.release(run)
        else:
            continue
        held[run.start : run.stop] = [placing] * len(run)
        assert placer.holes() == holes_of(held)
        assert placer.num_free == num_slots - sum(map(len, live)) == held.count(False)
        assert placer.largest_hole == max(map(len, placer.holes()), default=0)


@make_only
@given(num_slots=arenas, actions=actions, order=st.randoms(use_true_random=False))
def test_everything_released_gives_the_first_holes_back(make, num_slots, actions, order):
    placer = make(num_slots)
    runs = [run for _, number in actions if (run := placer.place(number)) is not None]
    order.shuffle(runs)
    for run in runs:
        placer.release(run)
    assert state(placer) == state(make(num_slots))


@make_only
@given(num_slots=arenas, needed=st.integers(1, 70))
def test_what_could_ever_fit_is_what_an_empty_arena_grants(make, num_slots, needed):
    placer = make(num_slots)
    assert placer.largest_ever == placer.largest_hole
    assert placer.could_ever_fit(needed) == (needed <= placer.largest_ever)
    assert placer.could_ever_fit(needed) == (placer.place(needed) is not None)


@make_only
@given(
    num_slots=arenas,
    needed=st.integers(1, 64),
    first=st.integers(-2, 66),
    length=st.integers(0, 66),
)
def test_releasing_what_is_not_held_changes_nothing(make, num_slots, needed, first, length):
    placer = make(num_slots)
    run = placer.place(needed)
    other = range(first, first + length)
    if other == run:
        placer.release(other)  # once is right, twice is not
    before = state(placer)
    with pytest.raises(NotGrantedError, match="not a run granted"):
        placer.release(other)
    assert state(placer) == before


@given(num_slots=arenas, actions=actions)
def test_buddy_blocks_are_aligned_and_stay_inside_a_root(num_slots, actions):
    placer = Buddy(num_slots)
    roots = placer.roots()
    assert [slot for root in roots for slot in root] == list(range(num_slots))
    for _, number in actions:
        run = placer.place(number)
        if run is not None:
            (root,) = [root for root in roots if run.start in root]
            assert run.stop <= root.stop
            assert (run.start - root.start) % len(run) == 0
            assert len(run) == next_power_of_two(number)


# -- examples --------------------------------------------------------------------------------------


def test_first_fit_takes_the_lowest_hole_and_best_fit_the_shortest():
    for make, expected in ((FirstFit, range(2)), (BestFit, range(5, 7))):
        placer = make(10)
        runs = [placer.place(n) for n in (4, 1, 2, 1, 2)]
        placer.release(runs[0])  # a hole of 4 at 0
        placer.release(runs[2])  # a hole of 2 at 5
        assert placer.holes() == [range(4), range(5, 7)]
        assert placer.place(2) == expected


@make_only
def test_a_run_comes_back_once(make):
    placer = make(8)
    run = placer.place(4)
    placer.release(run)
    with pytest.raises(NotGrantedError, match="slots 0 to 3 are not a run granted and still held"):
        placer.release(run)
    assert state(placer) == state(make(8))


def test_a_buddy_takes_the_lowest_of_equal_blocks():
    placer = Buddy(8)
    a, _, c, _ = (placer.place(2) for _ in range(4))
    placer.release(c)
    placer.release(a)
    assert placer.place(2) == a
    assert placer.place(2) == c


def test_buddies_join_though_neighbours_that_are_no_buddies_do_not():
    placer = Buddy(8)
    a, b, c, d = (placer.place(2) for _ in range(4))
    placer.release(b)
    placer.release(c)
    assert placer.holes() == [range(2, 4), range(4, 6)]  # neighbours from different halves
    assert not placer.fits_now(3)
    placer.release(a)
    assert placer.holes() == [range(4), range(4, 6)]
    placer.release(d)
    assert placer.holes() == [range(8)]


def test_the_papers_arena_is_split_into_eight_roots():
    roots = Buddy(OPT_SLOTS).roots()
    assert [len(root) for root in roots] == [8192, 4096, 2048, 1024, 256, 64, 32, 16]


@pytest.mark.parametrize(
    ("make", "left"), [(FirstFit, [1392]), (BestFit, [1392]), (Buddy, [1024, 256, 64, 32, 16])]
)
def test_seven_maximal_reservations_fit_the_papers_arena(make, left):
    """floor(15,728 / 2,048) = 7, and 8.85 % of the arena can never be handed out."""
    placer = make(OPT_SLOTS)
    runs = []
    while (run := placer.place(2048)) is not None:
        runs.append(run)
    assert len(runs) == OPT_SLOTS // 2048 == 7
    assert [len(hole) for hole in placer.holes()] == left
    assert round(100 * placer.num_free / OPT_SLOTS, 2) == 8.85


def test_a_buddy_takes_its_seven_from_the_roots_1_2_4():
    placer = Buddy(OPT_SLOTS)
    runs = [placer.place(2048) for _ in range(7)]
    assert [run.start // 2048 for run in runs] == [6, 4, 5, 0, 1, 2, 3]


@make_only
def test_an_arena_needs_a_slot(make):
    with pytest.raises(InputError, match="an arena of 0 slots"):
        make(0)


@make_only
@pytest.mark.parametrize("needed", [0, -1])
def test_a_run_needs_a_slot(make, needed):
    with pytest.raises(AssertionError, match="at least 1 slot"):
        make(4).place(needed)
