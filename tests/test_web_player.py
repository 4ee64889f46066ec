"""The page's player against Python: the same state at every place, the same answers to every key.

The JavaScript that a page ships runs in Node. The oracles are ``RunState``, which the law *fold* compares with the
managers, and the terminal viewer's ``ViewedRun``.
"""

import json
import re
from dataclasses import replace
from functools import cache

import pytest
from checked_run import CheckedRun
from examples import examples
from hypothesis import given, seed
from hypothesis import strategies as st
from node_player import NodePlayer, why_no_node
from run_scripts import Paged, contiguous_memories, paged_memories, scripts
from small_runs import run, serve
from typer.testing import CliRunner
from viewer_logs import events_of, story_of

from pagesim.cli.main import app
from pagesim.core import events as ev
from pagesim.core.block_manager import BlockManager
from pagesim.core.preempt_mode import SWAP
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.core.types import Geometry
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import KIND_GROUPS, explain
from pagesim.replay.free_queue import queue_of_header
from pagesim.replay.log import UnknownEvent
from pagesim.replay.memory_map import changed_blocks, memory_map
from pagesim.replay.run_state import RunState
from pagesim.replay.waste import WasteSplit
from pagesim.sim.allocators import ALLOCATORS
from pagesim.sim.scenario import scenario_names
from pagesim.tui import keys
from pagesim.tui.viewed import ViewedRun
from pagesim.views.figures import format_percent
from pagesim.views.host_map import host_map
from pagesim.views.map_cells import map_cells
from pagesim.views.moment_bar import moment_split
from pagesim.web import bundle
from pagesim.web.bundle import Window, log_in_memory, run_payload
from pagesim.web.plain import plain_state

pytestmark = pytest.mark.skipif(why_no_node() is not None, reason=why_no_node() or "")


