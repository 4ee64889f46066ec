"""The messages of a conversation, checked: a role and text. Knows nothing about templates."""

from pagesim.engine.http.api_error import wrong
from pagesim.engine.http.fields import Fields, shown
from pagesim.engine.tokenizer import Message

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
"""As templates know them; "developer" is OpenAI's later word for "system"."""


def chat_messages(given: object) -> list[Message]:
    """ApiError for anything but a list of them."""
    if not isinstance(given, list) or not given:
        raise wrong(
            "messages", f"messages is {shown(given)}; it must be a list of 1 message or more"
        )
    return [_message(one, f"messages[{number}]") for number, one in enumerate(given)]


def _message(given: object, place: str) -> Message:
    if not isinstance(given, dict):
        raise wrong(place, f"{place} is {shown(given)}; it must have a role and content")
    fields = Fields(given)
    role, content = fields.take("role"), fields.take("content")
    if not isinstance(role, str) or role not in ROLES:
        raise wrong(
            f"{place}.role",
            f"the role in {place} is {shown(role)}; it must be system, user or assistant",
        )
    for name in ("tool_calls", "annotations"):
        if fields.take(name):
            raise wrong(f"{place}.{name}", f"{place} has {name}, which this server does not use")
    fields.close()
    return {"role": ROLES[role], "content": _content(content, f"{place}.content")}


def _content(given: object, place: str) -> str:
    """A string, or text parts, which stand on lines of their own."""
    if isinstance(given, str):
        return given
    if isinstance(given, list) and given:
        return "\n".join(_part(part, place) for part in given)
    raise wrong(place, f"{place} is {shown(given)}; it must be a string or a list of text parts")


def _part(given: object, place: str) -> str:
    if isinstance(given, dict) and given.get("type") == "text":
        text = given.get("text")
        if isinstance(text, str):
            return text
    raise wrong(place, f"{place} has the part {shown(given)}; this server only reads text")
