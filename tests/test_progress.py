"""Progress is kept, by section, and survives damage, other programs and read-only places."""

import multiprocessing

import pytest

from pagesim.core.errors import InputError
from pagesim.practice.progress import FILE, read_section, update_section


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGESIM_HOME", str(tmp_path / "home"))


def test_nothing_is_kept_at_first_and_asking_makes_no_file(tmp_path):
    assert read_section("lessons") == {}
    assert not (tmp_path / "home").exists()


def test_sections_do_not_touch_each_other():
    update_section("lessons", lambda section: section.update(done=[1]))
    update_section("interview", lambda section: section.update(box={"a": 2}))
    assert read_section("lessons") == {"done": [1]}
    assert read_section("interview") == {"box": {"a": 2}}


@pytest.mark.parametrize("text", ["{", "[]", "nonsense", '{"lessons": 3}'])
def test_a_damaged_file_is_set_aside_not_lost(tmp_path, text):
    path = tmp_path / "home" / FILE
    path.parent.mkdir()
    path.write_text(text)
    assert read_section("lessons") == {}
    update_section("lessons", lambda section: section.update(done=[2]))
    assert read_section("lessons") == {"done": [2]}
    if text != '{"lessons": 3}':
        assert (path.parent / f"{FILE}.damaged").read_text() == text


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(InputError, match="PAGESIM_HOME"):
        update_section("lessons", lambda section: None)


def _add(number):
    for _ in range(20):
        update_section("count", lambda section: section.update(n=section.get("n", 0) + number))


def test_two_programs_lose_nothing_of_each_other():
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_add, args=(1,)) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert read_section("count") == {"n": 40}
