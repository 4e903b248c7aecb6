"""What a container answered."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    succeeded: bool
    output: str
