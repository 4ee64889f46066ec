"""Trace files: every format read, every mistake named."""

import csv
import gzip
import io
import json
import tempfile
import tracemalloc
from pathlib import Path
from random import Random
from statistics import fmean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import shared_file

from pagesim.core.errors import InputError
from pagesim.sim.traces import read_trace
from pagesim.sim.workload import Workload

PLAIN = "arrival_s,prompt_tokens,output_tokens\n"


def read(folder: Path, content: str | bytes, name: str = "trace.csv", **options: int) -> Workload:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_trace(path, **options)


def rows(workload: Workload) -> list[tuple[str, int, int, int]]:
    """Id, arrival in ns, prompt and output of each request."""
    return [
        (request.id, time_ns, len(request.prompt), request.max_tokens)
        for time_ns, request in workload.arrivals
    ]


def refusal(folder: Path, content: str | bytes, name: str = "trace.csv") -> str:
    with pytest.raises(InputError) as caught:
        read(folder, content, name)
    text = str(caught.value)
    assert text.isprintable(), text
    assert len(text) < 500
    return text


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfarrival_s,prompt_tokens,output_tokens\r\n0.0,10,5\r\n",
        b"\xef\xbb\xbfarrival_s,prompt_tokens,output_tokens\r\n0.0,10,5",
        b"arrival_s,prompt_tokens,output_tokens\n0.0,10,5\n",
        b"\n \r\narrival_s,prompt_tokens,output_tokens\n\n0.0,10,5\n\n  \n",
        b'\xef\xbb\xbf{"arrival_s": 0.0, "prompt_tokens": 10, "output_tokens": 5}\r\n',
        b'\xef\xbb\xbf{"arrival_s": 0.0, "prompt_tokens": 10, "output_tokens": 5}',
        b'\n{"arrival_s": 0, "prompt_tokens": 10, "output_tokens": 5}\n \n',
    ],
)
def test_marks_and_line_ends_are_dropped(tmp_path: Path, content: bytes) -> None:
    """H23: a byte-order mark, CRLF, a missing last line end and blank lines change nothing."""
    assert rows(read(tmp_path, content)) == [("r1", 0, 10, 5)]
    assert rows(read(tmp_path, gzip.compress(content), "t.csv.gz")) == [("r1", 0, 10, 5)]
    assert rows(read(tmp_path, gzip.compress(content), "no_suffix")) == [("r1", 0, 10, 5)]


@pytest.mark.parametrize("offset", ["", "170000000"])
def test_times_are_sorted_and_start_at_zero(tmp_path: Path, offset: str) -> None:
    """H24: a 5.0, b 2.0, c 9.5 load as b 0, a 3.0, c 7.5; the same with 1700000000 added."""
    text = "id,arrival_s,prompt_tokens,output_tokens\n"
    text += f"a,{offset}5.0,1,1\nb,{offset}2.0,2,1\nc,{offset}9.5,3,1\n"
    expected = [("b", 0, 2, 1), ("a", 3 * 10**9, 1, 1), ("c", 7_500_000_000, 3, 1)]
    assert rows(read(tmp_path, text)) == expected


def test_an_offset_changes_no_nanosecond(tmp_path: Path) -> None:
    """H24: times are exact, not floats."""
    times = ["0.000000001", "0.1", "1.123456789", "2.5e-9", "3e1", "0.30000000000000004"]
    plain = PLAIN + "".join(f"{time},1,1\n" for time in times)
    shifted = ["1700000000.000000001", "1700000000.1", "1700000001.123456789"]
    shifted += ["1700000000.0000000025", "1.70000003e9", "1700000000.30000000000000004"]
    moved = PLAIN + "".join(f"{time},1,1\n" for time in shifted)
    assert rows(read(tmp_path, plain)) == rows(read(tmp_path, moved))
    assert [time_ns for _, time_ns, _, _ in rows(read(tmp_path, plain))] == [
        0, 1, 99_999_999, 299_999_999, 1_123_456_788, 29_999_999_999,
    ]  # fmt: skip


