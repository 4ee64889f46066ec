"""``pagesim check`` and ``--manager``: right managers are accepted, wrong ones refused by naming the fault.

The attempts lie in ``attempts/manager``; a wrong one says in its first lines which law it breaks, and words that the
message must have.
"""

import ast
import json
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from pagesim.cli.check import check
from pagesim.core import events as ev
from pagesim.core.block_manager import BlockManager
from pagesim.core.errors import InputError
from pagesim.core.laws import LAWS
from pagesim.core.recorded import Recorded
from pagesim.practice.driver import Driver
from pagesim.practice.film_log import write_film
from pagesim.practice.manager_contracts import (
    FULL_METHODS,
    FULL_OPTIONAL,
    FULL_VALUES,
    SIMPLE_METHODS,
    SIMPLE_OPTIONAL,
    SIMPLE_VALUES,
    template,
)
from pagesim.practice.manager_grade import Job, grade
from pagesim.practice.manager_report import GRADED, ManagerReport, Verdict, report_to_plain
from pagesim.practice.manager_sandbox import check_manager
from pagesim.practice.own_manager import load_manager
from pagesim.practice.rows import operations, paged_sizes
from pagesim.practice.whole_runs import CheckedRun, workloads
from pagesim.replay.cursor import Cursor
from pagesim.replay.log import read_log
from pagesim.replay.logged_fault import logged_fault

ATTEMPTS = Path(__file__).parent / "attempts" / "manager"
RIGHT = sorted((ATTEMPTS / "right").glob("*.py"))
WRONG = sorted((ATTEMPTS / "wrong").glob("*.py"))
SIMPLE = [ATTEMPTS / "right" / name for name in ("lists.py", "bitmap.py", "heap.py")]


def said(file: Path, what: str, default: str) -> str:
    """A line of a file's head: ``# law: ...``."""
    found = re.search(rf"^# {what}: (.*)$", file.read_text(), re.M)
    return default if found is None else found[1]


def graded(file: Path, examples: int = 200, seed: int = 0) -> ManagerReport:
    return grade(Job(str(file), "Manager", seed, examples), lambda _: None)


# -- attempts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", WRONG, ids=[file.stem for file in WRONG])
def test_a_wrong_manager_is_refused_by_the_law_it_breaks(file: Path, tmp_path: Path) -> None:
    law, words = said(file, "law", ""), said(file, "says", "")
    assert law in GRADED
    assert words
    report = graded(file, int(said(file, "examples", "200")), int(said(file, "seed", "0")))
    assert (report.refusal, report.outcome.passed) == ("", False)
    assert report.law == law, report.outcome.sentence
    assert words in report.outcome.sentence
    assert report.verdict(law) is Verdict.BROKEN
    assert len(report.outcome.operations) <= 40
    assert report.outcome.operations[0].startswith("m = Manager(")
    film = report.outcome.film
    assert film is not None
    if film.shots:  # but for a run that ended before its first step
        log = tmp_path / "log.jsonl"
        last = write_film(log, film, title="t", law=law, sentence="s", last_line="l")
        cursor = Cursor.of_log(read_log(log))
        assert cursor.num_events == last
        cursor.seek(last)  # raises if an event does not follow from those before it


@pytest.mark.parametrize("file", RIGHT, ids=[file.stem for file in RIGHT])
def test_a_right_manager_is_accepted(file: Path) -> None:
    report = graded(file, 24)
    assert report.outcome.passed, report.outcome.sentence
    assert report.tried.rows == 24
    assert report.tried.operations > 400
    assert report.tried.steps > 10
    assert {report.verdict(law) for law in GRADED} <= {Verdict.KEPT, Verdict.NOT_APPLICABLE}


@pytest.mark.slow
@pytest.mark.parametrize("file", RIGHT, ids=[file.stem for file in RIGHT])
@pytest.mark.parametrize("seed", range(3))
def test_a_right_manager_is_accepted_whatever_the_seed(file: Path, seed: int) -> None:
    report = graded(file, 200, seed)
    assert report.outcome.passed, report.outcome.sentence


