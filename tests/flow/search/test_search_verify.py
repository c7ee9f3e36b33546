"""search-indexer --verify finds and repairs indexes that were tampered with, while indexers work."""
import pytest

BOOKS = "/entities/books/items"


@pytest.fixture
def library(project, index, indexer):
    books = index.entity()
    index.wait_built(books)
    index.made = [result["id"] for result in project.admin.post(BOOKS + "/bulk", {"items": [
        {"title": f"walnut {n}", "notes": "linen" if n % 3 else "cotton sheets"} for n in range(300)]}, expect=201).json()["results"]]
    index.settle()
    return books


def verify(project, indexer, *arguments):
    done = indexer.run("--verify", *(arguments or (project.id,)), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_is_wrong(project, index, indexer, library):
    assert f"{project.id} books: 300 records, 0 with outdated words, 0 lists that differed\n" in verify(project, indexer)
    project.admin.post(BOOKS, {"title": "quartz"}, expect=201)
    assert "301 records, 0 with outdated words, 0 lists" in verify(project, indexer), "a pending change is not a difference"


TAMPERED = {
    "a leaf has other ids": "update {p}.search_postings set docs = '\\x010105', n = 2 where term_id = (select id from {p}.search_terms"
                            " where term = 'linen')",
    "a leaf cannot be read": "update {p}.search_postings set docs = '\\xff' where term_id = (select id from {p}.search_terms where term = 'cotton')",
    "a leaf is gone": "delete from {p}.search_postings where term_id = (select id from {p}.search_terms where term = 'walnut')",
    "a list too many": "insert into {p}.search_postings select idx, term_id, 9, base, n, docs from {p}.search_postings limit 1",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_lists_are_repaired(project, index, indexer, library, what):
    index.execute(TAMPERED[what])
    said = verify(project, indexer)
    assert "1 lists that differed: repaired" in said, said
    index.check(library)
    assert "0 lists that differed\n" in verify(project, indexer)


def test_records_are_repaired(project, index, indexer, library):
    """Records that were changed or removed without an event, and records whose document is missing, are repaired."""
    title = next(f["id"] for f in library["fields"] if f["name"] == "title")
    index.execute(f"update {{p}}.e_{library['id']} set f_{title} = 'behind' where id = {index.made[0]}")
    index.execute(f"delete from {{p}}.e_{library['id']} where id = {index.made[1]}")
    index.execute(f"delete from {{p}}.search_docs where record_id = {index.made[2]}")
    said = verify(project, indexer)
    assert "300 records, 3 with outdated words" in said and "repaired" in said, said
    assert index.find(library, "behind") == {index.made[0]}
    index.check(library)


def test_words_that_are_lost_come_back(project, index, indexer, library):
    index.execute("delete from {p}.search_terms where term = 'linen'")
    said = verify(project, indexer)
    assert "300 records, 200 with outdated words" in said and "repaired" in said, said
    assert len(index.find(library, "linen")) == 200
    index.check(library)


def test_what_there_is_not(indexer):
    done = indexer.run("--verify", "nobody")
    assert done.returncode == 1 and "PROJECT_NOT_FOUND" in done.stderr
    assert indexer.run("--verify", "a", "b").returncode == 2
    assert "--verify [PROJECT]" in indexer.run("--help").stdout