def test_rows_of_equal_time_keep_their_order(tmp_path: Path) -> None:
    """H24: the sort is stable."""
    text = PLAIN + "".join(f"{number % 3}.0,{number},1\n" for number in range(1, 31))
    prompts = [prompt for _, _, prompt, _ in rows(read(tmp_path, text))]
    assert prompts == [*range(3, 31, 3), *range(1, 31, 3), *range(2, 31, 3)]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN + "0.0,1,1\n,2,1\n",
        '{"arrival_s":0,"prompt_tokens":1,"output_tokens":1}\n{"prompt_tokens":1,"output_tokens":1}',
        (
            '{"prompt_tokens":1,"output_tokens":1,"arrival_s":0}\n'
            '{"prompt_tokens":1,"output_tokens":1,"arrival_s":null}'
        ),
        '{"prompt_tokens":1,"output_tokens":1}\n{"arrival_s":0,"prompt_tokens":1,"output_tokens":1}',
    ],
)
def test_a_row_without_a_time_is_named(tmp_path: Path, content: str) -> None:
    """H24: a row without a time is an error naming its line."""
    line = 3 if content.startswith(PLAIN) else 2
    text = refusal(tmp_path, content)
    assert text.startswith(f"trace.csv, line {line}")
    assert "arrival_s" in text


CUT_GZIP = gzip.compress(b"prompt_tokens,output_tokens\n" + b"1,1\n" * 99, mtime=0)[:-9]
BAD_TOKENS = [
    "nan", "-3", "1e400", "", "12.5", "12.0", "0x10", "1_000", "١٢", "+1", "1 0", "²", "0",
    "1000000001", "9" * 5000, "true", "\x1b[31m7",
]  # fmt: skip


@pytest.mark.parametrize("column", ["prompt_tokens", "output_tokens"])
@pytest.mark.parametrize("value", BAD_TOKENS)
def test_token_counts_that_are_not_whole_numbers_are_named(
    tmp_path: Path, value: str, column: str
) -> None:
    """H25: the message names file, line, column and value. H12: so does that of an empty prompt."""
    row = {"prompt_tokens": "10", "output_tokens": "5"} | {column: value}
    text = refusal(tmp_path, f"{','.join(row)}\n1,1\n{','.join(row.values())}\n")
    assert text.startswith(f"trace.csv, line 3, column {column}: ")
    assert value[:10].replace("\x1b", "\\x1b") in text


def test_the_message_in_full(tmp_path: Path) -> None:
    """H25: one sentence: what was given, what is allowed, what to do."""
    assert refusal(tmp_path, "Prompt_Tokens , output_tokens\n7,1\n12.5,1\n") == (
        'trace.csv, line 3, column Prompt_Tokens: "12.5" is not a whole number of tokens '
        "(1 or more); fix the line or remove it"
    )
    assert "is more than 1,000,000,000 tokens" in refusal(
        tmp_path, "prompt_tokens,output_tokens\n1000000001,1\n"
    )


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "-1", "1e999", "1e11", "9" * 200, "1_0", "٣", "0x1", "1e9999"]
)
def test_times_that_are_not_finite_are_named(tmp_path: Path, value: str) -> None:
    """H25: so are times."""
    text = refusal(tmp_path, PLAIN + f"0,1,1\n{value},1,1\n")
    assert text.startswith("trace.csv, line 3, column arrival_s: ")
    assert value[:20] in text


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1.0", "1e400", "-3", '"12"', "null", "[]"])
def test_json_numbers_obey_the_same_rules(tmp_path: Path, value: str) -> None:
    """H25: in JSONL as well."""
    text = refusal(tmp_path, f'{{"prompt_tokens": {value}, "output_tokens": 1}}\n', "t.jsonl")
    assert text.startswith("t.jsonl, line 1, column prompt_tokens: ")
    assert value in text


def test_an_empty_prompt_is_named_by_its_line(tmp_path: Path) -> None:
    """H12: a trace whose third line has 0 prompt tokens is reported with that line number."""
    text = refusal(tmp_path, "prompt_tokens,output_tokens\n4,2\n0,2\n")
    assert text.startswith("trace.csv, line 3, column prompt_tokens: ")


