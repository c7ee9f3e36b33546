"""Answers of searches, case by case."""
import pytest
from groundwork.records import codes, execute
from groundwork.searching import wait_indexed, find_ids, hits, search
from groundwork.soon import settle

BOOKS = [
    {"name": "title", "type": "varchar", "searchable": True, "public": True},
    {"name": "summary", "type": "text", "searchable": True},
    {"name": "shelf", "type": "varchar", "public": True},
    {"name": "pages", "type": "integer"},
]


@pytest.fixture
def books(project, db, indexer):
    """books(title=..., ...) writes a record and returns its id; books.ready() waits for the index."""
    project.entity("books", BOOKS)

    def write(client=None, **values):
        return project.item("books", client=client, **values)["id"]

    write.ready = lambda: wait_indexed(project, db, "books")
    return write


@pytest.fixture(scope="module")
def library(shared_project, servers, indexer):
    """The file's project with one book in its index, for tests that change nothing."""
    shared_project.entity("books", BOOKS)
    shared_project.item("books", title="oak")
    connection = servers.connect()
    wait_indexed(shared_project, connection, "books")
    connection.close()
    return shared_project


# --- shape ---

def test_an_answer(project, books):
    number = books(title="Blue chair", summary="Made of <oak>", shelf="a", pages=7)
    books(title="Red table")
    books.ready()
    answer = search(project.admin, "blu chair")
    item, = answer.pop("items")
    assert answer.pop("took_ms") >= 0
    assert answer == {"total_items": 1, "total_is_exact": True, "page": 1, "page_size": 20, "has_next_page": False, "query": "blu chair"}
    assert (item["entity"], item["id"]) == ("books", number)
    assert item["highlights"] == [{"field": "title", "snippet": "Blue <mark>chair</mark>"}] or \
        item["highlights"] == [{"field": "title", "snippet": "<mark>Blue</mark> <mark>chair</mark>"}]
    assert item["record"] == project.admin.get(f"/entities/books/items/{number}", expect=200).json()
    assert 0 < item["score"] <= 1


def test_facets_and_sorts_in_the_order_of_the_locale(project, books):
    """Facet values with equal counts and sorted hits follow the locale's order; numbers follow their value."""
    for shelf, pages in (("Zeder", 10), ("Ähre", 9), ("apfel", 100)):
        books(title="oak", shelf=shelf, pages=pages)
    books.ready()

    def shown():
        answer = search(project.admin, "oak", e="books", facets="shelf,pages")
        assert [value["value"] for value in answer["facets"]["pages"]] == [9, 10, 100]
        ordered = search(project.admin, "oak", e="books", sort="shelf")["items"]
        return [value["value"] for value in answer["facets"]["shelf"]], [item["record"]["shelf"] for item in ordered]

    assert shown() == (["Ähre", "apfel", "Zeder"],) * 2
    project.admin.put("/", {"settings": {"locale": "sv"}}, expect=200)
    settle()
    assert shown() == (["apfel", "Zeder", "Ähre"],) * 2


def test_a_snippet_is_safe_html(project, books):
    books(title="<script>alert('oak')</script> & \"oak\"")
    books.ready()
    item, = search(project.admin, "oak")["items"]
    snippet = item["highlights"][0]["snippet"]
    assert "<script" not in snippet and "<mark>oak</mark>" in snippet and "&amp;" in snippet


def test_levels(project, books):
    mistyped, begun, exact = books(title="lanterm"), books(title="lanterns"), books(title="lantern")
    second = books(title="x", summary="lantern")
    books.ready()
    answer = search(project.admin, "lantern")
    assert [item["id"] for item in answer["items"]] == [exact, second, begun, mistyped]
    scores = [item["score"] for item in answer["items"]]
    assert scores == sorted(scores, reverse=True) and scores[0] == 1 and len(set(scores)) == 4


def test_equal_and_adjacent_first(project, books):
    equal, adjacent, apart = books(title="oak chair"), books(title="an oak chair here"), books(title="chair of oak")
    newest = books(title="chair and table of oak")
    books.ready()
    assert find_ids(project.admin, "oak chair") == [equal, adjacent, newest, apart]


def test_words_go_from_the_right(project, books):
    both, first = books(title="oak chair"), books(title="oak")
    books(title="chair")
    books.ready()
    assert find_ids(project.admin, "oak chair") == [both, first]


