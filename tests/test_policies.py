"""Policies: who goes first, who gives way, which way, how much is kept free; from pagesim and from a file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagesim.core.block_manager import BlockManager
from pagesim.core.errors import InputError
from pagesim.core.order import AGEING, ORDERS, waiting_queue
from pagesim.core.preempt_mode import CHEAPER, PREEMPT_MODES, Price, Way
from pagesim.core.request import Request
from pagesim.core.scheduler import Scheduler
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.sequence import SequenceState
from pagesim.core.victim import LARGEST, LATEST, LEAST_PROGRESS, LOWEST_PRIORITY, VICTIMS
from pagesim.sim.policies import order_named, parse_watermark, preempt_mode_named, victim_named


def served_order(order: str, *requests: Request) -> list[str]:
    """Requests served one at a time, all waiting from the start: in which order do they begin?"""
    config = SchedulerConfig(max_num_seqs=1, order=ORDERS[order])
    scheduler = Scheduler(config, BlockManager(64, 4))
    for request in requests:
        assert scheduler.submit(request) is None
    began = []
    while scheduler.has_work:
        plan = scheduler.plan()
        began += [seq.name for seq in plan.admitted]
        scheduler.commit(plan, [0] * len(plan.sampling))
    return began


FOUR = (
    Request("a", (1,) * 9, 1, priority=1),
    Request("b", (1,) * 3, 1, priority=2),
    Request("c", (1,) * 5, 1, priority=0),
    Request("d", (1,) * 3, 1, priority=0),
)


def test_first_come_first_served() -> None:
    assert served_order("fcfs", *FOUR) == ["a", "b", "c", "d"]


def test_shortest_prompt_first_and_of_equals_the_earlier() -> None:
    assert served_order("shortest-prompt", *FOUR) == ["b", "d", "c", "a"]


def test_smallest_priority_number_first_and_of_equals_the_earlier() -> None:
    assert served_order("priority", *FOUR) == ["c", "d", "a", "b"]


def test_ageing_lets_so_many_later_arrivals_pass_and_no_more() -> None:
    """A request one level less urgent is passed by those that arrive within the next ``AGEING``."""
    urgent = [Request(f"u{number}", (1,), 1, priority=0) for number in range(2 * AGEING)]
    began = served_order("aged-priority", Request("patient", (1,), 1, priority=1), *urgent)
    assert began.index("patient") == AGEING - 1
    assert (
        served_order("priority", Request("patient", (1,), 1, priority=1), *urgent)[-1] == "patient"
    )


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=12), st.data()
)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_every_queue_reads_in_rank_order_whatever_leaves_and_returns(order, drawn, data) -> None:  # type: ignore[no-untyped-def]
    config = SchedulerConfig(order=order)
    scheduler = Scheduler(config, BlockManager(4096, 1))
    for number, (priority, prompt) in enumerate(drawn):
        scheduler.submit(Request(str(number), (1,) * prompt, 1, priority=priority))
    sequences = list(scheduler.waiting)
    queue = waiting_queue(order)
    for seq in sorted(sequences, key=lambda seq: seq.order):
        queue.add(seq)
    out = [queue.pop() for _ in range(data.draw(st.integers(0, len(sequences))))]
    for seq in data.draw(st.permutations(out)):
        queue.put_back(seq)
    expected = sorted(sequences, key=lambda seq: (order.rank(seq), seq.order))
    assert list(queue) == expected
    gone = data.draw(st.sampled_from(expected))
    queue.remove(gone)
    assert list(queue) == [seq for seq in expected if seq is not gone]
    assert len(queue) == len(expected) - 1


def running(*outputs_and_computed: tuple[int, int, int]) -> list[SequenceState]:
    """Sequences of (priority, outputs, computed tokens), in order of admission."""
    scheduler = Scheduler(SchedulerConfig(), BlockManager(64, 4))
    for number, (priority, _, _) in enumerate(outputs_and_computed):
        scheduler.submit(Request(str(number), (1,), 9, priority=priority))
    made = list(scheduler.waiting)
    for seq, (_, outputs, computed) in zip(made, outputs_and_computed, strict=True):
        seq.outputs += [0] * outputs
        seq.num_computed = computed
    return made


def test_each_victim_policy_picks_its_own() -> None:
    batch = running((3, 5, 9), (1, 1, 8), (2, 4, 30), (0, 4, 7))
    picked = {name: victim.choose(batch).name for name, victim in VICTIMS.items()}
    assert picked == {"latest": "3", "lowest-priority": "0", "least-progress": "1", "largest": "2"}


def test_ties_go_to_the_latest_arrival() -> None:
    batch = running((1, 2, 5), (1, 2, 5), (1, 2, 5))
    for victim in (LATEST, LOWEST_PRIORITY, LEAST_PROGRESS, LARGEST):
        assert victim.choose(batch).name == "2"


def test_the_usual_victim_follows_the_order() -> None:
    usual = {
        name: SchedulerConfig(order=order).chosen_victim.name for name, order in ORDERS.items()
    }
    assert usual == {
        "fcfs": "latest",
        "shortest-prompt": "latest",
        "priority": "lowest-priority",
        "aged-priority": "lowest-priority",
    }


def test_each_preempt_mode_goes_its_way() -> None:
    one, three = running((0, 1, 1)), running((0, 1, 1), (0, 1, 1), (0, 1, 1))
    dear, cheap = Price(recompute_ns=5, swap_ns=6), Price(recompute_ns=6, swap_ns=5)
    ways = {
        name: [mode.choose(unit, price) for unit in (one, three) for price in (dear, cheap)]
        for name, mode in PREEMPT_MODES.items()
    }
    again, swap = Way.RECOMPUTE, Way.SWAP
    assert ways == {
        "recompute": [again] * 4,
        "swap": [swap] * 4,
        "by-group": [again, again, swap, swap],
        "cheaper": [again, swap, again, swap],
    }


def test_comparing_prices_without_a_cost_model_is_refused() -> None:
    with pytest.raises(InputError, match=r"cheaper compares predicted times.*take another"):
        Scheduler(SchedulerConfig(preempt=CHEAPER), BlockManager(4, 4, num_host_blocks=4))


@pytest.mark.parametrize(
    ("text", "blocks"),
    [("0", 0), ("40", 40), ("1%", 9), ("0.5 %", 4), (" 12 ", 12), ("99.9%", 982), ("0%", 0)],
)
def test_a_watermark_is_blocks_or_a_share(text: str, blocks: int) -> None:
    assert parse_watermark(text).of(983) == blocks


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5", "100%", "nan", "inf", "1/2", "1%%", "two", "-3%"]
)
def test_what_is_no_watermark_is_said(text: str) -> None:
    with pytest.raises(
        InputError, match=r"give a number of blocks, such as 40, or a share below 100%"
    ):
        parse_watermark(text)


MINE = """
def shortest_answer(seq):
    return seq.request.max_tokens

