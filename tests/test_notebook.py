"""pagesim.notebook: what becomes a recording, where a player is, what a cell shows, and what is graded.

Oracles: the command line, the cursor, the exported page, the exercises' own solutions.
"""

import ast
import json
import re

import pytest
from typer.testing import CliRunner
from viewer_logs import HOSTILE, write_run

from pagesim.cli.main import app
from pagesim.core.errors import InputError
from pagesim.notebook import (
    block_tables,
    check_exercise,
    check_manager,
    compare,
    frame,
    hint,
    memory_map,
    player,
    players,
    plot,
    question,
    quiz,
    task,
    template,
)
from pagesim.notebook.recordings import recorded
from pagesim.replay.cursor import Cursor
from pagesim.replay.explain import explain
from pagesim.replay.log import read_log
from pagesim.sim.scenario import load_scenario, scenario_names
from pagesim.views.export import Look, to_text
from pagesim.views.fragment import to_fragment
from pagesim.web.bundle import page_payload, run_payload
from pagesim_lessons import course, exercises
from pagesim_lessons.lesson import Ask, Say, Section, Show
from pagesim_lessons.quizzes.topics import TOPICS, problem
from pagesim_lessons.walk import Walk


@pytest.fixture(name="still")
def _still(monkeypatch):
    """As where anywidget is not installed."""
    monkeypatch.setattr(players, "_widget_class", lambda: None)


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "run.jsonl"
    write_run(path)
    return path


def text_of(html):
    """What a reader of the HTML sees."""
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", html))


# -- sources -----------------------------------------------------------------------------------------------


def test_whatever_names_a_run_is_that_run(log, tmp_path):
    story = load_scenario("figure-8")
    walk = Walk.of("figure-8")
    walk.until("replaced")
    toml = tmp_path / "mine.toml"
    toml.write_text(
        "[memory]\nblocks = 4\nblock_size = 4\n[[request]]\nid = 'A'\nprompt = 5\noutputs = 2\n"
    )
    named = recorded("figure-8")
    assert list(named.log.events) == walk.events
    for source in (story, walk, named, Cursor(walk.geometry, walk.events)):
        assert list(recorded(source).log.events) == walk.events
    assert recorded(walk).place == walk.place
    assert named.place is None
    for source in (log, str(log), read_log(log)):
        assert list(recorded(source).log.events) == list(read_log(log).events)
    assert recorded(toml).name == "mine"
    assert "One request" not in recorded(toml).title


def test_a_story_in_memory_is_the_log_that_the_command_writes(tmp_path):
    path = tmp_path / "run.jsonl"
    assert CliRunner().invoke(app, ["run", "swap", "--log", str(path)]).exit_code == 0
    written, kept = read_log(path), recorded("swap").log
    assert list(written.events) == list(kept.events)
    assert written.geometry == kept.geometry
    assert list(written.header) == list(kept.header)
    assert {**written.header, "command": ""} == {**kept.header, "command": ""}


@pytest.mark.parametrize("source", ["figure-88", "no/such.jsonl", 5, None, ["figure-8"]])
def test_what_is_no_run_is_refused_in_a_sentence(source):
    with pytest.raises(InputError, match=r"^[^\n]+$"):
        memory_map(source)


# -- the player's place --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scenario_names())
def test_step_and_event_of_a_still_player_are_the_cursors(still, name):
    shown, cursor = player(name), recorded(name).cursor()
    for place in range(cursor.num_events + 1):
        shown.event = place
        cursor.seek(place)
        assert (shown.event, shown.step) == (place, cursor.step_number)
    for step in range(cursor.num_steps):
        shown.step = step
        cursor.seek_step(step)
        assert (shown.event, shown.step) == (cursor.place, step)


def test_a_player_begins_where_it_is_told_to(still):
    walk = Walk.of("figure-8")
    walk.until("replaced")
    assert player("figure-8").event == 0
    assert player(walk).event == walk.place
    assert player(walk, step=2).step == 2
    assert player(walk, event=3).event == 3


def test_a_still_player_says_how_to_get_a_real_one(still):
    shown = player("figure-7", step=1)
    said = repr(shown)
    assert "pip install 'pagesim[notebooks]'" in said
    assert "step 1 of" in said
    shown.step = 2
    assert "step 2 of" in repr(shown)
    assert set(shown._repr_mimebundle_()) == {"text/plain", "text/html"}


