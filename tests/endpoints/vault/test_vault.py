"""Documents over HTTP."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from database.changes import changes_after
from endpoints.http.scope import EXTENSION
from endpoints.vault import models
from tests.endpoints.conftest import refused, told
from vault.documents import Vault


@pytest.fixture
def vault(app, ada) -> Vault:
    """Ada's vault, with three documents that link to each other."""
    found = app.extensions[EXTENSION].vaults.of(ada.email)
    put(found, "Garden plan.md", "---\naliases: [beds]\n---\n# The garden\nSee [[tomatoes#When|them]] and [[nowhere]].")
    put(found, "plants/Tomatoes.md", "# Tomatoes\n\nSown in March, see [[beds]].\n")
    put(found, "alone.txt", "Nobody links here.")
    return found


def put(vault: Vault, path: str, text: str) -> None:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    list(vault.refresh())


def test_documents_are_listed_by_path_a_page_at_a_time(ada, vault):
    first = told(ada.get("/api/vault/documents?limit=2"), models.DocumentPage)
    second = told(ada.get("/api/vault/documents", query_string={"limit": 2, "cursor": first.next}), models.DocumentPage)
    assert [entry.path for entry in (*first.documents, *second.documents)] == [
        "Garden plan.md",
        "alone.txt",
        "plants/Tomatoes.md",
    ]
    assert (second.next, first.total, first.read_only) == (None, 3, False)


def test_a_folder_and_a_part_of_a_name_narrow_the_list(ada, vault):
    below = told(ada.get("/api/vault/documents?folder=plants"), models.DocumentPage)
    assert [entry.path for entry in below.documents] == ["plants/Tomatoes.md"]
    named = told(ada.get("/api/vault/documents?query=BED"), models.DocumentPage)
    assert [entry.title for entry in named.documents] == ["The garden"]


def test_a_name_is_found_without_its_diacritics_and_page_by_page(ada, vault):
    def found(query, **more):
        page = told(ada.get("/api/vault/documents", query_string={"query": query, **more}), models.DocumentPage)
        return [entry.path for entry in page.documents]

    for path in ("Köln.md", "o/Über uns.md", "naïve café.md", "日本の庭.md", "🌱.md", "koln.md"):
        put(vault, path, "---\naliases: [zqx Größe, zqx grösser]\n---\n")
    assert (found("koln"), found("KÖLN")) == (["Köln.md", "koln.md"], ["Köln.md", "koln.md"])
    assert (found("uber"), found("aive  CAF"), found("ö")) == (["o/Über uns.md"], ["naïve café.md"], found("o"))
    assert (found("本の"), found("🌱"), found("🌵"), found("cafe naive")) == (["日本の庭.md"], ["🌱.md"], [], [])
    everything = found("zqx gross")
    assert len(everything) == 6
    pages, cursor = [], ""
    while cursor is not None:
        asked = {"query": "grosse", "limit": 2, "cursor": cursor}
        page = told(ada.get("/api/vault/documents", query_string=asked), models.DocumentPage)
        pages.append([entry.path for entry in page.documents])
        cursor = page.next
    assert [len(page) for page in pages] == [2, 2, 2]
    assert [path for page in pages for path in page] == everything
    assert found("grosse", folder="o") == ["o/Über uns.md"]


def test_a_link_is_completed_without_diacritics(ada, vault):
    for path in ("Köln.md", "Alt/Bei Köln.md"):
        put(vault, path, "x")
    offered = ada.get("/references/suggest", query_string={"q": "[[koln"}).json
    assert [each["reference"] for each in offered] == ["[[Köln]]", "[[Bei Köln]]"]


def test_a_query_is_also_answered_by_what_texts_say(ada, vault):
    asked = {"query": "sown in march", "in_text": "true"}
    found = told(ada.get("/api/vault/documents", query_string=asked), models.DocumentPage)
    assert (found.documents, [each.path for each in found.in_text]) == ([], ["plants/Tomatoes.md"])
    assert "Sown in March" in found.in_text[0].text
    asked["query"] = "tomatoes"
    found = told(ada.get("/api/vault/documents", query_string=asked), models.DocumentPage)
    assert [each.path for each in found.documents] == ["plants/Tomatoes.md"]
    assert [each.path for each in found.in_text] == ["Garden plan.md"]
    assert told(ada.get("/api/vault/documents?query=sown"), models.DocumentPage).in_text == []


def test_a_document_is_told_with_its_links_in_both_directions(ada, vault):
    answer = ada.get("/api/vault/document", query_string={"path": "Garden plan.md"})
    document = told(answer, models.DocumentText)
    assert answer.headers["ETag"] == f'"{document.version}"'
    assert document.front_matter == {"aliases": ["beds"]}
    assert [(heading.text, heading.line) for heading in document.headings] == [("The garden", 4)]
    assert [(link.target, link.anchor, link.line) for link in document.links] == [
        ("plants/Tomatoes.md", "When", 5),
        (None, None, 5),
    ]
    assert [(link.source, link.line) for link in document.backlinks] == [("plants/Tomatoes.md", 3)]


