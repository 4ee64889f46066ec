"""The engine over HTTP: with OpenAI's own client, with bare sockets, and with clients that misbehave."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("openai")
pytest.importorskip("torch")
pytest.importorskip("uvicorn")

from http_client import PATIENCE, ChattyTokenizer, Running, reply, running
from openai import (
    APIError,
    APIStatusError,
    AsyncOpenAI,
    InternalServerError,
    RateLimitError,
)
from small_runs import run

from pagesim.core import events as ev
from pagesim.core.beam import BeamSearch, EarlyStopping
from pagesim.core.errors import InputError
from pagesim.core.order import PRIORITY
from pagesim.core.request import Request
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.engine.http.limits import Limits
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.http.sending import Patient
from pagesim.engine.http.server import EngineFailedError, HttpServer
from pagesim.engine.models import open_model
from pagesim.engine.sampling_params import SamplingParams
from pagesim.engine.session import Session, SessionSettings
from pagesim.replay.latency import LatencyMeter

PROMPT = "Once upon a time"
BABBLE = {"ignore_eos": True}
"""The tiny model draws the end token now and then; with this an answer has all its tokens."""
LONG = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4000, **BABBLE}


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def chat():
    opened = open_model("tiny")._replace(tokenizer=ChattyTokenizer())
    with running(opened=opened) as server:
        yield server


@pytest.fixture(scope="module")
def chatting(chat):
    with chat.client() as client:
        yield client


def plainly(request: Request, params: SamplingParams) -> list[str]:
    """The texts of a request's answers, from a session without any server."""
    opened = open_model("tiny")
    session = Session(opened, SessionSettings(8000, SchedulerConfig(max_model_len=4096)))
    assert session.submit(request, params) is None
    tokens: list[list[int]] = [[] for _ in range(request.num_samples)]
    while session.has_work:
        for output in session.step():
            tokens[output.sample] += output.tokens
    return [opened.tokenizer.decode(answer) for answer in tokens]


# -- answers ---------------------------------------------------------------------------------------------


def test_an_answer_is_what_the_engine_says(client):
    answer = client.completions.create(
        model="tiny", prompt=PROMPT, max_tokens=20, seed=5, extra_body=BABBLE
    )
    prompt = list(PROMPT.encode())
    (text,) = plainly(Request("r", prompt, 20), SamplingParams(temperature=1, seed=5))
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason, choice.logprobs) == (text, "length", None)
    assert answer.usage.to_dict() == {
        "prompt_tokens": 16,
        "completion_tokens": 20,
        "total_tokens": 36,
    }
    assert answer.object == "text_completion"
    assert answer.model == "tiny"


def test_a_stream_says_the_same_in_parts(client):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 30, "seed": 6, "extra_body": BABBLE}
    whole = client.completions.create(**asked)
    chunks = list(
        client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    )
    *parts, last = chunks
    assert "".join(part.choices[0].text for part in parts) == whole.choices[0].text
    assert [part.choices[0].finish_reason for part in parts[-2:]] == [None, "length"]
    assert (last.choices, last.usage) == ([], whole.usage)
    assert {chunk.id for chunk in chunks} == {last.id} != {whole.id}


def test_every_field_is_what_the_client_expects(server, chat):
    drawn = {"model": "tiny", "max_tokens": 3, "n": 2, "extra_body": BABBLE}
    with server.client(strict=True) as strict:
        strict.completions.create(prompt=PROMPT, **drawn)
        strict.completions.create(prompt=PROMPT, **drawn, logprobs=2)
        strict.models.list()
    drawn["messages"] = [{"role": "user", "content": "x"}]
    drawn |= {"logprobs": True, "top_logprobs": 2}
    with chat.client(strict=True) as strict:
        strict.chat.completions.create(**drawn)
        options = {"include_usage": True}
        list(strict.chat.completions.create(**drawn, stream=True, stream_options=options))


def test_a_stream_ends_with_done_and_without_usage_if_nobody_asked(server):
    _, headers, body = server.ask(
        "POST", "/v1/completions", {"prompt": PROMPT, "max_tokens": 2, "stream": True}
    )
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert b"data: [DONE]\n\n" in body
    assert b"usage" not in body


def test_the_same_seed_says_the_same_and_another_something_else(client):
    def said(**seed):
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 20, "extra_body": BABBLE}
        return client.completions.create(**asked, **seed).choices[0].text

    assert said(seed=1) == said(seed=1) != said(seed=2)
    assert said() != said(), "without a seed it is left to chance"
    assert said(temperature=0) == said(temperature=0, seed=3) == said(temperature=1e-9)