@pytest.mark.parametrize(
    "wrong",
    [{"step": 99}, {"event": -1}, {"step": 1, "event": 1}, {"theme": "pink"}, {"height": 10}],
)
def test_a_place_that_is_not_there_is_refused(wrong):
    with pytest.raises(InputError):
        player("figure-8", **wrong)
    if set(wrong) <= {"step", "event"}:
        for picture in (memory_map, block_tables, frame):
            with pytest.raises(InputError):
                picture("figure-8", **wrong)


def test_players_are_pictures_where_that_is_asked_for(monkeypatch):
    asked = player("figure-8", step=2, still=True)
    assert type(asked) is players.StillPlayer
    assert "pip install" not in repr(asked)
    assert repr(frame("figure-8", step=2)) == repr(asked)
    monkeypatch.setattr(players, "_widget_class", lambda: lambda *_, **__: "a widget")
    for said, picture in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("PAGESIM_STILL", said)
        assert (player("figure-8") == "a widget") is not picture
    monkeypatch.setenv("PAGESIM_STILL", "1")
    assert player("figure-8", still=False) == "a widget"


@pytest.mark.parametrize("asked", [False, True], ids=["widget", "still"])
def test_what_is_no_place_or_no_pair_is_refused_in_a_sentence(asked):
    shown = player("figure-8", still=asked)
    for wrong in (
        lambda: setattr(shown, "step", "x"),
        lambda: setattr(shown, "event", 1.5),
        lambda: setattr(shown, "event", None),
        lambda: player("figure-8", step="2"),
        lambda: player("figure-6", "figure-7", "figure-8"),
    ):
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            wrong()
    assert shown.event == 0


# -- the widget ------------------------------------------------------------------------------------------------


@pytest.fixture(name="widget")
def _widget():
    pytest.importorskip("anywidget", reason="anywidget is not installed: no widget was made")
    return player("swap", "host-full", step=3)


def test_a_widgets_place_is_kept_true_by_python(widget):
    cursor = recorded("swap").cursor()
    cursor.seek_step(3)
    assert (widget.event, widget.step, widget.run) == (cursor.place, 3, 0)
    widget.event = 0
    assert widget.step is None
    widget.step = 1
    assert widget.event == cursor.step_places[1]
    for wrong in ({"step": 99}, {"event": 10**6}):
        before = (widget.event, widget.step)
        with pytest.raises(InputError):
            widget.set_trait(*next(iter(wrong.items())))
        assert (widget.event, widget.step) == before


def test_what_the_browser_says_comes_back_in_one_piece(widget):
    """As the front end sends it: several fields at once."""
    place = recorded("host-full").cursor().step_places[4]
    widget.set_state({"run": 1, "event": place, "step": 4})
    assert (widget.run, widget.event, widget.step) == (1, place, 4)


def test_a_widget_holds_what_an_exported_page_holds(widget):
    runs = [run_payload(recorded(name).log, name) for name in ("swap", "host-full")]
    assert json.loads(json.dumps(widget.payload)) == json.loads(json.dumps(page_payload(runs)))
    assert "export default { render }" in widget._esm
    assert ".pagesim-widget" in widget._css


def test_a_widget_has_a_picture_for_viewers_without_scripts(widget):
    bundle, _ = widget._repr_mimebundle_()
    kinds = {"text/plain", "text/html", "image/svg+xml", "application/vnd.jupyter.widget-view+json"}
    assert set(bundle) == kinds
    assert "step 3 of" in bundle["text/plain"]
    assert "<script" not in bundle["text/html"] + bundle["image/svg+xml"]


# -- pictures --------------------------------------------------------------------------------------------------


def test_a_picture_says_what_happened_there():
    cursor = recorded("figure-8").cursor()
    for place in (1, 11, 20):
        cursor.seek(place)
        said = " ".join(explain(cursor.event, cursor.state_before()).split())
        for picture in (memory_map, block_tables, frame):
            assert said in " ".join(repr(picture("figure-8", event=place)).split())


def test_pictures_do_not_change_when_the_walk_goes_on():
    walk = Walk.of("preemption")
    walk.step()
    pictures = [memory_map(walk), block_tables(walk), frame(walk)]
    before = [repr(picture) for picture in pictures]
    walk.to_end()
    assert [repr(picture) for picture in pictures] == before


