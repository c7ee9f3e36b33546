"""Opens and makes sealed values and data keys as they are stored (common/core/crypto/aead.h, common/product/keys), without the
service."""
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MASTER = "00112233445566778899aabbccddeeff" * 2


def unseal(key, sealed, place):
    """A sealed value is version and key id (5 bytes), nonce (12), ciphertext and tag."""
    sealed = bytes(sealed)
    return AESGCM(key).decrypt(sealed[5:17], sealed[17:], sealed[:5] + place.encode())


def seal(key, number, place, plain):
    """`number`: the id of the key."""
    head, nonce = b"\1" + number.to_bytes(4, "big"), os.urandom(12)
    return head + nonce + AESGCM(key).encrypt(nonce, plain, head + place.encode())


def unwrap(project, wrapped, *masters):
    """Returns {id: key} for the rows (id, wrapped, ...) of a project's data_keys; `project`: its number."""
    return {row[0]: unwrap_one(f"p{project}:data_key:{row[0]}", row[1], masters or (MASTER,)) for row in wrapped}


def unwrap_one(place, wrapped, masters):
    for master in masters:
        try:
            return unseal(bytes.fromhex(master), wrapped, place)
        except InvalidTag:
            pass
    raise AssertionError(f"no master key opens {place}")


def key_of(sealed):
    """The id of the key that sealed the value."""
    return int.from_bytes(bytes(sealed)[1:5], "big")


def setting_aad(project, kind, key):
    """The AAD of a setting, as in common/product/keys/sealed_aad.c."""
    named = {"setting": "settings:oidc_client_secret", "signing_key": f"signing_key:{key}"}
    return f"p{project}:{named.get(kind, f'settings:{kind}:{key}')}"


class Vault:
    """All sealed values of a project, and the keys that open them."""

    def __init__(self, cursor, slug, *masters):
        cursor.execute("select number from platform.projects where slug = %s", (slug,))
        self.number = cursor.fetchone()[0]
        self.cursor, self.schema = cursor, f"p_{self.number}"
        stored = self.rows("select id, wrapped, retired_at is not null from {p}.data_keys")
        self.keys = unwrap(self.number, stored, *masters)
        self.retired = {id for id, _, retired in stored if retired}

    def rows(self, sql):
        self.cursor.execute(sql.replace("{p}", self.schema))
        return self.cursor.fetchall()

    def sealed_values(self):
        """Yields (place, sealed) of every value."""
        n = self.number
        for kind, key, value in self.rows("select kind, key, sealed from {p}.settings where sealed is not null"):
            yield setting_aad(n, kind, key), value
        for name, value in self.rows("select name, sealed from {p}.secrets"):
            yield f"p{n}:secrets:{name}", value
        for table in ("integrations", "connections"):
            for id, value in self.rows(f"select id, sealed from {{p}}.{table} where sealed is not null"):
                yield f"p{n}:{table}:{id}", value
        for id, value in self.rows("select id, successor from {p}.refresh_tokens where successor is not null"):
            yield f"p{n}:refresh_tokens:{id}:successor", value
        for state, value in self.rows("select encode(state_hash, 'hex'), sealed from {p}.auth_flows"):
            yield f"p{n}:auth_flows:{state}", value
        for request, value in self.rows("select principal || ':' || key, response from {p}.idempotency_keys "
                                        "where response is not null"):
            yield f"p{n}:idempotency_keys:{request}", value
        for entity, field in self.rows("select entity_id, id from {p}.fields where type = 'secret'"):
            for (value,) in self.rows(f"select f_{field} from {{p}}.e_{entity} where f_{field} is not null order by id"):
                yield f"p{n}:e{entity}:f{field}", value

    def check(self):
        """Opens every value; returns the key ids that are in use, and the plain texts by place."""
        used, texts = set(), {}
        for place, value in self.sealed_values():
            used.add(key_of(value))
            texts[place] = unseal(self.keys[key_of(value)], value, place)
        return used, texts
