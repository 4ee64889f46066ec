"""``pagesim quiz`` as a person, a pipe and a teacher meet it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from terminal import Terminal

from pagesim.cli.main import main
from pagesim_lessons.quizzes.scenarios import scenario_problem
from pagesim_lessons.quizzes.topics import TOPICS, problem


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def quiz(*words: str, stdin: str = "", **environ: str) -> Done:
    """The command in this process, with pipes for all three streams."""
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8") for data in (stdin.encode(), b"", b"")]
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["pagesim", "quiz", *words])
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as ended:
            main()
    signal.signal(signal.SIGTERM, handler)
    texts = []
    for stream in streams[1:]:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Done(int(ended.value.code or 0), *texts)


def in_process_of_its_own(*words: str, stdin: str, **environ: str):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return subprocess.run(
        [sys.executable, "-m", "pagesim", "quiz", *words],
        capture_output=True,
        text=True,
        input=stdin,
        env={**kept, **environ},
        timeout=60,
        check=False,
    )


def shown_answers(made) -> list[str]:
    return [question.answer.shown().split(" (")[0] for question in made.questions]


# -- in a pipe -------------------------------------------------------------------------------------------


def test_alone_it_lists_the_topics() -> None:
    done = quiz()
    assert done.returncode == 0
    for name, topic in TOPICS.items():
        assert re.search(rf"^  {name} +{re.escape(topic.about)}$", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert [row["topic"] for row in json.loads(quiz("--json").stdout)] == list(TOPICS)


def test_a_pipe_gets_the_problem_and_no_answer() -> None:
    done = quiz("buddy", "--seed", "2", COLUMNS="80")
    made = problem("buddy", 2)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    flat = " ".join(done.stdout.split())
    for question in made.questions:
        assert question.prompt in flat
        assert question.why not in flat
        assert not any(hint in flat for hint in question.hints)
    assert made.repeat in flat


def test_a_seed_is_drawn_and_said() -> None:
    first = quiz("slots").stdout
    command = re.search(r"pagesim quiz (slots --seed \d+)", first)
    assert command is not None
    assert quiz(*command[1].split()).stdout == first


def test_answers_steps_and_hints_on_request() -> None:
    made = problem("slots", 4)
    flat = " ".join(quiz("slots", "--seed", "4", "-c").stdout.split())
    for question in made.questions:
        assert f"Answer: {question.answer.shown()} {question.why}" in flat
    flat = " ".join(quiz("slots", "--seed", "4", "--steps").stdout.split())
    assert all(step in flat for question in made.questions for step in question.steps)
    flat = " ".join(quiz("slots", "--seed", "4", "--steps", "--up-to", "1").stdout.split())
    assert all(question.steps[0] in flat for question in made.questions)
    assert not any(question.steps[-1] in flat for question in made.questions)
    for strength in (1, 2, 3):
        flat = " ".join(quiz("slots", "--seed", "4", "--hint", str(strength)).stdout.split())
        assert all(question.hints[strength - 1] in flat for question in made.questions)


def test_json_has_answers_on_request_only() -> None:
    done = quiz("eviction", "--seed", "5", "--json", FORCE_COLOR="1")
    value = json.loads(done.stdout)
    assert value["command"] == "pagesim quiz eviction --seed 5"
    assert "answer" not in done.stdout
    assert [len(question["hints"]) for question in value["questions"]] == [3] * 4
    assert value["given"]["block_size"] == 4
    value = json.loads(quiz("eviction", "--seed", "5", "--json", "-c").stdout)
    answers = [question.answer.shown() for question in problem("eviction", 5).questions]
    assert [question["answer"] for question in value["questions"]] == answers
    assert all(question["steps"] and question["why"] for question in value["questions"])


@pytest.mark.parametrize("topic", TOPICS)
def test_shown_answers_typed_as_lines_are_right(topic: str) -> None:
    answers = shown_answers(problem(topic, 11))
    done = quiz(topic, "--seed", "11", "--grade", "-", stdin="\n".join(answers) + "\n")
    assert done.returncode == 0, done.stdout
    assert f"{len(answers)} of {len(answers)} right" in done.stdout


def test_wrong_empty_and_unreadable_lines() -> None:
    made = problem("slots", 1)
    right = made.questions[0].answer.shown()
    done = quiz(
        "slots", "--seed", "1", "--grade", "-", "-c", stdin=f"{right}\n\nwhat\x1b[31m\n9999\n"
    )
    assert done.returncode == 1
    assert "1 of 4 right" in done.stdout
    assert "2. wrong: - (no answer)" in done.stdout
    assert re.search(r"^3\. wrong: .*not readable: .*type a whole number\)$", done.stdout, re.M)
    assert f"It is {made.questions[3].answer.shown()}." in done.stdout
    assert "\x1b" not in done.stdout
    value = json.loads(quiz("slots", "--seed", "1", "--grade", "-", "--json", stdin=right).stdout)
    assert value["num_right"] == 1
    assert [one["right"] for one in value["graded"]] == [True, False, False, False]


def test_a_file_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(shown_answers(problem("waste", 3))), "utf-8")
    assert quiz("waste", "--seed", "3", "--grade", str(path)).returncode == 0
    path.write_bytes(b"\xff\xfe\n" * 3)
    assert quiz("waste", "--seed", "3", "--grade", str(path)).returncode == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["slot"], "'slot' is no topic of the quiz; did you mean slots? `pagesim quiz` lists them"),
        (["bytes"], "did you mean bytes-per-token?"),
        (["nonsense"], "'nonsense' is no topic of the quiz; the topics are bytes-per-token"),
        (["slots", "--seed", "-1"], "seed -1 was given"),
        (["slots", "--seed", "x"], "--seed"),
        (["slots", "--hint", "4"], "--hint 4 was given; give 1"),
        (["slots", "--up-to", "2"], "--up-to 2 was given; give 1 or more, and --steps"),
        (["slots", "--steps", "--up-to", "0"], "--up-to 0"),
        (["--grade", "-"], "--grade was given without a topic"),
        (["--batch", "3", "--out", "x"], "--batch was given without a topic"),
        (["slots", "--batch", "3"], "belong together"),
        (["slots", "--out", "x"], "belong together"),
        (["slots", "--force"], "belong together"),
        (["slots", "--batch", "0", "--out", "x"], "give 1 to 1,000 sheets"),
        (["slots", "--batch", "3", "--out", "x", "--json"], "--json was given with --batch"),
        (["slots", "--grade", "-", "--seed", "1", "--steps"], "--steps was given with --grade"),
        (["slots", "--grade", "-", "--seed", "1", "--hint", "1"], "--hint was given with --grade"),
        (["slots", "--grade", "-"], "--grade was given without --seed"),
        (["-c"], "--answers was given without a topic"),
        (["slots", "-c", "--batch", "3", "--out", "x"], "--answers was given with --batch"),
        (["figure-6"], "'figure-6' is a scenario, not a topic; write --scenario figure-6"),
        (
            ["slots", "--seed", "1", "--grade", "no-such-file"],
            "no-such-file cannot be read: No such file",
        ),
        (["slots", "--scenario", "figure-6"], "were both given"),
        (["--scenario", "nonsense"], "no scenario is named 'nonsense'"),
        (["--scenario", "missing.toml"], "missing.toml cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], says: str, tmp_path: Path) -> None:
    done = quiz(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("pagesim: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_too_many_lines_are_refused() -> None:
    done = quiz("slots", "--seed", "1", "--grade", "-", stdin="1\n" * 5)
    assert (done.returncode, done.stdout) == (2, "")
    assert "5 lines were given and there are 4 questions" in done.stderr


def test_a_process_of_its_own_in_ascii() -> None:
    answers = "\n".join(shown_answers(problem("slots", 1)))
    words = ("slots", "--seed", "1", "--grade", "-")
    done = in_process_of_its_own(*words, stdin=answers, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("4 of 4 right\n")
    assert done.stdout.isascii()


# -- for a class -----------------------------------------------------------------------------------------


def test_sheets_and_keys_apart(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    words = ("preemption", "--batch", "12", "--seed", "90", "--out", str(folder))
    done = quiz(*words)
    assert done.returncode == 0, done.stderr
    sheets = sorted((folder / "problems").iterdir())
    keys = sorted((folder / "answers").iterdir())
    names = [f"preemption-{seed:03}.md" for seed in range(90, 102)]
    assert [path.name for path in sheets] == [path.name for path in keys] == names
    for number, (sheet, key) in enumerate(zip(sheets, keys, strict=True)):
        made = problem("preemption", 90 + number)
        sheet_text, key_text = sheet.read_text("utf-8"), key.read_text("utf-8")
        assert max(map(len, (sheet_text + key_text).splitlines())) <= 80
        assert made.repeat in key_text
        for question in made.questions:
            assert question.prompt in " ".join(sheet_text.split())
            assert question.why not in " ".join(sheet_text.split())
            assert f"**Answer:** {question.answer.shown()}" in key_text
    assert len({sheet.read_text("utf-8") for sheet in sheets}) == 12
    again = quiz(*words)
    assert again.returncode == 2
    assert "is not an empty folder" in again.stderr
    (folder / "mine.txt").write_text("kept")
    assert quiz(*words, "--force").returncode == 0
    assert (folder / "mine.txt").read_text() == "kept"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = quiz("slots", "--batch", "1", "--out", str(tmp_path / "file" / "below"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    done = quiz("slots", "--batch", "1", "--out", str(tmp_path / "file"))
    assert "is not an empty folder" in done.stderr


# -- in a terminal ---------------------------------------------------------------------------------------


class Talk:
    """The quiz in a terminal: each ``type`` waits for the prompt first."""

    def __init__(self, *words: str, **environ: str) -> None:
        self.terminal = Terminal("-m", "pagesim", "quiz", *words, **environ)
        self.seen = 0

    def type(self, text: str) -> None:
        self.wait("\n> ")
        self.terminal.type(text)

    def wait(self, text: str) -> None:
        for _ in range(200):
            found = self.plain().find(text, self.seen)
            if found >= 0:
                self.seen = found + len(text)
                return
            self.terminal.read(0.1)
        raise AssertionError(f"{text!r} never came: {self.plain()[self.seen :]!r}")

    def plain(self) -> str:
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.terminal.output)
        return text.replace("\r", "")

    def end(self) -> int:
        code = self.terminal.end()
        self.terminal.close()
        return code


def test_questions_are_asked_graded_and_counted() -> None:
    made = problem("slots", 2)
    one, two, three, four = shown_answers(made)
    talk = Talk("slots", "--seed", "2")
    talk.type("what?\r")
    talk.wait("'what?' was typed; type a whole number.")
    talk.type(one + "\r")
    talk.wait("Right.")
    talk.type(f"{int(two) + 1}\r")
    talk.wait("Not right: off by one.")
    talk.type(two + "\r")
    talk.wait("Right.")
    for strength, hint in zip(("weak", "medium", "strong"), made.questions[2].hints, strict=True):
        talk.type("hint\r")
        talk.wait(f"Hint ({strength}): {hint.split()[0]}")
    talk.type("steps\r")
    talk.wait(f"1) {made.questions[2].steps[0]}")
    talk.type(three + "\r")
    talk.wait("Right.")
    talk.type("skip\r")
    talk.wait(f"Answer: {four}")
    talk.wait("3 of 4 right, 1 at the first attempt without help.")
    talk.wait("pagesim quiz slots --seed 2")
    assert talk.end() == 0
    assert "Traceback" not in talk.plain()


def test_the_problem_can_be_shown_again_and_the_words_are_explained() -> None:
    made = problem("slots", 2)
    talk = Talk("slots", "--seed", "2")
    talk.wait("or: hint, steps, skip, again, quit.")
    talk.type("again\r")
    talk.wait("block size ")
    talk.wait(f"1. {made.questions[0].prompt[:30]}")
    talk.type("help\r")
    talk.wait("Type a whole number; or one of these words:")
    talk.wait("- again: show the problem")
    talk.type(f"slot {shown_answers(made)[0]}\r")
    talk.wait("Right.")
    talk.type("quit\r")
    talk.wait("1 of 4 right, 1 at the first attempt without help")
    assert talk.end() == 0


@pytest.mark.parametrize(
    ("typed", "code"), [("quit\r", 0), ("\x04", 0), ("\x03", 130)], ids=["quit", "eof", "ctrl-c"]
)
def test_leaving_is_clean_and_keeps_the_score(typed: str, code: int) -> None:
    talk = Talk("budget", "--seed", "1")
    talk.type(shown_answers(problem("budget", 1))[0] + "\r")
    talk.wait("Right.")
    talk.type(typed)
    talk.wait("1 of ")
    assert talk.end() == code
    assert "Traceback" not in talk.plain()
    assert "interrupted" not in talk.plain()


def test_single_letters_are_answers_not_words() -> None:
    """A sequence may be called Q."""
    made = next(
        p
        for p in (problem("copy-on-write", seed) for seed in range(200))
        if list(p.questions[2].answer.values) == ["Q", "C"]
        or list(p.questions[2].answer.values) == ["C", "Q"]
    )
    talk = Talk("copy-on-write", "--seed", str(made.seed))
    talk.type("skip\r")
    talk.type("skip\r")
    talk.type("q\r")
    talk.wait("Not right")
    talk.type("q c\r")
    talk.wait("Right.")
    talk.type("quit\r")
    assert talk.end() == 0


def test_odd_bytes_and_no_color_in_a_terminal() -> None:
    talk = Talk("slots", "--seed", "2", NO_COLOR="1", PYTHONIOENCODING="ascii")
    talk.wait("\n> ")
    os.write(talk.terminal.master, b"\xff\xe2\x9c\r")
    talk.type("quit\r")
    assert talk.end() == 0
    assert "Traceback" not in talk.plain()
    assert not re.search(r"\x1b\[[\d;]*3[0-7][\d;]*m", talk.terminal.output)


def test_steps_one_at_a_time_in_a_terminal() -> None:
    made = problem("slots", 4)
    talk = Talk("slots", "--seed", "4", "--steps")
    talk.wait("Enter shows the next step")
    talk.wait("(a whole number)")
    talk.terminal.type("\r")
    talk.wait(f"1) {made.questions[0].steps[0]}")
    assert made.questions[0].steps[1] not in talk.plain()
    talk.terminal.type("\r")
    talk.wait(f"2) {made.questions[0].steps[1]}")
    talk.terminal.type("q\r")
    talk.wait("The same problem")
    assert talk.end() == 0


# -- about a scenario ------------------------------------------------------------------------------------


def test_a_teachers_own_scenario(tmp_path: Path) -> None:
    path = tmp_path / "my story.toml"
    path.write_text(
        'title = "Mine"\n[memory]\nblocks = 6\nblock_size = 2\n'
        '[[request]]\nid = "left"\nprompt = 5\noutputs = 4\n'
        '[[request]]\nid = "right"\nprompt = 3\noutputs = 3\nstep = 1\n',
        "utf-8",
    )
    first = quiz("--scenario", str(path), "--seed", "4")
    assert first.returncode == 0, first.stderr
    assert "Mine (scenario my story)." in first.stdout
    assert f"pagesim quiz --scenario '{path}' --seed 4" in " ".join(first.stdout.split())
    assert quiz("--scenario", str(path), "--seed", "4").stdout == first.stdout
    assert quiz("--scenario", str(path), "--seed", "5").stdout != first.stdout
    answers = shown_answers(scenario_problem(str(path), 4))
    graded = quiz("--scenario", str(path), "--seed", "4", "--grade", "-", stdin="\n".join(answers))
    assert graded.returncode == 0, graded.stdout
    value = json.loads(quiz("--scenario", str(path), "--seed", "4", "--json", "-c").stdout)
    assert len(value["questions"]) == 5
    sheets = tmp_path / "sheets"
    assert quiz("--scenario", str(path), "--batch", "3", "--out", str(sheets)).returncode == 0
    assert len(list((sheets / "problems").iterdir())) == 3
