"""What is read of a file, by its content, in a process of its own."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from struct import pack

import pytest
from PIL import Image

from attachments.errors import FileTooLargeError, FileTypeError
from attachments.extraction import Extracted, Limits, extract

from .made_files import HEIC, docx_of, huge_png, odt_of, pdf_of, picture_of, pptx_of, xlsx_of, zip_of


def read(tmp_path: Path, content: bytes, name: str = "file", **more: object) -> tuple[Extracted, list[str], Path]:
    file, into = tmp_path / "received", tmp_path / "into"
    file.write_bytes(content)
    into.mkdir()
    extracted = extract(file, name, into=into, **more)  # type: ignore[arg-type]
    text = into / "text.json"
    return extracted, json.loads(text.read_text()) if text.exists() else [], into


def test_a_pdf_is_read_page_by_page(tmp_path):
    extracted, pages, _ = read(tmp_path, pdf_of([f"This is page {number}." for number in range(1, 101)]), "report.txt")
    assert (extracted.kind, extracted.media_type, extracted.pages) == ("pdf", "application/pdf", 100)
    assert [page.strip() for page in pages] == [f"This is page {number}." for number in range(1, 101)]


def test_a_scan_says_that_there_is_no_text(tmp_path):
    extracted, _, _ = read(tmp_path, pdf_of(["", ""]))
    assert (extracted.pages, extracted.problem) == (2, "no_text")


def test_a_damaged_pdf_is_kept_without_text(tmp_path):
    extracted, pages, _ = read(tmp_path, b"%PDF-1.4\nnothing of it holds")
    assert (extracted.kind, extracted.problem, pages) == ("pdf", "damaged", [])


def test_a_word_document_is_read_with_its_tables(tmp_path):
    content = docx_of(["Dear Ada,", "the figures:"], table=[["name", "sum"], ["tea", "12"]])
    extracted, pages, _ = read(tmp_path, content, "letter.docx")
    assert extracted.kind == "docx"
    assert pages == ["Dear Ada,\nthe figures:\nname\tsum\ntea\t12"]


@pytest.mark.parametrize(
    ("content", "name", "media_type", "text"),
    [
        ("def f():\n    return 'ä'\n".encode(), "f.py", "text/plain", "def f():\n    return 'ä'\n"),
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n", "table.csv", "text/csv", "a;b\n1;2\n"),
        (b'{"a": 1}', "a.json", "application/json", '{"a": 1}'),
        ("wörter".encode("utf-16"), "w.txt", "text/plain", "wörter"),
        (b"<!DOCTYPE html><script>alert(1)</script>", "x.txt", "text/html", "<!DOCTYPE html><script>alert(1)</script>"),
        (b"<svg onload='alert(1)'/>", "x.png", "image/svg+xml", "<svg onload='alert(1)'/>"),
        (b"", "empty.txt", "text/plain", ""),
    ],
)
def test_text_is_read_as_it_is(tmp_path, content, name, media_type, text):
    extracted, pages, _ = read(tmp_path, content, name)
    assert (extracted.kind, extracted.media_type) == ("text", media_type)
    assert "".join(pages) == text


@pytest.mark.parametrize("text", ["BMW sells more", "BM", "# Signatures\n\n`%PDF-1.7` begins a PDF, é.\n"])
def test_a_text_that_begins_like_another_kind_is_a_text(tmp_path, text):
    extracted, pages, _ = read(tmp_path, text.encode(), "notes.md")
    assert (extracted.kind, extracted.problem, pages) == ("text", "", [text])


@pytest.mark.parametrize("before", [b"\n\n", b"\x80\x81 junk\n"])
def test_what_stands_before_a_pdf_does_no_harm(tmp_path, before):
    extracted, pages, _ = read(tmp_path, before + pdf_of(["Hello"]), "a.pdf")
    assert (extracted.kind, pages[0].strip()) == ("pdf", "Hello")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_picture_of_any_form_is_known_by_its_beginning(tmp_path, form):
    assert read(tmp_path, picture_of(fmt=form))[0].kind == "image"


def test_text_in_an_older_encoding_is_recognised(tmp_path):
    german = "Die Größe der Bäume überrascht die Gäste, und die Straße führt über schöne Brücken. " * 20
    _, pages, _ = read(tmp_path, german.encode("cp1252"))
    assert pages == [german]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "näme;größe\n1;2"),
        ("cp1252", "Artikel;Preis\nKäse;5 €\nBrötchen;2 €\n"),
        ("cp1252", "café, déjà vu, garçon"),
        ("cp1252", "El niño comió mañana en la cañada. ¿Qué?"),
        ("cp1252", "São Paulo: ações, 1ª edição, 20 m²"),
        ("cp1252", "„Blåbær“ – på fjället …"),
        ("cp1250", "Zażółć gęślą jaźń"),
        ("cp1250", "Příliš žluoučký kůň úpěl ďábelské ódy"),
        ("cp1250", "Árvíztűrő tükörfúrógép, jó napot"),
        ("cp1251", "Привет, как дела? Сегодня хорошая погода"),
        ("cp1253", "Καλημέρα κόσμε"),
        ("cp932", "こんにちは世界。今日はいい天気ですね。"),
    ],
)
def test_short_texts_in_older_encodings_are_read_word_for_word(tmp_path, encoding, text):
    assert read(tmp_path, text.encode(encoding))[1] == [text]


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "cp866", "iso8859-5"])
@pytest.mark.parametrize(
    "text",
    [
        "Привет, как дела?",
        "Имя;Город\nИван;Москва",
        "Это короткая записка о завтрашней встрече.\nНе забудь 2 документа!",
        "# readme.txt\nЦена: 100 рублей\nСкидка: 5%",
    ],
)
def test_short_russian_texts_are_read_word_for_word(tmp_path, encoding, text):
    extracted, pages, _ = read(tmp_path, text.encode(encoding))
    assert (pages, extracted.problem) == ([text], "")


@pytest.mark.parametrize("text", ["你好，世界。", "价格;数量\n苹果;5", "今天的会议改到下午三点。请带上 2 份文件。"])
def test_short_chinese_texts_are_read_word_for_word(tmp_path, text):
    extracted, pages, _ = read(tmp_path, text.encode("gb18030"))
    assert (pages, extracted.problem) == ([text], "")


@pytest.mark.parametrize(
    ("encodings", "text"),
    [
        ("cp1255 iso8859-8", "הפגישה נדחתה ליום שלישי בשעה שלוש אחר הצהריים."),
        ("cp1255 iso8859-8", "נא לשלוח את המסמכים עד סוף השבוע. תודה רבה!"),
        ("cp1255 iso8859-8", "החשבונית מצורפת להודעה זו, אנא שלמו בתוך שלושים יום."),
        ("cp1255 iso8859-8", "ירושלים היא עיר הבירה של ישראל ותל אביב היא המרכז הכלכלי שלה."),
        ("cp1251 koi8-r cp866 iso8859-5", "СЧЕТ НА ОПЛАТУ"),
        ("cp1251 koi8-r cp866 iso8859-5", "ДОГОВОР АРЕНДЫ НЕЖИЛОГО ПОМЕЩЕНИЯ"),
        ("cp1251 koi8-r cp866 iso8859-5", "Хочу объявить: щедрый подъезд, эхо, цех, съёмка."),
        ("cp1251", "Рахунок на оплату послуг за травень, будь ласка, сплатіть до п'ятниці."),
        ("cp1251", "Фактурата за месец май трябва да бъде платена до петък."),
        ("cp1253 iso8859-7", "ΤΙΜΟΛΟΓΙΟ ΠΩΛΗΣΗΣ"),
        ("cp1253 iso8859-7", "ΕΛΛΗΝΙΚΗ ΔΗΜΟΚΡΑΤΙΑ ΥΠΟΥΡΓΕΙΟ ΠΑΙΔΕΙΑΣ"),
        ("cp1253 iso8859-7", "Παρακαλώ στείλτε τα έγγραφα μέχρι το τέλος της εβδομάδας."),
        ("cp1256", "تم تأجيل الاجتماع إلى يوم الثلاثاء في الساعة الثالثة."),
        ("euc_jp cp932", "株式会社東京電力福島第一原子力発電所"),
        ("euc_jp cp932", "東京都庁総務局人事部"),
        ("euc_jp cp932", "書類を週末までに送ってください。よろしくお願いします。"),
        ("big5", "今天的會議改到下午三點，請帶上文件。"),
        ("cp949", "회의는 화요일 오후 세 시로 변경되었습니다."),
    ],
)
def test_what_is_frequent_in_a_language_tells_its_encodings(tmp_path, encodings, text):
    for encoding in encodings.split():
        into = tmp_path / encoding
        into.mkdir()
        extracted, pages, _ = read(into, text.encode(encoding))
        assert (encoding, pages, extracted.problem) == (encoding, [text], "")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("koi8-r", "привет"),
        ("gb18030", "中文"),
        ("cp1255", "שלום"),
        ("euc_jp", "東京都"),
        ("cp1253", "και το σπίτι"),
        ("cp1250", "Proszę przesłać dokumenty do końca tygodnia, dziękuję."),
        ("iso8859-2", "Schůzka byla přesunuta na úterý ve tři hodiny odpoledne."),
        ("cp1254", "Toplantı salı günü saat üçe ertelendi."),
    ],
)
def test_where_an_encoding_is_only_guessed_the_file_says_so(tmp_path, encoding, text):
    extracted, pages, _ = read(tmp_path, text.encode(encoding))
    assert (pages, extracted.problem) == ([text], "encoding")


@pytest.mark.parametrize("before", ["", "a"])
@pytest.mark.parametrize("between", ["", "\n"])
@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("gb18030", "请在周末之前把文件发给我，谢谢！"),
        ("big5", "請在週末之前把文件寄給我，謝謝！"),
        ("cp932", "会議は火曜日の午後三時に変更されました。"),
        ("cp949", "주말까지 서류를 보내 주세요. 감사합니다!"),
    ],
)
def test_a_large_file_is_read_in_whole_letters(tmp_path, encoding, line, between, before):
    text = before + (line + between) * 8_000
    content = text.encode(encoding)
    assert len(content) > 200_000
    extracted, pages, _ = read(tmp_path, content)
    assert pages == [text]
    assert extracted.problem == ""


def test_the_encoding_shows_also_behind_a_long_text_of_ascii(tmp_path):
    text = "0;1;2;3\n" * 100_000 + "Сегодня хорошая погода, а завтра будет дождь.\n"
    extracted, pages, _ = read(tmp_path, text.encode("cp1251"))
    assert (pages, extracted.problem) == ([text], "")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            "Schöne Grüße aus Köln, für später.\n".encode() * 9 + b"\xff.",
            "Schöne Grüße aus Köln, für später.\n" * 9 + "\ufffd.",
        ),
        (
            "Größe: 5 µm, Länge: 7 µm, Höhe: 8 ".encode() + "…".encode()[:2],
            "Größe: 5 µm, Länge: 7 µm, Höhe: 8 \ufffd",
        ),
        (
            "12:01 Пользователь вошёл\n12:02 Пользователь вы".encode()[:-1],
            "12:01 Пользователь вошёл\n12:02 Пользователь в\ufffd",
        ),
        ("会議は火曜日の午後三時に".encode()[1:], "\ufffd\ufffd議は火曜日の午後三時に"),
        ("你好，世界。".encode("gb18030") * 3 + b"\xff", "你好，世界。" * 3 + "\ufffd"),
    ],
)
def test_a_damaged_text_is_read_but_for_the_damage(tmp_path, content, text):
    extracted, pages, _ = read(tmp_path, content)
    assert (pages, extracted.problem) == ([text], "encoding")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_of_a_known_encoding_there_is_nothing_to_say(tmp_path, encoding):
    assert read(tmp_path, "Größe".encode(encoding))[0].problem == ""


@pytest.mark.parametrize(
    "content", [b"MZ\x90\x00\x03program\x00", b"PK\x03\x04no archive", b"\x7fELF\x02\x01\x01\x00"], ids=str
)
def test_what_nobody_could_see_is_refused(tmp_path, content):
    with pytest.raises(FileTypeError):
        read(tmp_path, content, "picture.png")


def test_a_picture_is_turned_upright_and_loses_its_metadata(tmp_path):
    extracted, _, into = read(tmp_path, picture_of(40, 20, turned=True), "photo.jpg")
    assert (extracted.kind, extracted.width, extracted.height) == ("image", 20, 40)
    made = (into / "picture").read_bytes()
    assert b"secret" not in made
    with Image.open(io.BytesIO(made)) as picture:
        assert picture.size == (20, 40)
        assert dict(picture.getexif()) == {}


def test_a_picture_of_a_phone_is_turned_upright_and_loses_its_metadata(tmp_path):
    extracted, _, into = read(tmp_path, HEIC, "IMG_0001.HEIC")
    assert (extracted.kind, extracted.media_type, extracted.width, extracted.height) == ("image", "image/heic", 20, 40)
    assert b"secret" in HEIC
    made = (into / "picture").read_bytes()
    assert b"secret" not in made
    with Image.open(io.BytesIO(made)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (20, 40))
        red, _, blue = picture.getpixel((10, 5))
        assert red > 200 > blue


@pytest.mark.parametrize(
    "broken", [HEIC[:300], HEIC.replace(b"hvcC", b"hvcX"), HEIC[:40] + b"\xff" * 500], ids=range(3)
)
def test_a_broken_picture_of_a_phone_is_refused(tmp_path, broken):
    with pytest.raises(FileTypeError):
        read(tmp_path, broken, "IMG_0001.HEIC")


def test_a_picture_of_a_phone_that_says_it_has_too_many_pixels_is_refused(tmp_path):
    at = HEIC.index(b"ispe") + 8
    with pytest.raises((FileTooLargeError, FileTypeError)):
        read(tmp_path, HEIC[:at] + pack(">II", 60_000, 60_000) + HEIC[at + 8 :], "IMG_0001.HEIC")


def test_a_large_picture_is_made_smaller(tmp_path):
    extracted, _, into = read(tmp_path, picture_of(4000, 1000, fmt="PNG"))
    assert (extracted.width, extracted.height) == (4000, 1000)
    with Image.open(into / "picture") as picture:
        assert picture.size == (2048, 512)


def test_a_broken_picture_is_refused(tmp_path):
    with pytest.raises(FileTypeError):
        read(tmp_path, picture_of()[:200])


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path):
    with pytest.raises(FileTooLargeError):
        read(tmp_path, huge_png(60_000, 60_000))


def test_a_document_that_eats_memory_is_contained(tmp_path):
    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(docx_of(["x"]))) as source,
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for entry in source.infolist():
            content = source.read(entry) if entry.filename != "word/document.xml" else b" " * 300_000_000
            made.writestr(entry.filename, content)
    extracted, pages, _ = read(tmp_path, bomb.getvalue(), limits=Limits(memory=256, cpu=20))
    assert extracted.kind == "docx"
    assert extracted.problem in {"too_costly", "damaged"}
    assert pages == []


def test_reading_that_hangs_is_ended(tmp_path):
    child, file = tmp_path / "child.py", tmp_path / "received"
    child.write_text("import time\nwhile True:\n    time.sleep(1)\n")
    file.write_bytes(b"any")
    # What a child writes before it begins to read.
    begun = {"media_type": "application/pdf", "kind": "pdf", "problem": "too_costly"}
    (tmp_path / "meta.json").write_text(json.dumps(begun))
    extracted = extract(file, "x", into=tmp_path, child=child, limits=Limits(time=0.5))
    assert extracted == Extracted(**begun)


def test_a_workbook_is_read_sheet_by_sheet(tmp_path):
    content = xlsx_of({"Costs": [["tea", 12, None], ["two\nlines", None, 1.5]], "Empty": [], "More": [["x"]]})
    extracted, pages, _ = read(tmp_path, content, "costs.xlsx")
    assert (extracted.kind, extracted.pages, extracted.problem) == ("xlsx", None, "")
    assert pages == ["[Sheet: Costs]\ntea\t12\ntwo lines\t\t1.5\n[Sheet: Empty]\n[Sheet: More]\nx"]


def test_a_workbook_without_cells_says_that_there_is_no_text(tmp_path):
    assert read(tmp_path, xlsx_of({"Empty": []}))[0].problem == "no_text"


def test_an_opendocument_text_is_read_with_its_tables(tmp_path):
    row = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in ("tea", "12"))
    body = (
        '<text:h>Title</text:h><text:p>Dear<text:s text:c="2"/>Ada,<text:line-break/>and <text:span>all</text:span>!'
        "<office:annotation><text:p>a comment</text:p></office:annotation></text:p>"
        f"<table:table><table:table-row>{row}</table:table-row></table:table>"
    )
    extracted, pages, _ = read(tmp_path, odt_of(body), "letter.odt")
    assert (extracted.kind, extracted.media_type) == ("odt", "application/vnd.oasis.opendocument.text")
    assert pages == ["Title\nDear  Ada,\nand all!\na comment\ntea\t12"]


def test_a_presentation_is_read_slide_by_slide_in_the_order_of_showing(tmp_path):
    extracted, pages, _ = read(tmp_path, pptx_of([["First", "one"], ["Second"]]), "talk.pptx")
    assert (extracted.kind, extracted.pages) == ("pptx", 2)
    assert pages == ["First\none", "Second"]


def test_entities_of_an_office_file_are_not_expanded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("4711")
    doctype = f'<!DOCTYPE x [<!ENTITY file SYSTEM "{secret.as_uri()}"><!ENTITY big "{"z" * 1_000}">]>'
    _, pages, _ = read(tmp_path, odt_of("<text:p>A&file;&big;B</text:p>", doctype=doctype))
    assert pages == ["AB"]


@pytest.mark.parametrize("part", ["xl/workbook.xml", "ppt/presentation.xml"])
def test_a_damaged_office_file_is_kept_without_text(tmp_path, part):
    extracted, pages, _ = read(tmp_path, zip_of({part: "<no"}))
    assert (extracted.problem, pages) == ("damaged", [])


def test_a_zip_that_is_no_document_is_refused(tmp_path):
    with pytest.raises(FileTypeError):
        read(tmp_path, zip_of({"readme.txt": "x"}))