def test_html_reads_as_the_text_does_and_takes_the_pages_colour():
    shown = frame("eviction", step=2)
    html = shown._repr_mimebundle_()["text/html"]
    assert text_of(html).split() == repr(shown).split()
    outer = html.partition(">")[0]
    assert "color: inherit" in outer
    assert "background: none" in outer


def test_nothing_from_a_log_becomes_markup(log):
    html = frame(log)._repr_mimebundle_()["text/html"]
    assert HOSTILE.isprintable() or "<b>" not in html
    from rich.text import Text

    assert "&lt;img src=x&gt;" in to_fragment([Text("<img src=x>")], Look())
    assert to_text([Text("<img src=x>")], Look()).strip() == "<img src=x>"


def test_what_is_asked_for_is_given():
    shown = memory_map("figure-6")
    assert set(shown._repr_mimebundle_(include=["text/html"])) == {"text/html"}
    assert set(shown._repr_mimebundle_(exclude=["text/html"])) == {"text/plain"}


# -- comparisons -----------------------------------------------------------------------------------------------


@pytest.fixture(name="compared", scope="module")
def _compared():
    return compare(requests=40)


def test_compare_is_the_commands(compared):
    done = CliRunner().invoke(app, ["compare", "--requests", "40", "--json"])
    runs = json.loads(done.output)["runs"]
    found = {result.allocator: result.report.as_dict() for result in compared.results}
    assert json.loads(json.dumps(found)) == runs
    assert compared.report("paged") is compared.results[-1].report


def test_the_command_that_it_names_does_the_same():
    shown = compare("alpaca", requests=25, allocators=("paged",), block_size=8, beam=False, seed=3)
    command = shown.prepared.facts["command"]
    assert (
        command == "pagesim compare alpaca --allocator=paged --requests 25 --block-size 8 --seed 3"
    )
    done = CliRunner().invoke(app, [*command.split()[1:], "--json"])
    runs = json.loads(done.output)["runs"]
    assert runs["paged"] == json.loads(json.dumps(shown.report("paged").as_dict()))


def test_a_run_that_is_asked_for_again_is_the_same_run(compared, still):
    recording = compared.run("max")
    cursor = recording.cursor()
    report = compared.report("max")
    assert cursor.num_steps == report.num_steps
    assert cursor.state.num_finished == report.num_requests - report.num_refused
    side_by_side = compared.player()
    assert "max" in repr(side_by_side)
    assert "paged" in repr(side_by_side)


@pytest.mark.parametrize("kind", ["usage", "waste", "concurrency", "latency"])
def test_figures_show_themselves(compared, kind):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: no figure was drawn")
    shown = plot(compared, kind=kind)
    bundle, metadata = shown._repr_mimebundle_()
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert "max" in metadata["image/png"]["alt"]


def test_comparisons_refuse_in_sentences(compared):
    for wrong in (
        lambda: compare("sharegtp"),
        lambda: compare("alpaca", trace="x.csv"),
        lambda: compared.run("page"),
        lambda: compared.report("page"),
        lambda: plot(compared, kind="pie"),
        lambda: plot(),
    ):
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            wrong()


# -- questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 4, 8])
def test_a_lessons_question_is_asked_and_graded(number):
    asks = [part for part in course.find(str(number)).script() if isinstance(part, Ask)]
    for at, ask in enumerate(asks[:4], start=1):
        asked = question(number, at)
        assert " ".join(ask.question.split()) in " ".join(repr(asked).split())
        assert not asked.right
        right = ask.answer.shown()
        typed = right[0] if ") " in right else right.partition(" (")[0]
        done = question(number, at, typed)
        assert done.right, (typed, repr(done))
        assert " ".join(ask.why.split())[:40] in " ".join(repr(done).split())
        assert not question(number, at, "&?").right
        assert " ".join(ask.hint.split())[:40] in " ".join(
            repr(question(number, at, hint=True)).split()
        )


def test_numbers_lists_and_truth_values_are_answers_too():
    assert question(4, 2, 12).right
    assert question(2, 1, False).right
    assert question(6, 2, [2, 4, 5, 8]).right
    assert question(4, 2, 13).questions[0].right is False
    assert question(4, 2, "what?").questions[0].right is None