@pytest.mark.parametrize("forks", [False, True])
def test_samples_differ_and_the_first_is_that_of_its_seed(forks):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 16, "seed": 4, "extra_body": BABBLE}
    with running(fork_samples=forks) as server, server.client() as client:
        alone = client.completions.create(**asked).choices[0].text
        answer = client.completions.create(**asked, n=3)
        texts = [choice.text for choice in answer.choices]
        assert [choice.index for choice in answer.choices] == [0, 1, 2]
        assert texts[0] == alone
        assert len(set(texts)) == 3
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (16, 48)
        streamed = ["", "", ""]
        for chunk in client.completions.create(**asked, n=3, stream=True):
            streamed[chunk.choices[0].index] += chunk.choices[0].text
        assert streamed == texts
        assert bool(server.ear.of(ev.SequenceForked)) is forks


def test_a_list_of_prompts_is_answered_in_order(client):
    asked = {"model": "tiny", "max_tokens": 8, "temperature": 0, "extra_body": BABBLE}
    one, two = (client.completions.create(prompt=p, **asked).choices[0].text for p in ("ab", "cde"))
    as_ids = client.completions.create(prompt=[[97, 98], [99, 100, 101]], n=2, **asked)
    assert [choice.text for choice in as_ids.choices] == [one, one, two, two]
    assert as_ids.usage.prompt_tokens == 5
    assert client.completions.create(prompt=[97, 98], **asked).choices[0].text == one
    strings = client.completions.create(prompt=["ab", "cde"], **asked)
    assert [choice.text for choice in strings.choices] == [one, two]


def test_beams_are_those_of_the_search(client):
    body = {"use_beam_search": True, "length_penalty": 0.5, "early_stopping": "never"}
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 6, "n": 3, "extra_body": body}
    texts = [choice.text for choice in client.completions.create(**asked).choices]
    search = BeamSearch(0.5, EarlyStopping.NEVER)
    request = Request("r", list(PROMPT.encode()), 6, 3, stop_ids=frozenset({256}), beam=search)
    assert texts == plainly(request, SamplingParams())


# -- stop strings ----------------------------------------------------------------------------------------


def test_a_stop_string_ends_the_answer_and_the_request(server, client):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 200, "seed": 8, "extra_body": BABBLE}
    text = client.completions.create(**asked).choices[0].text
    stop = text[20:23]  # three characters are at least three tokens
    before = len(server.ear.of(ev.SequenceFinished))
    (choice,) = client.completions.create(**asked, stop=["never said", stop]).choices
    assert choice.text == text[: text.index(stop)]
    assert choice.finish_reason == "stop"
    (ended,) = server.ear.of(ev.SequenceFinished)[before:]
    assert ended.output_tokens < 100, "the engine went on after the stop string"
    chunks = list(client.completions.create(**asked, stop=stop, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == choice.text
    assert chunks[-1].choices[0].finish_reason == "stop"
    (choice,) = client.completions.create(**asked, stop=text[-1] + " never said").choices
    assert (choice.text, choice.finish_reason) == (text, "length"), "its beginning waited"


def test_samples_stop_one_by_one(server, client):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 60, "seed": 9, "extra_body": BABBLE}
    first, second = (choice.text for choice in client.completions.create(**asked, n=2).choices)
    stop = next(first[at : at + 3] for at in range(9, 40) if first[at : at + 3] not in second)
    one, two = client.completions.create(**asked, n=2, stop=stop).choices
    assert (one.text, one.finish_reason) == (first[: first.index(stop)], "stop")
    assert (two.text, two.finish_reason) == (second, "length")


def test_the_end_token_and_stop_tokens_end_an_answer(client):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 2000, "temperature": 0}
    text = client.completions.create(**asked | {"max_tokens": 6}, logprobs=0).choices[0]
    third = text.logprobs.tokens[2]
    token = ord(third) if len(third) == 1 else int(third.removeprefix("bytes:\\x"), 16)
    body = {"stop_token_ids": [token]}
    answer = client.completions.create(**asked, extra_body=body)
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("stop", 3)


# -- chat ------------------------------------------------------------------------------------------------


def test_a_model_without_a_template_says_so(client):
    with pytest.raises(APIStatusError, match="tiny has no chat template") as caught:
        client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "hi"}])
    assert (caught.value.status_code, caught.value.param) == (400, "messages")


