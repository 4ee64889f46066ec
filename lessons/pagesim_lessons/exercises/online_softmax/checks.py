"""The laws of online softmax, and how a broken one is told."""

import math
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from pagesim.practice.drawing import for_all, for_each
from pagesim.practice.exercise import Check, Exercise, Fault
from pagesim.practice.learner import Learner, Subject
from pagesim.replay.phrases import counted
from pagesim_lessons.exercises.online_softmax.script import (
    STORIES,
    Moment,
    State,
    Tile,
    Vector,
    acc_of,
    all_near,
    mean,
    near,
    read,
    short,
    shown_list,
    shown_lists,
    tell,
    tile_of,
    total_of,
    vector,
    weights_of,
)


def over(stories: list[list[Tile]], law: Callable[[Moment], None]) -> Callable[[Learner], None]:
    """A check: the law holds after every tile of these stories."""

    def examine(learner: Learner) -> None:
        def play(tiles: list[Tile]) -> None:
            for _, moment in tell(learner, tiles):
                law(moment)

        for_each(learner, stories, play)

    return examine


# -- the three things that are kept ------------------------------------------------------------------------


def carried(moment: Moment) -> None:
    right, found = moment.largest, moment.after.largest
    if found == right:
        return
    if found == max(moment.tile.scores):
        why = f", which is this tile's: {short(right)} came in an earlier tile, and is still the largest of all"
    elif found == moment.before.largest:
        why = ", as before: this tile has a larger score"
    else:
        why = ""
    raise Fault(f"{moment.add} largest is to be {short(right)}, and it is {short(found)}{why}")


def summed(moment: Moment) -> None:
    right, found = total_of(moment), moment.after.total
    if not near(found, right):
        why = next((words for number, words in _usual_totals(moment) if near(number, found)), "")
        raise Fault(_told(moment, "total", short(right), short(found), why))


def _usual_totals(moment: Moment) -> Iterator[tuple[float, str]]:
    """What people compute instead, and the words that say so."""
    scores, new, top, old = (
        moment.tile.scores,
        moment.largest,
        max(moment.tile.scores),
        moment.before.total,
    )
    fresh = sum(2.0 ** (score - new) for score in scores)
    own = sum(2.0 ** (score - top) for score in scores)
    step = new - moment.before.largest if old else 0.0
    was, now = short(moment.before.largest), short(new)
    before = f"the {short(old)} from before"
    yield (
        old + sum(2.0**score for score in scores),
        (
            f": it has 2^score, which overflows for large scores; count from the largest score, 2^(score - {now})"
        ),
    )
    yield (
        sum(math.exp(score - new) for score, _ in moment.keys),
        ": that is made of powers of e, and a key's weight is a power of 2 here",
    )
    yield (
        old + fresh,
        (
            f": {before} counts from the old largest score, {was}, and must shrink to fit the new one, {now}"
        ),
    )
    yield (
        old * 2.0**step + fresh,
        (
            f": {before} grew, and a larger largest score makes old terms smaller, 2^({was} - {now}) of what they were"
        ),
    )
    yield (
        old * 2.0**-step + own,
        (
            f": this tile's terms count from its own largest score, {short(top)}, and all are to count from {now}, the "
            "largest of all tiles"
        ),
    )
    yield fresh, f": that is this tile alone, and {before} is lost"


def _told(moment: Moment, what: str, right: str, found: str, why: str) -> str:
    return f"{moment.add} {what} is to be {right}, and it is {found}{why}"


def accumulated(moment: Moment) -> None:
    right, found = acc_of(moment), moment.after.acc
    if not all_near(found, right):
        why = next((words for vector, words in _usual_accs(moment) if all_near(vector, found)), "")
        if len(found) != len(right):
            why = f": a value has {counted(len(right), 'number')}"
        raise Fault(_told(moment, "acc", shown_list(right), shown_list(found), why))


def _usual_accs(moment: Moment) -> Iterator[tuple[Vector, str]]:
    right, old, values = acc_of(moment), moment.before.acc, moment.tile.values
    weights, total = weights_of(moment)[-len(values) :], total_of(moment)
    fresh = _sum_of(weights, values)
    step = moment.largest - moment.before.largest if moment.before.total else 0.0
    was, now = short(moment.before.largest), short(moment.largest)
    before = f"the {shown_list(old)} from before"
    yield (
        [number / total for number in right],
        (f": that is divided by total, {short(total)}, already; divide once, in result"),
    )
    yield (
        _plus(old, fresh),
        (
            f": {before} counts from the old largest score, {was}, and must shrink by the same factor as total, "
            f"2^({was} - {now})"
        ),
    )
    yield (
        _plus(old, fresh, 2.0**step),
        f": {before} grew, and must shrink to 2^({was} - {now}) of it",
    )
    yield fresh, f": that is this tile alone, and {before} is lost"
    plain = _sum_of([1.0] * len(values), values)
    yield _plus(old, plain, 2.0**-step), ": this tile's values are added without their weights"


