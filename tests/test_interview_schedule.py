"""When a question comes back, which come first, and what is kept: laws."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.practice.progress import read_section, update_section
from pagesim_lessons.interview import store
from pagesim_lessons.interview.bank import all_cards, built_in
from pagesim_lessons.interview.deck import drawn, standing, statements, to_ask
from pagesim_lessons.interview.schedule import (
    LEAST_EASE,
    MOST_DAYS,
    MOST_EASE,
    Grade,
    Memory,
    after,
)

CARDS = all_cards(built_in())
START = date(2026, 1, 1)
grades = st.sampled_from(Grade)
days = st.integers(0, 3_000).map(lambda number: START + timedelta(number))
memories = st.builds(
    Memory,
    seen=days,
    days=st.integers(0, MOST_DAYS),
    ease=st.integers(LEAST_EASE, MOST_EASE),
    times=st.integers(1, 99),
    lapses=st.integers(0, 99),
)
maybe = st.none() | memories


@given(maybe, grades, days)
def test_bounds(memory: Memory | None, grade: Grade, today: date) -> None:
    new = after(memory, grade, today)
    assert new.seen == today <= new.due <= today + timedelta(MOST_DAYS)
    assert LEAST_EASE <= new.ease <= MOST_EASE
    assert new.times == (1 if memory is None else memory.times + 1)
    assert new.due == today if grade is Grade.AGAIN else new.due > today


@given(maybe, days)
def test_a_better_grade_comes_back_later(memory: Memory | None, today: date) -> None:
    gaps = [after(memory, grade, today).days for grade in Grade]
    eases = [after(memory, grade, today).ease for grade in Grade]
    assert gaps == sorted(set(gaps))
    assert eases == sorted(eases)


@given(memories, grades)
def test_asked_when_due_good_ones_wait_longer_than_before(memory: Memory, grade: Grade) -> None:
    new = after(memory, grade, memory.due)
    if grade >= Grade.GOOD:
        assert new.days >= min(memory.days + 1, MOST_DAYS - 1)
        assert new.ease >= memory.ease
    else:
        assert new.ease <= memory.ease


@given(memories, st.integers(0, 400), st.sampled_from([Grade.GOOD, Grade.EASY]))
def test_asking_early_never_brings_it_forward(memory: Memory, early: int, grade: Grade) -> None:
    today = max(memory.due - timedelta(early), memory.seen)
    due = after(memory, grade, today).due
    assert due >= min(memory.due, today + timedelta(MOST_DAYS - 1))
    # and gains no more than asking on the day would have
    assert after(memory, grade, today).days <= after(memory, grade, memory.due).days + early


@given(memories, days)
def test_asking_twice_a_day_does_not_blow_the_gap_up(memory: Memory, today: date) -> None:
    once = after(memory, Grade.GOOD, today)
    again = once
    for _ in range(5):
        again = after(again, Grade.GOOD, today)
    assert again.due <= max(once.due, today + timedelta(3))


@given(memories, grades, days)
def test_a_clock_that_was_set_back_does_no_harm(memory: Memory, grade: Grade, today: date) -> None:
    earlier = memory.seen - timedelta(100)
    assert after(memory, grade, earlier).seen == earlier


def test_a_year_of_good_answers_takes_a_dozen_askings() -> None:
    memory, count = after(None, Grade.GOOD, START), 1
    while not memory.days >= MOST_DAYS - 1:
        memory, count = after(memory, Grade.GOOD, memory.due), count + 1
    assert 5 <= count <= 12


@given(st.dictionaries(st.sampled_from([card.id for card in CARDS]), memories), days)
def test_what_is_asked(known: dict[str, Memory], today: date) -> None:
    asked = to_ask(CARDS, known, today)
    due = [card for card in asked if card.id in known]
    new = [card for card in asked if card.id not in known]
    assert asked == due + new
    assert {card.id for card in due} == {name for name, at in known.items() if at.due <= today}
    assert [known[card.id].due for card in due] == sorted(known[card.id].due for card in due)
    assert len(new) == min(10, len(CARDS) - len(known))
    assert [card.difficulty for card in new] == sorted(card.difficulty for card in new)
    assert to_ask(CARDS, known, today, 3) == to_ask(CARDS, known, today, 100)[:3]
    at = standing(CARDS, known, today)
    assert (at.cards, at.new, at.due) == (len(CARDS), len(CARDS) - len(known), len(due))


@given(st.integers(0, 2**63 - 1), st.integers(1, 100))
def test_a_seed_draws_the_same_for_ever(seed: int, number: int) -> None:
    found = drawn(CARDS, number, seed)
    assert found == drawn(CARDS, number, seed)
    assert len({card.id for card in found}) == len(found) == min(number, len(CARDS))
    said = statements(CARDS, number, seed)
    assert said == statements(CARDS, number, seed)
    assert all(s.text == (s.card.in_short if s.is_true else s.card.wrong) for s in said)


def test_true_and_false_are_both_said() -> None:
    sides = {s.is_true for s in statements(CARDS, 10, 1)}
    assert sides == {True, False}


@pytest.fixture
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGESIM_HOME", str(tmp_path))


@pytest.mark.usefixtures("_home")
def test_what_is_remembered_is_read_back() -> None:
    memory = Memory(START, 12, 1_950, 7, 2)
    store.remember("watermark", memory)
    store.remember("full-hit", after(None, Grade.EASY, START))
    assert store.memories() == {"watermark": memory, "full-hit": Memory(START, 7)}
    taken = store.Interview(START, 5, 3, 290)
    store.remember_interview(taken)
    assert store.interviews() == [taken]
    assert store.memories()["watermark"] == memory
    store.forget()
    assert (store.memories(), store.interviews()) == ({}, [])


@pytest.mark.usefixtures("_home")
def test_only_the_last_interviews_are_kept() -> None:
    for number in range(53):
        store.remember_interview(store.Interview(START, 5, number % 6, number))
    assert [taken.seconds for taken in store.interviews()] == list(range(3, 53))


@pytest.mark.usefixtures("_home")
@pytest.mark.parametrize(
    "broken",
    [
        3,
        {"seen": "yesterday", "days": 1, "ease": 2500, "times": 1, "lapses": 0},
        {"seen": "2026-01-01", "days": -1, "ease": 2500, "times": 1, "lapses": 0},
        {"seen": "2026-01-01", "days": 1, "ease": 10, "times": 1, "lapses": 0},
        {"seen": "2026-01-01", "days": True, "ease": 2500, "times": 1, "lapses": 0},
        {"seen": "9999-12-31", "days": 1, "ease": 2500, "times": 1, "lapses": 0},
        {"seen": "2026-01-01"},
    ],
)
def test_a_record_that_cannot_be_read_counts_as_none(broken: object) -> None:
    good = {"seen": "2026-01-01", "days": 3, "ease": 2500, "times": 1, "lapses": 0}
    update_section("interview", lambda section: section.update(cards={"a": broken, "b": good}))
    assert store.memories() == {"b": Memory(START, 3)}
    store.remember("c", Memory(START, 1))
    assert read_section("interview")["cards"]["b"] == good  # and nothing else is touched


@pytest.mark.usefixtures("_home")
@pytest.mark.parametrize("broken", [{"cards": 3, "interviews": "x"}, {"interviews": [3, {}]}])
def test_a_broken_section_is_mended_by_writing(broken: dict[str, object]) -> None:
    update_section("interview", lambda section: section.update(broken))
    assert (store.memories(), store.interviews()) == ({}, [])
    store.remember("a", Memory(START, 1))
    store.remember_interview(store.Interview(START, 1, 1, 9))
    assert len(store.memories()) == len(store.interviews()) == 1