def test_chat_is_a_completion_of_the_template(chatting):
    messages = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    drawn = {"model": "tiny", "max_tokens": 12, "seed": 3, "extra_body": BABBLE}
    answer = chatting.chat.completions.create(messages=messages, **drawn)
    prompt = "<system>Be kind.<user>a\nb<assistant>"
    text = chatting.completions.create(prompt=prompt, **drawn).choices[0].text
    (choice,) = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", text)
    assert (choice.finish_reason, answer.object) == ("length", "chat.completion")
    assert answer.usage.prompt_tokens == len(prompt)
    first, *rest = chatting.chat.completions.create(messages=messages, **drawn, stream=True)
    assert (first.choices[0].delta.role, first.object) == ("assistant", "chat.completion.chunk")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in rest) == text
    assert rest[-1].choices[0].finish_reason == "length"


def test_chat_without_max_tokens_has_the_rest_of_the_model_length(chatting):
    messages = [{"role": "user", "content": "x" * 4000}]
    answer = chatting.chat.completions.create(model="tiny", messages=messages, extra_body=BABBLE)
    assert answer.usage.total_tokens == 4096


# -- log-probabilities -----------------------------------------------------------------------------------


def test_logprobs_of_a_completion(client):
    asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 12, "seed": 2, "extra_body": BABBLE}
    answer = client.completions.create(**asked, logprobs=3)
    (choice,) = answer.choices
    found = choice.logprobs
    assert len(found.tokens) == len(found.token_logprobs) == answer.usage.completion_tokens == 12
    for token, logprob, top in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        assert top[token] == pytest.approx(logprob, abs=1e-5)
        assert len(top) in (3, 4)
        assert max(top.values()) < 0
    for token, offset in zip(found.tokens, found.text_offset, strict=True):
        assert (
            len(token) > 1 or token in choice.text[offset : offset + 4]
        )  # behind bytes of no character
    parts = list(client.completions.create(**asked, logprobs=3, stream=True))
    streamed = [token for part in parts for token in part.choices[0].logprobs.tokens]
    offsets = [offset for part in parts for offset in part.choices[0].logprobs.text_offset]
    assert (streamed, offsets) == (found.tokens, found.text_offset)


def test_logprobs_of_a_chat(chatting):
    asked = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "x"}],
        "max_completion_tokens": 12,
        "seed": 2,
        "extra_body": BABBLE,
    }
    answer = chatting.chat.completions.create(**asked, logprobs=True, top_logprobs=2)
    content = answer.choices[0].logprobs.content
    assert len(content) == 12
    said = b"".join(bytes(entry.bytes) for entry in content).decode("utf-8", "replace")
    assert said == answer.choices[0].message.content
    assert all(len(entry.top_logprobs) == 2 for entry in content)
    without = chatting.chat.completions.create(**asked, logprobs=True)
    assert [entry.top_logprobs for entry in without.choices[0].logprobs.content] == [[]] * 12
    parts = chatting.chat.completions.create(**asked, logprobs=True, stream=True)
    streamed = [
        entry.logprob
        for part in parts
        if part.choices[0].logprobs is not None
        for entry in part.choices[0].logprobs.content
    ]
    assert streamed == [entry.logprob for entry in content]


# -- many at once, and clients that go away --------------------------------------------------------------


