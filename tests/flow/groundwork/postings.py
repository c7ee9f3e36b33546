"""Decodes the bytes of the search index: leaves of posting lists, forward lists (common/product/search)."""
import re
import unicodedata


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def leaf_ids(base, docs):
    docs = bytes(docs)
    if docs[0] == 1:
        found, last = [], base
        for delta in varints(docs[1:]):
            last += delta
            found.append(last)
        return found
    if docs[0] == 3:
        highest, *steps = varints(docs[1:])
        found = [base + highest]
        for step in steps:
            found.append(found[-1] - step)
        return found[::-1]
    assert docs[0] == 2
    numbers = varints(docs[1:])
    first = 8 * next(numbers)
    at = 1
    while docs[at] >= 0x80:
        at += 1
    return [first + 8 * n + bit for n, byte in enumerate(docs[at + 1:]) for bit in range(8) if byte >> bit & 1]


def forward_pairs(data):
    """(term, field) pairs of a forward list."""
    numbers, field, found = list(varints(bytes(data))), 0, set()
    at = 0
    while at < len(numbers):
        field += numbers[at]
        term = 0
        for delta in numbers[at + 2:at + 2 + numbers[at + 1]]:
            term += delta
            found.add((term, field))
        at += 2 + numbers[at + 1]
    return found


def words(text):
    """The plain words of a text, folded: sufficient for the tests' own texts."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return set(re.findall(r"[a-z0-9]+", plain.lower()))
