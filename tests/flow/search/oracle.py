"""Answers searches the slow way: every record that the caller may see is cut into words, matched, ranked and counted. The
service and the oracle share no code: words are cut by Python's own Unicode tables, distances are computed from their
definition, and queries are made of parts and never parsed.

The oracle does not predict the order of hits that are equal in words, typos and fields among the first 64, which depends on
their texts, nor how much of a text a snippet shows. Tests check these separately."""
import functools
import html
import re
import unicodedata

ENOUGH = 20      # with fewer hits a search adds typos and prefixes, then drops words from the right
PREFIXES = 64    # terms to which a prefix expands
TYPOS = 16       # terms to which a word expands for each number of typos
WINDOW = 64
BOUND = set("-'.@/_+&")  # signs that join words in these texts; the service knows more of them
OWN = {"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "œ": "oe", "þ": "th", "ð": "d", "ı": "i"}


# --- words ---

def fold(text):
    text = unicodedata.normalize("NFKD", text.casefold())
    text = "".join(OWN.get(char, char) for char in text)
    return "".join(char for char in text if not unicodedata.combining(char))


def is_letter(char):
    return unicodedata.category(char)[0] in "LNM"


def is_gram(char):
    """Returns whether the character is of a script that puts no spaces between words."""
    name = unicodedata.name(char, "")
    return name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI CHARACTER"))


def runs(text):
    """Returns runs of characters of one kind: ["word"|"gram"|"sign", text]."""
    kind = lambda char: "gram" if is_gram(char) else "word" if is_letter(char) else "sign"
    found = []
    for char in text:
        if found and found[-1][0] == kind(char):
            found[-1][1] += char
        else:
            found.append([kind(char), char])
    return found


def grams(run):
    run = fold(run)
    return [run[i:i + 2] for i in range(len(run) - 1)] + [run[-1]]


def codes(text):
    """Yields groups of words that are joined by single signs: "AB-1234" is ["AB", "-", "1234"]."""
    group = []
    pieces = runs(text)
    for i, (kind, piece) in enumerate(pieces):
        if kind == "gram":
            if group:
                yield group
            group = []
            yield [piece, None]
        elif kind == "word":
            group.append(piece)
        elif group:
            bound = len(piece) == 1 and piece in BOUND and i + 1 < len(pieces) and pieces[i + 1][0] == "word"
            if bound:
                group.append(piece)
            else:
                yield group
                group = []
    if group:
        yield group


def whole(group):
    """Returns a group as one term without its signs, except signs between two digits. Hyphens and underscores between digits
    are dropped too if the group has a letter or at least five digits, and no other sign between digits."""
    text, kept = group[0], set()
    for sign, part in zip(group[1::2], group[2::2]):
        between = text[-1].isdigit() and part[0].isdigit()
        kept |= {sign} if between else set()
        text += (sign if between else "") + part
    bare = text.replace("-", "").replace("_", "")
    joined = kept <= {"-", "_"} and (not bare.isdigit() or len(bare) >= 5)
    return fold(bare if joined else text)


@functools.lru_cache(maxsize=100000)
def sequence(text):
    """Returns the terms of a text in their order, without the terms of whole groups: phrases and snippets are matched with
    these terms."""
    terms = []
    for group in codes(text):
        if len(group) == 2 and group[1] is None:
            terms += grams(group[0])
        else:
            terms += [fold(part) for part in group[::2]]
    return tuple(terms)


@functools.lru_cache(maxsize=100000)
def terms_of(text):
    terms = set(sequence(text))
    for group in codes(text):
        if len(group) > 2:
            terms.add(whole(group))
    return frozenset(terms)


@functools.lru_cache(maxsize=1000000)
def distance(a, b):
    """Returns how many letters are inserted, omitted, replaced or swapped with their neighbour (optimal string alignment)."""
    before, row = None, list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for k, y in enumerate(b, 1):
            cost = min(before[k] + 1, row[k - 1] + 1, before[k - 1] + (x != y))
            if i > 1 and k > 1 and x == b[k - 2] and a[i - 2] == y:
                cost = min(cost, last[k - 2] + 1)
            row.append(cost)
    return row[-1]


def is_excused(term):
    if any(char.isdigit() for char in term) or any(is_gram(char) for char in term):
        return 0
    return 0 if len(term) < 5 else 1 if len(term) < 9 else 2


def typos(term, other):
    """Returns 1 or 2, the number of typos, if `other` is accepted as a mistyped `term`, else None. A wrong first letter
    (another letter, a missing or an extra letter, or one swapped with the second) counts as two typos, and nothing else may be
    wrong then."""
    most = is_excused(term)
    if most == 0 or other == term or any(is_gram(char) for char in other):
        return None
    if other[0] == term[0]:
        found = distance(term, other)
        return found if found <= most else None
    wrong_first = (other[1:] == term[1:] and other[0].isascii() and other[0].isalpha(), other[1:] == term, other == term[1:],
                   other == term[1] + term[0] + term[2:])
    return 2 if most == 2 and any(wrong_first) else None


# --- queries ---

class Word:
    """One word of a query: kind "word", "code", "phrase" or "grams"; `text` as it is typed."""

    def __init__(self, text, kind="word", prefix=False, without=False, field=None):
        self.text, self.kind, self.prefix, self.without, self.field = text, kind, prefix, without, field

    def typed(self):
        text = f'"{self.text}"' if self.kind == "phrase" else self.text
        return ("-" if self.without else "") + (f"{self.field}:" if self.field else "") + text

    def term(self):
        return fold(self.text) if self.kind == "word" else whole(next(codes(self.text)))

    def parts(self):
        terms = sequence(self.text)
        return terms[:-1] if self.kind == "grams" else terms  # the last term, a single letter, is part of the term before


class Query:
    """The words of a query. The last word is a prefix unless it is a phrase or is excluded."""

    def __init__(self, *words):
        self.words = list(words)
        last = self.words[-1] if self.words else None
        if last and last.kind != "phrase" and not last.without:
            last.prefix = True

    def read_by(self, fields):
        """Returns the query as the service reads it for a caller who knows only these fields: any other name before a colon is
        an ordinary word."""
        words = []
        for word in self.words:
            unknown = word.field not in (None, *fields)
            words += [Word(word.field), Word(word.text)] if unknown else [word]
        return Query(*words)

    def text(self):
        return " ".join(word.typed() for word in self.words) or "*"

    def __repr__(self):
        return self.text()


# --- the index's contents ---

class Hit:
    def __init__(self, entity, number, matched, cost, field):
        self.entity, self.id, self.matched, self.cost, self.field = entity, number, matched, cost, field

    def level(self):
        return (-self.matched, self.cost, self.field)

    def __repr__(self):
        return f"{self.entity}/{self.id}{self.level()}"


class Found:
    def __init__(self, hits, total, bounded):
        self.hits, self.total, self.bounded = hits, total, bounded


class Oracle:
    """`records` is {entity: {id: {field: text}}} with the searchable texts of all records, owners and fields. A caller has
    `sees(entity, id)`, whether it may read the record, and `fields[entity]`, the searchable fields that it may read, in their
    order."""

    def __init__(self, records, synonyms=(), stop_words=(), exact_fields=()):
        self.records = records
        self.synonyms = [[fold(word) for word in group] for group in synonyms]
        self.stop_words = {fold(word) for word in stop_words}
        self.exact_fields = set(exact_fields)
        self.lexicon = set()
        for rows in records.values():
            for row in rows.values():
                for text in row.values():
                    self.lexicon |= terms_of(text or "")

    # Returns {term: cost} of the terms to which a word expands.

    def expansions(self, word, with_typos):
        term = word.term()
        found = {term: 0}
        goes_on = with_typos and word.kind == "word" and not word.without and len(term) >= 3
        if word.prefix or goes_on:
            begun = sorted(other for other in self.lexicon if other.startswith(term) and other != term)
            self.bounded = self.bounded or len(begun) > PREFIXES
            found.update({other: 1 for other in begun})
        if word.kind == "word" and not word.without:
            for group in self.synonyms:
                if term in group:
                    found.update({other: min(1, found.get(other, 1)) for other in group if other != term})
            if with_typos:
                for count in (1, 2):
                    wrong = [other for other in self.lexicon if typos(term, other) == count]
                    self.bounded = self.bounded or len(wrong) > TYPOS
                    for other in wrong:
                        found.setdefault(other, count + 1)
        return found

    def match_parts(self, word, row, fields):
        """Returns the (cost, field) of the part of a word that matches worst, if every part matches in some field of the word,
        or None."""
        parts, worst = word.parts(), (0, 0)
        least = 1 if word.kind == "code" else 0
        for at, part in enumerate(parts):
            best = None
            for rank, field in fields:
                terms = terms_of(row.get(field) or "")
                begun = word.prefix and at == len(parts) - 1 and any(term.startswith(part) for term in terms)
                if part in terms or begun:
                    match = (max(least, 0 if part in terms else 1), rank)
                    best = match if best is None else min(best, match)
            if best is None:
                return None
            worst = max(worst, best)
        return worst

    def match(self, word, expansions, entity, row, fields):
        """Returns the best (cost, field) of a word in a record, or None."""
        own = [(rank, field) for rank, field in enumerate(fields) if word.field in (None, field)]
        best = None
        for rank, field in own if word.kind in ("word", "code") else ():
            terms = terms_of(row.get(field) or "")
            strict = f"{entity}.{field}" in self.exact_fields
            costs = [cost for term, cost in expansions.items() if term in terms and not (strict and cost > 1)]
            if costs and (best is None or (min(costs), rank) < best):
                best = (min(costs), rank)
        if word.kind == "word":
            return best
        joined = self.match_parts(word, row, own)
        return min(match for match in (best, joined) if match) if best or joined else None

    def has_phrase(self, word, row, fields):
        parts = word.parts()
        for field in fields:
            if word.field and word.field != field:
                continue
            terms = sequence(row.get(field) or "")
            if any(terms[i:i + len(parts)] == parts for i in range(len(terms))):
                return True
        return False

    def round(self, query, caller, entities, with_typos, fewer):
        """Returns all hits with the given tolerance, before phrases are checked in the texts."""
        wanted = [word for word in query.words if not word.without]
        phrases = [word for word in wanted if word.kind == "phrase"]
        plain = [word for word in wanted if word.kind != "phrase"]
        stops = [word for word in plain if word.kind == "word" and word.term() in self.stop_words]
        if len(stops) < len(wanted):
            plain = [word for word in plain if word not in stops]
        words = phrases + plain
        least = max(len(phrases), 1) if fewer else len(words)
        expansions = {id(word): self.expansions(word, with_typos) if word.kind in ("word", "code") else {}
                      for word in query.words}
        hits = []
        for entity in entities:
            fields = caller.fields[entity]
            for number, row in self.records[entity].items():
                if not caller.sees(entity, number):
                    continue
                if any(self.match(word, expansions[id(word)], entity, row, fields) for word in query.words if word.without):
                    continue
                matches = []
                for word in words:
                    match = self.match(word, expansions[id(word)], entity, row, fields)
                    if match is None:
                        break
                    matches.append(match)
                if len(matches) >= least and words:
                    hits.append(Hit(entity, number, len(matches), sum(m[0] for m in matches), sum(m[1] for m in matches)))
        self.count = len(words)
        self.excusing = any(word.kind == "word" and (is_excused(word.term()) or (len(word.term()) >= 3 and not word.prefix)) for word in words)
        self.droppable = least_words(phrases) < len(words)
        return hits

    def search(self, query, caller, entities, allowed=lambda entity, number: True):
        self.bounded = False
        if not [word for word in query.words if not word.without]:
            hits = [Hit(entity, number, 0, 0, 0) for entity in entities for number in self.records[entity]
                    if caller.sees(entity, number)]
        else:
            hits = self.round(query, caller, entities, False, False)
            with_typos = len(hits) < ENOUGH and self.excusing
            if with_typos:
                hits = self.round(query, caller, entities, True, False)
            if len(hits) < ENOUGH and self.droppable:
                hits = self.round(query, caller, entities, with_typos, True)
            for word in query.words:
                if word.kind == "phrase":
                    hits = [hit for hit in hits
                            if self.has_phrase(word, self.records[hit.entity][hit.id], caller.fields[hit.entity])]
        hits = [hit for hit in hits if allowed(hit.entity, hit.id)]
        hits.sort(key=lambda hit: (hit.level(), -hit.id, entities.index(hit.entity)))
        return Found(hits, len(hits), self.bounded)


def least_words(phrases):
    return max(len(phrases), 1)


# --- snippets ---

def plain(snippet):
    """Returns a snippet's text and its marked pieces; fails on any HTML but marks."""
    rest = re.sub(r"</?mark>", "", snippet)
    assert not re.search(r"[<>\"']", rest), f"a snippet with HTML: {snippet}"
    assert all(re.match(r"&(amp|lt|gt|quot|#39|#x27);", rest[found.start():]) for found in re.finditer("&", rest)), snippet
    marks = [html.unescape(mark) for mark in re.findall(r"<mark>(.*?)</mark>", snippet, re.S)]
    return html.unescape(rest), marks


def check_snippet(snippet, text):
    """Checks that a snippet is made of pieces of the text and that each mark has a word in it; returns the marks."""
    shown, marks = plain(snippet)
    assert marks, f"nothing is marked in {snippet}"
    for piece in shown.split("…"):
        assert piece.strip() in text, f"{piece!r} is not of {text!r}"
    assert all(terms_of(mark) for mark in marks), marks
    return marks
