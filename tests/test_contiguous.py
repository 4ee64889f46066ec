"""The contiguous memory: laws over every placer and reservation rule, and stories."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.buddy import Buddy
from pagesim.core.content import Content
from pagesim.core.contiguous import BeyondReservationError, ContiguousManager
from pagesim.core.errors import DuplicateSequenceError, UnknownSequenceError
from pagesim.core.placers import BestFit, FirstFit, Placer
from pagesim.core.reservations import (
    Reservation,
    ReserveExact,
    ReserveMax,
    ReservePowerOfTwo,
)
from pagesim.core.types import Admission, Copy, Grant, Room, Usage

OPT_SLOTS = 15_728  # OPT-13B in 12 GiB: the paper's Table 1
PLACERS: list[Callable[[int], Placer]] = [FirstFit, BestFit, Buddy]
RULES: list[Callable[[int], Reservation]] = [ReserveMax, ReservePowerOfTwo, ReserveExact]
every_placer = pytest.mark.parametrize("make_placer", PLACERS)
every_rule = pytest.mark.parametrize("make_rule", RULES)


def content_of(prompt: int) -> Content:
    return Content(range(prompt))


def room_for(prompt: int, output: int | None, limit: int, keep_free: int = 0) -> Room:
    """What a new sequence asks for; ``output`` is ``None`` where its true length is not known."""
    final = None if output is None else prompt + output
    return Room(now=prompt, present=prompt, limit=limit, final=final, keep_free=keep_free)


def start(manager: ContiguousManager, seq: int, prompt: int, output: int) -> Grant | None:
    return manager.allocate(seq, content_of(prompt), room_for(prompt, output, 2048))


def oracle_manager(num_slots: int, max_model_len: int = 2048) -> ContiguousManager:
    return ContiguousManager(FirstFit(num_slots), ReserveExact(max_model_len), "oracle")


# -- how much --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "output", "powers", "exact"),
    [
        (100, 25, 132, 125),  # the paper's example: a true output of 25 reserves 32
        (100, 32, 132, 132),
        (100, 33, 164, 133),
        (100, 1, 101, 101),
        (1500, 513, 2048, 2013),  # 1500 + 1024, capped
        (2047, 1, 2048, 2048),
        (100, None, 2048, 600),  # unknown: from the limit of 600, 100 + 512
    ],
)
def test_the_three_rules(prompt, output, powers, exact):
    content, room = content_of(prompt), room_for(prompt, output, 600 if output is None else 2048)
    if output is None:
        powers = 100 + 512
    assert ReserveMax(2048).slots(content, room) == 2048
    assert ReservePowerOfTwo(2048).slots(content, room) == powers
    assert ReserveExact(2048).slots(content, room) == exact


@every_rule
@given(
    prompt=st.integers(1, 40),
    output=st.integers(1, 40),
    done=st.integers(0, 39),
    known=st.booleans(),
)
def test_a_sequence_that_comes_back_reserves_what_it_had(make_rule, prompt, output, done, known):
    rule = make_rule(64)
    content = content_of(prompt)
    first = rule.slots(content, room_for(prompt, output if known else None, prompt + output))
    present = min(prompt + min(done, output - 1), 64)
    content.outputs += range(present - prompt)
    final = prompt + output if known else None
    again = rule.slots(content, Room(present, present, prompt + output, final))
    assert again == first
    assert present <= again <= 64


@every_rule
def test_a_reservation_never_ends_before_what_is_there(make_rule):
    """A final length that was believed too small: seven tokens are there, five were foretold."""
    assert make_rule(8).slots(content_of(4), Room(now=7, present=7, limit=8, final=5)) in (7, 8)


# -- laws over every placer and rule ---------------------------------------------------------------

lengths = st.integers(1, 24)
sequences = st.integers(0, 3)
keeps = st.just(0) | st.integers(0, 8)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("start"), sequences, st.integers(1, 8), st.integers(1, 8), keeps),
        st.tuples(st.just("extend"), sequences, lengths),
        st.tuples(st.just("fork"), sequences, sequences, lengths),
        st.tuples(st.just("free"), sequences),
    ),
    min_size=5,
    max_size=40,
)


def picture(manager: ContiguousManager, held: set[int]) -> tuple[object, ...]:
    """All that a question can see: usage, tables, and how far each sequence may write."""
    return (
        manager.usage(),
        manager.reset_cache(),
        {seq: (manager.table(seq), manager.extend(seq, 0)) for seq in sorted(held)},
    )


def errors_for(
    action, held: set[int], max_model_len: int, writable: dict[int, int]
) -> Iterator[type]:
    """Which errors this action should raise, the first of them first."""
    match action:
        case ("start", seq, *_) if seq in held:
            yield DuplicateSequenceError
        case ("extend" | "free", seq, *_) if seq not in held:
            yield UnknownSequenceError
        case ("extend", _, to) if to > max_model_len:
            yield BeyondReservationError
        case ("fork", parent, child, num_tokens):
            if not {parent, child} <= held:
                yield UnknownSequenceError
            elif parent == child:
                yield DuplicateSequenceError
            elif num_tokens > min(writable[parent], writable[child]):
                yield BeyondReservationError


def perform(manager: ContiguousManager, action):
    match action:
        case ("start", seq, prompt, output, keep_free):
            return manager.allocate(
                seq, content_of(prompt), room_for(prompt, output, prompt + output, keep_free)
            )
        case ("extend", seq, to):
            return manager.extend(seq, to)
        case ("fork", parent, child, num_tokens):
            return manager.fork(parent, child, num_tokens)
        case ("free", seq):
            return manager.free(seq)


@every_placer
@every_rule
@given(num_slots=st.integers(1, 64), max_model_len=st.integers(8, 24), actions=actions)
def test_conservation_and_none_changes_nothing(
    make_placer, make_rule, num_slots, max_model_len, actions
):
    manager = ContiguousManager(make_placer(num_slots), make_rule(max_model_len), "drawn")
    empty = manager.usage()
    writable: dict[int, int] = {}
    for action in actions:
        held = set(writable)
        before = picture(manager, held)
        expected = next(errors_for(action, held, max_model_len, writable), None)
        if expected is not None:
            with pytest.raises(expected):
                perform(manager, action)
            assert picture(manager, held) == before
            continue
        if action[0] == "extend":
            foretold = manager.can_extend([action[1:]])
        result = perform(manager, action)
        if action[0] == "extend":
            assert foretold == (result is not None)
        if result is None:
            assert picture(manager, held) == before
        elif action[0] == "start":
            writable[action[1]] = result.writable
            assert result.writable >= action[2]
            assert manager.usage().free >= action[4]
        elif action[0] == "extend":
            assert result.writable >= action[2]
            writable[action[1]] = result.writable
        elif action[0] == "free":
            del writable[action[1]]
        check_memory(manager, num_slots, writable)
    for seq in writable:
        manager.free(seq)
    assert manager.usage() == empty == Usage(0, num_slots, 0, empty.largest_hole)
    assert manager.reset_cache()


def check_memory(manager: ContiguousManager, num_slots: int, writable: dict[int, int]) -> None:
    """Conservation, no slot in two tables, each table one run that holds what may be written."""
    tables = [manager.table(seq) for seq in writable]
    slots = [slot for table in tables for slot in table]
    assert len(slots) == len(set(slots)) == manager.usage().granted
    assert manager.usage().granted + manager.usage().free == num_slots
    assert set(slots) <= set(range(num_slots))
    for seq, table in zip(writable, tables, strict=True):
        assert table == range(table[0], table[0] + len(table))
        assert manager.extend(seq, 1) == Grant(writable[seq])
        assert writable[seq] <= len(table)


@every_placer
@every_rule
@given(
    num_slots=st.integers(1, 64),
    held=st.lists(st.tuples(lengths, lengths), max_size=8),
    asked=st.tuples(lengths, lengths, st.integers(0, 70)),
    max_model_len=st.integers(1, 40),
)
def test_admission_foretells_allocate(
    make_placer, make_rule, num_slots, held, asked, max_model_len
):
    """NOW: it succeeds. LATER: it would in an empty memory. NEVER: not even there, and why."""
    manager = ContiguousManager(make_placer(num_slots), make_rule(max_model_len), "drawn")
    for seq, (prompt, output) in enumerate(held):
        manager.allocate(seq, content_of(prompt), room_for(prompt, output, prompt + output))
    prompt, output, keep_free = asked
    content, room = content_of(prompt), room_for(prompt, output, prompt + output, keep_free)
    empty = ContiguousManager(make_placer(num_slots), make_rule(max_model_len), "empty")

    admission = manager.admission(content, room)
    assert (manager.never_fits(content, room) is not None) == (admission is Admission.NEVER)
    assert (empty.allocate(99, content, room) is None) == (admission is Admission.NEVER)
    assert (manager.allocate(99, content, room) is not None) == (admission is Admission.NOW)


@every_placer
@given(
    num_slots=st.integers(8, 64),
    held=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    targets=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 34)), max_size=5),
)
def test_can_extend_foretells_a_row_of_extends(make_placer, num_slots, held, targets):
    manager = ContiguousManager(make_placer(num_slots), ReserveExact(32), "drawn")
    placed = {seq for seq, length in enumerate(held) if start(manager, seq, length, 0) is not None}
    targets = [(seq, to) for seq, to in targets if seq in placed]
    before = picture(manager, placed)
    foretold = manager.can_extend(targets)
    assert picture(manager, placed) == before
    if any(to > 32 for _, to in targets):
        assert not foretold
    else:
        assert foretold == all(manager.extend(seq, to) is not None for seq, to in targets)


# -- stories ---------------------------------------------------------------------------------------


@every_placer
def test_seven_requests_reserve_the_papers_memory(make_placer):
    manager = ContiguousManager(make_placer(OPT_SLOTS), ReserveMax(2048), "max")
    for seq in range(7):
        assert start(manager, seq, prompt=161, output=338) is not None
    assert manager.usage().granted == 7 * 2048
    assert manager.admission(content_of(1), room_for(1, 1, 2)) is Admission.LATER
    assert start(manager, 7, prompt=1, output=1) is None


def test_figure_3_of_the_paper():
    """Request A, maximum 2,048: 7 + 1 + 2 + 2,038. Request B, maximum 512: 3 + 1 + 1 + 507.

    Their lengths are not known, so each reserves its own limit, side by side.
    """
    manager = oracle_manager(4096)
    a = manager.allocate(0, content_of(7), room_for(7, None, limit=2048))
    b = manager.allocate(1, content_of(3), room_for(3, None, limit=512))
    assert (a, b) == (Grant(2048, range(2048)), Grant(512, range(2048, 2560)))
    generated = 1
    for grant, prompt, still_to_come, never_used in ((a, 7, 2, 2038), (b, 3, 1, 507)):
        assert grant.writable - prompt - generated - still_to_come == never_used


def test_a_buddy_grants_more_than_was_wanted():
    manager = ContiguousManager(Buddy(16), ReserveExact(16), "buddy")
    assert start(manager, 0, prompt=3, output=2) == Grant(5, range(8), wanted=5)
    assert start(manager, 1, prompt=3, output=1) == Grant(4, range(8, 12))
    assert manager.table(0) == range(8)
    assert manager.usage() == Usage(granted=12, free=4, cached=0, largest_hole=4)


def test_a_refused_request_changes_nothing():
    """H06, with one run in the place of blocks: an arena of 16, A reserves 12, B asks for 8."""
    manager = oracle_manager(16)
    start(manager, 0, prompt=12, output=0)
    assert start(manager, 1, prompt=8, output=0) is None
    with pytest.raises(UnknownSequenceError, match="sequence 1 holds no slots"):
        manager.table(1)
    assert manager.extend(0, 20) is None
    assert manager.table(0) == range(12)
    assert manager.usage() == Usage(granted=12, free=4, cached=0, largest_hole=4)
    assert manager.free(0) == range(12)
    assert manager.usage() == Usage(granted=0, free=16, cached=0, largest_hole=16)


def test_enough_is_free_but_not_in_one_piece():
    manager = oracle_manager(12)
    for seq in range(3):
        start(manager, seq, prompt=4, output=0)
    manager.free(0)
    manager.free(2)
    assert manager.usage() == Usage(granted=4, free=8, cached=0, largest_hole=4)
    assert start(manager, 3, prompt=5, output=0) is None
    assert start(manager, 3, prompt=4, output=0) == Grant(4, range(4))


def test_a_sequence_that_outgrows_its_reservation_moves():
    """The oracle was told 4 and the sequence goes on: it moves to 8, and its 4 come free."""
    manager = oracle_manager(16, max_model_len=10)
    start(manager, 0, prompt=3, output=1)
    start(manager, 1, prompt=2, output=0)
    assert manager.extend(0, 4) == Grant(4)
    moved = Grant(8, range(6, 14), dropped=range(4), copies=(Copy(0, 6, 4),))
    assert manager.extend(0, 5) == moved
    assert manager.extend(0, 6) == Grant(8)
    assert manager.table(0) == range(6, 14)
    assert manager.usage() == Usage(granted=10, free=6, cached=0, largest_hole=4)
    assert manager.extend(0, 9) is None  # 9 in one piece beside the 8 it must be copied from
    assert manager.extend(1, 3) == Grant(4, range(4), dropped=range(4, 6), copies=(Copy(4, 0, 2),))
    with pytest.raises(
        BeyondReservationError, match=r"asks for 11 slots .* longest reservation is 10"
    ):
        manager.extend(0, 11)


def test_moving_takes_just_enough_where_twice_as_much_does_not_fit():
    manager = oracle_manager(9)
    start(manager, 0, prompt=4, output=0)
    assert manager.extend(0, 5) == Grant(5, range(4, 9), dropped=range(4), copies=(Copy(0, 4, 4),))


def test_a_buddys_rounding_is_used_before_moving():
    manager = ContiguousManager(Buddy(16), ReserveExact(16), "buddy")
    start(manager, 0, prompt=5, output=0)
    assert manager.extend(0, 6) == Grant(6, wanted=6)
    assert manager.extend(0, 6) == Grant(6)
    assert manager.table(0) == range(8)
    assert manager.extend(0, 9) is None


def test_a_fork_copies_into_what_the_child_reserved():
    manager = oracle_manager(32)
    start(manager, 0, prompt=7, output=3)
    child = start(manager, 1, prompt=7, output=3)
    fork = manager.fork(0, 1, 7)
    assert fork.child == Grant(child.writable, copies=(Copy(0, 10, 7),))
    assert fork.parent_writable == 10
    assert manager.fork(0, 1, 0).child.copies == ()
    with pytest.raises(BeyondReservationError, match="11 tokens of sequence 0"):
        manager.fork(0, 1, 11)
    start(manager, 3, prompt=6, output=0)
    with pytest.raises(BeyondReservationError, match="shorter of their reservations is 6 slots"):
        manager.fork(0, 3, 7)
    with pytest.raises(UnknownSequenceError, match="sequence 2"):
        manager.fork(0, 2, 7)
    with pytest.raises(DuplicateSequenceError, match="into itself"):
        manager.fork(0, 0, 7)


def test_the_same_sequence_twice():
    manager = oracle_manager(16)
    start(manager, 0, prompt=4, output=0)
    with pytest.raises(DuplicateSequenceError, match="sequence 0 already holds slots 0 to 3"):
        start(manager, 0, prompt=4, output=0)
    manager.free(0)
    with pytest.raises(UnknownSequenceError, match="sequence 0 holds no slots"):
        manager.free(0)
    assert manager.usage() == Usage(granted=0, free=16, cached=0, largest_hole=16)


@pytest.mark.parametrize(
    ("placer", "room", "clause"),
    [
        (
            Buddy(1500),
            Room(4, 4, 2048),
            (
                "needs 2,048 slots in one piece and "
                "the largest piece this memory can ever offer is 1,024"
            ),
        ),
        (
            FirstFit(2048),
            Room(4, 4, 2048, keep_free=20),
            "needs 2,048 slots and 20 kept free, and 2,048 are present",
        ),
        (
            FirstFit(4096),
            Room(2049, 2049, 2049),
            "is 2,049 tokens long and the longest reservation is 2,048 slots",
        ),
        (FirstFit(2048), Room(4, 4, 2048), None),
    ],
)
def test_what_never_fits_says_why(placer, room, clause):
    manager = ContiguousManager(placer, ReserveMax(2048), "max")
    assert manager.never_fits(content_of(4), room) == clause
    expected = Admission.NOW if clause is None else Admission.NEVER
    assert manager.admission(content_of(4), room) is expected


def test_there_is_nothing_to_find_and_one_formula_addresses_all():
    manager = oracle_manager(16)
    content = content_of(4)
    start(manager, 0, prompt=4, output=0)
    start(manager, 1, prompt=4, output=0)
    assert manager.publish(0, content, 4) == ()
    assert manager.withdraw(0, 0) == ()
    assert manager.cached_tokens(content) == 0
    assert not manager.reset_cache()
    assert not manager.can_share
    assert not manager.can_cache
    size = manager.geometry.block_size
    assert [manager.table(1)[pos // size] * size + pos % size for pos in range(4)] == [4, 5, 6, 7]