def test_signs(project, books):
    plain, with_both = books(title="oak", summary="walnut"), books(title="oak walnut")
    apart = books(title="walnut and oak")
    books.ready()
    assert find_ids(project.admin, '"oak walnut"') == [with_both]
    assert set(find_ids(project.admin, "oak -walnut title:oak")) == set()
    assert find_ids(project.admin, "title:walnut") == [apart, with_both]
    assert find_ids(project.admin, "summary:walnut") == [plain]
    assert set(find_ids(project.admin, "oa*")) == {plain, with_both, apart}
    assert find_ids(project.admin, "nothing:here") == []


def test_scripts_and_codes(project, books):
    code, cafe, kanji = books(title="Part AB-1234"), books(title="Café Zürich"), books(title="東京都庁")
    books.ready()
    for query in ("AB-1234", "ab1234", "1234", "AB 1234", "ab-12"):
        assert find_ids(project.admin, query) == [code], query
    assert find_ids(project.admin, "cafe") == find_ids(project.admin, "CAFÉ") == find_ids(project.admin, "zurich") == [cafe]
    assert find_ids(project.admin, "東京") == find_ids(project.admin, "京都") == find_ids(project.admin, "東京都庁") == [kanji]


def test_codes_with_hyphens_and_without(project, books):
    written, plain = books(title="ISBN 978-3-16-148410-0"), books(title="ISBN 9783161484100")
    code, joined = books(title="Part AB-12-34"), books(title="Part AB1234")
    phone, pi, ages = books(title="call 030-1234567"), books(title="pi is 3.14"), books(title="ages 10-12")
    serial = books(title="550e8400-e29b-41d4-a716-446655440000")
    books.ready()
    for query in ("9783161484100", "978-3-16-148410-0", "978-3161484100", "978316148", "978-3-16"):
        assert set(find_ids(project.admin, query)) == {written, plain}, query
    for query in ("AB-12-34", "AB1234", "ab-1234", "AB-12-3", "ab123"):
        assert set(find_ids(project.admin, query)) == {code, joined}, query
    assert find_ids(project.admin, "0301234567") == [phone]
    assert find_ids(project.admin, "550e8400e29b41d4a716446655440000") == [serial]
    assert find_ids(project.admin, "314") == [] == find_ids(project.admin, "1012")
    assert find_ids(project.admin, "3.14")[0] == pi and find_ids(project.admin, "10-12") == [ages]  # 3 and 14.. are in the ISBN too
    assert find_ids(project.admin, "isbn -9783161484100") == [] == find_ids(project.admin, "part -AB-12-34")
    snippets = [item["highlights"][0]["snippet"] for item in search(project.admin, "9783161484100")["items"]]
    assert set(snippets) == {"ISBN <mark>978-3-16-148410-0</mark>", "ISBN <mark>9783161484100</mark>"}
    suggested = project.admin.get("/search/suggest", params={"q": "978316"}, expect=200).json()["items"]
    assert [(item["text"], item["hits"]) for item in suggested] == [("9783161484100", 2)]


def test_everything(project, books):
    numbers = [books(title=f"n{n}", pages=n) for n in range(5)]
    books.ready()
    assert find_ids(project.admin, "*") == numbers[::-1]
    assert search(project.admin, "*", pageSize=2)["has_next_page"]
    assert search(project.admin, "*", pageSize=2, page=3)["total_items"] == 5
    assert project.admin.get("/search", expect=200).json()["query"] == "*"
    assert find_ids(project.admin, "*", e="books", sort="pages") == numbers
    assert find_ids(project.admin, "* -n3") == [number for number in numbers[::-1] if number != numbers[3]]
    assert find_ids(project.admin, "*", filter={"[pages][gte]": "3"}) == numbers[:2:-1]


# --- changes ---

def test_changes_are_followed(project, books):
    number = books(title="oak")
    books.ready()
    assert find_ids(project.admin, "oak") == [number]
    project.admin.put(f"/entities/books/items/{number}", {"title": "walnut"}, expect=200)
    books.ready()
    assert find_ids(project.admin, "oak") == [] and find_ids(project.admin, "walnut") == [number]
    project.admin.delete(f"/entities/books/items/{number}", expect=204)
    assert find_ids(project.admin, "walnut") == []  # even while the index still has the word
    books.ready()
    assert search(project.admin, "walnut")["total_items"] == 0