def test_a_link_resolves_to_its_document(ada, vault):
    found = told(ada.get("/api/vault/resolve", query_string={"link": "[[tomatoes|red]]"}), models.LinkResolution)
    assert (found.path, found.alias, found.ambiguous) == ("plants/Tomatoes.md", "red", False)
    assert told(ada.get("/api/vault/resolve?link=[[nowhere]]"), models.LinkResolution).path is None


def test_a_relative_link_resolves_only_beside_its_document(ada, vault):
    resolve = "/api/vault/resolve?link=[[./Tomatoes]]"
    assert told(ada.get(f"{resolve}&path=plants/Soil.md"), models.LinkResolution).path == "plants/Tomatoes.md"
    for path in ("", "&path=Garden plan.md"):
        assert told(ada.get(resolve + path), models.LinkResolution).path is None
    assert told(ada.get("/api/vault/resolve?link=[[./Garden plan]]"), models.LinkResolution).path is None


def test_the_graph_names_edges_broken_links_and_orphans(ada, vault):
    graph = told(ada.get("/api/vault/graph"), models.DocumentGraph)
    assert {(edge.source, edge.target) for edge in graph.edges} == {
        ("Garden plan.md", "plants/Tomatoes.md"),
        ("plants/Tomatoes.md", "Garden plan.md"),
    }
    assert [link.wikilink for link in graph.broken] == ["[[nowhere]]"]
    assert graph.orphans == ["alone.txt"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x.md", "a/../../x.md", "a\\x.md", "x.py", ".obsidian/x.md", "C:/x.md", "a//x.md"]
)
def test_hostile_paths_are_refused(ada, vault, path):
    assert refused(ada.get("/api/vault/document", query_string={"path": path})) == (400, "path_refused")


def test_a_folder_that_is_called_like_a_document_answers_clearly(ada, vault):
    def put_text(path):
        return ada.put("/api/vault/document", query_string={"path": path}, json={"text": "t"})

    assert put_text("a.md/x.md").status_code == 200
    assert refused(ada.get("/api/vault/document?path=a.md")) == (404, "document_not_found")
    assert refused(ada.delete("/api/vault/document?path=a.md")) == (404, "document_not_found")
    assert refused(put_text("a.md")) == refused(put_text("alone.txt/x.md")) == (409, "conflict")
    files = [(BytesIO(b"x"), name) for name in ("one.md", "a.md", "two.md")]
    report = told(ada.post("/api/vault/import", data={"files": files}), models.ImportReport)
    assert report.imported == ["one.md", "two.md"]
    assert [(each.path, each.code) for each in report.refused] == [("a.md", "conflict")]


def test_nobody_sees_another_persons_documents(ada, eve, vault):
    answers = [eve.get("/api/vault/document", query_string={"path": path}) for path in ("alone.txt", "missing.txt")]
    first, second = ({key: value for key, value in each.json.items() if key != "request_id"} for each in answers)
    assert first == second
    assert refused(answers[0]) == (404, "document_not_found")
    assert told(eve.get("/api/vault/documents"), models.DocumentPage).documents == []


def test_the_list_says_when_a_document_was_written_and_links_say_where_they_stand(ada, vault):
    entry = told(ada.get("/api/vault/documents?folder=plants"), models.DocumentPage).documents[0]
    assert entry.modified.endswith("+00:00")
    document = told(ada.get("/api/vault/document?path=alone.txt"), models.DocumentText)
    assert (document.title, document.links, document.backlinks) == ("alone", [], [])
    linked = told(ada.get("/api/vault/document", query_string={"path": "Garden plan.md"}), models.DocumentText)
    assert [link.source_title for link in linked.backlinks] == ["Tomatoes"]


def test_a_document_is_created_replaced_by_version_renamed_and_deleted(ada, vault):
    def put_text(text, **headers):
        return ada.put("/api/vault/document?path=new.md", json={"text": text}, headers=headers)

    created = put_text("# One [[alone]]")
    version = told(created, models.DocumentText).version
    assert refused(put_text("two")) == (428, "version_missing")
    assert refused(put_text("two", **{"If-Match": '"other"'})) == (412, "version_conflict")
    stale = put_text("two", **{"If-Match": '"other"'})
    assert stale.json["details"] == {"path": "new.md", "version": version, "text": "# One [[alone]]"}
    assert told(put_text("two [[alone]]", **{"If-Match": f'"{version}"'}), models.DocumentText).text == "two [[alone]]"
    renamed = ada.post("/api/vault/rename", json={"path": "alone.txt", "new_path": "a/friend.md"})
    assert told(renamed, models.RenamedDocument).followed == ["new.md"]
    assert refused(ada.post("/api/vault/rename", json={"path": "new.md", "new_path": "a/friend.md"}))[0] == 409
    deleted = told(ada.delete("/api/vault/document?path=new.md"), models.DeletedDocument)
    assert vault.root.joinpath(deleted.kept_at).read_text() == "two [[friend]]"
    assert refused(ada.delete("/api/vault/document?path=new.md")) == (404, "document_not_found")


