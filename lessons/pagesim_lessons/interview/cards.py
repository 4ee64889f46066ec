"""What an interview card is. Knows nothing about files, schedules or terminals."""

from dataclasses import dataclass, fields, replace

ERAS = {
    "paper": "the PagedAttention paper",
    "V0": "the paper and vLLM V0; not V1",
    "V1": "vLLM V1",
    "both": "vLLM V0 and V1 alike",
}
"""To which generation a thing belongs, where it belongs to one."""

LEVELS = {1: "basic", 2: "usual", 3: "hard"}


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What an interviewer asks next."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Card:
    """One question.

    ``wrong`` is the usual wrong answer, as it is said, and ``why_wrong`` what is wrong with it. ``command`` is a
    pagesim command line that shows it, and ``look_at`` what to look at in its output. Texts may hold ``{name}``,
    a figure of ``figures``. ``misconception`` is its number in the list of common ones; such a card's ``wrong``
    stands alone as a sentence, and ``in_short`` is the right one against it. ``era`` is a key of ERAS, or empty.
    """

    id: str
    topic: str
    difficulty: int
    question: str
    answer: str
    wrong: str
    why_wrong: str
    command: str
    look_at: str
    in_short: str = ""
    era: str = ""
    misconception: int | None = None
    follow_ups: tuple[FollowUp, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """``name`` is what is typed, ``title`` what is shown."""

    name: str
    title: str
    cards: tuple[Card, ...]


TEXTS = ("question", "answer", "wrong", "why_wrong", "look_at", "in_short")
"""The fields of a card that are prose, and may hold figures."""
CARD_FIELDS = tuple(field.name for field in fields(Card))


def with_texts(card: Card, texts: dict[str, str], follow_ups: tuple[FollowUp, ...]) -> Card:
    """The same card with other prose; ``texts`` holds fields of TEXTS."""
    return replace(card, follow_ups=follow_ups, **texts)  # type: ignore[arg-type]
