"""The importers that there are, in the order in which they are asked whether they recognise a file."""

from __future__ import annotations

from collections.abc import Iterable

from portability.errors import BrokenImportError, UnknownImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import Importer
from sentences import SENTENCES, say, together

from .account_archive import AccountArchiveImporter
from .anaphora import AnaphoraImporter
from .chatgpt import ChatGPTImporter
from .claude import ClaudeImporter
from .first_implementation import FirstImplementationImporter
from .json_lines import JsonLinesImporter
from .librechat import LibreChatImporter
from .open_webui import OpenWebUIImporter
from .zk_chat import ZkChatImporter

_IMPORTERS: tuple[Importer, ...] = (
    AccountArchiveImporter(),
    ChatGPTImporter(),
    ClaudeImporter(),
    OpenWebUIImporter(),
    ZkChatImporter(),
    LibreChatImporter(),
    FirstImplementationImporter(),
    AnaphoraImporter(),
    JsonLinesImporter(),
)


def importers() -> tuple[Importer, ...]:
    """All importers. To add one: a module of this package, and its importer in `_IMPORTERS`."""
    return _IMPORTERS


def importer_for(file: ImportFile, *, among: Iterable[Importer] | None = None) -> Importer:
    """The first importer that recognises the file. Raises UnknownImportError; BrokenImportError where it is empty."""
    if not (file.size if file.is_single else file.members):
        raise BrokenImportError(say("import_file_empty", name=file.name))
    asked = importers() if among is None else tuple(among)
    found = next((importer for importer in asked if importer.recognises(file)), None)
    if found is None:
        raise UnknownImportError(together(say("import_form_unknown", name=file.name), *map(_expected, asked)))
    return found


def _expected(importer: Importer) -> str:
    """Which files an importer reads; one that is none of ours says so in English alone."""
    code = f"import_expects_{importer.source}"
    return say(code) if code in SENTENCES else f"{importer.title}: {importer.expects}"


def importer_named(source: str) -> Importer:
    """The importer of a source. Raises BrokenImportError for a source that there is not."""
    for importer in importers():
        if importer.source == source:
            return importer
    raise BrokenImportError(f"There is no importer for {source}.")