@pytest.mark.parametrize(
    "content",
    [
        "id,prompt_tokens,output_tokens\na,1,1\nb,1,1\na,2,2\n",
        (
            '{"id":"x","prompt_tokens":1,"output_tokens":1}\n'
            '{"id":"a","prompt_tokens":1,"output_tokens":1}\n\n'
            '{"id":"a","prompt_tokens":1,"output_tokens":1}\n'
        ),
    ],
)
def test_a_repeated_id_is_named_with_both_lines(tmp_path: Path, content: str) -> None:
    """H13: a trace with a repeated id is refused with the line number."""
    text = refusal(tmp_path, content)
    assert text.startswith("trace.csv, line 4, column id: ")
    assert '"a" is the id of the request in line 2 already' in text


@pytest.mark.parametrize(
    "value", ['""', "null", "true", '"a\\u001b"', '"\\ud800"', f'"{"x" * 201}"']
)
def test_ids_that_cannot_be_shown_are_refused(tmp_path: Path, value: str) -> None:
    text = refusal(tmp_path, f'{{"id": {value}, "prompt_tokens": 1, "output_tokens": 1}}\n')
    assert text.startswith("trace.csv, line 1")


def test_azure_in_both_spellings(tmp_path: Path) -> None:
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    text += "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    assert rows(read(tmp_path, text)) == [("r1", 0, 374, 44), ("r2", 4_314_579_000, 396, 109)]
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    text += "2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-09 23:00:01-01:00,9,8\n"
    text += "2024-05-10T00:00:02Z,7,6\n"
    expected = [("r1", 0, 2162, 5), ("r2", 990_070_000, 9, 8), ("r3", 1_990_070_000, 7, 6)]
    assert rows(read(tmp_path, text)) == expected


@pytest.mark.parametrize("value", ["2023-02-30 00:00:00", "2023-01-01 24:00:00", "5.0", "", "now"])
def test_dates_that_do_not_exist_are_refused(tmp_path: Path, value: str) -> None:
    text = refusal(tmp_path, f"TIMESTAMP,ContextTokens,GeneratedTokens\n{value},1,1\n")
    assert text.startswith(f'trace.csv, line 2, column TIMESTAMP: "{value}"')


@pytest.mark.parametrize("version", [1, 2])
def test_burstgpt_skips_and_counts_failures(tmp_path: Path, version: int) -> None:
    more = "Session ID,Elapsed time," if version == 2 else ""
    cells = "7,1.5," if version == 2 else ""
    text = f"Timestamp,{more}Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    text += f"5,{cells}ChatGPT,472,18,490,Conversation log\n"
    text += f"45,{cells}ChatGPT,1087,0,1087,Conversation log\n"
    text += f"118.5,{cells}GPT-4,417,276,693,API log\n"
    workload = read(tmp_path, text)
    assert rows(workload) == [("r1", 0, 472, 18), ("r3", 113_500_000_000, 417, 276)]
    assert workload.notes == ("failed requests (0 output tokens) that were skipped: 1",)
    only_failed = "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,0\n"
    assert "has only failed requests (1)" in refusal(tmp_path, only_failed)


def test_vidur_with_and_without_times(tmp_path: Path) -> None:
    text = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n10,5,15,2.0\n3,4,7,1\n"
    workload = read(tmp_path, text)
    assert rows(workload) == [("r1", 0, 10, 5), ("r2", 0, 3, 4)]
    assert workload.saturated
    assert "not read: num_total_tokens, pd_ratio" in workload.notes[0]
    timed = read(tmp_path, "arrived_at,num_prefill_tokens,num_decode_tokens\n1.25,10,5\n0.25,1,1\n")
    assert rows(timed) == [("r2", 0, 1, 1), ("r1", 10**9, 10, 5)]
    assert not timed.saturated