def test_eight_streams_at_once_two_of_them_cancelled():
    async def read(client: AsyncOpenAI, number: int) -> str:
        cancelled = number % 4 == 3
        stream = await client.completions.create(
            model="tiny",
            prompt=f"{PROMPT} {number}",
            max_tokens=4000 if cancelled else 40,
            seed=number,
            stream=True,
            extra_body=BABBLE,
        )
        parts = []
        async with stream:
            async for chunk in stream:
                parts.append(chunk.choices[0].text)
                if cancelled and len(parts) == 5:
                    return ""
        return "".join(parts)

    async def read_all(url: str) -> list[str]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(read(client, number) for number in range(8)))

    with running() as server:
        texts = asyncio.run(read_all(server.url))
        server.ear.wait_for_aborts(2)
        for number, text in enumerate(texts):
            if text:
                prompt = list(f"{PROMPT} {number}".encode())
                params = SamplingParams(temperature=1, seed=number)
                assert plainly(Request("r", prompt, 40), params) == [text]
        assert sum(map(bool, texts)) == 6
        found = server.metrics()
        assert found["request_success_total", "length"] == 6
        assert found["request_success_total", "abort"] == 2
        assert found["num_requests_running", ""] == found["num_requests_waiting", ""] == 0
        assert found["kv_cache_usage_perc", ""] == server.blocks_in_use == 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_has_its_request_ended(stream):
    with running() as server:
        with server.connect() as raw:
            body = json.dumps({**LONG, "n": 2, "stream": stream}).encode()
            raw.sendall(
                b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                + f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            server.ear.wait_for(ev.TokensSampled, 3)
        server.ear.wait_for_aborts(2)
        steps = len(server.ear.of(ev.StepDone))
        aborted = [e for e in server.ear.of(ev.SequenceFinished) if e.reason == "abort"]
        assert len(aborted) == 2
        assert all(event.output_tokens < 4000 for event in aborted)
        assert server.metrics()["kv_cache_usage_perc", ""] == 0
        assert len(server.ear.of(ev.StepDone)) == steps, "the engine works for nobody"


def test_more_calls_than_seats_are_sent_away():
    limits = Limits(max_concurrent_requests=1)
    with running(limits=limits) as server, server.client() as client:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4000, "extra_body": BABBLE}
        with client.completions.create(**asked, stream=True) as stream:
            next(iter(stream))
            with pytest.raises(RateLimitError, match="as many as this server takes") as caught:
                client.completions.create(**asked)
            assert caught.value.response.headers["retry-after"] == "1"
        server.ear.wait_for_aborts(1)
        # The seat is free a moment after the request is gone.
        again = (server.post(COMPLETIONS, {"prompt": "a", "max_tokens": 1}) for _ in range(100))
        assert any(status == 200 for status, _ in again)


def test_a_body_that_does_not_come_is_not_waited_for():
    with running(limits=Limits(body_seconds=0.1)) as server, server.connect() as raw:
        raw.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        status, headers, body = reply(raw)
        assert status == 408
        assert headers["connection"] == "close"
        assert b"did not come within 0.1 seconds" in body


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHo"])
@pytest.mark.parametrize("first", [True, False])
def test_headers_that_do_not_come_are_not_waited_for(sent, first):
    """The first request of a connection, or a later one that was begun."""
    with running(limits=Limits(header_seconds=0.1)) as server, server.connect() as raw:
        if not first:
            raw.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            received = b""
            while b"ok" not in received:
                received += raw.recv(1000)
        raw.sendall(sent if first else sent or b"G")
        with suppress(ConnectionResetError):
            assert raw.recv(1000) == b""


def test_more_connections_than_allowed_are_sent_away():
    with running(limits=Limits(max_connections=1)) as server, server.connect() as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 200")
        assert server.ask("GET", "/health")[0] == 503


def test_a_client_that_takes_nothing_is_not_waited_for():
    async def stuck(_):
        await asyncio.Event().wait()

    async def send():
        with pytest.raises(TimeoutError):
            await Patient(stuck, 0.01).begin(200, {})

    asyncio.run(send())