def test_purge_and_rehydrate(project, books, db):
    number = books(title="oak")
    books.ready()
    project.admin.delete("/search/purge", expect=204)
    assert find_ids(project.admin, "oak") == [] and find_ids(project.admin, "*") == []
    project.admin.post("/search/rehydrate/books", expect=202)
    books.ready()
    assert find_ids(project.admin, "oak") == [number]


# --- rows and fields that a caller sees ---

def test_rows_of_others(project, books):
    user = project.user(entities=["books"])
    other = project.user(entities=["books"])
    mine, theirs = books(client=user, title="oak"), books(client=other, title="oak")
    books.ready()
    assert find_ids(user, "oak") == [mine] and find_ids(other, "oak") == [theirs]
    assert search(user, "oak")["total_items"] == 1
    path = f"/entities/books/items/{theirs}/rls-users"
    project.admin.put(path, {"items": [{"user_id": user.user["id"]}]}, expect=200)
    books.ready()
    assert set(find_ids(user, "oak")) == {mine, theirs}
    project.admin.delete(path, expect=204)
    assert find_ids(user, "oak") == [mine]  # the index still has the grant, the row rule no longer does
    books.ready()
    assert search(user, "oak")["total_items"] == 1


def test_fields_of_others(project, books, db):
    role = project.role(permissions=["books:read", "svc_search:read"], field_access=[{"entity": "books", "action": "read", "fields": ["title"]}])
    project.admin.put("/entities/books", {"row_level_security": False}, expect=200)
    user = project.user(role_ids=[role["id"]])
    number = books(title="oak", summary="walnut")
    books.ready()
    assert find_ids(user, "oak") == [number] and find_ids(user, "walnut") == [] == find_ids(user, "wal")
    assert search(user, "walnut")["total_items"] == 0
    item, = search(user, "oak walnut")["items"]
    assert "summary" not in item["record"] and [mark["field"] for mark in item["highlights"]] == ["title"]
    assert find_ids(user, "summary:walnut") == []
    assert search(user, "oak", expect=400, e="books", facets="summary")
    assert user.get("/search/suggest", params={"q": "wal"}, expect=200).json()["items"] == []


def test_entities_of_others(project, books):
    project.entity("secrets", BOOKS)
    user = project.user(entities=["books"])
    books(title="oak")
    books.ready()
    project.admin.post("/entities/secrets/items", {"title": "oak"}, expect=201)
    assert [entity for entity, _ in hits(search(user, "oak"))] == []
    unknown = user.get("/search", params={"q": "oak", "e": "nothing"}, expect=400).json()
    hidden = user.get("/search", params={"q": "oak", "e": "secrets"}, expect=400).json()
    assert unknown["errors"][0]["message"].replace("nothing", "secrets") == hidden["errors"][0]["message"]


def test_no_api_access(project, books):
    user = project.user_with("books:read", "svc_search:read", api_access=False)
    project.admin.put("/entities/books", {"row_level_security": False}, expect=200)
    books(title="oak")
    books.ready()
    assert find_ids(user, "oak") == []
    assert find_ids(project.key(["books:read", "svc_search:read"]), "oak") != []


def test_the_public(project, books):
    number = books(title="oak", summary="walnut")
    books.ready()
    nobody = project.client()
    assert search(nobody, "oak", public=True)["total_items"] == 0
    nobody.get("/search", params={"q": "oak"}, expect=401)
    project.admin.put("/entities/books", {"public_read": True}, expect=200)
    settle()
    item, = search(nobody, "oak", public=True)["items"]
    assert item["id"] == number and set(item["record"]) == {"id", "title", "shelf", "created_at", "updated_at"}
    assert find_ids(nobody, "walnut", public=True) == []
    project.admin.put("/search/settings", {"public": False}, expect=200)
    search(nobody, "oak", public=True, expect=404)


def test_x_group_id(project, books, db):
    role = project.role(permissions=["books:read", "svc_group_data:read", "svc_search:read"])
    lead, member = project.user(role_ids=[role["id"]]), project.user(entities=["books"])
    number = books(client=member, title="oak")
    group = project.admin.post("/groups", {"name": "Team", "role_ids": [role["id"]]}, expect=201).json()["id"]
    project.admin.post(f"/groups/{group}/members", {"user_ids": [member.user["id"]]}, expect=200)
    books.ready()
    assert find_ids(lead, "oak") == []
    answer = lead.get("/search", params={"q": "oak"}, headers={"X-Group-Id": str(group)}, expect=200).json()
    assert hits(answer) == [("books", number)] and answer["total_items"] == 1