def test_a_question_stands_below_what_the_lesson_says_and_shows_before_it():
    """Of its section, since the question before; the parts are counted here by hand."""
    for number, at in ((1, 3), (4, 1), (7, 1), (9, 1), (12, 4)):
        scene: list[Say | Show] = []
        asked = 0
        for part in course.find(str(number)).script():
            if isinstance(part, Ask):
                asked += 1
                if asked == at:
                    break
            scene = [] if isinstance(part, Ask | Section) else [*scene, part]
        posed = question(number, at)
        html = posed._repr_mimebundle_()["text/html"]
        said, seen = words(repr(posed)), words(text_of(html))
        before, _, _ = said.partition(words(part.question))
        assert before
        assert html.count('class="pagesim-picture"') == sum(isinstance(p, Show) for p in scene)
        for one in scene:
            if isinstance(one, Say | Show):
                text = one.text if isinstance(one, Say) else one.caption
                assert words(text) in before
                assert words(text) in seen
            if isinstance(one, Show):
                assert words(to_text([one.picture], Look(92, color=False))) in before
        bare = words(repr(question(number, at, scene=False)))
        assert words(part.question) in bare
        assert len(bare) < len(said)


def words(text):
    """What stays the same however it is set: without blanks, backticks, and the marks of lists."""
    return re.sub(r"[\s`-]", "", text)


def test_help_is_one_line_away_after_a_wrong_answer():
    assert "hint=True" in repr(question(4, 2, 13))
    assert "hint=True" not in repr(question(4, 2, 13, hint=True))
    assert "hint=True" not in repr(question(4, 2, 12))
    assert "hint=True" not in repr(question(4, 2))
    assert "hint=1" in repr(quiz("slots", 1, ["no"] * 0 + [-1]))
    assert 'hint("free-list", 2)' in repr(hint("free-list"))
    assert "hint(" not in repr(hint("free-list", 3))


def test_a_single_answer_is_one_answer():
    for topic in TOPICS:
        for seed in range(40):
            posed = problem(topic, seed)
            text = posed.questions[0].answer.shown()
            typed = text[0] if ") " in text else text.partition(" (")[0]
            if len(typed) > 1:
                break
        assert quiz(topic, seed, typed).num_right == 1
    assert quiz("slots", 1, 4096).questions[0].right is False
    assert quiz("slots", 1, "4096").questions[1].right is None


@pytest.mark.parametrize("topic", TOPICS)
def test_a_problem_is_graded_answer_by_answer(topic):
    posed = problem(topic, 5)
    right = [asked.answer.shown() for asked in posed.questions]
    typed = [text[0] if ") " in text else text.partition(" (")[0] for text in right]
    assert quiz(topic, 5, typed).right
    assert quiz(topic, 5).num_right == 0
    assert quiz(topic, 5, typed[:1]).num_right == 1
    html = quiz(topic, 5, hint=3)._repr_mimebundle_()["text/html"]
    assert "Hint: " in html


def test_questions_that_are_not_there_are_refused():
    for wrong in (
        lambda: question(99, 1),
        lambda: question(4, 99),
        lambda: question(4, 0),
        lambda: question(4, 1, hint=3),
        lambda: quiz("slotts"),
        lambda: quiz("slots", 1, ["1"] * 20),
        lambda: quiz("slots", 1, hint=4),
    ):
        with pytest.raises(InputError, match=r"^[^\n]+$"):
            wrong()


# -- exercises -------------------------------------------------------------------------------------------------


def test_an_exercise_is_checked_as_in_a_terminal(still):
    folder = exercises.folder_of("free-list")
    assert "FreeList" not in repr(task("free-list"))
    assert check_exercise("free-list", folder / "solution.py").passed
    given = check_exercise("free-list", (folder / "task.py").read_text())
    assert not given.passed
    assert "not written yet" in repr(given)
    solution = (folder / "solution.py").read_text()
    broken = check_exercise("free-list", solution.replace("raise ValueError", "pass  #"))
    assert "broken  twice" in repr(broken)
    assert 'hint("free-list")' in repr(broken)
    assert "pagesim practice" not in repr(broken)
    with pytest.raises(InputError):
        given.player()
    for number in (1, 2, 3):
        assert exercises.load("free-list").hints[number - 1][:30] in repr(hint("free-list", number))
    for wrong in (
        lambda: hint("free-list", 4),
        lambda: task("list"),
        lambda: check_exercise("x", ""),
    ):
        with pytest.raises(InputError):
            wrong()


