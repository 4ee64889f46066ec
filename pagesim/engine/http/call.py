"""What a client asks for, read from its JSON: prompts as token ids, and how the answers are to be drawn.

Two readers, for completions and for chat, over the same options. Knows nothing about sockets or the engine's thread;
everything wrong is an ApiError with one sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pagesim.core.beam import BeamSearch, EarlyStopping
from pagesim.core.errors import InputError
from pagesim.core.request import Request
from pagesim.engine.http.api_error import ApiError, wrong
from pagesim.engine.http.fields import Fields, is_whole, shown
from pagesim.engine.http.job import Asked
from pagesim.engine.http.limits import Limits
from pagesim.engine.http.messages import chat_messages
from pagesim.engine.sampling_params import MOST_LOGPROBS, SamplingParams
from pagesim.engine.tokenizer import Tokenizer

DEFAULT_TOKENS = 16
MOST_STOPS = 4
LEAST_TEMPERATURE = 1e-5
"""Below it logits divided by it overflow; the likeliest token is drawn then, as in vLLM."""
IGNORED = (
    *("user", "metadata", "store", "safety_identifier", "prompt_cache_key", "service_tier"),
    "parallel_tool_calls",
)
NEUTRAL: dict[str, tuple[object, ...]] = {
    "echo": (False,),
    "suffix": ("",),
    "best_of": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "min_tokens": (0,),
    "include_stop_str_in_output": (False,),
    "skip_special_tokens": (True,),
    "spaces_between_special_tokens": (True,),
}
EARLY_STOPPING = {
    "true": EarlyStopping.WHEN_FULL,
    "false": EarlyStopping.HEURISTIC,
    '"never"': EarlyStopping.NEVER,
}


@dataclass(frozen=True, slots=True)
class Model:
    """What calls are checked against. ``has_priorities``: the engine's order looks at them.

    ``forks``: samples of one request fork, so n samples are one request as far as that is possible.
    """

    name: str
    tokenizer: Tokenizer
    vocab_size: int
    max_model_len: int
    has_priorities: bool
    forks: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One call. ``params.seed`` is that of the first sample; ``params.logprobs`` None: none were asked for."""

    prompts: tuple[tuple[int, ...], ...]
    max_tokens: int
    num_samples: int
    params: SamplingParams
    stop_ids: frozenset[int]
    priority: int
    salt: str
    beam: BeamSearch | None
    is_chat: bool
    streams: bool
    streams_usage: bool

    @property
    def num_choices(self) -> int:
        return len(self.prompts) * self.num_samples

    @property
    def num_prompt_tokens(self) -> int:
        """Each prompt counts once, however many samples it has."""
        return sum(map(len, self.prompts))

    def asked(self, name: str, *, forks: bool) -> tuple[Asked, ...]:
        """Its requests, called by ``name``, which choice number, and nothing else.

        Samples with stop strings end one by one, so they are requests of their own; so are all samples in an engine
        that does not fork. Sample s then has the seed plus s.
        """
        together = (
            self.num_samples == 1 or self.beam is not None or (forks and not self.params.stops)
        )
        each = self.num_samples if together else 1
        asked = []
        for choice in range(0, self.num_choices, each):
            prompt = self.prompts[choice // self.num_samples]
            request = Request(
                name if each == self.num_choices else f"{name}-{choice}",
                prompt,
                self.max_tokens,
                each,
                self.priority,
                self.salt,
                stop_ids=self.stop_ids,
                beam=self.beam,
            )
            asked.append(Asked(request, self._params_of(choice % self.num_samples), choice))
        return tuple(asked)

    def _params_of(self, sample: int) -> SamplingParams:
        p = self.params
        seed = (p.seed + sample) % 2**63
        return SamplingParams(p.temperature, p.top_k, p.top_p, p.min_p, seed, p.logprobs, p.stops)


def read_completion(
    fields: Fields, model: Model, limits: Limits, draw_seed: Callable[[], int]
) -> Call:
    """``draw_seed`` gives a seed from 0 to 2^63 - 1 to who brought none."""
    _check_model(fields, model)
    prompts = _prompts(fields.take("prompt"), model, limits)
    logprobs = fields.whole("logprobs", 0, MOST_LOGPROBS)
    return _read(fields, model, limits, draw_seed, prompts, logprobs, DEFAULT_TOKENS, is_chat=False)


def read_chat(fields: Fields, model: Model, limits: Limits, draw_seed: Callable[[], int]) -> Call:
    """``max_tokens`` left out: as many as the model's length has room for."""
    _check_model(fields, model)
    text = model.tokenizer.chat(chat_messages(fields.take("messages")))
    if text is None:
        raise wrong(
            "messages",
            f"{model.name} has no chat template, so it cannot hold a conversation; use /v1/completions",
        )
    prompt = tuple(model.tokenizer.encode(text, add_special=False))
    top = fields.whole("top_logprobs", 0, MOST_LOGPROBS)
    wants_logprobs = fields.flag("logprobs")
    if top is not None and not wants_logprobs:
        raise wrong("top_logprobs", "top_logprobs is given without logprobs; set logprobs to true")
    logprobs = (top or 0) if wants_logprobs else None
    room = max(model.max_model_len - len(prompt), 1)
    return _read(fields, model, limits, draw_seed, (prompt,), logprobs, room, is_chat=True)


def _read(
    fields: Fields,
    model: Model,
    limits: Limits,
    draw_seed: Callable[[], int],
    prompts: tuple[tuple[int, ...], ...],
    logprobs: int | None,
    default_tokens: int,
    *,
    is_chat: bool,
) -> Call:
    """The options that both kinds of calls have."""
    streams = fields.flag("stream")
    streams_usage = _streams_usage(fields, streams=streams)
    max_tokens = _max_tokens(fields, default_tokens)
    num_samples = _num_samples(fields, len(prompts), limits)
    stop_ids = _stop_ids(fields, model)
    beam = _beam(fields)
    if beam is not None:
        _check_beams(fields, model, num_samples, len(stop_ids), logprobs)
    params = _params(fields, draw_seed, logprobs)
    priority, salt = _priority(fields, model), _salt(fields)
    fields.ignore(IGNORED)
    fields.neutral(NEUTRAL)
    fields.close()
    for prompt in prompts:
        _check_length(len(prompt), max_tokens, model.max_model_len)
    return Call(
        prompts,
        max_tokens,
        num_samples,
        params,
        stop_ids,
        priority,
        salt,
        beam,
        is_chat,
        streams,
        streams_usage,
    )


def _check_model(fields: Fields, model: Model) -> None:
    """A call that names none means the one there is."""
    name = fields.text("model")
    if name is not None and name != model.name:
        raise unknown_model(name, model)


def unknown_model(name: str, model: Model) -> ApiError:
    return ApiError(
        404,
        f"no model is called {shown(name)} here; this server has {model.name}",
        param="model",
        code="model_not_found",
    )


def _prompts(given: object, model: Model, limits: Limits) -> tuple[tuple[int, ...], ...]:
    """A string, strings, token ids, or lists of token ids."""
    if isinstance(given, str) or (isinstance(given, list) and given and is_whole(given[0])):
        given = [given]
    if not isinstance(given, list) or not given:
        raise wrong(
            "prompt",
            f"prompt is {shown(given)}; it must be a string, token ids, or a list of either",
        )
    if len(given) > limits.max_prompts:
        raise wrong(
            "prompt", f"{len(given):,} prompts in one call; at most {limits.max_prompts} are taken"
        )
    return tuple(_prompt(one, model) for one in given)


def _prompt(given: object, model: Model) -> tuple[int, ...]:
    if isinstance(given, str):
        tokens = tuple(model.tokenizer.encode(given))
    elif isinstance(given, list):
        tokens = tuple(_token_id(token, model, "prompt") for token in given)
    else:
        raise wrong("prompt", f"a prompt is {shown(given)}; it must be a string or token ids")
    if not tokens:
        raise wrong("prompt", "a prompt is empty; it needs at least 1 token")
    return tokens


def _token_id(given: object, model: Model, name: str) -> int:
    if is_whole(given) and 0 <= given < model.vocab_size:
        return given
    raise wrong(
        name,
        f"{name} has the token id {shown(given)}; the ids of {model.name} are 0 to {model.vocab_size - 1:,}",
    )


def _streams_usage(fields: Fields, *, streams: bool) -> bool:
    options = fields.take("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        raise wrong("stream_options", f"stream_options is {shown(options)}; it must be an object")
    if not streams:
        raise wrong("stream_options", "stream_options is given without stream; set stream to true")
    inner = Fields(options)
    inner.ignore(("include_obfuscation",))
    wanted = inner.flag("include_usage")
    inner.close()
    return wanted


def _max_tokens(fields: Fields, default: int) -> int:
    older = fields.whole("max_tokens", 1, 2**31)
    newer = fields.whole("max_completion_tokens", 1, 2**31)
    if older is not None and newer is not None and older != newer:
        raise wrong(
            "max_tokens",
            f"max_tokens is {older:,} and max_completion_tokens {newer:,}; give one of them",
        )
    return older or newer or default


def _num_samples(fields: Fields, num_prompts: int, limits: Limits) -> int:
    num_samples = fields.whole("n", 1, limits.max_answers) or 1
    if num_prompts * num_samples > limits.max_answers:
        raise wrong(
            "n",
            f"{num_samples} answers to each of {num_prompts} prompts are {num_samples * num_prompts:,}; at most "
            f"{limits.max_answers} are given in one call",
        )
    return num_samples


def _stop_ids(fields: Fields, model: Model) -> frozenset[int]:
    given = fields.take("stop_token_ids") or []
    if not isinstance(given, list):
        raise wrong("stop_token_ids", f"stop_token_ids is {shown(given)}; it must be token ids")
    own = frozenset(_token_id(token, model, "stop_token_ids") for token in given)
    return own if fields.flag("ignore_eos") else own | frozenset(model.tokenizer.eos_ids)


def _beam(fields: Fields) -> BeamSearch | None:
    if fields.flag("use_beam_search"):
        penalty = fields.number("length_penalty")
        early = shown(fields.take("early_stopping") or False)
        if early not in EARLY_STOPPING:
            raise wrong(
                "early_stopping", f'early_stopping is {early}; it must be true, false or "never"'
            )
        return BeamSearch(1.0 if penalty is None else penalty, EARLY_STOPPING[early])
    for name in ("length_penalty", "early_stopping"):
        if fields.take(name) not in (None, 1.0, False):
            raise wrong(name, f"{name} is given without use_beam_search; set that to true")
    return None


def _check_beams(
    fields: Fields, model: Model, width: int, num_stop_ids: int, logprobs: int | None
) -> None:
    """A beam search draws nothing, and its answers are known only at the end."""
    if logprobs is not None:
        raise wrong("logprobs", "logprobs cannot be had of a beam search; leave one of them out")
    for name in ("stop", "top_p", "top_k", "min_p"):
        if fields.take(name) is not None:
            raise wrong(name, f"{name} means nothing to a beam search; leave it out")
    if fields.number("temperature") not in (None, 0.0):
        raise wrong("temperature", "a beam search draws nothing: leave temperature out, or give 0")
    most = model.vocab_size // max(2, 1 + num_stop_ids)
    if width > most:
        raise wrong(
            "n",
            f"n is {width} with {num_stop_ids} stop tokens; a vocabulary of {model.vocab_size:,} has enough "
            f"candidates for at most {most} beams",
        )


def _params(fields: Fields, draw_seed: Callable[[], int], logprobs: int | None) -> SamplingParams:
    temperature = fields.number("temperature")
    temperature = 1.0 if temperature is None else temperature
    top_k = fields.whole("top_k", -1, 2**31)  # 0 and -1: all, as in vLLM
    top_p, min_p = fields.number("top_p"), fields.number("min_p")
    seed = fields.whole("seed", 0, 2**63 - 1)
    try:
        return SamplingParams(
            0.0 if 0 < temperature < LEAST_TEMPERATURE else temperature,
            top_k if top_k is not None and top_k > 0 else None,
            1.0 if top_p is None else top_p,
            0.0 if min_p is None else min_p,
            draw_seed() if seed is None else seed,
            logprobs,
            _stops(fields.take("stop")),
        )
    except InputError as error:
        raise ApiError(400, str(error), param=str(error).split()[0]) from None


def _stops(given: object) -> tuple[str, ...]:
    stops = [given] if isinstance(given, str) else given or []
    if (
        isinstance(stops, list)
        and len(stops) <= MOST_STOPS
        and all(isinstance(stop, str) and stop for stop in stops)
    ):
        return tuple(stops)
    raise wrong(
        "stop",
        f"stop is {shown(given)}; it must be a string, or up to {MOST_STOPS}, none of them empty",
    )


def _priority(fields: Fields, model: Model) -> int:
    priority = fields.whole("priority", -(2**63), 2**63 - 1) or 0
    if priority and not model.has_priorities:
        raise wrong(
            "priority",
            f"priority is {priority}, and this engine serves in another order; leave it out",
        )
    return priority


def _salt(fields: Fields) -> str:
    salt = fields.text("cache_salt") or ""
    try:
        salt.encode()
    except UnicodeEncodeError:
        raise wrong("cache_salt", "cache_salt is no valid Unicode text") from None
    return salt


def _check_length(num_prompt: int, max_tokens: int, max_model_len: int) -> None:
    if num_prompt + max_tokens > max_model_len:
        raise ApiError(
            400,
            f"{num_prompt:,} prompt tokens and max_tokens {max_tokens:,} are {num_prompt + max_tokens:,} together; "
            f"this model's length is {max_model_len:,}",
            param="max_tokens" if num_prompt < max_model_len else "prompt",
            code="context_length_exceeded",
        )