# --- relations ---

def test_relations_show_what_they_lead_to(project, db, indexer):
    project.entity("authors", [{"name": "name", "type": "varchar", "searchable": True}])
    project.entity("works", [{"name": "title", "type": "varchar", "searchable": True},
                             {"name": "author", "type": "relation", "searchable": True, "options": {"entity": "authors"}}],
                   row_level_security=False)
    user = project.user(entities=["authors", "works"])
    hidden = project.item("authors", name="Quillon")["id"]
    own = project.item("authors", client=user, name="Marchbanks")["id"]
    one, other = project.item("works", title="oak", author=hidden)["id"], project.item("works", title="oak", author=own)["id"]
    wait_indexed(project, db, "authors", "works")
    assert find_ids(project.admin, "quillon", e="works") == [one]
    item, = search(project.admin, "quillon", e="works")["items"]
    assert item["highlights"] == [{"field": "author", "snippet": "<mark>Quillon</mark>"}]
    assert find_ids(user, "quillon", e="works") == [] and search(user, "quillon", e="works")["total_items"] == 0
    assert find_ids(user, "marchbanks", e="works") == [other]
    assert find_ids(user, "oak quillon", e="works") == [other, one]  # both by oak alone
    project.admin.put(f"/entities/authors/items/{hidden}", {"name": "Tiverton"}, expect=200)
    wait_indexed(project, db, "authors", "works")
    assert find_ids(project.admin, "tiverton", e="works") == [one] and find_ids(project.admin, "quillon", e="works") == []


# --- settings ---

def test_synonyms_and_stop_words(project, books):
    sofa, couch, the = books(title="sofa"), books(title="couch"), books(title="the table")
    books.ready()
    assert find_ids(project.admin, "sofa") == [sofa]
    project.admin.put("/search/settings", {"synonyms": [{"words": ["sofa", "couch"]}], "stop_words": ["the"]}, expect=200)
    assert find_ids(project.admin, "sofa") == [sofa, couch] and find_ids(project.admin, "couch") == [couch, sofa]
    assert find_ids(project.admin, "the sofa") == [sofa, couch]
    assert find_ids(project.admin, "the") == [the]


def test_typos_can_be_switched_off(project, books):
    first, second = books(title="lantern"), books(title="x", summary="lantern")
    books.ready()
    assert find_ids(project.admin, "lantarn") == [first, second]
    project.admin.put("/search/settings", {"typo_tolerance": {"disabled_fields": ["books.title"]}}, expect=200)
    assert find_ids(project.admin, "lantarn") == [second] and find_ids(project.admin, "lantern") == [first, second]
    project.admin.put("/search/settings", {"typo_tolerance": {"enabled": False}}, expect=200)
    assert find_ids(project.admin, "lantarn") == []


def test_weights(project, books):
    title, summary = books(title="lantern"), books(title="x", summary="lantern")
    books.ready()
    assert find_ids(project.admin, "lantern") == [title, summary]
    project.admin.put("/entities/books/fields/summary", {"options": {"search_weight": 5}}, expect=200)
    assert find_ids(project.admin, "lantern") == [summary, title]


# --- suggestions ---

def test_suggestions(project, books):
    user = project.user(entities=["books"])
    books(client=user, title="oak lantern"), books(client=user, title="lantern"), books(client=user, title="landing")
    books(title="language")
    books.ready()

    def suggest(client, q, **parameters):
        return [(item["text"], item["hits"]) for item in
                client.get("/search/suggest", params={"q": q, **parameters}, expect=200).json()["items"]]

    assert suggest(user, "lan") == [("lantern", 2), ("landing", 1)]
    assert suggest(project.admin, "lan") == [("lantern", 2), ("landing", 1), ("language", 1)]
    assert suggest(user, "oak la") == [("oak lantern", 1)]
    assert suggest(user, "lan", limit=1) == [("lantern", 2)]
    assert suggest(user, "") == suggest(user, "zzz") == []
    assert list(codes(user.get("/search/suggest", params={"q": "lan", "limit": 11}, expect=400))) == ["limit"]


