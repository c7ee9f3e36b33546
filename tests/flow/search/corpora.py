"""Random projects to search: common and rare words, close together and apart, with accents and signs; owners, grants of all
kinds, and fields that only some callers read; and queries for them."""
import random

from oracle import Oracle, Query, Word

STEMS = ("walnut linen cotton astrolabe harbour lantern meadow copper saffron velvet orchard granite thimble juniper "
         "marble pepper cinder willow barley feather quarry sextant compass almanac kettle ribbon timber hollow").split()
ACCENTED = ["café", "naïve", "Straße", "Ærø", "señor", "Zürich"]
CODES = ["AB-1234", "AB-9876", "x99-1", "O'Brien", "12.50", "me@home.org", "AB-12-34", "978-3-16-148410-0", "10-12"]
JOINED = ["AB1234", "9783161484100", "1012"]
GRAMS = ["日本語", "東京都", "京都"]
FIELDS = ["title", "body", "secretive"]


def mistyped(chance, word):
    at = chance.randrange(1, len(word))
    kind = chance.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1:]
    if kind == 1:
        return word[:at] + chance.choice("aeiou") + word[at:]
    if kind == 2 and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    return word[:at] + chance.choice("bcdfg") + word[at + 1:]


class Corpus:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.words = list(STEMS)
        self.words += [mistyped(self.chance, word) for word in STEMS if self.chance.random() < 0.3]
        self.words += [word[:self.chance.randrange(3, 5)] for word in STEMS if self.chance.random() < 0.2]
        self.chance.shuffle(self.words)
        self.words += ACCENTED + CODES + JOINED + GRAMS
        self.weights = [1 / (rank + 3) for rank in range(len(self.words))]

    def some_words(self, least, most):
        return self.chance.choices(self.words, self.weights, k=self.chance.randint(least, most))

    def text(self, least, most):
        words = self.some_words(least, most)
        if self.chance.random() < 0.1:
            words.append("<b>&\"bold\"</b>")
        words = [word.capitalize() if self.chance.random() < 0.2 else word for word in words]
        return self.chance.choice([" ", " ", ", ", "  "]).join(words)

    def record(self):
        record = {"title": self.text(1, 4), "body": self.text(3, 30), "secretive": self.text(0, 3),
                  "kind": self.chance.choice(["red", "green", "blue"]), "amount": self.chance.randrange(5)}
        return {name: value for name, value in record.items() if value != ""}

    # --- queries ---

    def word(self):
        text = self.chance.choices(self.words, self.weights)[0]
        if text in CODES:
            return Word(text, "code")
        if text in GRAMS:
            return Word(text, "grams")
        kind = self.chance.random()
        if kind < 0.15 and len(text) > 5:
            text = mistyped(self.chance, text)
        elif kind < 0.3:
            text = text[:max(2, len(text) - self.chance.randrange(1, 4))]
        return Word(text)

    def phrase(self, records):
        text = self.chance.choice(list(records.values())).get("body", "")
        words = [word.strip(",") for word in text.split() if '"' not in word]
        at, count = self.chance.randrange(max(1, len(words) - 1)), self.chance.choice([2, 2, 3])
        if self.chance.random() < 0.3:  # words of the text that are not a phrase there
            self.chance.shuffle(words)
        return Word(" ".join(words[at:at + count]), "phrase") if len(words[at:at + count]) > 1 else self.word()

    def query(self, records):
        words = [self.word() for _ in range(self.chance.choice([1, 1, 1, 2, 2, 3, 4]))]
        if self.chance.random() < 0.15:
            words.insert(self.chance.randrange(len(words) + 1), self.phrase(records))
        if words[-1].kind == "word" and self.chance.random() < 0.1:
            words[-1].field = self.chance.choice(FIELDS[:2])
        if self.chance.random() < 0.15:
            left_out = Word(self.chance.choices(STEMS)[0], without=True)
            words.insert(0, left_out)
        return Query(*words)


class Caller:
    """A searching caller: its client, the records that it sees, and the searchable fields that it reads."""

    def __init__(self, name, client, sees, fields, **options):
        self.name, self.client, self.sees, self.fields, self.options = name, client, sees, fields, options

    def entities(self, all_entities):
        return [entity for entity in all_entities if self.fields.get(entity)]


class World:
    """A project filled from a corpus, with callers of every kind and its oracle."""

    def __init__(self, project, seed, records=60, between=lambda entity: None):
        """`between` is called whenever one of four owners has written its records of an entity."""
        self.between = between
        self.project, self.corpus = project, Corpus(seed)
        self.chance = self.corpus.chance
        fields = [{"name": name, "type": "text", "searchable": True, "public": name == "title"} for name in FIELDS]
        fields += [{"name": "kind", "type": "varchar", "public": True}, {"name": "amount", "type": "integer"}]
        project.entity("books", fields)
        project.entity("notes", fields, row_level_security=False, public_read=True)
        grants = [f"{entity}:{action}" for entity in ("books", "notes") for action in ("read", "create")]
        self.reader = project.role(permissions=[*grants, "svc_search:read"])
        self.narrow = project.role(permissions=["books:read", "notes:read", "svc_search:read"], field_access=[
            {"entity": entity, "action": "read", "fields": ["title", "body", "kind", "amount"]} for entity in ("books", "notes")])
        self.owners = [project.user(role_ids=[self.reader["id"]]) for _ in range(3)]
        self.guest = project.user(role_ids=[self.narrow["id"]])
        self.texts, self.values, self.owned, self.granted = {}, {}, {}, {}
        for entity in ("books", "notes"):
            self.fill(entity, records)
        self.grant()
        self.oracle = Oracle(self.texts)

    def fill(self, entity, count):
        self.texts[entity], self.values[entity] = {}, {}
        for owner in [self.project.admin, *self.owners]:
            items = [self.corpus.record() for _ in range(count // 4)]
            made = owner.post(f"/entities/{entity}/items/bulk", {"items": items}, expect=201).json()
            for item, result in zip(items, made["results"]):
                number = result["id"]
                self.texts[entity][number] = {name: item.get(name) for name in FIELDS}
                self.values[entity][number] = item
                self.owned[entity, number] = owner.user["id"]
            self.between(entity)

    def grant(self):
        """Grants random books to the guest, or to the guest's role or group."""
        admin, guest = self.project.admin, self.guest.user["id"]
        group = admin.post("/groups", {"name": "Readers"}, expect=201).json()["id"]
        admin.post(f"/groups/{group}/members", {"user_ids": [guest]}, expect=200)
        for number in self.chance.sample(sorted(self.texts["books"]), 20):
            path, grantee = self.chance.choice([
                ("rls-users", {"user_id": guest}), ("rls-groups", {"group_id": group}),
                ("rls-groups", {"role_id": self.narrow["id"]})])
            admin.put(f"/entities/books/items/{number}/{path}", {"items": [grantee]}, expect=200)
            self.granted.setdefault(number, True)

    def callers(self):
        everything = {"books": FIELDS, "notes": FIELDS}
        narrow = {"books": FIELDS[:2], "notes": FIELDS[:2]}
        yield Caller("administrator", self.project.admin, lambda entity, number: True, everything)
        for owner in self.owners[:2]:
            mine = owner.user["id"]
            yield Caller("owner", owner,
                         lambda entity, number, mine=mine: entity == "notes" or self.owned[entity, number] == mine, everything)
        yield Caller("guest", self.guest, lambda entity, number: entity == "notes" or number in self.granted, narrow)
        yield Caller("public", self.project.client(), lambda entity, number: True, {"notes": FIELDS[:1]}, public=True)