# -- what is refused -------------------------------------------------------------------------------------

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
REFUSED = [
    (COMPLETIONS, {"model": "gpt-4", "prompt": "a"}, 404, "model", "no model is called"),
    (COMPLETIONS, {}, 400, "prompt", "prompt is null"),
    (COMPLETIONS, {"prompt": ""}, 400, "prompt", "a prompt is empty"),
    (COMPLETIONS, {"prompt": []}, 400, "prompt", "must be a string, token ids"),
    (COMPLETIONS, {"prompt": [["a"]]}, 400, "prompt", "the token id"),
    (
        COMPLETIONS,
        {"prompt": [1, 257]},
        400,
        "prompt",
        "the token id 257; the ids of tiny are 0 to 256",
    ),
    (COMPLETIONS, {"prompt": [True]}, 400, "prompt", "a prompt is true"),
    (COMPLETIONS, {"prompt": ["a"] * 65}, 400, "prompt", "65 prompts in one call; at most 64"),
    (COMPLETIONS, {"prompt": "a" * 4096}, 400, "prompt", "4,096 prompt tokens and max_tokens 16"),
    (
        COMPLETIONS,
        {"prompt": "a" * 100, "max_tokens": 4000},
        400,
        "max_tokens",
        "100 prompt tokens and max_tokens 4,000 are 4,100 together; this model's length is 4,096",
    ),
    (COMPLETIONS, {"prompt": "a", "max_tokens": 0}, 400, "max_tokens", "whole number from 1"),
    (COMPLETIONS, {"prompt": "a", "max_tokens": 5.5}, 400, "max_tokens", "max_tokens is 5.5"),
    (
        COMPLETIONS,
        {"prompt": "a", "max_tokens": 5, "max_completion_tokens": 6},
        400,
        "max_tokens",
        "give one of them",
    ),
    (COMPLETIONS, {"prompt": "a", "n": 129}, 400, "n", "from 1 to 128"),
    (COMPLETIONS, {"prompt": ["a"] * 3, "n": 64}, 400, "n", "are 192; at most 128"),
    (COMPLETIONS, {"prompt": "a", "temperature": -1}, 400, "temperature", "temperature is -1"),
    (COMPLETIONS, {"prompt": "a", "temperature": 10**400}, 400, "temperature", "a number"),
    (COMPLETIONS, {"prompt": "a", "temperature": "hot"}, 400, "temperature", "must be a number"),
    (COMPLETIONS, {"prompt": "a", "top_p": 0}, 400, "top_p", "top_p is 0"),
    (COMPLETIONS, {"prompt": "a", "top_k": -2}, 400, "top_k", "top_k is -2"),
    (COMPLETIONS, {"prompt": "a", "min_p": 2}, 400, "min_p", "min_p is 2"),
    (COMPLETIONS, {"prompt": "a", "seed": -1}, 400, "seed", "seed is -1"),
    (COMPLETIONS, {"prompt": "a", "stop": ["a"] * 5}, 400, "stop", "up to 4"),
    (COMPLETIONS, {"prompt": "a", "stop": [""]}, 400, "stop", "none of them empty"),
    (COMPLETIONS, {"prompt": "a", "logprobs": 21}, 400, "logprobs", "from 0 to 20"),
    (COMPLETIONS, {"prompt": "a", "logprobs": True}, 400, "logprobs", "logprobs is true"),
    (COMPLETIONS, {"prompt": "a", "echo": True}, 400, "echo", "does not support it"),
    (COMPLETIONS, {"prompt": "a", "presence_penalty": 0.5}, 400, "presence_penalty", "support"),
    (COMPLETIONS, {"prompt": "a", "stream": "yes"}, 400, "stream", "true or false"),
    (COMPLETIONS, {"prompt": "a", "stream_options": {}}, 400, "stream_options", "without stream"),
    (
        COMPLETIONS,
        {"prompt": "a", "stream": True, "stream_options": {"x": 1}},
        400,
        "x",
        "no field that this server knows",
    ),
    (COMPLETIONS, {"prompt": "a", "wishes": 3}, 400, "wishes", "no field that this server knows"),
    (COMPLETIONS, {"prompt": "a", "priority": 1}, 400, "priority", "another order"),
    (COMPLETIONS, {"prompt": "a", "cache_salt": "\ud800"}, 400, "cache_salt", "valid Unicode"),
    (COMPLETIONS, {"prompt": "a", "\ud800": 1}, 400, "\ud800", "no field"),
    (COMPLETIONS, {"prompt": "a", "stop_token_ids": [999]}, 400, "stop_token_ids", "999"),
    (COMPLETIONS, {"prompt": "a", "length_penalty": 2}, 400, "length_penalty", "use_beam_search"),
    (COMPLETIONS, {"prompt": "a", "use_beam_search": True, "stop": "x"}, 400, "stop", "beam"),
    (COMPLETIONS, {"prompt": "a", "use_beam_search": True, "logprobs": 1}, 400, "logprobs", "beam"),
    (
        COMPLETIONS,
        {"prompt": "a", "use_beam_search": True, "n": 64, "stop_token_ids": list(range(9))},
        400,
        "n",
        "at most 23 beams",
    ),
    (
        COMPLETIONS,
        {"prompt": "a", "use_beam_search": True, "length_penalty": 11},
        400,
        None,
        "it must be from -10 to 10",
    ),
    (CHAT, {}, 400, "messages", "messages is null"),
    (CHAT, {"messages": [{"role": "tool", "content": ""}]}, 400, "messages[0].role", "the role"),
    (CHAT, {"messages": [{"role": "user"}]}, 400, "messages[0].content", "text parts"),
    (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        400,
        "messages[0].content",
        "only reads text",
    ),
    (CHAT, {"messages": [{"role": "user", "content": "a", "name": "me"}]}, 400, "name", "no field"),
]