# --- refused queries ---

@pytest.mark.parametrize("parameters, member", [
    ({"q": "oak", "page": "51"}, "page"), ({"q": "oak", "sort": "title"}, "sort"), ({"q": "oak", "fields": "title"}, "fields"),
    ({"q": "oak", "expand": "title"}, "expand"), ({"q": "oak", "order": "desc"}, "order"),
    ({"q": "oak", "e": "books", "sort": "nothing"}, "sort"), ({"q": "oak", "facets": "nothing"}, "facets"),
    ({"q": "oak", "facets": "summary"}, "facets"), ({"q": "oak", "e": "nothing"}, "e"), ({"q": "oak", "e": ""}, "e"),
    ({"q": "oak", "filter[nothing]": "1"}, "filter[nothing]"), ({"q": "oak", "e": "books", "filter[pages]": "x"}, "filter[pages]"),
])
def test_refused(library, parameters, member):
    answer = library.admin.get("/search", params=parameters, expect=400)
    assert answer.json()["code"] == "invalid_query" and list(codes(answer)) == [member]


@pytest.mark.parametrize("parameters", [{"pageSize": "0"}, {"pageSize": "501"}, {"page": "0"}, {"page": "x"}, {"limit": "5"}, {"nothing": "1"}])
def test_refused_by_the_route(library, parameters):
    library.admin.get("/search", params={"q": "oak", **parameters}, expect=400)


HOSTILE = ["%", "_", "\\", "'; drop table x; --", "a' or '1'='1", "@o1", "@u1 @g1", "{p}", "$1", "*bra", "b07", "(((", "a" * 500, "ﬁ ǆ İ ẞ",
           "\u202eoak", "👩‍👩‍👧", "e\u0301" * 100, "title:", "title:title:oak", "-", "--oak oak", '""', '"" oak', "oak*walnut", "**", "* *", "* oak", "a:b:c",
           "\u0000oak"]


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_queries(library, query):
    """Every query gets an answer; only a query with a NUL may get a 400."""
    for client, path in ((library.admin, "/search"), (library.admin, "/search/suggest"), (library.client(), "/search/public")):
        answer = client.get(path, params={"q": query})
        assert answer.status_code == 200 or ("\0" in query and answer.status_code == 400), (query, answer.text)


# --- queries as people type them ---

NOTHING = ["?", "!", "--", "- -", "...", "\"", '""', "\"?\"", "'", "***", "+", "#", "$", "%", "&", "@", "()", "\u2026", "\u2013", "-only", '-"a phrase"',
           "\U0001f937", "\u2665\ufe0f", "\u20ac", "\u200b", "\t"]
TYPED = NOTHING + ['55" OLED', '"hello wor', '"oak', "oak\"", '"oak chair" "', "\u201coak", "eleven words are two more than there may be in one query at once",
                   "a" * 513, "oak " * 200, "- oak", "oak -", "oak -\"a phrase\"", "title:", "title: oak", "title:?", "C++", "C#", ":-)", "oak \U0001f333", "6'2\"",
                   "\u6771" * 300, '"' + "a " * 100, "\u6771 " * 100, "a* " * 30, "https://example.org/?q=oak&page=2#top", "-5", "1/2", "oak?", "*?"]


@pytest.mark.parametrize("query", TYPED)
def test_any_text_is_a_query(library, query):
    answers = [library.admin.get(path, params={"q": query}, expect=200).json() for path in ("/search", "/search/suggest")]
    answers.append(library.client().get("/search/public", params={"q": query}, expect=200).json())
    assert all(answer["query"] == query or query.strip() == "" for answer in answers)
    if query in NOTHING:
        assert [answer["items"] for answer in answers] == [[]] * 3 and answers[0]["total_items"] == 0 and answers[0]["total_is_exact"]


def test_a_query_of_nothing_checks_its_parameters(library):
    """A query without a word finds nothing, and its parameters are checked as those of any other query."""
    answer = search(library.admin, "?", e="books", facets="shelf", sort="pages", fields="title", filter={"[pages]": "7"})
    assert (answer["items"], answer["total_items"], answer["facets"]) == ([], 0, {"shelf": []})
    for parameters in ({"e": "nothing"}, {"facets": "nothing"}, {"e": "books", "sort": "nothing"}, {"filter[nothing]": "1"},
                       {"e": "books", "fields": "nothing"}):
        library.admin.get("/search", params={"q": "?", **parameters}, expect=400)


