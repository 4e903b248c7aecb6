"""All kinds of answers, in the order in which they are shown: what is wrong now before how it came about."""

from collections.abc import Callable

from tiphys.kubectl.why import crashing, pending, placed, terminating, unready, waiting
from tiphys.kubectl.why.facts import Answer, Facts

ANSWERS: tuple[Callable[[Facts], Answer | None], ...] = (
    pending.answer,
    terminating.answer,
    waiting.answer,
    crashing.answer,
    unready.answer,
    placed.answer,
)


def answers(facts: Facts) -> list[Answer]:
    """Every one that has something to say."""
    return [found for each in ANSWERS if (found := each(facts)) is not None]