def first_of_them(running):
    return running[0]

def only_big(unit, price):
    return "swap" if len(unit) > 2 else "recompute"

def in_words(seq):
    return "soon"

def no_number(seq):
    return float("nan")

def ends(*anything):
    raise SystemExit(3)

def talks(running):
    print("choosing")
    return running[0]

def nobody(running):
    return None

def perhaps(unit, price):
    return "perhaps"

def fails(*anything):
    return 1 / 0
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return str(file)


def test_an_order_of_ones_own(mine: str) -> None:
    order = order_named(f"{mine}:shortest_answer")
    requests = [Request("long", (1,), 9), Request("short", (1,), 2)]
    scheduler = Scheduler(SchedulerConfig(order=order, max_num_seqs=1), BlockManager(8, 4))
    for request in requests:
        scheduler.submit(request)
    assert [seq.name for seq in scheduler.waiting] == ["short", "long"]


def test_a_victim_and_a_mode_of_ones_own(mine: str) -> None:
    batch = running((0, 1, 1), (0, 1, 1), (0, 1, 1))
    assert victim_named(f"{mine}:first_of_them").choose(batch).name == "0"
    mode = preempt_mode_named(f"{mine}:only_big")
    assert mode.choose(batch, None) is Way.SWAP
    assert mode.choose(batch[:2], None) is Way.RECOMPUTE


def test_a_policy_of_ones_own_is_asked_about_all_but_the_first(mine: str) -> None:
    """So that somebody always gets on, and every run ends."""
    from pagesim.core.victim import choose_victim

    batch = running((0, 1, 1), (0, 1, 1), (0, 1, 1))
    assert choose_victim(victim_named(f"{mine}:first_of_them"), batch).name == "1"


def test_what_a_policy_of_ones_own_must_return_is_said(mine: str) -> None:
    batch = running((0, 1, 1), (0, 1, 1))
    for call, sentence in (
        (lambda: order_named(f"{mine}:in_words").rank(batch[0]), "must return a number"),
        (lambda: victim_named(f"{mine}:nobody").choose(batch), "one of the sequences it is given"),
        (
            lambda: preempt_mode_named(f"{mine}:perhaps").choose(batch, None),
            '"swap" or "recompute"',
        ),
        (lambda: order_named(f"{mine}:no_number").rank(batch[0]), "must return a number"),
        (lambda: order_named(f"{mine}:ends").rank(batch[0]), "failed in line .*SystemExit: 3"),
        (
            lambda: order_named(f"{mine}:fails").rank(batch[0]),
            "failed in line 31: ZeroDivisionError",
        ),
        (
            lambda: victim_named(f"{mine}:fails").choose(batch),
            "failed in line 31: ZeroDivisionError",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


def test_what_a_policy_prints_is_not_pagesims_output(
    mine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = running((0, 1, 1), (0, 1, 1))
    assert victim_named(f"{mine}:talks").choose(batch) is batch[0]
    out, err = capsys.readouterr()
    assert (out, err) == ("", "choosing\n")


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("lifo", "'lifo' is no order; take one of fcfs, .*, or FILE:name"),
        ("nowhere.py:mine", "nowhere.py is not a file; write FILE:name"),
        ("nowhere.py:", "write FILE:name, such as my_policy.py:mine, a function rank"),
    ],
)
def test_what_cannot_be_found_is_said(place: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        order_named(place)


def test_a_name_that_a_file_lacks_is_said(mine: str) -> None:
    with pytest.raises(InputError, match="has no victim policy hers"):
        victim_named(f"{mine}:hers")
