"""Run as a script in a process of its own: reads one untrusted file, and writes what it found into a folder.

python -I reading_child.py <file> <its name> <folder for the result> <megabytes of memory> <seconds of processor time>

meta.json: `{media_type, kind, pages, characters, lines, width, height, problem, refused}`; it is written before the
content is read, with the problem "too_costly", and again at the end: whoever finds the first one knows that this
process was ended by its limits. text.json: the text of each page, one "page" where the format has none. picture: the
picture as JPEG or PNG, upright, without metadata, at most 2,048 pixels wide and high.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

MOST_CHARACTERS = 20_000_000
MOST_PAGES = 10_000
MOST_PIXELS = 60_000_000
_LARGEST_SIDE = 2048
_HEAD = 4096
_FILES = 64
_FILE_BYTES = 512 * 1024 * 1024
_PICTURES = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "MPO")
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1")
_PICTURE_BEGINS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*")
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
DOCX = f"{_OPEN_XML}.wordprocessingml.document"
_ODT = "application/vnd.oasis.opendocument.text"
# By the part that only files of this kind have.
_IN_ZIP = {
    "word/document.xml": ("docx", DOCX),
    "xl/workbook.xml": ("xlsx", f"{_OPEN_XML}.spreadsheetml.sheet"),
    "ppt/presentation.xml": ("pptx", f"{_OPEN_XML}.presentationml.presentation"),
}
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MOST_SPACES = 200
_TEXT_TYPES = {".csv": "text/csv", ".json": "application/json", ".md": "text/markdown", ".markdown": "text/markdown"}

Meta = dict[str, Any]


class RefusedError(Exception):
    """The file is not taken; the argument is the reason: unsupported, damaged_picture, too_many_pixels."""


class ProblemError(Exception):
    """The file is taken, but its text can't be had; the argument is the problem: damaged, encrypted."""


def main() -> None:
    """Set the limits, then read the file."""
    file, name, result, megabytes, seconds = sys.argv[1:]
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    _limit(int(megabytes), int(seconds))
    folder = Path(result)
    meta = _begun(Path(file), name)
    try:
        if "refused" not in meta:
            _write(folder, {**meta, "problem": "too_costly"})
            reader = _read_heic if meta["media_type"] == "image/heic" else _READERS[meta["kind"]]
            meta |= reader(Path(file), folder)
    except RefusedError as refusal:
        meta["refused"] = str(refusal)
    except ProblemError as problem:
        meta["problem"] = str(problem)
    except MemoryError:
        meta["problem"] = "too_costly"
    _write(folder, meta)


def _limit(megabytes: int, seconds: int) -> None:
    import resource

    limits = {
        resource.RLIMIT_AS: megabytes * 1024 * 1024,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_NOFILE: _FILES,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_CORE: 0,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))


def _write(folder: Path, meta: Meta) -> None:
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def _begun(file: Path, name: str) -> Meta:
    """Type and kind of the file by its content; the name only tells kinds of text apart."""
    from attachments.text_encodings import encoding_by_mark

    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if _begins_as_pdf(head):
        return {"media_type": "application/pdf", "kind": "pdf"}
    if head.startswith(_PICTURE_BEGINS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP") or _begins_as_bmp(head):
        return {"media_type": "image/*", "kind": "image"}
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return {"media_type": "image/heic", "kind": "image"}
    if head.startswith(b"PK\x03\x04"):
        return _in_zip(file)
    if encoding_by_mark(head) is None and b"\x00" in head:
        return {"refused": "unsupported"}
    return {"media_type": _text_type(head, name), "kind": "text"}


def _begins_as_pdf(head: bytes) -> bool:
    """Whether it is a PDF, before which anything may stand, and not a text about PDF files."""
    if head.lstrip().startswith(b"%PDF-"):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return b"%PDF-" in head[:1024]
    return False


def _begins_as_bmp(head: bytes) -> bool:
    """Many a text begins with the same two letters; the reserved bytes of a BMP are zero."""
    return head.startswith(b"BM") and head[6:10] == bytes(4)


def text_meta(text: str, name: str, folder: Path) -> Meta:
    """What a text is that needs no reading; it is written into the folder."""
    return {"media_type": _text_type(text[:_HEAD].encode(), name), "kind": "text", **_kept(folder, [text])}


def _in_zip(file: Path) -> Meta:
    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            for part, (kind, media_type) in _IN_ZIP.items():
                if part in names:
                    return {"media_type": media_type, "kind": kind}
            with archive.open("mimetype") as opened:
                is_odt = opened.read(len(_ODT) + 1).decode("ascii", "replace").strip() == _ODT
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, MemoryError, NotImplementedError, RuntimeError):
        return {"refused": "unsupported"}
    return {"media_type": _ODT, "kind": "odt"} if is_odt else {"refused": "unsupported"}


