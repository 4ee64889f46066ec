"""A model's chat template: messages become the text of a prompt. Knows nothing about tokens.

Templates come with downloaded models, so they run in jinja2's sandbox: no attributes of Python objects, no changes
to what they are given.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from pagesim.core.errors import InputError


class ChatTemplate:
    """One template, and the special tokens it may name."""

    def __init__(self, source: str, tokens: Mapping[str, str], place: str) -> None:
        """``tokens``: ``bos_token``, ``eos_token`` and the like. InputError if it is no template."""
        from jinja2 import TemplateError
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = _as_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._place = place
        self._tokens = dict(tokens)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise InputError(f"the chat template in {place} is not valid ({error})") from error

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The prompt for the next answer. InputError if the template refuses the messages, or fails."""
        from jinja2 import TemplateError

        given = {"messages": [dict(message) for message in messages], "add_generation_prompt": True}
        try:
            return self._template.render(**self._tokens, **given)
        except (TemplateError, InputError) as error:
            raise InputError(f"the chat template in {self._place} says: {error}") from error
        except Exception as error:  # whatever a template of others may do wrong
            what = f"{type(error).__name__}: {error}"[:200]
            raise InputError(f"the chat template in {self._place} fails ({what})") from error


def _refuse(message: str) -> None:
    raise InputError(str(message)[:500])


def _as_json(value: object, indent: int | None = None) -> str:
    """jinja2's own would write ``<`` as ``\\u003c``, which is for web pages."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