def test_quotation_marks_that_are_not_closed(project, books):
    hello, apart, tv = books(title="hello world"), books(title="world hello"), books(title='TV 55" OLED')
    books.ready()
    assert find_ids(project.admin, '"hello wor') == find_ids(project.admin, '"hello world') == [hello]
    assert find_ids(project.admin, 'hello "wor') == [hello, apart]
    assert find_ids(project.admin, '55" OLED') == find_ids(project.admin, '55" tv') == find_ids(project.admin, 'oled 55"') == [tv]
    assert find_ids(project.admin, '"hello wor ') == []


def test_signs_and_symbols(project, books):
    plus, sharp, plain = books(title="C++ primer"), books(title="C# in depth"), books(title="C by example")
    heart, love = books(title="I \u2665 NY"), books(title="I love NY")
    phone, rocket = books(title="love \u2764\ufe0f"), books(title="\U0001f680\U0001f680 to the moon")
    flag = books(title="made in \U0001f1e9\U0001f1ea")
    books.ready()
    assert find_ids(project.admin, "C++") == find_ids(project.admin, "c+") == [plus]
    assert find_ids(project.admin, "C#") == [sharp]
    assert set(find_ids(project.admin, "C")) == {plain, sharp, plus} and find_ids(project.admin, "C -C++ -C#") == [plain]
    assert find_ids(project.admin, "primer C++")[0] == plus
    assert find_ids(project.admin, "depth+++") == [sharp]  # no text has these signs, so the word alone counts
    assert set(find_ids(project.admin, "\u2665")) == set(find_ids(project.admin, "\u2764\ufe0f")) == {heart, phone}
    assert find_ids(project.admin, "I \u2665 NY")[:2] == [heart, love]
    assert find_ids(project.admin, "\u2665 moon") == [rocket]
    assert find_ids(project.admin, "\U0001f680") == find_ids(project.admin, "\U0001f680\U0001f680\U0001f680") == [rocket]
    assert find_ids(project.admin, "\U0001f1e9\U0001f1ea") == [flag] and find_ids(project.admin, "\U0001f1e9\U0001f1f0") == []
    item, = search(project.admin, "\U0001f680")["items"]
    assert item["highlights"] == [{"field": "title", "snippet": "<mark>\U0001f680\U0001f680</mark> to the moon"}]
    project.admin.put("/search/settings", {"synonyms": [{"words": ["C++", "cpp"]}]}, expect=200)
    assert find_ids(project.admin, "cpp") == [plus]
    suggested = project.admin.get("/search/suggest", params={"q": "\u2665 mo"}, expect=200).json()["items"]
    assert [(item["text"], item["hits"]) for item in suggested] == [("\u2665 moon", 1)]


def test_pages_end_before_they_are_refused(project, books):
    """A client that follows has_next_page sees the first 1,000 hits with any page size, and is never refused."""
    for start in range(0, 1020, 340):
        project.admin.post("/entities/books/items/bulk", {"items": [{"title": f"oak {n}", "pages": n} for n in range(start, start + 340)]}, expect=201)
    books.ready()
    for parameters in ({"q": "oak"}, {"q": "*"}, {"q": "oak", "e": "books", "sort": "pages"}, {"q": "*", "e": "books", "sort": "pages"}):
        for size in (300, 500):
            seen, page, more = [], 1, True
            while more:
                answer = search(project.admin, pageSize=size, page=page, **parameters)
                seen += [item["id"] for item in answer["items"]]
                page, more = page + 1, answer["has_next_page"]
            assert len(seen) == len(set(seen)) == 1000, (parameters, size)
            search(project.admin, pageSize=size, page=page, expect=400, **parameters)


def test_an_index_that_is_broken(project, books, db):
    """A list of the index that cannot be read leads to a 503, never to a crash or a wrong answer."""
    books(title="oak")
    books.ready()
    assert find_ids(project.admin, "oak")
    execute(db, f"update {project.schema(db)}.search_postings set docs = '\\xffffffffffffffffffffffff'")
    assert project.admin.get("/search", params={"q": "oak"}).status_code == 503