@pytest.mark.parametrize(("path", "body", "status", "param", "words"), REFUSED)
def test_what_cannot_be_served_is_refused_in_a_sentence(server, path, body, status, param, words):
    answered, reply = server.post(path, body)
    error = reply["error"]
    assert (answered, error["param"]) == (status, param)
    assert words in error["message"]
    assert "\n" not in error["message"]
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")


def test_top_logprobs_need_logprobs(chatting):
    with pytest.raises(APIStatusError, match="set logprobs to true"):
        chatting.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "x"}], top_logprobs=2
        )


def test_a_request_that_never_fits_the_memory_is_refused_with_the_numbers():
    with running(num_slots=64) as server:
        for stream in (False, True):
            status, reply = server.post(
                COMPLETIONS, {"prompt": "a" * 50, "max_tokens": 50, "stream": stream}
            )
            assert status == 400
            assert "cmpl-" in reply["error"]["message"]
        assert server.metrics()["request_success_total", "abort"] == 0


def test_priority_is_taken_where_it_counts():
    with running(order=PRIORITY) as server:
        status, _ = server.post(COMPLETIONS, {"prompt": "a", "max_tokens": 1, "priority": -3})
        assert status == 200
        assert [event.priority for event in server.ear.of(ev.RequestSubmitted)] == [-3]


