"""Server-sent events, however the network cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_models.openai.client import EventParser, EventTooLargeError

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=12)
EVENTS = st.lists(st.lists(LINES, min_size=1, max_size=3), max_size=6)
NOISE = st.lists(st.sampled_from(["", ": a comment", "event: message", "id: 7", "retry: 3", "unknown"]), max_size=2)


@st.composite
def written_and_cut(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """The data of some events, and the chunks in which they arrive."""
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    written, expected = "", []
    for lines in draw(EVENTS):
        noise = draw(NOISE)
        space = draw(st.sampled_from(["", " "]))
        # What begins with a space of its own needs the one that is taken away.
        fields = [f"data:{' ' if line.startswith(' ') else space}{line}" for line in lines]
        written += line_end.join([*noise, *fields, "", ""])
        expected.append("\n".join(lines).encode())
    raw = written.encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    return expected, [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@given(written_and_cut())
def test_the_same_events_come_out_wherever_the_chunks_end(case: tuple[list[bytes], list[bytes]]) -> None:
    expected, chunks = case
    parser = EventParser()
    assert [data for chunk in chunks for data in parser.feed(chunk)] == expected
    assert parser.finish() == []


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_any_bytes_mean_the_same_in_one_chunk_and_in_many(raw: bytes, cuts: list[int]) -> None:
    whole = EventParser()
    expected = whole.feed(raw) + whole.finish()
    edges = sorted(min(cut, len(raw)) for cut in cuts)
    parser = EventParser()
    chunks = [raw[start:end] for start, end in zip([0, *edges], [*edges, len(raw)], strict=True)]
    assert [data for chunk in chunks for data in parser.feed(chunk)] + parser.finish() == expected


@given(st.text(alphabet="data: \r\n", max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_mixed_line_ends_mean_the_same_in_one_chunk_and_in_many(text: str, cuts: list[int]) -> None:
    raw = text.encode()
    whole = EventParser()
    expected = whole.feed(raw) + whole.finish()
    edges = sorted(min(cut, len(raw)) for cut in cuts)
    parser = EventParser()
    chunks = [raw[start:end] for start, end in zip([0, *edges], [*edges, len(raw)], strict=True)]
    assert [data for chunk in chunks for data in parser.feed(chunk)] + parser.finish() == expected


def test_an_event_is_there_as_soon_as_its_blank_line_is() -> None:
    parser = EventParser()
    assert parser.feed(b"data: one\n") == []
    assert parser.feed(b"\n") == [b"one"]
    assert parser.feed(b"data: two\r\n\r") == [b"two"]
    assert parser.feed(b"\ndata: three\n\n") == [b"three"]


def test_the_last_event_needs_no_blank_line() -> None:
    parser = EventParser()
    assert parser.feed(b"data: [DONE]") == []
    assert parser.finish() == [b"[DONE]"]
    assert parser.finish() == []


def test_a_byte_order_mark_is_passed_over() -> None:
    assert EventParser().feed(b"\xef\xbb\xbfdata: one\n\n") == [b"one"]


def test_an_event_that_does_not_end_is_refused() -> None:
    parser = EventParser(limit=10)
    assert parser.feed(b"data: one\n\n") == [b"one"]
    with pytest.raises(EventTooLargeError):
        parser.feed(b"data: 456789")