def _sum_of(weights: Vector, values: list[Vector]) -> Vector:
    pairs = list(zip(weights, values, strict=True))
    return [sum(weight * value[d] for weight, value in pairs) for d in range(len(values[0]))]


def _plus(old: Vector, new: Vector, factor: float = 1.0) -> Vector:
    return [a * factor + b for a, b in zip(old, new, strict=True)]


# -- the result ----------------------------------------------------------------------------------------------


def divided(learner: Learner) -> None:
    def play(tiles: list[Tile]) -> None:
        for attention, moment in tell(learner, tiles):
            _divided(attention, moment)

    for_each(learner, STORIES, play)


def _divided(attention: Subject, moment: Moment) -> None:
    _, total, acc = moment.after
    found = vector(attention.call("result"), "what result gave")
    right = [number / total for number in acc]
    if not all_near(found, right):
        why = ", which is acc itself, not yet divided by total" if all_near(found, acc) else ""
        raise Fault(
            f"with acc {shown_list(acc)} and total {short(total)} the result is {shown_list(right)}, and result gave "
            f"{shown_list(found)}{why}"
        )
    later = read(attention)
    for name, was, now in zip(State._fields, moment.after, later, strict=True):
        if was != now:
            raise Fault(
                f"result() changes {name} from {was} to {now}, and more tiles may come: it only looks"
            )


# -- where numbers end ---------------------------------------------------------------------------------------

MASKED = tile_of((-math.inf, [5]))
EMPTY = Tile([], [])
SEEN = tile_of((2, [3]), (1, [6]))
ERRORS = (ValueError, ZeroDivisionError, IndexError, OverflowError)


def nothing_seen(learner: Learner) -> None:
    """Before any key has weighed something, there are zeros; later, such a tile changes nothing."""

    def play(tiles: list[Tile]) -> None:
        attention = learner.make("attention", "Attention", 1)
        keys: list[tuple[float, Vector]] = []
        _zeros_or_mean(attention, keys, "before the first tile")
        for at, tile in enumerate(tiles, start=1):
            weighs = any(score != -math.inf for score in tile.scores)
            kind = "a tile that is empty" if not tile.scores else "a tile of masked keys"
            before = read(attention)
            gave = attention.attempt("add", *tile, errors=ERRORS)
            if isinstance(gave, Exception):
                raise Fault(
                    f"add raised {type(gave).__name__}: {gave}; {kind} is allowed, and changes nothing"
                )
            keys += zip(*tile, strict=True)
            after = read(attention)
            for name, was, now in zip(State._fields, before, after, strict=True):
                _same(name, was, now, "" if weighs else f"after tile {at}, {kind},")
            _zeros_or_mean(attention, keys, f"after tile {at}")

    for_each(
        learner,
        [[MASKED], [EMPTY], [SEEN, MASKED], [SEEN, EMPTY], [MASKED, SEEN], [EMPTY, MASKED, SEEN]],
        play,
    )


def _same(name: str, was: object, now: object, tile: str) -> None:
    if _has_nan(now):
        raise Fault(
            f"{tile or 'after the next tile'} {name} is {_shown(now)}: as long as no key has weighed anything, both "
            "largest scores are -inf, and -inf - -inf is NaN (not a number)"
        )
    if tile and was != now:
        raise Fault(
            f"{tile} {name} is {_shown(now)}, and was {_shown(was)} before: such a tile changes nothing"
        )


def _has_nan(value: object) -> bool:
    return any(map(math.isnan, value if isinstance(value, list) else [value]))


def _shown(value: object) -> str:
    return shown_list(value) if isinstance(value, list) else f"{value:.6g}"


def _zeros_or_mean(attention: Subject, keys: list[tuple[float, Vector]], when: str) -> None:
    gave = attention.attempt("result", errors=ERRORS)
    right = mean(keys, 1)
    seen = any(right) or any(score != -math.inf for score, _ in keys)
    zeros = "" if seen else ", and no key has weighed anything: zeros are to come"
    if isinstance(gave, Exception):
        raise Fault(f"{when} result raised {type(gave).__name__}: {gave}{zeros}")
    found = vector(gave, "what result gave")
    if not all_near(found, right):
        raise Fault(f"{when} result gave {shown_list(found)}, not {shown_list(right)}{zeros}")