def test_every_law_of_a_memory_is_broken_by_some_attempt() -> None:
    broken = {said(file, "law", "") for file in WRONG}
    assert set(GRADED) <= set(LAWS)
    assert set(GRADED) - broken == {"progress", "same-log"}
    contracts = {file.stem.startswith("full_") for file in WRONG}
    assert contracts == {True, False}


def test_a_manager_that_draws_by_chance_gives_other_logs(tmp_path: Path) -> None:
    file = tmp_path / "chance.py"
    text = (ATTEMPTS / "right" / "lists.py").read_text()
    chance = text.replace(
        "self.free_blocks.pop(0)", "self.free_blocks.pop(random.randrange(self.num_free))"
    )
    file.write_text(f"import random\n\n{chance}")
    report = graded(file, 40)
    assert report.law == "same-log"


def test_the_same_seed_is_the_same_report() -> None:
    file = ATTEMPTS / "wrong" / "half_an_allocate.py"
    one, other = (report_to_plain(graded(file, seed=3)) for _ in range(2))
    assert one == other
    assert graded(RIGHT[0], 10, 0).tried != graded(RIGHT[0], 10, 1).tried


# -- the simple contract -----------------------------------------------------------------------------------


def made(file: Path, size: tuple[int, int]) -> Recorded:
    return Recorded(load_manager(f"{file}:Manager").make(*size), lambda _: None)


@pytest.mark.parametrize("file", SIMPLE, ids=[file.stem for file in SIMPLE])
@examples(40, 1000)
@given(size=paged_sizes, drawn=operations())
def test_every_law_holds_through_the_adapter(file, size, drawn) -> None:
    Driver(made(file, size)).play(drawn)


TOLD = (ev.StepPlanned, ev.SequencePreempted, ev.SequenceAdmitted)


@examples(50, 1000)
@given(
    workload=workloads(can_share=True, can_cache=False, can_swap=False),
    file=st.sampled_from(SIMPLE),
)
def test_a_simple_manager_serves_as_the_block_manager_does(workload, file) -> None:
    """Which blocks are handed out makes no difference to who runs when."""
    size = (workload.num_blocks, workload.block_size)
    if file.stem == "bitmap" and any(request.num_samples > 1 for _, request in workload.requests):
        file = SIMPLE[0]
    ours = CheckedRun(workload, BlockManager(*size))
    theirs = CheckedRun(workload, load_manager(f"{file}:Manager").make(*size))
    for run in (ours, theirs):
        run.run()
    told = [[event for event in run.events if isinstance(event, TOLD)] for run in (ours, theirs)]
    assert told[0] == told[1]


