"""Taking in a file that is to be imported: which source it is of, and a row for its import."""

from __future__ import annotations

import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from database.accounts.users import any_user_exists
from database.engine.database import Database
from database.imports.repository import Import, State, add_import, unfinished_paths
from portability.importers.reading.import_file import ImportFile
from portability.importers.registry import importer_for

_STRAY_SECONDS = 3_600.0


def accept_file(
    path: Path,
    *,
    name: str,
    database: Database,
    user_email: str,
    uploads: Path | None = None,
    state: State = "counting",
    owner: str | None = None,
    **choice: Any,
) -> Import:
    """Add an import of the file at `path`; uploads: the folder into which it is moved, for a file that is ours.

    owner: the runner that works on it at once; None: whichever comes first. choice: `domain`, `workspace_id`,
    `conversations`. Raises BrokenImportError, which says what was expected, where no importer recognises the file;
    nothing is changed then.
    """
    with ImportFile(path, name=name) as file:
        source, size = importer_for(file).source, file.size
    import_id = str(uuid.uuid4())
    place = path.resolve()
    if uploads is not None:
        uploads.mkdir(parents=True, exist_ok=True)
        place = uploads / import_id
        shutil.move(path, place)
    return add_import(
        database=database,
        user_email=user_email,
        source=source,
        file_name=name,
        file_size=size,
        path=str(place),
        state=state,
        choice=choice,
        import_id=import_id,
        owner=owner,
    )


def discard_upload(which: Import, *, uploads: Path) -> None:
    """Delete the file of an import, if it is an upload; any other file is the person's own."""
    path = Path(which.path)
    if path.parent == uploads:
        path.unlink(missing_ok=True)


def erase_uploads(user_email: str, *, database: Database, uploads: Path) -> None:
    """Erase the uploaded files of a person whose account is erased; their imports go with the account."""
    for path in unfinished_paths(database=database, user_email=user_email):
        if Path(path).parent == uploads:
            Path(path).unlink(missing_ok=True)


def delete_stray_uploads(*, database: Database, uploads: Path) -> int:
    """Delete old uploads that no import needs any more; how many. An upload gets its place before its import.

    A store without an account may have lost the rows that need them.
    """
    if not any_user_exists(database=database):
        return 0
    needed, deleted = unfinished_paths(database=database), 0
    for file in uploads.glob("*") if uploads.is_dir() else ():
        with suppress(FileNotFoundError):
            if str(file) not in needed and time.time() - file.stat().st_ctime > _STRAY_SECONDS:
                file.unlink()
                deleted += 1
    return deleted
