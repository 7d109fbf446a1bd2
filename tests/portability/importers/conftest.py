"""Reading a file with the importer that recognises it."""

from __future__ import annotations

import pytest

from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import ImportedConversation
from portability.importers.registry import importer_for


@pytest.fixture
def read():
    """All items of a file, and the source that recognised it."""

    def items(path):
        with ImportFile(path) as file:
            importer = importer_for(file)
            return importer.source, list(importer.conversations(file))

    return items


@pytest.fixture
def read_one(read):
    """The only conversation of a file."""

    def conversation(path):
        [item] = read(path)[1]
        assert isinstance(item, ImportedConversation), item
        return item

    return conversation
