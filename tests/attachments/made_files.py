"""Files as people attach them, made by the tests."""

from __future__ import annotations

import io
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Sequence
from struct import pack

import docx
import openpyxl
from PIL import Image


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF with a line of text on each page; "" for a page without text, as a scan has."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        content = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        stream = len(objects)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {stream} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>"
    return written + f"{end}\nstartxref\n{len(written)}\n%%EOF\n".encode()


def docx_of(paragraphs: Sequence[str], *, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document of these paragraphs, with a table behind them."""
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    if table:
        made = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(made.add_row().cells, row, strict=True):
                cell.text = text
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def picture_of(width: int = 40, height: int = 20, *, fmt: str = "JPEG", turned: bool = False) -> bytes:
    """A picture, its left half red and its right half blue. turned: lies on its side, and says so in its EXIF data."""
    picture = Image.new("RGB", (width, height), "red")
    picture.paste("blue", (width // 2, 0, width, height))
    exif = Image.Exif()
    exif[0x010E] = "a secret description"
    if turned:
        exif[0x0112] = 6
    buffer = io.BytesIO()
    picture.save(buffer, format=fmt, exif=exif)
    return buffer.getvalue()


# Of phones: 40 x 20 pixels, red and blue, turned as `picture_of` turns them, with a description in its EXIF data.
HEIC = b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAcdtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAAAA"
    "AERAAAIAAQAAAAAB6wABAAAAAAAAAEIAAgAAAAACLQABAAAAAAAAAEYAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAAABVpbmZl"
    "AgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAABBmlwcnAAAADlaXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH/"
    "/wNwAAADAJAAAAMAAAMAHroCQGEAAQApQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqrprm4CGgwIAAAAyAAAADAIRiAAEABkQBwXPBiQAAABNjb2xy"
    "bmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAAAChjbGFwAAAAKAAAAAEAAAAUAAAAAf///+gAAAAC////1AAAAAIAAAAQcGl4aQAAAAAD"
    "CAgIAAAACWlyb3QDAAAAGWlwbWEAAAAAAAAAAQABBoECAwWEhgAAABppcmVmAAAAAAAAAA5jZHNjAAIAAQABAAAAkG1kYXQAAAA+KAGvGSGiIEjv"
    "XaW//4jK/5iBf67xteLmEVzuA7HkaGnwZKkqSD0SoHKqgLVIndWvoj7AQLo6FlTwtZqI7YAAAAAGRXhpZgAATU0AKgAAAAgAAgEOAAIAAAAVAAAA"
    "JgESAAMAAAABAAYAAAAAAABhIHNlY3JldCBkZXNjcmlwdGlvbgAA"
)


def huge_png(width: int, height: int) -> bytes:
    """The beginning of a PNG that says it is so large, with next to no data: a decompression bomb."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))

    header = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 10_000))
        + chunk(b"IEND", b"")
    )


def xlsx_of(sheets: dict[str, Sequence[Sequence[object]]]) -> bytes:
    """An Excel workbook of these sheets, each of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def odt_of(body: str, *, doctype: str = "") -> bytes:
    """An OpenDocument text. body: what stands in `office:text`."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    text = f"<office:body><office:text>{body}</office:text></office:body>"
    content = f"{doctype}<office:document-content {names}>{text}</office:document-content>"
    return zip_of({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def pptx_of(slides: Sequence[Sequence[str]]) -> bytes:
    """A PowerPoint presentation, with the paragraphs of each slide; the parts are numbered backwards."""
    count = len(slides)
    office = "http://schemas.openxmlformats.org"
    relation, package = f"{office}/officeDocument/2006/relationships", f"{office}/package/2006/relationships"
    ids = "".join(f'<p:sldId id="{255 + place}" r:id="r{place}"/>' for place in range(1, count + 1))
    targets = "".join(
        f'<Relationship Id="r{n}" Target="slides/slide{count + 1 - n}.xml"/>' for n in range(1, count + 1)
    )
    parts = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{office}/presentationml/2006/main" xmlns:r="{relation}">'
        f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{package}">{targets}</Relationships>',
    }
    for number, texts in enumerate(slides, 1):
        paragraphs = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
        parts[f"ppt/slides/slide{count + 1 - number}.xml"] = (
            f'<s xmlns:a="{office}/drawingml/2006/main">{paragraphs}</s>'
        )
    return zip_of(parts)


def zip_of(parts: dict[str, str]) -> bytes:
    """A ZIP of these texts by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()