def test_mooncake_shares_what_its_hashes_share(tmp_path: Path) -> None:
    lines = [
        {"timestamp": 1500, "input_length": 1030, "output_length": 2, "hash_ids": [5, 9, 7]},
        {"timestamp": 0, "input_length": 1024, "output_length": 3, "hash_ids": [5, 9]},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    workload = read(tmp_path, text, "m.jsonl")
    assert workload.token_ids_known
    assert rows(workload) == [("r2", 0, 1024, 3), ("r1", 1_500_000_000, 1030, 2)]
    short, long = (arrival.request.prompt for arrival in workload.arrivals)
    assert list(short) == list(long)[:1024]
    assert list(long[1022:]) == [9 * 512 + 510, 9 * 512 + 511, *range(7 * 512, 7 * 512 + 6)]


@pytest.mark.parametrize(
    ("hash_ids", "message"),
    [
        ("[1]", "1 ids for 600 tokens, which are 2 blocks"),
        ("[1,-2]", '"-2" is not a whole number from 0'),
        ("[1,2.5]", '"2.5" is not'),
        (f"[1,{2**53}]", "is not a whole number from 0 to 9007199254740991"),
        ("7", "is not a list"),
    ],
)
def test_mooncake_hashes_are_checked(tmp_path: Path, hash_ids: str, message: str) -> None:
    text = f'{{"timestamp":0,"input_length":600,"output_length":1,"hash_ids":{hash_ids}}}\n'
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"prompt_tokens,output_tokens\n", "has a header but no requests"),
        (
            b"a,b\n1,2\n",
            'line 1: the header "a,b" is not one of a known trace, which are timestamp',
        ),
        (b"10,5\n11,6\n", 'the header "10,5" is not one of a known trace'),
        (b"{}\n", "is not one of a known trace"),
        (b'{"a": 1}\n', 'keys "a" is not one of'),
        (b'""\n', "is not one of a known trace"),
        (b"[1]\n", "is not one of a known trace"),
        (b'{"prompt_tokens": 1, "output_tokens": 1}\n{"prompt', "line 2"),
        (b'{"prompt_tokens": 1, "output_tokens": 1}\n[]\n', "line 2"),
        (b'{"a":' + b"[" * 200_000, "line 1"),
        (b"prompt_tokens,output_tokens\n1,2,3\n", "the header names 2 columns, the row has 3"),
        (b"prompt_tokens,output_tokens\n1\n", "the header names 2 columns, the row has 1"),
        (b"prompt_tokens,output_tokens,prompt_tokens\n1,2,3\n", "appears twice"),
        (b'prompt_tokens,output_tokens\n"1,2\n3,4\n', "not a well-formed CSV row"),
        (
            b"prompt_tokens,output_tokens\n1,\xff\n",
            "line 2: byte 3 of the line (0xff) is not UTF-8",
        ),
        ("prompt_tokens,output_tokens\n1,1\n".encode("utf-16"), "line 1: byte 1 of the line"),
        (b"prompt_tokens,output_tokens\n1,\x00\n", "\\x00"),
        (bytes(range(256)) * 20, "line 1"),
        (b"x" * (17 * 2**20), "longer than 16,777,216 bytes"),
        (CUT_GZIP, "damaged or cut short"),
        (b"\x1f\x8b\x08\x00garbage", "damaged or cut short"),
    ],
)
def test_files_that_are_no_trace_get_one_sentence(
    tmp_path: Path, content: bytes, message: str
) -> None:
    assert message in refusal(tmp_path, content)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    cases = {
        tmp_path / "none.csv": "there is no file",
        tmp_path: "is a folder",
        tmp_path / "a\0b": "cannot be read",
        tmp_path / "a\nb": "there is no file",
        tmp_path / ("x" * 5000): "cannot be read",
    }
    for path, message in cases.items():
        with pytest.raises(InputError, match=message) as caught:
            read_trace(path)
        assert str(caught.value).isprintable()
    assert "ends in .gz but is not gzip" in refusal(tmp_path, b"prompt_tokens", "t.csv.gz")


def test_a_limit_reads_the_first_rows_only(tmp_path: Path) -> None:
    text = PLAIN + "9,1,1\n8,2,1\n7,three,1\n"
    assert rows(read(tmp_path, text, limit=2)) == [("r2", 0, 2, 1), ("r1", 10**9, 1, 1)]
    with pytest.raises(InputError, match="a limit of 0 requests"):
        read(tmp_path, text, limit=0)