NEITHER = """
class Neither:
    def __init__(self, num_blocks, block_size): pass
    def allocate(self, seq, num_tokens): pass
    def free(self, seq): pass

class Crooked(Neither):
    num_free = 8
    def append(self, seq): pass
    def table(self, seq): pass

class Unmade:
    def __init__(self, num_blocks): pass

class Odd:
    num_free = 3.5
    def __init__(self, num_blocks, block_size): pass
    def allocate(self, seq, num_tokens): return True
    def append(self, seq, position): return True
    def free(self, seq): pass
    def table(self, seq): return "none"

thing = 3
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "Neither",
            "for the simple one it lacks num_free, append, table; for the full one it lacks geometry",
        ),
        ("Crooked", r"Crooked.append takes (seq); the contract's is append(seq, position)"),
        ("Unmade", "it takes (num_blocks), and is made as Unmade(num_blocks, block_size)"),
        ("thing", "has thing, which cannot be called; it is to be a class"),
        ("Absent", "has no class Absent; it has Neither, Crooked, Unmade, Odd"),
        ("Niether", "has no class Niether; did you mean Neither?"),
    ],
)
def test_what_meets_no_contract_is_said_in_a_sentence(
    tmp_path: Path, name: str, words: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(NEITHER)
    report = grade(Job(str(file), name, 0, 5), lambda _: None)
    assert words in report.refusal
    assert "\n" not in report.refusal


def test_what_is_no_number_of_blocks_is_a_broken_contract(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(NEITHER)
    report = grade(Job(str(file), "Odd", 0, 5), lambda _: None)
    assert (report.law, report.outcome.sentence) == (
        "contract",
        "num_free is 3.5; it must be a whole number",
    )


def signatures(text: str) -> dict[str, tuple[str, ...]]:
    """The public methods of the one class in a file."""
    (node,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    return {item.name: tuple(arg.arg for arg in item.args.args[1:]) for item in methods}


def test_the_templates_are_the_contracts() -> None:
    simple = template("simple")
    with_fork = re.sub(r"^    # ?(?=    |def |$)", "    ", simple.split("Optional.")[1], flags=re.M)
    found = signatures(simple) | signatures(
        f"class Rest:\n    x = 1\n{with_fork.split(chr(10), 1)[1]}"
    )
    asked = {
        **SIMPLE_METHODS,
        **SIMPLE_OPTIONAL,
        "num_free": (),
        "__init__": ("num_blocks", "block_size"),
    }
    assert found == asked
    assert set(SIMPLE_VALUES) <= set(found)
    full = template("full")
    assert signatures(full) == {
        **FULL_METHODS, **FULL_OPTIONAL, "__init__": ("num_blocks", "block_size"),
    }  # fmt: skip
    assert all(value in full for value in FULL_VALUES)
    with pytest.raises(InputError, match="it is simple or full"):
        template("other")
    assert sorted(f.name for f in (files("pagesim.practice") / "templates").iterdir()) == [
        "full_manager.txt",
        "simple_manager.txt",
    ]


# -- a process that can be lost --------------------------------------------------------------------------

START = (ATTEMPTS / "right" / "lists.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return len(self.free_blocks)", "import os; os._exit(0)", "your code ended the program, while operations"),
        ("return len(self.free_blocks)", "return sum(iter(int, 1))", "did not come to an end within 1.5 s"),
        ("return len(self.free_blocks)", "return len([0] * 10**10)", "wants more memory than"),
        ("class Manager:", "input()\nclass Manager:", "nothing can be typed inside a check"),
        ("class Manager:", "def (:\n", "is no Python"),
    ],
    ids=["ends", "hangs", "hogs", "asks", "syntax"],
)  # fmt: skip
def test_whatever_it_does_a_report_comes_back(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(START.replace(old, new))
    report, _ = check_manager(file, "Manager", examples=3, seconds=1.5, memory_mib=256)
    assert words in (report.refusal or report.outcome.sentence)


# -- the commands ------------------------------------------------------------------------------------------


def pagesim(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )


def flat(text: str) -> str:
    """Without line ends, which hang on the width."""
    return " ".join(text.split())


def test_check_tells_the_law_and_writes_a_log_that_opens_where_it_broke(tmp_path: Path) -> None:
    wrong = f"{ATTEMPTS / 'wrong' / 'copied_and_still_counted.py'}:Manager"
    result = pagesim(tmp_path, "check", wrong)
    assert result.returncode == 1, result.stderr
    assert "refcount                BROKEN" in result.stdout
    for part in (
        "meets the simple contract; it has no prefix cache, no swap",
        "a count is too high",
        "m.fork(",
        "see it: pagesim view check-Manager.jsonl",
    ):
        assert flat(part) in flat(result.stdout)
    lines = (tmp_path / "check-Manager.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["opens_at"] == len(lines) - 1
    shown = pagesim(tmp_path, "show", "check-Manager.jsonl")
    assert "a count is too high" in flat(shown.stdout)
    assert "✗ broken here: refcount" in shown.stdout
    assert "computes again" not in shown.stdout


def test_the_log_of_the_last_check_gives_way_and_no_other(tmp_path: Path) -> None:
    wrong = ATTEMPTS / "wrong"
    for file in ("leaks_on_free.py", "copied_and_still_counted.py"):
        assert pagesim(tmp_path, "check", f"{wrong / file}:Manager").returncode == 1
    (log,) = tmp_path.iterdir()
    assert json.loads(log.read_text().splitlines()[0])["law"] == "refcount"
    for text in ("mine", None):
        log.unlink()
        if text is None:
            assert pagesim(tmp_path, "run", "figure-8", "--log", log.name).returncode == 0
        else:
            log.write_text(text)
        kept = log.read_bytes()
        result = pagesim(tmp_path, "check", f"{wrong / 'leaks_on_free.py'}:Manager")
        assert "see it: pagesim view check-Manager-2.jsonl" in result.stdout
        assert log.read_bytes() == kept


def test_a_verdict_needs_no_log(tmp_path: Path) -> None:
    words = ["check", f"{ATTEMPTS / 'wrong' / 'leaks_on_free.py'}:Manager", "--log", "no/log.jsonl"]
    result = pagesim(tmp_path, *words)
    assert (result.returncode, result.stderr) == (1, "")
    assert "conservation is broken" in result.stdout
    assert "the log is not kept: no/log.jsonl cannot be written: No such file" in result.stdout
    value = json.loads(pagesim(tmp_path, *words, "--json").stdout)
    assert value["log"] is None
    assert value["log_not_kept"].startswith("no/log.jsonl cannot be written")


TWO_FAULTS = """
    def fork(self, parent, child, num_tokens):
        self.tables[child] = self.tables[parent][: -(-num_tokens // self.block_size)]
        for block in self.tables[child]:
            self.counts[block] += 1
"""


def test_calls_without_sense_hide_no_other_fault(tmp_path: Path) -> None:
    """The fork onto oneself is not refused, and a free of what is shared leaks."""
    right = (ATTEMPTS / "right" / "lists.py").read_text()
    text = right[: right.index("    def fork")] + TWO_FAULTS
    file = tmp_path / "mine.py"
    file.write_text(text)
    report = graded(file)
    assert report.law == "none-changes-nothing"
    assert "is to be refused, as sequence" in report.outcome.sentence
    file.write_text(
        text.replace("if not self.counts[block]:", "if block and not self.counts[block]:")
    )
    report = graded(file)
    assert report.law == "conservation"
    assert "fork" not in "".join(report.outcome.operations)


def test_the_picture_of_a_fault_is_what_the_code_says(tmp_path: Path) -> None:
    report = graded(ATTEMPTS / "wrong" / "one_table_for_two.py")
    assert report.outcome.film is not None
    last = report.outcome.film.shots[-1].tables
    assert len({tuple(table) for table in last.values()}) == 1, "one list is both tables"
    assert len(last) == 2


def test_an_interrupt_is_a_sentence(tmp_path: Path) -> None:
    words = ["check", f"{ATTEMPTS / 'right' / 'builtin.py'}:Manager", "--examples", "5000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pagesim", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=20)
    assert (process.returncode, out, error) == (130, "", "pagesim: interrupted\n")


def test_check_in_json_with_a_manager_that_prints(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        START.replace(
            "        return list(self", "        print('a table')\n        return list(self"
        )
    )
    result = pagesim(tmp_path, "check", f"{file}:Manager", "--examples", "4", "--json")
    assert result.returncode == 0, result.stderr
    value = json.loads(result.stdout)
    assert value["passed"] is True
    assert value["broken"] is value["log"] is None
    assert value["tried"]["rows"] == 4
    assert value["laws"]["fold"]["verdict"] == "not applicable"
    assert "a table" in value["printed"]
    result = pagesim(tmp_path, "check", f"{file}:Manager", "--examples", "4")
    assert "every law is kept" in result.stdout
    assert "your code printed" in result.stdout
    assert [f.name for f in tmp_path.iterdir()] == ["mine.py"]


def test_check_says_in_a_sentence_what_it_cannot_do(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "mine.py").write_text(NEITHER)
    monkeypatch.chdir(tmp_path)
    for options, named in (
        ({}, "no manager was given"),
        ({"manager": "mine.py"}, "write FILE:Class"),
        ({"manager": "nowhere.py:Mine"}, "nowhere.py is not a file"),
        ({"manager": "mine.py:Neither"}, "meets neither contract"),
        ({"manager": "mine.py:Neither", "examples": 0}, "1 or more"),
        ({"manager": "mine.py:Neither", "template": "simple"}, "leave one out"),
        ({"template": "best"}, "it is simple or full"),
        ({"template": "full", "out": Path("mine.py")}, "mine.py exists already"),
        ({"manager": "mine.py:Neither", "out": Path("x.py")}, "--log is where a log goes"),
    ):
        with pytest.raises(InputError, match=re.escape(named)):
            check(**{"examples": 5, **options})
    result = pagesim(tmp_path, "check", "mine.py:Absent")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "has no class Absent" in result.stderr


def test_a_template_is_written_and_is_told_to_be_empty(tmp_path: Path) -> None:
    assert pagesim(tmp_path, "check", "--template", "simple", "-o", "mine.py").returncode == 0
    assert (tmp_path / "mine.py").read_text() == template("simple")
    assert pagesim(tmp_path, "check", "--template", "full").stdout == template("full")
    result = pagesim(tmp_path, "check", "mine.py:MyManager")
    assert result.returncode == 1
    assert "MyManager is not written yet" in result.stdout


def test_a_story_is_played_with_a_manager_of_ones_own(tmp_path: Path) -> None:
    heap, bitmap = [f"{ATTEMPTS / 'right' / name}.py:Manager" for name in ("heap", "bitmap")]
    result = pagesim(tmp_path, "run", "figure-8", "--manager", heap, "--log", "a.jsonl")
    assert result.returncode == 0, result.stderr
    assert "block 2 takes its place" in flat(result.stdout)
    assert f"--manager {heap} --view" in flat(result.stdout)
    assert pagesim(tmp_path, "run", "figure-8", "--log", "b.jsonl").returncode == 0
    kinds = [
        [json.loads(line)[0] for line in (tmp_path / name).read_text().splitlines()[1:]]
        for name in ("a.jsonl", "b.jsonl")
    ]
    assert kinds[0] == kinds[1]
    result = pagesim(tmp_path, "rerun", "a.jsonl")
    assert result.returncode == 2
    assert f"serve it with --manager {heap}" in result.stderr
    for name, own, words in (
        ("figure-8", bitmap, "figure-8 is about samples that fork, and Manager has no fork"),
        (
            "prefix-cache",
            heap,
            "prefix-cache is about a prefix cache, and Manager has no prefix cache",
        ),
        ("swap", heap, "and Manager has no swap"),
    ):
        result = pagesim(tmp_path, "run", name, "--manager", own)
        assert result.returncode == 2
        assert words in result.stderr


def test_a_workload_is_served_by_a_manager_of_ones_own(tmp_path: Path) -> None:
    words = ["run", "--requests", "40", "--kv-memory", "4GiB", "--json"]
    own = pagesim(tmp_path, *words, "--manager", f"{SIMPLE[0]}:Manager")
    ours = pagesim(tmp_path, *words)
    assert own.returncode == 0, own.stderr
    assert json.loads(own.stdout)["runs"]["Manager"] == json.loads(ours.stdout)["runs"]["paged"]
    leaky = f"{ATTEMPTS / 'wrong' / 'leaks_on_free.py'}:Manager"
    broken = pagesim(tmp_path, *words, "--manager", leaky)
    assert broken.returncode == 2
    assert re.search(
        r"leaks_on_free.py:Manager broke a law in step \d+: conservation", broken.stderr
    )
    assert broken.stderr.endswith(f"; find a short way there: pagesim check {leaky}\n")
    refused = pagesim(tmp_path, *words, "--manager", leaky, "--allocator", "max")
    assert "--allocator was given with --manager" in refused.stderr


def test_a_run_that_broke_a_law_leaves_a_log_that_ends_with_it(tmp_path: Path) -> None:
    leaky = f"{ATTEMPTS / 'wrong' / 'leaks_on_free.py'}:Manager"
    assert pagesim(tmp_path, "run", "figure-8", "--log", "ours.jsonl").returncode == 0
    for name, words in (
        ("story", ["run", "figure-8"]),
        ("served", ["run", "--requests", "20"]),
        ("again", ["rerun", "ours.jsonl"]),
    ):
        result = pagesim(tmp_path, *words, "--manager", leaky, "--log", f"{name}.jsonl")
        assert result.returncode == 2
        assert f"pagesim check {leaky}; see it: pagesim view {name}.jsonl" in result.stderr
        log = read_log(tmp_path / f"{name}.jsonl")
        fault = logged_fault(log)
        assert fault is not None
        assert (fault.law, fault.place) == ("conservation", len(log.events))
        (step,) = re.findall(r"broke a law in step ([\d,]+)", result.stderr)
        cursor = Cursor.of_log(log)
        cursor.seek(fault.place)
        assert int(step) == cursor.step_number
        assert "✗ broken here: conservation" in pagesim(tmp_path, "show", f"{name}.jsonl").stdout


@pytest.mark.parametrize(("printed", "most"), [("'a line'", 200), ("'x' * 10**6", 2200)])
def test_of_what_a_manager_prints_the_first_lines_are_shown(
    tmp_path: Path, printed: str, most: int
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(START.replace("    def drop(", f"        print({printed})\n\n    def drop(", 1))
    text = START.replace(
        "        block = self.free", f"        print({printed})\n        block = self.free"
    )
    file.write_text(f"print('loaded')\n{text}")
    assert pagesim(tmp_path, "run", "figure-8", "--log", "a.jsonl").returncode == 0
    for words in (["run", "--requests", "5", "--json"], ["rerun", "a.jsonl", "--json"]):
        result = pagesim(tmp_path, *words, "--manager", f"{file}:Manager")
        assert result.returncode == 0, result.stderr
        json.loads(result.stdout)
        assert result.stderr.startswith("loaded\n")
        assert len(result.stderr) < most + len(str(file))
    result = pagesim(tmp_path, "run", "--requests", "5", "--manager", f"{file}:Manager")
    assert re.search(r"mine.py:Manager printed [\d,]+ lines in all", result.stderr)


def test_a_story_says_whose_blocks_it_tells_of(tmp_path: Path) -> None:
    own = f"{SIMPLE[0]}:Manager"
    told = pagesim(tmp_path, "run", "figure-6", "--manager", own, "--log", "a.jsonl").stdout
    assert "Look for: (with our manager) The prompt" in told
    header = read_log(tmp_path / "a.jsonl").header
    assert str(header["look_for"]).startswith("(with our manager) The prompt")
    assert "our manager" not in pagesim(tmp_path, "run", "figure-6").stdout


def test_a_class_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NEITHER)
    for words in (["check"], ["run", "figure-6", "--manager"]):
        for name, told in (
            ("Odder", "mine.py has no class Odder; did you mean Odd?"),
            ("Xyz", "mine.py has no class Xyz; it has Neither, Crooked, Unmade, Odd"),
        ):
            assert told in pagesim(tmp_path, *words, f"mine.py:{name}").stderr
    (tmp_path / "none.py").write_text("from enum import Enum\n")
    result = pagesim(tmp_path, "check", "none.py:Mine")
    assert "none.py has no class Mine, and no class at all" in result.stderr


def test_rerun_takes_a_simple_manager(tmp_path: Path) -> None:
    assert pagesim(tmp_path, "run", "figure-8", "--log", "a.jsonl").returncode == 0
    for file in SIMPLE:
        result = pagesim(tmp_path, "rerun", "a.jsonl", "--manager", f"{file}:Manager", "--json")
        assert result.returncode == 0, result.stderr
        value = json.loads(result.stdout)
        assert value["rerun"]["num_finished"] == value["logged"]["num_finished"]