def test_a_person_has_the_index_made_anew(ada, vault):
    told(ada.post("/api/vault/index", json={"full": True}), models.IndexJob, status=202)


def test_changes_of_documents_are_recorded_for_other_windows(app, ada, vault):
    ada.put("/api/vault/document?path=new.md", json={"text": "x"})
    state = app.extensions[EXTENSION]
    newest = changes_after(database=state.database, user_email=ada.email, after=0, most=100)[-1]
    assert (newest.kind, newest.change, newest.id, newest.fields["title"]) == ("document", "created", "new.md", "new")


def test_files_are_imported_by_a_form_of_our_own_pages(ada, vault):
    def send(headers):
        files = [(BytesIO(b"# B"), "b.md"), (BytesIO(b"x"), "../c.md")]
        return ada.post("/api/vault/import?folder=in", data={"files": files}, headers=headers)

    report = told(send({}), models.ImportReport)
    assert report.imported == ["in/b.md"]
    assert [(each.path, each.code) for each in report.refused] == [("in/../c.md", "path_refused")]
    assert refused(send({"Origin": "http://elsewhere.example"})) == (403, "forbidden")
    assert refused(ada.post("/api/vault/import", json={}))[0] == 400


def test_files_of_an_archive_that_are_passed_over_are_counted(ada, vault):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("b.md", "img.png", ".obsidian/w.md"):
            archive.writestr(name, "x")
    packed.seek(0)
    report = told(ada.post("/api/vault/import", data={"files": [(packed, "notes.zip")]}), models.ImportReport)
    assert (report.imported, report.unchanged, report.refused, report.passed_over) == (["b.md"], [], [], 2)


def test_a_deleted_document_is_listed_in_the_bin_and_restored(ada, eve, vault):
    kept_at = told(ada.delete("/api/vault/document?path=plants/Tomatoes.md"), models.DeletedDocument).kept_at
    found = told(ada.get("/api/vault/bin"), models.DocumentBin)
    assert [(each.kept_at, each.path) for each in found.documents] == [(kept_at, "plants/Tomatoes.md")]
    assert (found.total, told(eve.get("/api/vault/bin"), models.DocumentBin).total) == (1, 0)
    assert refused(eve.post("/api/vault/restore", json={"kept_at": kept_at})) == (404, "document_not_found")
    restored = told(ada.post("/api/vault/restore", json={"kept_at": kept_at}), models.RestoredDocument)
    assert restored.path == "plants/Tomatoes.md"
    assert "March" in ada.get("/api/vault/document?path=plants/Tomatoes.md").json["text"]
    assert told(ada.get("/api/vault/bin"), models.DocumentBin).total == 0


def test_a_restored_document_replaces_none(ada, vault):
    kept_at = told(ada.delete("/api/vault/document?path=alone.txt"), models.DeletedDocument).kept_at
    ada.put("/api/vault/document?path=alone.txt", json={"text": "Another one"})
    assert refused(ada.post("/api/vault/restore", json={"kept_at": kept_at})) == (409, "conflict")
    assert ada.get("/api/vault/document?path=alone.txt").json["text"] == "Another one"
    assert told(ada.get("/api/vault/bin"), models.DocumentBin).total == 1


KEPT = ".trash/20260101T000000-abcdef"


@pytest.mark.parametrize("kept_at", ["alone.txt", ".trash/note.md", f"{KEPT}/../../alone.txt", f"{KEPT}/.x/a.md"])
def test_only_what_a_deletion_kept_is_restored(ada, vault, kept_at):
    put(vault, ".trash/note.md", "Of another program")
    assert refused(ada.post("/api/vault/restore", json={"kept_at": kept_at})) == (400, "path_refused")


def test_a_link_in_the_bin_leads_nowhere(ada, vault, tmp_path):
    (tmp_path / "secret.md").write_text("Secret")
    folder = Path(vault.root, KEPT)
    folder.mkdir(parents=True)
    (folder / "a.md").symlink_to(tmp_path / "secret.md")
    (folder / "dir").symlink_to(tmp_path)
    assert told(ada.get("/api/vault/bin"), models.DocumentBin).documents == []
    for name in ("a.md", "dir/secret.md"):
        asked = {"kept_at": f"{KEPT}/{name}"}
        assert refused(ada.post("/api/vault/restore", json=asked)) == (400, "path_refused")