REQUESTS = st.lists(
    st.tuples(st.integers(0, 10**19), st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1
)


@settings(deadline=None)
@given(REQUESTS, st.booleans(), st.randoms(use_true_random=False))
def test_a_written_trace_reads_back(
    requests: list[tuple[int, int, int]], as_json: bool, shuffle: Random
) -> None:
    columns = ["arrival_s", "prompt_tokens", "output_tokens", "id"]
    shuffle.shuffle(columns)
    table = [
        {
            "arrival_s": f"{time // 10**9}.{time % 10**9:09d}",
            "prompt_tokens": str(prompt),
            "output_tokens": str(output),
            "id": f"name {number}",
        }
        for number, (time, prompt, output) in enumerate(requests)
    ]
    text = io.StringIO()
    if as_json:
        for row in table:
            cells = (f'"{c}":{json.dumps(row[c]) if c == "id" else row[c]}' for c in columns)
            text.write("{" + ",".join(cells) + "}\n")
    else:
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(table)
    with tempfile.TemporaryDirectory() as folder:
        workload = read(Path(folder), text.getvalue())
    origin = min(time for time, _, _ in requests)
    ordered = sorted(enumerate(requests), key=lambda pair: pair[1][0])
    assert rows(workload) == [
        (f"name {number}", time - origin, prompt, output)
        for number, (time, prompt, output) in ordered
    ]


WORDS = "prompt_tokens output_tokens arrival_s id hash_ids 1 0 -1 nan 1e5 1.5 é { } [ ] : ,"
CELLS = st.sampled_from([*WORDS.split(" "), "", '"', "\n", "\r\n", "\r", "\x00", "\ufeff", " "])


@settings(deadline=None)
@given(
    st.binary()
    | st.lists(CELLS).map(lambda cells: ",".join(cells).encode())
    | st.lists(CELLS).map(lambda cells: b"prompt_tokens,output_tokens\n" + "".join(cells).encode())
    | st.binary().map(lambda data: gzip.compress(data, mtime=0))
    | st.binary().map(lambda data: b"\x1f\x8b" + data)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda value: json.dumps({"prompt_tokens": 1, "output_tokens": value}).encode())
)
def test_any_bytes_give_a_workload_or_one_sentence(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.csv"
        path.write_bytes(content)
        problem = ""
        try:
            workload = read_trace(path)
        except InputError as error:
            problem = str(error)
    if problem:
        assert problem.isprintable()
    else:
        assert workload.arrivals
        assert all(note.isprintable() for note in workload.notes)


def test_a_request_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    text = PLAIN + "".join(
        f"{number}.5,{number + 1},{number % 900 + 300}\n" for number in range(20_000)
    )
    path = tmp_path / "big.csv"
    path.write_text(text)
    tracemalloc.start()
    try:
        workload = read_trace(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(workload.arrivals) == 20_000
    assert peak / 20_000 < 1000


@pytest.mark.parametrize(
    ("name", "count", "middle", "mean"),
    [
        ("azure2023_code.csv.gz", 8_819, (1469, 13), (2047.85, 27.88)),
        ("azure2023_conv.csv.gz", 19_366, (1020, 129), (1154.70, 211.13)),
        ("mooncake_conversation.jsonl.gz", 12_031, None, (12_035, 343)),
    ],
)
def test_the_published_traces_have_their_published_figures(
    name: str, count: int, middle: tuple[int, int] | None, mean: tuple[float, float]
) -> None:
    """Counts, medians and means as in the README of the shared data."""
    workload = read_trace(shared_file(f"data/{name}"))
    prompts = [prompt for _, _, prompt, _ in rows(workload)]
    outputs = [output for _, _, _, output in rows(workload)]
    assert len(workload.arrivals) == count
    assert (fmean(prompts), fmean(outputs)) == pytest.approx(mean, rel=0.002)
    if middle is not None:
        assert (median(prompts), median(outputs)) == middle


def test_mooncake_has_its_published_number_of_blocks() -> None:
    """288,500 blocks, 182,790 distinct."""
    workload = read_trace(shared_file("data/mooncake_conversation.jsonl.gz"))
    prompts = [arrival.request.prompt for arrival in workload.arrivals]
    firsts = [prompt[start] for prompt in prompts for start in range(0, len(prompt), 512)]
    assert len(firsts) == 288_500
    assert len(set(firsts)) == 182_790
