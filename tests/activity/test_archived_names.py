"""What files of messages are called in ZIPs: so that any system unpacks them, and a click runs nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activity.parts import archived_name


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("notes.txt", "notes.txt"),
        ("Größe (1) 100% #é.csv", "Größe (1) 100% #é.csv"),
        ('a"b<i>.txt', "a_b_i_.txt"),
        ("a/b\\c:d|e?f*.md", "a_b_c_d_e_f_.md"),
        ("CON.txt", "_CON.txt"),
        ("nul", "_nul"),
        ("com1 .tar.gz", "_com1 .tar.gz"),
        ("console.txt", "console.txt"),
        ("ends. . ", "ends"),
        (". .", "_"),
        (".env", "_.env"),
        ("exp\u202egpj.scr", "exp_gpj.scr.txt"),
        ("a\u2066b\u200f\u061c\x9f\x7f\u2028.txt", "a_b_____.txt"),
        ("x" * 300 + ".txt", "x" * 196 + ".txt"),
        ("漢" * 200 + ".pdf", "漢" * 65 + ".pdf"),
    ],
)
def test_a_name_is_one_that_any_system_unpacks(name: str, called: str) -> None:
    assert archived_name(name, "text/plain") == called


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("page.html", "text/html"),
        ("page.HTM", "text/plain"),
        ("page.xhtml", "text/plain"),
        ("drawing.svg", "image/svg+xml"),
        ("feed.xml", "application/xml"),
        ("page", "text/html"),
        ("picture.foo", "image/svg+xml"),
        ("page.html. ", "text/plain"),
    ],
)
def test_pages_and_drawings_end_as_text(name: str, media_type: str) -> None:
    assert archived_name(name, media_type) == f"{name.rstrip('. ')}.txt"


@pytest.mark.parametrize(
    "ending",
    [
        *(
            "hta",
            "js",
            "jse",
            "vbs",
            "vbe",
            "wsf",
            "wsh",
            "bat",
            "cmd",
            "com",
            "exe",
            "scr",
            "pif",
            "ps1",
            "msi",
            "cpl",
        ),
        *(
            "url",
            "lnk",
            "desktop",
            "webloc",
            "inetloc",
            "command",
            "scpt",
            "jar",
            "reg",
            "msc",
            "HtA",
        ),
        "settingcontent-ms",
    ],
)
@pytest.mark.parametrize("media_type", ["text/plain", "application/pdf"])
def test_what_a_double_click_would_run_ends_as_text(ending: str, media_type: str) -> None:
    assert archived_name(f"run.{ending}", media_type) == f"run.{ending}.txt"


@given(st.text(max_size=400), st.sampled_from(["text/plain", "text/html"]))
def test_whatever_the_name_it_is_the_last_part_of_a_path(name: str, media_type: str) -> None:
    name = name.encode(errors="replace").decode()
    called = archived_name(name, media_type)
    assert 0 < len(called.encode()) <= 200
    assert not set(called) & set('<>:"/\\|?*\0\x85\u200e\u202e\u2066')
    assert not called.startswith(".")
    assert called.rstrip(". ") == called


@pytest.mark.parametrize("ending", ["py", "sh", "rb", "md", "csv", "c"])
def test_what_an_interpreter_has_to_be_installed_for_keeps_its_name(ending: str) -> None:
    assert archived_name(f"run.{ending}", "text/plain") == f"run.{ending}"