def large(learner: Learner) -> None:
    """Scores whose powers of two no float can hold."""

    def play(tiles: list[Tile]) -> None:
        attention = learner.make("attention", "Attention", 1)
        keys: list[tuple[float, Vector]] = []
        for tile in tiles:
            called = f"add({shown_list(tile.scores)}, {shown_lists(tile.values)})"
            gave = attention.attempt("add", *tile, errors=(OverflowError,))
            if isinstance(gave, OverflowError):
                raise Fault(
                    f"{called} raised OverflowError: 2^{short(max(tile.scores))} is larger than any float; only powers "
                    "of (score - largest) are needed, and none of those is above 1"
                )
            keys += zip(*tile, strict=True)
            given = attention.attempt("result", errors=(OverflowError, ZeroDivisionError))
            right = mean(keys, 1)
            if isinstance(given, Exception):
                raise Fault(f"after {called} result raised {type(given).__name__}: {given}")
            found = vector(given, "what result gave")
            if not all_near(found, right):
                raise Fault(
                    f"after {called} result gave {shown_list(found)}, not {shown_list(right)}: 2^score is too "
                    "large or too small for a float; only powers of (score - largest) are needed"
                )

    stories = [
        [tile_of((3000, [2]), (2999, [5]))],
        [tile_of((-3000, [2]), (-3001, [5]))],
        [tile_of((-3000, [2])), tile_of((3000, [5])), tile_of((-3000, [7]))],
    ]
    for_each(learner, stories, play)


@st.composite
def rows(draw: st.DrawFn) -> list[Tile]:
    dim = draw(st.integers(1, 3))
    score = st.one_of(st.integers(-9, 9), st.floats(-40, 40, width=16)).map(float)
    value = st.lists(st.integers(-9, 9).map(float), min_size=dim, max_size=dim)
    tile = st.lists(st.tuples(score, value), min_size=1, max_size=4).map(lambda row: tile_of(*row))
    return draw(st.lists(tile, min_size=1, max_size=4))


def as_at_once(learner: Learner) -> None:
    def examine(tiles: list[Tile]) -> None:
        for attention, moment in tell(learner, tiles):
            carried(moment)
            summed(moment)
            accumulated(moment)
            if moment.at == len(tiles):
                found = vector(attention.call("result"), "what result gave")
                right = mean(moment.keys, len(moment.after.acc))
                if not all_near(found, right):
                    raise Fault(
                        f"from all {counted(len(moment.keys), 'key')} at once comes {shown_list(right)}, and "
                        f"result gave {shown_list(found)}"
                    )

    for_all(learner, rows(), examine, examples=25)


EXERCISE = Exercise(
    name="online-softmax",
    title="Softmax, a tile at a time",
    lesson=10,
    names=("Attention",),
    hints=(
        (
            "Find the new largest score first: the largest of the old one and of the tile's. All else in this call "
            "counts from it, and it is stored for the next one."
        ),
        (
            "A term that was 2^(score - old) is to become 2^(score - new). By what must it be multiplied? It is one "
            "factor, the same for every old term, so it can be applied to their sum: to total, and to each number of "
            "acc. Then the tile's own terms are added."
        ),
        (
            "The factor is 2 to the power (old largest - new largest): never more than 1, and 0 for the first tile, "
            "where the old largest is -inf. Only where the new one is -inf, too, is there no difference to take: "
            "return before anything is computed. max([a, *others]) is safe for an empty tile. Division waits for "
            "result, which must not divide by a total of 0."
        ),
    ),
    checks=(
        Check(
            "largest",
            "largest is the largest score of all tiles so far",
            over(STORIES, carried),
        ),
        Check(
            "total",
            "total is the sum of 2^(score - largest) over all keys so far",
            over(STORIES, summed),
        ),
        Check(
            "acc",
            "acc is the sum of 2^(score - largest) x value over all keys so far",
            over(STORIES, accumulated),
        ),
        Check("result", "the result is acc divided by total, and asking changes nothing", divided),
        Check(
            "nothing-seen",
            "a tile that is empty or masked changes nothing, and without any key the result is zeros",
            nothing_seen,
        ),
        Check(
            "large-scores", "the size of the scores does not matter, only their differences", large
        ),
        Check(
            "at-once",
            "tile by tile comes what comes from all keys at once",
            as_at_once,
        ),
    ),
)
