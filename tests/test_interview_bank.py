"""The bank of interview questions: complete, true to the simulator, and every command runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from commands import check_command

from pagesim.cli.main import app
from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.errors import InputError
from pagesim.core.types import Room
from pagesim.sim.scenario import scenario_names
from pagesim_lessons.interview.bank import all_cards, built_in, card_called, chosen, read_bank
from pagesim_lessons.interview.cards import ERAS, TEXTS, Card
from pagesim_lessons.interview.figures import FIGURES, figure, names_in
from pagesim_lessons.interview.text import complete

CARDS = all_cards(built_in())
by_id = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
COMMANDS = sorted({card.command for card in CARDS})
QUICK = [
    c for c in COMMANDS if re.fullmatch(r"pagesim run \S+", c) and c.split()[2] in scenario_names()
]


def pagesim(*words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pagesim", *words],
        capture_output=True,
        env={**os.environ, **environ},
        timeout=300,
        check=False,
    )


def sentences(text: str) -> int:
    return len(re.findall(r"[.?!][\"')]*(?=\s|$)", text))


def test_the_bank_is_large_and_has_every_common_misconception() -> None:
    assert len(CARDS) >= 48
    assert len({card.id for card in CARDS}) == len(CARDS)
    assert len({card.question for card in CARDS}) == len(CARDS)
    assert {card.misconception for card in CARDS} - {None} == set(range(1, 26))
    assert {card.difficulty for card in CARDS} == {1, 2, 3}
    assert {card.era for card in CARDS} <= {"", *ERAS}
    assert all(len(topic.cards) >= 5 for topic in built_in())


@by_id
def test_a_card_is_complete(card: Card) -> None:
    full = complete(card)
    for name in set(TEXTS) - {"in_short"}:
        text = getattr(full, name)
        assert text.strip() == text
        assert text[-1] in ".?!\"')", name
        assert not names_in(text)
        assert len(text.split()) <= 110, name
    assert full.question.rstrip("\"'")[-1] in "?."
    assert 2 <= sentences(full.answer) <= 5
    assert full.wrong.casefold() not in full.answer.casefold()
    assert len({full.answer, full.wrong, full.why_wrong, full.look_at}) == 4
    for up in full.follow_ups:
        assert up.question.endswith(("?", "."))
        assert up.answer.endswith(".")
        assert not names_in(up.question + up.answer)


@by_id
def test_a_misconception_and_what_is_right_stand_alone_as_sentences(card: Card) -> None:
    if card.misconception is None:
        return
    assert sentences(card.in_short) == 1
    for text in (card.in_short, card.wrong):
        assert text.endswith(".")
        assert not re.match(r"(Yes|No|It|They|That|This)\b", text)


def test_every_figure_is_stated_somewhere_and_none_is_unknown() -> None:
    stated = set()
    for card in CARDS:
        for text in (
            *(getattr(card, name) for name in TEXTS),
            *(u.answer for u in card.follow_ups),
        ):
            stated |= set(names_in(text))
    assert stated == set(FIGURES)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_exists_and_its_options_are_understood(command: str) -> None:
    check_command(command)


@pytest.mark.parametrize("command", QUICK)
def test_a_story_that_a_card_names_is_told(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = typer.main.get_command(app)
    assert not program.main(shlex.split(command)[1:], standalone_mode=False)
    assert "Look for:" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_card_runs(command: str) -> None:
    done = pagesim(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout


# What cards say in words or figures, computed another way.


def test_bytes_of_a_token_by_hand() -> None:
    assert figure("kv_llama31_8b") == f"{2 * 8 * 128 * 2 * 32 // 1024} KiB"
    assert figure("kv_llama2_7b") == f"{2 * 32 * 128 * 2 * 32 // 1024} KiB"
    assert figure("kv_opt_13b") == f"{2 * 40 * 128 * 2 * 40 // 1024} KiB"
    assert figure("kv_llama31_70b_tp4") == f"{2 * 2 * 128 * 2 * 80 // 1024} KiB"
    assert figure("kv_falcon_7b") == f"{2 * 1 * 64 * 2 * 32 // 1024} KiB"
    assert figure("kv_deepseek_v3") == f"{(512 + 64) * 2 * 61 / 1024:.4g} KiB"
    assert figure("kv_8192") == f"{8192 * 131_072 / 2**30:g} GiB"
    assert 131_072 * 131_072 == 16 * 2**30  # "16 GiB of one such request"
    assert figure("block_opt_13b") == f"{16 * 819_200 / 2**20} MiB"


def test_requests_that_fit_by_hand() -> None:
    blocks = int(79.22 * 0.9 * 2**30 - 14.96 * 2**30 - 2**30) // (16 * 131_072)
    for length in (1_024, 8_192, 131_072):
        assert abs(int(figure(f"fit_{length}")) - blocks * 16 // length) <= 1
    assert int(figure("fit_8192_fp8")) in (
        2 * int(figure("fit_8192")),
        2 * int(figure("fit_8192")) + 1,
    )
    full, kept = 131_072 // 16, -(-(128 - 1 + 8_192) // 16) + 1
    assert figure("gpt_oss_blocks") == f"{full + kept:,}"
    assert figure("gpt_oss_if_full") == f"{2 * full:,}"


def test_the_concurrency_of_the_question_is_what_plan_prints() -> None:
    card = card_called(built_in(), "maximum-concurrency")
    done = pagesim(*shlex.split(card.command)[1:])
    assert "3.46x" in card.question
    assert b" 3.46 " in done.stdout


def test_figures_of_stories_by_the_block_manager() -> None:
    for samples, name in ((2, "figure_8"), (3, "swap")):
        memory = BlockManager(num_blocks=16, block_size=4)
        memory.allocate(0, Content(range(6)), Room(now=6, present=6, limit=12))
        for child in range(1, samples):
            memory.fork(parent=0, child=child, num_tokens=6)
        copies = sum(len(memory.extend(seq, 7).copies) for seq in range(samples))
        assert figure(f"copies_{name}") == str(copies) == str(samples - 1)
    assert figure("copies_figure_9") == "0"
    assert figure("freed_figure_9") == str(len({2, 4, 5, 8}))  # the paper's Figure 9
    assert figure("hit_second") == str(10 // 4 * 4)
    assert figure("hit_again") == str((16 - 1) // 4 * 4)
    assert figure("blocks_figure_6") == str(-(-(7 + 3 - 1) // 4))
    # eight samples of 16 + 6 - 1 tokens in blocks of 4, with the prompt's four full blocks shared or not
    assert figure("peak_eight_samples") == str(4 + 8 * (-(-21 // 4) - 4))
    assert figure("peak_eight_unshared") == str(8 * -(-21 // 4))


def test_what_cards_say_of_runs_without_a_figure_is_so() -> None:
    from pagesim_lessons.interview.measured import run_of

    swap = "pagesim run --rules paper --requests 150 --host-memory 8GiB --block-size 8 --preempt {}"
    assert _rate(run_of(swap.format("recompute"))) > _rate(run_of(swap.format("swap")))
    chat = "pagesim run azure-chat --rate 5.5 --model llama-2-7b --gpu a100-80gb --requests 300 --kv-memory 32GiB"
    assert run_of(chat).num_preemptions == 0
    assert float(figure("used_best_fit").split()[0]) > float(figure("used_buddy").split()[0])
    assert (
        _whole("preempted_watermark_0")
        > _whole("preempted_watermark_1")
        > _whole("preempted_watermark_5")
        > 0
    )
    assert _whole("lost_largest") > _whole("lost_latest")
    assert float(figure("limited_used").split()[0]) < 50  # "more than half of the blocks are free"
    assert run_of("pagesim run --allocator oracle --rules paper --requests 300").waste.internal < 50
    assert figure("at_once_max") == "7"


def _rate(report) -> float:
    return report.output_tokens_per_s


def _whole(name: str) -> int:
    return int(figure(name).replace(",", ""))


@pytest.mark.slow
def test_figures_are_what_the_cards_own_commands_print() -> None:
    """By the words of the screens, which nothing here reads otherwise."""
    compare = pagesim("compare", "--requests", "300", COLUMNS="200").stdout.decode()
    for name in ("used_max", "used_oracle", "used_paged"):
        assert f"{figure(name)} used" in compare
    sweep = pagesim(
        "sweep", "--watermark", "0,1%,5%", "--requests", "200", "--rules", "paper", COLUMNS="200"
    )
    for share in "015":
        assert f" {figure(f'preempted_watermark_{share}')}" in sweep.stdout.decode()
    shared = pagesim("run", "shared-prefix", "--requests", "100", COLUMNS="200").stdout.decode()
    assert figure("cached_shared").split()[0] in shared


# A bank of one's own, and what is wrong with it.

GOOD = """
title = "Mine"
[[card]]
id = "one"
difficulty = 1
question = "Why?"
answer = "Because. It is so."
wrong = "It is not."
why_wrong = "It is."
command = "pagesim run figure-6"
look_at = "The end."
"""


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder


def test_a_bank_of_ones_own_is_read(tmp_path: Path) -> None:
    (topic,) = read_bank(write(tmp_path, GOOD))
    assert (topic.name, topic.title, [card.id for card in topic.cards]) == ("mine", "Mine", ["one"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Mine"', "", "has no title"),
        ('title = "Mine"', 'title = "Mine"\nname = "x"', "holds title and [[card]]"),
        ("difficulty = 1", "difficulty = 4", "a whole number from 1 to 3"),
        ("difficulty = 1", "difficulty = true", "a whole number from 1 to 3"),
        ("difficulty = 1\n", "", "difficulty is missing"),
        ('answer = "Because. It is so."', 'answer = " "', "not empty"),
        ('answer = "Because. It is so."', 'answer = "{used_pagd} it is."', "is {used_paged} meant"),
        ('id = "one"', 'id = "One two"', "small letters"),
        ("wrong =", "wrongly =", "is wrong meant"),
        ("look_at =", 'era = "V2"\nlook_at =', "era 'V2' was given"),
        ("look_at =", "misconception = 3\nlook_at =", "needs in_short"),
        ("look_at =", "follow_up = 3\nlook_at =", "[[card.follow_up]]"),
        ("pagesim run", "rm -rf", 'begin with "pagesim "'),
        ("[[card]]", "[card]", "has no question"),
        ("[[card]]", "[[card]", "is no TOML"),
    ],
)
def test_what_is_wrong_with_a_bank_is_one_sentence(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        read_bank(write(tmp_path, GOOD.replace(old, new)))
    assert "mine.toml" in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_clash_or_are_no_bank(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.toml file"):
        read_bank(tmp_path)
    write(tmp_path, GOOD, "1-a.toml")
    write(tmp_path, GOOD, "2-b.toml")
    with pytest.raises(InputError, match=r"the id one is taken in 1-a\.toml"):
        read_bank(tmp_path)
    write(tmp_path, GOOD.replace('"one"', '"two"'), "2-a.toml")
    (tmp_path / "2-b.toml").unlink()
    with pytest.raises(InputError, match="two files of the topic a"):
        read_bank(tmp_path)


def test_choosing_cards() -> None:
    topics = built_in()
    assert chosen(topics, None, None) == CARDS
    for topic in topics:
        assert chosen(topics, topic.name, None) == topic.cards
    assert {card.difficulty for card in chosen(topics, None, 3)} == {3}
    with pytest.raises(InputError, match="the topics are cache, slabs"):
        chosen(topics, "caches", None)
    with pytest.raises(InputError, match="did you mean watermark"):
        card_called(topics, "watermarks")