def _text_type(head: bytes, name: str) -> str:
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith((b"<svg", b"<?xml")) and b"<svg" in head.lower():
        return "image/svg+xml"
    if begin.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return _TEXT_TYPES.get(Path(name).suffix.lower(), "text/plain")


def _read_text(file: Path, folder: Path) -> Meta:
    from attachments.text_encodings import decoded

    found = decoded(file.read_bytes())
    if found is None:
        raise RefusedError("unsupported")
    text, is_doubtful = found
    kept = _kept(folder, [text.replace("\x00", "\ufffd").replace("\r\n", "\n")])
    return {"problem": "encoding", **kept} if is_doubtful else kept


def _read_pdf(file: Path, folder: Path) -> Meta:
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file) as document:
            count = len(document)
            pages = [_page_text(document, number) for number in range(min(count, MOST_PAGES))]
    except pypdfium2.PdfiumError as error:
        raise ProblemError("encrypted" if "password" in str(error).lower() else "damaged") from error
    found = _kept(folder, pages) | {"pages": count}
    return found | {"problem": "no_text"} if not any(page.strip() for page in pages) else found


def _page_text(document: Any, number: int) -> str:
    import pypdfium2

    try:
        page = document[number]
        text: str = page.get_textpage().get_text_bounded()
    except pypdfium2.PdfiumError:
        return ""  # one broken page is no reason to lose the others
    return text.replace("\r\n", "\n").replace("\x00", "").replace("\ufffe", "-\n")


def _read_docx(file: Path, folder: Path) -> Meta:
    import docx

    try:
        blocks = list(docx.Document(str(file)).iter_inner_content())
        lines = [line for block in blocks for line in _lines_of(block)]
    except MemoryError:
        raise
    except Exception as error:
        raise ProblemError("damaged") from error
    text = "\n".join(lines)
    return _kept(folder, [text]) | ({} if text.strip() else {"problem": "no_text"})


def _lines_of(block: Any) -> list[str]:
    """A paragraph, or a row of a table with its cells parted by tabs, a line each."""
    if not hasattr(block, "rows"):
        return [block.text]
    return ["\t".join(cell.text.replace("\n", " ") for cell in row.cells) for row in block.rows]


def _read_xlsx(file: Path, folder: Path) -> Meta:
    """Each sheet below its name, a row a line, with what formulas gave when the file was saved."""
    import openpyxl

    lines, room = list[str](), MOST_CHARACTERS
    try:
        # As bytes: of a path, the name would have to end as those of workbooks do.
        book = openpyxl.load_workbook(io.BytesIO(file.read_bytes()), read_only=True, data_only=True)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what the file says of its size need not be so
            for line in (f"[Sheet: {sheet.title}]", *map(_row, sheet.iter_rows(values_only=True))):
                lines.append(line)
                room -= len(line) + 1
                if room < 0:
                    break
    except MemoryError:
        raise
    except Exception as error:
        raise ProblemError("damaged") from error
    said = any(line and not line.startswith("[Sheet: ") for line in lines)
    return _kept(folder, ["\n".join(lines)]) | ({} if said else {"problem": "no_text"})


def _row(cells: Sequence[Any]) -> str:
    """The cells of a row, parted by tabs; line ends in them are spaces."""
    return "\t".join("" if cell is None else " ".join(str(cell).splitlines()) for cell in cells).rstrip()


def _read_odt(file: Path, folder: Path) -> Meta:
    (root,) = _parsed(file, lambda _archive: ["content.xml"])
    body = root.find(f"{_OFFICE}body")
    paragraphs, row = (f"{_TEXT}p", f"{_TEXT}h"), f"{_TABLE}table-row"
    lines = list[str]()
    for element in () if body is None else body.iter(*paragraphs, row):
        if next(element.iterancestors(row), None) is not None:
            continue
        if element.tag != row:
            lines.append(_odf_text(element))
            continue
        cells = element.iterchildren(f"{_TABLE}table-cell")
        lines.append("\t".join(" ".join(map(_odf_text, cell.iter(*paragraphs))) for cell in cells))
    text = "\n".join(lines)
    return _kept(folder, [text]) | ({} if text.strip() else {"problem": "no_text"})