def test_what_changes_no_answer_is_taken(server):
    harmless = {
        "user": "me",
        "metadata": {"a": 1},
        "store": True,
        "echo": False,
        "logit_bias": {},
        "best_of": 1,
        "suffix": None,
        "frequency_penalty": 0.0,
        "top_k": -1,
        "cache_salt": "mine",
        "response_format": {"type": "text"},
    }
    assert server.post(COMPLETIONS, {"prompt": "a", "max_tokens": 1, **harmless})[0] == 200
    assert server.ear.of(ev.RequestArrived)[-1].salt == "mine"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        (b'{"temperature": NaN}', "NaN"),
        (b"[1]", "must be a JSON object"),
        (b'{"n": ' + b"1" * 5000 + b"}", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_json_is_refused(server, body, words):
    status, reply = server.post(COMPLETIONS, body)
    assert status == 400
    assert words in reply["error"]["message"]


def test_a_body_above_the_limit_is_refused():
    with running(limits=Limits(max_body_bytes=1000)) as server:
        for size, status in ((1001, 413), (15_000, 413), (1000, 200)):
            body = json.dumps({"prompt": "a", "max_tokens": 1, "user": "x"})
            body = body.replace('"x"', f'"{"x" * (size - len(body) + 1)}"').encode()
            assert len(body) == size
            answered, reply = server.post(COMPLETIONS, body)
            assert answered == status
            if status == 413:
                assert "larger than 1,000 bytes" in reply["error"]["message"]


def test_a_body_that_is_not_called_json_is_refused(server):
    status, reply = server.post(COMPLETIONS, {"prompt": "a"}, Content_Type="text/plain")
    assert status == 415
    assert "Content-Type: application/json" in reply["error"]["message"]


def test_other_addresses(server, client):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(APIStatusError, match="no model is called"):
        client.models.retrieve("gpt-4")
    assert server.ask("GET", "/health")[0] == 200
    status, _, body = server.ask("GET", "/")
    assert (status, body.count(b"\n")) == (200, 1)
    assert server.ask("GET", "/nowhere")[0] == 404
    status, headers, body = server.ask("GET", COMPLETIONS)
    assert (status, headers["allow"]) == (405, "post")
    assert json.loads(body)["error"]["message"] == "GET /v1/completions: Method Not Allowed"
    assert "access-control-allow-origin" not in headers


# -- metrics ---------------------------------------------------------------------------------------------


def test_metrics_are_what_was_served():
    with running(num_slots=640) as server, server.client() as client:
        assert server.metrics()["generation_tokens_total", ""] == 0
        asked = {"model": "tiny", "extra_body": BABBLE}
        shared = "x" * 64
        answers = [
            client.completions.create(prompt=shared, max_tokens=10, seed=s, **asked) for s in (1, 2)
        ]
        text = answers[0].choices[0].text
        answers.append(
            client.completions.create(
                prompt=shared, max_tokens=10, seed=1, stop=text[3:6], logprobs=0, **asked
            )
        )
        # Both grow to 330 of 640 tokens: one has to give way.
        crowd = client.completions.create(
            prompt=["y" * 30, "z" * 30], max_tokens=300, seed=3, **asked
        )
        answers.append(crowd)
        found = server.metrics()
        made = sum(answer.usage.completion_tokens for answer in answers)
        given = sum(answer.usage.prompt_tokens for answer in answers)
        assert found["generation_tokens_total", ""] == made
        assert found["prompt_tokens_total", ""] == given
        assert found["request_generation_tokens_sum", ""] == made
        assert found["request_prompt_tokens_sum", ""] == given
        assert found["request_success_total", "length"] == 4
        assert found["request_success_total", "stop"] == 1
        assert found["request_success_total", "abort"] == 0
        assert found["prefix_cache_queries_total", ""] == given
        assert found["prefix_cache_hits_total", ""] == 2 * 48
        preempted = len(server.ear.of(ev.SequencePreempted))
        assert found["num_preemptions_total", ""] == preempted > 0
        assert found["time_to_first_token_seconds_count", ""] == 5
        assert found["e2e_request_latency_seconds_bucket", "+Inf"] == 5
        assert found["inter_token_latency_seconds_count", ""] == made - 5
        assert found["time_per_output_token_seconds_sum", ""] > 0
        assert found["request_time_per_output_token_seconds_count", ""] == 5
        steps = server.ear.of(ev.StepPlanned)
        assert found["iteration_tokens_total_count", ""] == len(steps)
        assert found["iteration_tokens_total_sum", ""] == sum(sum(step.counts) for step in steps)


@pytest.mark.parametrize("allocator", ["paged", "pow2"])
def test_metrics_agree_with_the_meter_of_latencies(allocator):
    """Through preemption and forks, in a simulated run."""
    pairs = [(5 + i % 7, 4 + i % 11) for i in range(30)]
    _, events = run(allocator, pairs, samples=2, caching=True)
    metrics, meter = EngineMetrics(), LatencyMeter()
    for event in events:
        metrics.apply(event)
        meter.apply(event)
        running = sum(1 for _ in meter._running)  # no public question for it
        assert metrics.figures().num_running == running
    found = metrics.figures()
    assert (found.num_running, found.num_waiting) == (0, 0)
    assert found.num_preemptions > 0 or allocator != "paged"
    assert found.num_preemptions == meter.num_preemptions
    assert found.generation_tokens == meter.output_tokens
    assert found.prefix_hits == meter.cached_tokens
    assert found.prefix_queries == meter.prompt_tokens
    assert sum(found.finished.values()) == meter.num_finished_sequences
    first = found.histograms["time_to_first_token_seconds"]
    assert first.buckets[-1][1] == len(meter.first_token_ns)
    assert first.total == pytest.approx(sum(meter.first_token_ns) / 1e9)
    each = found.histograms["request_time_per_output_token_seconds"]
    assert each.total == pytest.approx(sum(meter.per_token_ns) / 1e9)


def test_metrics_while_something_runs():
    with running() as server, server.client() as client:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4000, "extra_body": BABBLE}
        with client.completions.create(**asked, stream=True, n=2) as stream:
            next(iter(stream))
            found = server.metrics()
            assert found["num_requests_running", ""] == 2
            assert 0 < found["kv_cache_usage_perc", ""] < 1


# -- trouble and the end ---------------------------------------------------------------------------------


def test_a_failed_step_is_told_and_the_server_goes_on():
    with running(failing=range(2, 3)) as server, server.client() as client:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 9, "extra_body": BABBLE}
        with pytest.raises(InternalServerError, match="RuntimeError: the device is on fire"):
            client.completions.create(**asked)
        assert len(client.completions.create(**asked).choices) == 1
        (sentence,) = server.said[1:]
        assert sentence.startswith(
            "a step of the engine failed (RuntimeError: the device is on fire)"
        )
        assert sentence.endswith("the server goes on")
        assert server.blocks_in_use == 0


def test_a_failed_step_is_told_to_streams():
    with running(failing=range(2, 3)) as server, server.client() as client:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 9, "extra_body": BABBLE}
        with pytest.raises(APIError, match="the device is on fire"):
            list(client.completions.create(**asked, stream=True))


