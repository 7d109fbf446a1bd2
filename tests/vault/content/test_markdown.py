"""What the bytes of a file say: its text, its lines, its front matter and headings."""

from __future__ import annotations

import pytest

from vault.content.markdown import parsed


def document(content: bytes):
    return parsed("a.md", content, modified_ns=0)


def test_a_byte_order_mark_is_dropped_and_lines_end_in_line_feeds():
    assert document(b"\xef\xbb\xbfone\r\ntwo\r\n").text == "one\ntwo\n"
    assert document("one\ufeff two".encode()).text == "one\ufeff two"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85"])
def test_lines_are_split_on_line_feeds_alone(separator):
    assert document(f"one{separator}still one\ntwo".encode()).lines == [f"one{separator}still one", "two"]


def test_what_is_no_utf_8_is_marked_and_the_rest_is_read():
    assert document(b"caf\xe9 and tea\n# Heading").text == "caf\ufffd and tea\n# Heading"


def test_a_broken_front_matter_is_text():
    whole = document(b"---\ntitle: [unclosed\n---\n# Heading\n")
    assert (whole.front_matter, whole.body_line, whole.title) == ({}, 1, "Heading")
