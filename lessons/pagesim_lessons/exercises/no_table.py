"""What several exercises ask of a call about a sequence that has no table: KeyError, and no change."""

from pagesim.practice.exercise import Fault


def must_raise_key_error(
    call: str, seq: int, came: object, *, before: object, after: object
) -> None:
    """``came`` is the exception that was raised, or anything else if none was."""
    if not isinstance(came, KeyError):
        did = f"raised {type(came).__name__}" if isinstance(came, Exception) else "raised nothing"
        raise Fault(
            f"{call} {did}, and sequence {seq} has no table (any more), so KeyError is to be raised"
        )
    if after != before:
        raise Fault(f"{call} raised KeyError and has changed something all the same")