@pytest.mark.parametrize("name", exercises.NAMES)
def test_a_task_reads_as_its_description_does(name):
    described = ast.get_docstring(ast.parse((exercises.folder_of(name) / "task.py").read_text()))
    shown = task(name)
    html = shown._repr_mimebundle_()["text/html"]
    for said in (repr(shown), text_of(html)):
        assert words(described) in words(said)
        for line in described.splitlines():
            if line.startswith("        "):
                assert line[4:].rstrip() in said
    assert "``" not in html + repr(shown)
    assert not shown.right


SIMPLE = """
class Stack:
    def __init__(self, num_blocks, block_size):
        self.block_size, self.unused, self.tables = block_size, list(range(num_blocks)), {}

    @property
    def num_free(self):
        return len(self.unused)

    def allocate(self, seq, num_tokens):
        wanted = -(-num_tokens // self.block_size)
        if seq in self.tables:
            return False
        if wanted > len(self.unused):
            return SHORT
        self.tables[seq] = [self.unused.pop() for _ in range(wanted)]
        return True

    def append(self, seq, position):
        table = self.tables[seq]
        if position // self.block_size < len(table):
            return True
        if not self.unused:
            return False
        table.append(self.unused.pop())
        return True

    def free(self, seq):
        self.unused += self.tables.pop(seq)

    def table(self, seq):
        return self.tables[seq]
"""


def test_a_manager_of_ones_own_is_examined_and_plays_stories(still):
    mine = check_manager(SIMPLE.replace("SHORT", "False"), "Stack", examples=30)
    assert mine.passed
    played = mine.play("figure-7")
    assert played.log.header["allocator"] == "Stack"
    cursor, ours = played.cursor(), recorded("figure-7").cursor()
    assert cursor.num_steps == ours.num_steps
    assert cursor.state.num_finished == ours.state.num_finished
    with pytest.raises(InputError):
        mine.play("slabs-max")
    forgetful = check_manager(SIMPLE.replace("SHORT", "True"), "Stack")
    assert not forgetful.passed
    assert forgetful.player().event > 0
    with pytest.raises(InputError):
        check_manager("class Stack: pass", "Stack")
    assert not check_manager(template(), examples=5).passed


# -- IPython ---------------------------------------------------------------------------------------------------


@pytest.fixture(name="shell")
def _shell(monkeypatch, tmp_path):
    pytest.importorskip("IPython", reason="IPython is not installed: cells were not run")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("%load_ext pagesim.notebook")
    yield shell
    shell.history_manager.end_session() if shell.history_manager else None
    InteractiveShell.clear_instance()


def test_cells_with_exercises_are_checked(shell):
    solution = (exercises.folder_of("slot-mapping") / "solution.py").read_text()
    done = shell.run_cell(f"%%exercise slot-mapping\n{solution}")
    assert done.result.passed
    done = shell.run_cell("%%exercise slot-mapping\n\ndef slot_of(\n")
    assert "line 3" in repr(done.result)
    done = shell.run_cell("%%manager Stack\n" + SIMPLE.replace("SHORT", "False"))
    assert done.result.passed


def test_a_cell_leaves_its_names_and_what_came_of_it(shell):
    solution = (exercises.folder_of("free-list") / "solution.py").read_text()
    broken = solution.replace("raise ValueError", "pass  #")
    graded = shell.run_cell(f"%%exercise free-list\nprint('once')\n{broken}").result
    assert shell.user_ns["checked"] is graded
    said = repr(graded)
    assert "checked.player()" in said
    assert "import" not in said
    calls = said.partition("pasted into Python:\n")[2].partition("\n\n")[0]
    assert shell.run_cell(calls).success
    assert shell.run_cell("checked.player(); checked.player()").success
    shell.run_cell("%%exercise free-list\nimport sys\nlater = 1\nsys.exit()")
    assert not shell.user_ns["checked"].passed
    assert "later" not in shell.user_ns
    shell.run_cell("%%manager Stack\n" + SIMPLE.replace("SHORT", "True"))
    assert "checked.player()" in repr(shell.user_ns["checked"])
    assert shell.user_ns["Stack"](3, 4).num_free == 3


def test_errors_of_ours_are_one_sentence(shell, capsys):
    capsys.readouterr()
    shell.run_cell("from pagesim.notebook import player\nplayer('figure-88')")
    said = capsys.readouterr().out.strip()
    assert said.startswith("pagesim: 'figure-88' is neither")
    assert "\n" not in said
    shell.run_cell("%%exercise\npass")
    assert "%%exercise was given without a name" in capsys.readouterr().out
