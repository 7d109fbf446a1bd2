"""Files to import: hostile archives are refused before anything of them is unpacked, everything else is streamed."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import zipfile
from contextlib import ExitStack

import pytest

from portability.errors import BrokenImportError
from portability.importers.reading import import_file, json_stream
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.json_stream import UnreadableItem, json_items


@pytest.fixture
def archive(tmp_path):
    """Write a ZIP of members by name, and open it."""
    with ExitStack() as opened:

        def make(members, *, method=zipfile.ZIP_DEFLATED):
            path = tmp_path / "export.zip"
            with zipfile.ZipFile(path, "w", method) as written:
                for name, content in members.items():
                    written.writestr(name, content)
            return opened.enter_context(ImportFile(path))

        yield make


def items(content, **bounds):
    return list(json_items(io.BytesIO(content), **bounds))


def test_members_of_a_zip_are_streamed_by_name_and_found_in_any_folder(archive):
    file = archive({"Export/conversations.json": "[1, 2]", "Export/users.json": "{}", "a.png": b"\x89PNG"})

    assert list(file.members) == ["Export/conversations.json", "Export/users.json", "a.png"]
    assert file.named("conversations.json") == ["Export/conversations.json"]
    assert not file.is_single
    assert file.beginning("a.png", length=2) == b"\x89P"
    with file.open("Export/conversations.json") as stream:
        assert list(json_items(stream)) == [1, 2]
    with pytest.raises(BrokenImportError, match="holds no file"):
        file.beginning("../../etc/passwd")
    with pytest.raises(BrokenImportError, match="not a single file"):
        file.beginning()


def test_a_single_file_keeps_the_name_that_the_person_gave_it(tmp_path):
    path = tmp_path / "upload-1"
    path.write_bytes(b'[{"PK": 1}]')

    with ImportFile(path, name="chats.json") as file:
        assert (file.name, file.size, file.is_single, dict(file.members)) == ("chats.json", 11, True, {})
        assert file.read(most=11) == b'[{"PK": 1}]'
        with pytest.raises(BrokenImportError, match="more than 10 bytes"):
            file.read(most=10)


def test_a_folder_is_read_without_what_lies_outside_of_it(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "a.json").write_text("[1]")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "outside").symlink_to(tmp_path)

    with ImportFile(folder) as file:
        assert list(file.members) == ["below/a.json"]
        assert file.read("below/a.json", most=10) == b"[1]"


_OUTSIDE = [".", "../slip.json", "a/../../slip.json", "/etc/passwd", "..\\slip.json", "C:/slip.json"]


@pytest.mark.parametrize("name", _OUTSIDE)
def test_a_zip_that_names_files_outside_of_itself_is_refused(archive, name):
    with pytest.raises(BrokenImportError, match="outside of itself"):
        archive({"conversations.json": "[]", name: "[]"})


def test_symbolic_links_in_a_zip_are_no_members(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as written:
        link = zipfile.ZipInfo("link.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        written.writestr(link, "/etc/passwd")

    with ImportFile(path) as file:
        assert dict(file.members) == {}


def test_neither_a_member_nor_what_belongs_to_it_is_longer_than_it_may_be(archive):
    file = archive({"a.sqlite": b"12345", "a.sqlite-wal": b"1234567890", "b.sqlite": b"1234567890"})

    with file.on_disk("a.sqlite", most=10, log="-wal") as path:
        assert (path.read_bytes(), path.with_name(f"{path.name}-wal").read_bytes()) == (b"12345", b"1234567890")
    assert list(path.parent.glob(f"{path.name}*")) == []
    for member in ("a.sqlite", "b.sqlite"):
        with pytest.raises(BrokenImportError, match="more than 9 bytes"), file.on_disk(member, most=9, log="-wal"):
            pass


def test_a_bomb_is_refused_before_it_is_unpacked(archive):
    with pytest.raises(BrokenImportError, match="that is no export"):
        archive({"conversations.json": bytes(64 * 2**20)})


def test_a_file_of_a_message_may_be_packed_as_small_as_it_gets(archive):
    name = "attachments/0f0e0d0c-0b0a-4909-8807-060504030201/zeros.csv"

    assert archive({name: bytes(40 * 2**20)}).members[name].size == 40 * 2**20
    with pytest.raises(BrokenImportError, match="that is no export"):
        archive({"attachments/other/conversations.json": bytes(40 * 2**20)})


def test_an_archive_inside_an_archive_is_a_file_like_others(archive):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as written:
        written.writestr("../slip.json", "[]")
    file = archive({"nested.zip": inner.getvalue()})

    assert list(file.members) == ["nested.zip"]
    assert file.beginning("nested.zip", length=2) == b"PK"


@pytest.mark.parametrize(("bound", "said"), [("MOST_MEMBERS", "more than 1 files"), ("MOST_UNPACKED", "unpacks to")])
def test_too_many_or_too_large_members_are_refused(archive, monkeypatch, bound, said):
    monkeypatch.setattr(import_file, bound, 1)
    with pytest.raises(BrokenImportError, match=said):
        archive({"a.json": "[]", "b.json": "[]"})


def test_a_huge_member_is_refused(archive, monkeypatch):
    monkeypatch.setattr(import_file, "LARGEST_MEMBER", 10)
    with pytest.raises(BrokenImportError, match="unpacks to 11 bytes"):
        archive({"a.json": "[" + " " * 9 + "]"})


def test_a_method_that_needs_much_memory_is_refused(archive):
    with pytest.raises(BrokenImportError, match="use deflate"):
        archive({"a.json": "[]"}, method=zipfile.ZIP_LZMA)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = tmp_path / "export.zip"
    content = os.urandom(2_000)
    with zipfile.ZipFile(path, "w") as written:
        written.writestr("a.json", content)
        again = written.getinfo("a.json")
        for name in ("b.json", "c.json"):
            info = zipfile.ZipInfo(name)
            info.file_size, info.compress_size, info.CRC = again.file_size, again.compress_size, again.CRC
            info.header_offset = again.header_offset
            written.filelist.append(info)

    with pytest.raises(BrokenImportError, match="overlap"):
        ImportFile(path)


def test_a_damaged_zip_says_so_when_it_is_opened_or_read(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("a.json", os.urandom(5_000).hex())
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes(50) + whole[250:])
    with ImportFile(path) as file, pytest.raises(BrokenImportError, match="damaged"), file.open("a.json") as stream:
        stream.read()

    path.write_bytes(whole[:-100])  # a download that was cut off
    with pytest.raises(BrokenImportError, match="damaged ZIP file, or a part of one"):
        ImportFile(path)

    end = whole.rindex(b"PK\x05\x06")
    path.write_bytes(whole[: end + 12] + struct.pack("<I", 2**30) + whole[end + 16 :])
    with pytest.raises(BrokenImportError, match="damaged ZIP"):
        ImportFile(path)


def test_json_is_read_item_by_item_with_text_as_it_is():
    text = 'a "quoted" [bracket] \\ back\nslash ü 漢 \U0001f600 ]]]}}'
    content = [{"text": text, "n": [1, 2.5, None, True]}, {"text": "\\" * 9}]
    for ascii_only in (True, False):
        assert items(json.dumps(content, ensure_ascii=ascii_only).encode()) == content


def test_strings_and_escapes_are_followed_across_chunks(monkeypatch):
    monkeypatch.setattr(json_stream, "_CHUNK", 1)
    content = [["a\\", 'b"]]]]', ["[[[["]], {"k\\\\": "]"}]
    assert items(json.dumps(content).encode(), deepest=3) == content


def test_json_that_is_too_deep_is_refused_before_it_takes_memory():
    assert items(b"[" * 3 + b"1" + b"]" * 3, deepest=3) == [[[1]]]
    for deep in (b"[" * 1_000_000, b'["]",' * 300_000, b'[{"a":' * 200_000):
        with pytest.raises(BrokenImportError, match="nested more than 200"):
            items(deep)


def test_an_item_of_very_many_values_is_skipped_before_it_takes_memory(monkeypatch):
    monkeypatch.setattr(json_stream, "MOST_VALUES", 100_000)
    many = b"[" + b"[]," * 200_000 + b"[]]"
    why = UnreadableItem("It has more than 100,000 values.")
    assert items(b'[1, %b, "%b", %b, [3]]' % (many, b"," * 300_000, many)) == [1, why, "," * 300_000, why, [3]]
    few = [[[] for _ in range(30_000)] for _ in range(8)]
    assert items(json.dumps(few).encode()) == few


DEEP = json.loads("[" * 9 + '"]\\""' + "]" * 9)
LARGE = {"a": 'x]"},[\\' * 700, "b": [[1, "]"]]}


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 100, 1_000, 64 * 1024])
@pytest.mark.parametrize("indent", [None, 1])
def test_an_item_that_is_too_large_or_too_deep_is_skipped_and_the_others_are_read(monkeypatch, chunk, indent):
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    # Something between an item and the next one that is refused, which may share a chunk with both.
    for content in ([DEEP], [1, DEEP, DEEP, "a"], [{"a": [2]}, DEEP, "]", 3, DEEP], [[], DEEP, [4], DEEP, 5.5]):
        found = items(json.dumps(content, indent=indent).encode(), deepest=5)
        assert found == [UnreadableItem("It is nested more than 5 levels deep.") if x == DEEP else x for x in content]
    if chunk > 1_000:
        return  # a chunk more is allowed
    for content in ([LARGE], [1, LARGE, LARGE, "a"], ["]" * 20, "x" * 5_000, LARGE, 3]):
        refused = [len(json.dumps(x)) > 4_000 for x in content]
        found = items(json.dumps(content, indent=indent).encode(), largest=2_000)
        why = UnreadableItem("It has more than 2,000 bytes.")
        assert found == [why if is_refused else x for x, is_refused in zip(content, refused, strict=True)]


def test_an_item_may_be_small_however_many_there_are():
    assert items(b'["' + b"x" * 300_000 + b'"]', largest=1_000) == [UnreadableItem("It has more than 1,000 bytes.")]
    assert len(items(b'["' + b'x", "' * 200_000 + b'"]', largest=1_000)) == 200_001


def test_an_item_that_is_skipped_and_never_ends_is_an_error():
    for broken in (b'[1, "' + b"x" * 300_000, b"[1, " + b"[" * 9 + b"]" * 3):
        with pytest.raises(BrokenImportError, match="doesn't end"):
            items(broken, largest=1_000, deepest=5)


@pytest.mark.parametrize("cut", [b"[1, 2", b'["a', b'["]', b"[tru", b'[{"a": [1], "b', b"[" * 30])
def test_json_without_its_end_was_cut_off(cut):
    with pytest.raises(BrokenImportError, match=f"^The file ends in the middle, at byte {len(cut)}: "):
        list(json_items(io.BytesIO(cut)))


@pytest.mark.parametrize(
    "broken", [b"", b"[NaN]", b"[1] x", b"[1] [", b"[" + b"9" * 5_000 + b"]", b"[1e" + b"9" * 30 + b"]"]
)
def test_broken_json_says_where_it_breaks_off(broken):
    with pytest.raises(BrokenImportError, match="can't be read beyond byte"):
        items(broken)


def test_lone_surrogates_do_no_harm():
    (text,) = items(b'["a\\ud800b"]')
    assert text.encode() in (b"a?b", b"a\xef\xbf\xbdb")