def test_an_engine_that_fails_again_and_again_is_given_up():
    server = Running(failing=range(1, 100))
    body = {"prompt": PROMPT, "max_tokens": 9, **BABBLE}
    statuses = [server.post(COMPLETIONS, body)[0] for _ in range(3)]
    server.server.stop()  # which is too late
    server.wait()
    assert statuses == [500, 500, 503]
    assert isinstance(server.raised, EngineFailedError)
    assert "3 times in a row; the server shuts down" in str(server.raised)
    assert server.blocks_in_use == 0


def test_a_server_that_stops_ends_its_streams():
    server = Running()
    with server.client() as client:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4000, "extra_body": BABBLE}
        with client.completions.create(**asked, stream=True) as stream:
            next(iter(stream))
            server.server.stop()
            with pytest.raises(APIError, match="the server is shutting down"):
                list(stream)
    server.wait()
    assert server.raised is None
    assert server.blocks_in_use == 0
    assert len(server.said) == 1
    assert server.said[0] == f"serving tiny on {server.url}/v1; Ctrl-C ends it"


def test_a_shutdown_does_not_keep_clients_waiting_for_a_long_step():
    stuck = threading.Event()
    server = Running(limits=Limits(close_seconds=1), waits_for=stuck)
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(server.post, COMPLETIONS, {"prompt": PROMPT})
        server.ear.wait_for(ev.StepPlanned, 1)
        server.server.stop()
        assert answer.result(PATIENCE)[0] == 503
    stuck.set()
    server.wait()
    assert (server.raised, server.blocks_in_use, len(server.said)) == (None, 0, 1)


SERVE = """
from pagesim.core.scheduler_config import SchedulerConfig
from pagesim.engine.http.metrics import EngineMetrics
from pagesim.engine.http.server import serve_http
from pagesim.engine.models import open_model
from pagesim.engine.session import Session, SessionSettings
from pagesim.replay.latency import LatencyMeter

opened, metrics = open_model("tiny"), EngineMetrics()
session = Session(opened, SessionSettings(8192, SchedulerConfig(max_model_len=4096)), metrics.apply)
serve_http(session, opened, metrics, model_name="tiny", port=0)
print("in use:", session.memory.usage().granted)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_while_streaming_ends_it_cleanly():
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        url = process.stdout.readline().split()[3].removesuffix("/v1;")
        address = urlsplit(url)
        body = json.dumps({**LONG, "stream": True}).encode()
        with socket.create_connection((address.hostname, address.port), PATIENCE) as raw:
            raw.sendall(
                b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                + f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            assert b"200 OK" in raw.recv(1000)
            process.send_signal(signal.SIGTERM)
            _, _, stream = reply_rest(raw)
        out, err = process.communicate(timeout=PATIENCE)
        assert b"the server is shutting down" in stream
        assert b"[DONE]" in stream
        assert (out, err, process.returncode) == ("in use: 0\n", "", 0)
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # but for old connections
            again.bind((address.hostname, address.port))
    finally:
        process.kill()
        process.communicate()


def reply_rest(raw: socket.socket):
    received = b""
    while part := raw.recv(65536):
        received += part
    return None, None, received


def test_a_taken_port_is_a_sentence(server):
    opened = open_model("tiny")
    session = Session(opened, SessionSettings(1000, SchedulerConfig()))
    for host, port, words in (
        ("127.0.0.1", urlsplit(server.url).port, "give another port, or 0"),
        ("127.0.0.1", 70_000, "the port is 70000"),
        ("", 0, "the host is empty"),
        ("no.such.host.invalid", 0, "cannot listen on 'no.such.host.invalid'"),
    ):
        with pytest.raises(InputError, match=words):
            HttpServer(
                session,
                opened,
                EngineMetrics(),
                model_name="tiny",
                host=host,
                port=port,
                limits=Limits(),
                tell=print,
            )


def test_without_the_libraries_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("pagesim.engine.needs.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'pagesim\[engine\]'"):
        HttpServer(
            None, None, EngineMetrics(), model_name="", host="", port=0, limits=Limits(), tell=print
        )


def test_nothing_heavy_is_imported_before_a_server_is_made():
    code = "import sys, pagesim.engine.http.server; print(sorted(HEAVY & set(sys.modules)))"
    heavy = "{'torch', 'starlette', 'uvicorn', 'prometheus_client', 'asyncio'}"
    done = subprocess.run(
        [sys.executable, "-c", code.replace("HEAVY", heavy)], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("wrong", [{"max_body_bytes": 0}, {"body_seconds": float("inf")}])
def test_limits_that_limit_nothing_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=f"{name} is"):
        Limits(**wrong)