def _odf_text(element: Any) -> str:
    """What a paragraph says; comments on it are paragraphs of their own."""
    if element.tag == f"{_OFFICE}annotation" or not isinstance(element.tag, str):
        return ""  # the latter: an entity, or a remark in the XML
    if element.tag == f"{_TEXT}s":
        return " " * min(int(element.get(f"{_TEXT}c", "1")), _MOST_SPACES)
    if element.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
        return "\t" if element.tag == f"{_TEXT}tab" else "\n"
    return (element.text or "") + "".join(_odf_text(child) + (child.tail or "") for child in element)


def _read_pptx(file: Path, folder: Path) -> Meta:
    """Each slide is a page; what is spoken to it, and what stands in its notes, is left out."""
    pages = ["\n".join(_slide_lines(slide)) for slide in _parsed(file, _slides)]
    found = _kept(folder, pages) | {"pages": len(pages)}
    return found if any(page.strip() for page in pages) else found | {"problem": "no_text"}


def _slides(archive: zipfile.ZipFile) -> list[str]:
    """The parts of the slides in the order in which they are shown."""
    shown = _xml(archive, "ppt/presentation.xml").iter(f"{_SLIDES}sldId")
    relations = _xml(archive, "ppt/_rels/presentation.xml.rels")
    targets = {each.get("Id"): str(each.get("Target")) for each in relations.iterchildren(tag="*")}
    parts = [targets[each.get(f"{_RELATION}id")] for each in shown]
    return [part.removeprefix("/") if part.startswith("/") else f"ppt/{part}" for part in parts[:MOST_PAGES]]


def _slide_lines(slide: Any) -> Iterator[str]:
    for paragraph in slide.iter(f"{_DRAWING}p"):
        runs = paragraph.iter(f"{_DRAWING}t", f"{_DRAWING}br")
        yield "".join("\n" if run.tag == f"{_DRAWING}br" else run.text or "" for run in runs)


def _parsed(file: Path, parts: Callable[[zipfile.ZipFile], list[str]]) -> list[Any]:
    """The roots of the XML parts of an archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            return [_xml(archive, part) for part in parts(archive)]
    except MemoryError:
        raise
    except Exception as error:
        raise ProblemError("damaged") from error


def _xml(archive: zipfile.ZipFile, part: str) -> Any:
    from lxml import etree

    # No entities, nothing from elsewhere, and libxml2's limits of depth and of the length of a text.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)
    with archive.open(part) as opened:
        return etree.parse(opened, parser).getroot()


def _kept(folder: Path, pages: list[str]) -> Meta:
    """Write the text; what is beyond the limit is left out, and told as a problem."""
    kept, left = list[str](), MOST_CHARACTERS
    for page in pages:
        kept.append(page[:left].encode("utf-8", "replace").decode())
        left -= len(kept[-1])
    (folder / "text.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    characters = sum(map(len, pages))
    meta = {"characters": characters, "lines": sum(page.count("\n") + 1 for page in kept if page)}
    return meta | ({"problem": "cut"} if characters > MOST_CHARACTERS else {})


def _read_heic(file: Path, folder: Path) -> Meta:
    """A picture as phones make them. Its decoder brings a library of its own, so that only such pictures load it."""
    import pi_heif

    pi_heif.register_heif_opener()
    return _read_picture(file, folder, formats=("HEIF",))


def _read_picture(file: Path, folder: Path, *, formats: tuple[str, ...] = _PICTURES) -> Meta:
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # the number is checked here, before anything is decoded
    try:
        with Image.open(file, formats=formats) as opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise RefusedError("too_many_pixels")
            media_type = opened.get_format_mimetype() or "image/png"
            opened.draft("RGB", (_LARGEST_SIDE, _LARGEST_SIDE))
            picture = ImageOps.exif_transpose(opened)
            is_turned = (picture.width > picture.height) != (width > height)
            picture.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
            _save(picture, folder)
    except (RefusedError, MemoryError):
        raise
    except Exception as error:
        raise RefusedError("damaged_picture") from error
    size = (height, width) if is_turned else (width, height)
    return {"media_type": media_type, "width": size[0], "height": size[1]}


def _save(picture: Any, folder: Path) -> None:
    is_transparent = "A" in picture.getbands() or "transparency" in picture.info
    clean = picture.convert("RGBA" if is_transparent else "RGB")
    clean.info.clear()
    buffer = io.BytesIO()
    if is_transparent:
        clean.save(buffer, format="PNG")
    else:
        clean.save(buffer, format="JPEG", quality=88)
    (folder / "picture").write_bytes(buffer.getvalue())


_READERS = {
    "text": _read_text,
    "pdf": _read_pdf,
    "docx": _read_docx,
    "xlsx": _read_xlsx,
    "odt": _read_odt,
    "pptx": _read_pptx,
    "image": _read_picture,
}


if __name__ == "__main__":
    main()