@pytest.fixture(name="node", scope="module")
def _node(tmp_path_factory):
    player = NodePlayer(tmp_path_factory.mktemp("player"))
    yield player
    player.close()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Many chunks and keyframes, also in a short run."""
    monkeypatch.setattr(bundle, "CHUNK", 7)


def facts(state: RunState) -> str:
    return NodePlayer.text(plain_state(state))


def facts_at_every_place(geometry, events) -> list[str]:
    state = RunState(geometry)
    told = [facts(state)]
    for event in events:
        state.apply(event)
        told.append(facts(state))
    return told


def check_every_place(node, geometry, events, **header) -> None:
    """Going forward, and then in jumps: back, far, and by one."""
    expected = facts_at_every_place(geometry, events)
    log = log_in_memory(geometry, events, **header)
    node.ask("load", payload=run_payload(log, "a run"))
    number = len(events) + 1
    assert node.ask("facts", places=list(range(number))) == expected
    jumps = [at * 17 % number for at in range(min(number, 40))]
    jumps += [place for at in jumps for place in (max(at - 1, 0), at)]
    assert node.ask("facts", places=jumps) == [expected[at] for at in jumps]
    check_free_blocks(node, log, events, jumps)


def check_free_blocks(node, log, events, places) -> None:
    """In their order, in the whole run and in a part of it; none where the header does not say how they were made."""
    queue = queue_of_header(log.header, log.geometry)
    expected = [queue and queue.blocks]
    for event in events:
        if queue:
            queue.apply(event)
        expected.append(queue and queue.blocks)
    assert node.ask("queues", places=places) == [expected[at] for at in places]
    first = len(events) // 2
    node.ask("load", payload=run_payload(log, "a run", window=Window(first, len(events))))
    places = [at for at in places if at >= first]
    assert node.ask("queues", places=places) == [expected[at] for at in places]


# -- the fold --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_is_the_same_in_the_browser(node, name):
    geometry, events = story_of(name)
    check_every_place(node, geometry, events)
    log = log_in_memory(geometry, events)
    node.ask("load", payload=run_payload(log, name))
    state, sentences = RunState(geometry), []
    for event in events:
        sentences.append(explain(event, state))
        state.apply(event)
    assert node.ask("sentences", places=list(range(1, len(events) + 1))) == sentences


def tight(caching):
    """Pools in which few sequences fit, with a host that holds some of them, by rules that fork and swap."""
    sizes = st.tuples(
        st.integers(8, 20),
        st.sampled_from([2, 3, 1]),
        st.booleans(),
        st.sampled_from([12, 12, 4, 2]),
    )
    memories = sizes.map(lambda size: Paged(size[0] // size[1], size[1], caching, *size[2:]))

    def swapping(script):
        config = replace(
            script.config, preempt=SWAP, admit_only_if_whole_prompt_fits=False, fork_samples=True
        )
        return script._replace(config=config)

    return scripts(memories).map(swapping)


@pytest.mark.parametrize("caching", [True, False])
def test_every_paged_run_is_the_same_in_the_browser(node, caching):
    seen: dict[str, int] = {}

    @seed(1)  # of which all kinds below are drawn
    @examples(80, 600)
    @given(script=tight(caching))
    def check(script):
        checked = CheckedRun(script).run()
        first = {"keep_unkeyed_first": script.memory.keep_unkeyed_first}
        told = {"allocator": "paged", "memory_settings": first}
        check_every_place(node, checked.manager.geometry, checked.events, **told)
        for event in checked.events:
            seen[type(event).__name__] = seen.get(type(event).__name__, 0) + 1

    check()
    for kind in ("TableSwappedOut", "TableSwappedIn", "BeamsChosen", "BlockReplaced", "StepFailed"):
        assert seen.get(kind, 0), f"no {kind} was drawn"
    if caching:
        assert seen.get("BlockEvicted", 0)


@examples(40, 400)
@given(
    script=st.tuples(
        st.sampled_from(["buddy", "first-fit", "best-fit"]),
        st.sampled_from(["max", "pow2", "oracle"]),
    ).flatmap(lambda kinds: scripts(contiguous_memories(*kinds), foretold=kinds[1] != "oracle"))
)
def test_every_contiguous_run_is_the_same_in_the_browser(node, script):
    checked = CheckedRun(script).run()
    check_every_place(node, checked.manager.geometry, checked.events)


@examples(30, 200)
@given(
    script=scripts(paged_memories(True)),
    where=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_window_of_a_run_is_that_part_of_it(node, script, where):
    checked = CheckedRun(script).run()
    geometry, events = checked.manager.geometry, checked.events
    first, stop = sorted(round(share * len(events)) for share in where)
    expected = facts_at_every_place(geometry, events)
    log = log_in_memory(geometry, events)
    node.ask("load", payload=run_payload(log, "a run", window=Window(first, stop)))
    places = list(range(first, stop + 1))
    assert node.ask("facts", places=[*places, first, *places[::-3]]) == [
        *expected[first : stop + 1],
        expected[first],
        *[expected[place] for place in places[::-3]],
    ]
    told = node.ask("questions", places=places, times=[], groups=[], followed=None)["told"]
    cursor = Cursor.of_log(log)
    for place, answer in zip(places, told, strict=True):
        cursor.seek(place)
        assert answer["step"] == cursor.step_number


def test_of_several_moves_at_once_the_last_one_counts(node):
    geometry, events = run("paged", [(10, 12)] * 6, 2, caching=True)
    expected = facts_at_every_place(geometry, events)
    node.ask("load", payload=run_payload(log_in_memory(geometry, events), "a run"))
    for places in ([200, 3], [3, 200, 199], [len(events), 0, 150], [150, 151, 150]):
        counted, place, told = node.ask("race", places=places)
        assert counted[-1]
        assert place == places[-1]
        assert told == expected[place]


# -- keys ------------------------------------------------------------------------------------------------


@cache
def viewed(allocator: str) -> tuple[ViewedRun, Geometry, list[ev.Event]]:
    geometry, events = events_of(allocator)
    shown = ViewedRun("a run", log_in_memory(geometry, events))
    shown.survey.advance_for(60)
    assert shown.survey.done
    return shown, geometry, events


@pytest.mark.parametrize("followed", [None, "r3", "r0", "r0.1", "r4"])
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_keys_lead_where_the_terminal_viewer_goes(node, allocator, followed):
    shown, geometry, events = viewed(allocator)
    shown.request = followed
    node.ask("load", payload=run_payload(log_in_memory(geometry, events), "a run"))
    places = list(range(len(events) + 1))
    times = sorted({0, 10**12, *(at + by for at in shown.survey._times for by in (-1, 0, 1))})
    asked = node.ask(
        "questions", places=places, times=times, groups=list(KIND_GROUPS), followed=followed
    )
    for place, told in zip(places, asked["told"], strict=True):
        shown.go(place)
        assert told["step"] == shown.cursor.step_number
        assert told["events"] == [shown.event_place(way) for way in (-1, 1)]
        assert told["steps"] == [shown.step_place(count) for count in (-10, -1, 1, 10)]
        jumps = [shown.jump_place(group, way) for group in KIND_GROUPS for way in (-1, 1)]
        assert told["jumps"] == jumps
        if place:
            before = shown.cursor.state_before()
            changed = {
                block
                for part in told["changed"]
                for block in (range(*part) if isinstance(part, list) else [part])
            }
            assert changed == changed_blocks(events[place - 1], before)
    assert asked["at"] == [shown.survey.place_at_time(time) for time in times]


@pytest.mark.parametrize("allocator", ["paged", "max"])
def test_the_history_of_a_block_is_the_terminal_viewers(node, allocator):
    shown, geometry, events = viewed(allocator)
    node.ask("load", payload=run_payload(log_in_memory(geometry, events), "a run"))
    for block in (0, 1, geometry.num_blocks // 2, geometry.num_blocks - 1):
        told = node.ask("block", block=block, place=len(events))
        assert told[::-1] == shown.survey.places_of_block(block)


def test_what_is_typed_means_what_it_means_in_the_terminal(node):
    geometry, events = story_of("swap")
    shown = ViewedRun("swap", log_in_memory(geometry, events))
    node.ask("load", payload=run_payload(log_in_memory(geometry, events), "swap"))
    places = shown.cursor.step_places
    good = node.ask("typed", what="placeTyped", texts=["3", "s3", " e5 ", "E5", "0"])
    assert good == [places[3], places[3], 5, 5, places[0]]
    for text in ("", "x", "-1", "9999", "e9999", "3.5", "12345678901234567890", "<b>"):
        (told,) = node.ask("typed", what="placeTyped", texts=[text])
        assert told["sentence"]
    num_blocks, host = geometry.num_blocks, geometry.num_host_blocks
    assert node.ask("typed", what="blockTyped", texts=["0", "#2", "h1", "H0"]) == [
        0,
        2,
        num_blocks + 1,
        num_blocks,
    ]
    for text in (str(num_blocks + host), f"h{host}", "-1", "h", ""):
        (told,) = node.ask("typed", what="blockTyped", texts=[text])
        assert "is no block" in told["sentence"]
    assert node.ask("typed", what="requestTyped", texts=["B", "A.0"]) == ["B", "A.0"]
    (told,) = node.ask("typed", what="requestTyped", texts=["constructor"])
    assert "no request begins with" in told["sentence"]


def test_two_runs_keep_to_the_same_simulated_time(node):
    one, other = viewed("paged"), viewed("max")
    payloads = [
        run_payload(log_in_memory(geometry, events), "a run")
        for _, geometry, events in (one, other)
    ]
    places = list(range(0, len(one[2]) + 1, 5))
    cursor, beside = Cursor(one[1], one[2]), RunState(other[1])
    times = [0]
    for event in other[2]:
        beside.apply(event)
        times.append(beside.time_ns)
    asked = node.ask("journey", payloads=payloads, places=places)
    for place, told in zip(places, asked, strict=True):
        cursor.seek(place)
        state = cursor.state
        there = other[0].survey.place_at_time(state.time_ns)
        if state.time_ns in times and not state.in_step and place < len(one[2]):
            there = times.index(state.time_ns)
        assert told == [place, there]
    assert asked[0] == [0, 0]


TEXTUAL = {
    "right": "ArrowRight", "left": "ArrowLeft", "down": "ArrowDown", "up": "ArrowUp",
    "right_square_bracket": "]", "left_square_bracket": "[", "end": "End", "home": "Home",
    "space": " ", "plus": "+", "equals_sign": "=", "minus": "-", "colon": ":", "slash": "/",
    "full_stop": ".", "comma": ",", "escape": "Escape", "question_mark": "?",
}  # fmt: skip
LEFT_TO_THE_BROWSER = {"pageup", "pagedown", "tab", "shift+tab", "ctrl+c", "q", "v", "V"}


def test_keys_are_the_terminal_viewers(node):
    """All of its keys but those that a browser needs, or that are about a small screen, with the same action."""
    here = {}
    for section in node.ask("keys"):
        for key in section["keys"]:
            for way, pressed in ((1, key["forward"]), (-1, key["reverse"])):
                here.update(dict.fromkeys(pressed, (key["action"], way)))
    there = {}
    for section in keys.SECTIONS.values():
        for key in section:
            for way, names in ((1, key.keys), (-1, key.reverse)):
                there.update(
                    {
                        TEXTUAL.get(name, name): (key.action, way)
                        for name in names.split(",")
                        if name and name not in LEFT_TO_THE_BROWSER
                    }
                )
    chosen_by_number = {key: here.pop(key) for key in ("1", "2")}
    assert here == there
    assert {action for action, _ in chosen_by_number.values()} == {"other"}


# -- the map ---------------------------------------------------------------------------------------------


@examples(25, 200)
@given(
    script=st.sampled_from([True, False]).flatmap(
        lambda paged: scripts(
            paged_memories(True) if paged else contiguous_memories("first-fit", "max")
        )
    ),
    cell_blocks=st.sampled_from([1, 2, 8]),
)
def test_the_maps_cells_are_the_terminals(node, script, cell_blocks):
    checked = CheckedRun(script).run()
    geometry, events = checked.manager.geometry, checked.events
    node.ask("load", payload=run_payload(log_in_memory(geometry, events), "a run"))
    places = list(range(0, len(events) + 1, 4))
    state, at = RunState(geometry), 0
    device = node.ask("cells", places=places, cellBlocks=cell_blocks, onHost=False)
    host = node.ask("cells", places=places, cellBlocks=cell_blocks, onHost=True)
    splits = node.ask("split", places=places)
    for number, place in enumerate(places):
        while at < place:
            state.apply(events[at])
            at += 1
        shown = memory_map(state)
        assert device[number] == plain_cells(shown, cell_blocks)
        assert splits[number] == list(moment_split(shown))
        pool = host_map(shown)
        if pool is not None:
            assert host[number] == plain_cells(pool, cell_blocks)


def plain_cells(shown, cell_blocks):
    return [
        [
            *(cell.written, cell.empty, cell.rounding, cell.shared, cell.cached),
            None if cell.owner is None else shown.holders[cell.owner].seq,
        ]
        for cell in map_cells(shown, cell_blocks * shown.geometry.block_size)
    ]


# -- what a log may hold ---------------------------------------------------------------------------------


def test_kinds_that_are_not_known_change_nothing(node):
    geometry, events = story_of("figure-8")
    odd = [UnknownEvent(name, (1, "x")) for name in ("toString", "__proto__", "<b>", "taken2")]
    mixed = [*events[:5], *odd, *events[5:]]
    check_every_place(node, geometry, mixed)


def test_odd_names_stay_what_they_are(node):
    names = [
        "__proto__",
        "constructor",
        "</script>",
        "\u202e\u2028\x00名前",
        "\U0001f600",
        "",
        "r1",
    ]
    arrivals = [(at, Request(name, (1, 2, 3), 4)) for at, name in enumerate(names)]
    geometry, events = serve(BlockManager(9, 2), SchedulerConfig(), arrivals)
    check_every_place(node, geometry, events)
    for name in names:
        (told,) = node.ask("typed", what="requestTyped", texts=[name])
        assert name == "" or told == name.strip() or told == name


def test_a_block_that_is_not_there_is_not_drawn(node):
    """A log that was tampered with: it holds and finds blocks beyond its memory."""
    events = [
        ev.RequestSubmitted(0, "r", 0, 3, 9, 0),
        ev.BlocksTaken(0, (2, 77), 8),
        ev.BlocksPublished(0, (77, 99)),
    ]
    check_every_place(node, Geometry(4, 4), events)
    (cells,) = node.ask("cells", places=[3], cellBlocks=1, onHost=False)
    assert [owner for *_, owner in cells] == [None, None, 0, None]


def test_a_run_without_events_has_one_place(node):
    geometry = Geometry(4, 4)
    node.ask("load", payload=run_payload(log_in_memory(geometry, []), "nothing"))
    assert node.ask("facts", places=[0]) == [facts(RunState(geometry))]
    asked = node.ask("questions", places=[0], times=[5], groups=["copy"], followed=None)
    assert asked == {
        "told": [
            {
                "step": None,
                "events": [None, None],
                "steps": [0, 0, 0, 0],
                "jumps": [None, None],
                "changed": [],
                "between": False,
            }
        ],
        "at": [0],
    }


# -- figures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"), [([], "requests waited"), (["--rate", "4"], "all steps")]
)
def test_the_page_of_a_comparison_says_the_same_means_as_the_terminal(node, tmp_path, options, why):
    page = tmp_path / "both.html"
    words = ["compare", "--requests", "40", "--kv-memory", "3GiB", *options, "--html", str(page)]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    reports = json.loads(done.stdout)["runs"]
    data = re.search(r'id="pagesim-data">(.*?)</script>', page.read_text(), re.DOTALL)
    for payload in json.loads(data[1])["runs"]:
        report = reports[payload["name"]]
        node.ask("load", payload=payload)
        shown, over = node.ask("means")
        split = WasteSplit(**report["waste"])
        assert shown == [format_percent(part) for part in split.percent().values()]
        assert why in over
        assert report["window"]["why"] in over


def test_percents_are_rounded_as_in_the_terminal(node):
    pairs = [[part, whole] for whole in (3, 16, 32, 64, 400) for part in range(whole + 1)]
    shown = [format_percent(100 * part / whole) for part, whole in pairs]
    assert node.ask("percents", pairs=pairs) == shown


def test_the_page_of_a_part_says_that_its_mean_is_of_the_whole_run(node):
    geometry, events = events_of()
    log = log_in_memory(geometry, events)
    node.ask("load", payload=run_payload(log, "a run"))
    whole, over = node.ask("means")
    node.ask("load", payload=run_payload(log, "a run", window=Window(0, len(events) // 2)))
    assert node.ask("means") == [
        whole,
        f"{over[:-1]}, of the whole run, not only of the part that this page holds.",
    ]


@pytest.mark.parametrize(("count", "size"), [(48, 1), (18, 4), (983, 16), (15_728, 1)])
def test_rows_of_the_map_have_lengths_that_one_can_count_with(node, count, size):
    for across in node.ask("rows", count=count, blockSize=size, widths=list(range(250, 1400, 50))):
        assert across < 4 or across % (8 if across >= 16 else 4) == 0
