/* Signing keys: signs with them, rotates them, caches opened ones. */
#include "areas/auth/auth_key.h"

#include <errno.h>
#include <stdio.h>

#include "auth_sql.h"
#include "base/codec.h"
#include "base/rand.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "project/unseal.h"

#define KID_BYTES   8
#define KID_MAX     64
#define OPENED_KEYS 256 /* a power of two */

/* Cache of opened keys. A key can be in one slot only, and replaces the key that was in this
 * slot. */
struct opened_key {
    int64_t project;
    char kid[KID_MAX + 1];
    struct ec_key *key;
};
static struct opened_key opened[OPENED_KEYS];

static struct opened_key *auth_key_slot_of(int64_t project, struct str kid)
{
    return &opened[(str_hash(kid) ^ (unsigned long long)project) & (OPENED_KEYS - 1)];
}

/* Returns the data that binds a sealed private key to its row, so that it opens only there. */
static struct str auth_key_aad(struct req *r, struct str kid)
{
    return aad_setting(r->task.arena, r->scope->project->number, STR("signing_key"), kid);
}

/* Returns the opened key, borrowed until the next call; NULL when it cannot be opened. */
AWAITS static const struct ec_key *auth_key_open(struct req *r,
                                                 const struct sql_signing_key_active_row *row)
{
    const struct str kid = row->kid;
    struct opened_key *slot = auth_key_slot_of(r->scope->project->number, kid);
    struct str der;
    struct ec_key *key;

    if (slot->key && slot->project == r->scope->project->number && str_is(kid, slot->kid))
        return slot->key;
    if (kid.len > KID_MAX)
        return NULL;
    if (data_key_open(&r->task, r->scope->project, row->sealed, auth_key_aad(r, kid), &der) != 0 ||
        ec_key_from_pkcs8(der, &key) != 0)
        return NULL;
    explicit_bzero((char *)der.ptr, der.len);
    ec_key_free(slot->key);
    slot->key = key;
    slot->project = r->scope->project->number;
    snprintf(slot->kid, sizeof(slot->kid), "%.*s", STR_ARG(kid));
    return key;
}

int auth_key_sign(struct req *r, const struct rows *key, struct str claims, struct str *ret_token)
{
    struct sql_signing_key_active_row row = {0};

    if (key->count)
        row = sql_signing_key_active_row(r->task.arena, key, 0);
    const struct ec_key *private = row.kid.len ? auth_key_open(r, &row) : NULL;

    if (!private) {
        log_error("auth.signing_key_unusable", L_STR("kid", row.kid));
        return fail_internal(r, -EINVAL);
    }
    *ret_token = jws_sign_es256_typ(r->task.arena, private, row.kid, STR("at+jwt"), claims);
    return 0;
}

int auth_key_rotate(struct req *r, struct str *ret_kid)
{
    struct ec_key *key = ec_key_generate();
    char bytes[KID_BYTES];
    struct str kid;
    struct str x;
    struct str y;

    arena_defer(r->task.arena, ec_key_free_deferred, key);
    rand_bytes(bytes, sizeof(bytes));
    kid = codec_hex(r->task.arena, (struct str){bytes, sizeof(bytes)});
    ec_key_jwk(r->task.arena, key, &x, &y);
    struct str sealed = aead_seal(r->task.arena,
                                  &r->scope->project->data_key,
                                  ec_key_to_pkcs8(r->task.arena, key),
                                  auth_key_aad(r, kid));
    struct db_call calls[] = {
        db_call(SQL_SIGNING_KEYS_LOCK()),
        db_call(SQL_SIGNING_KEYS_RETIRE()),
        db_call(SQL_SIGNING_KEYS_DROP()),
        db_call(SQL_SIGNING_KEY_ADD(.key = kid, .x = x, .y = y, .sealed = sealed)),
        gateway_audit(r, "signing_keys.rotate", "signing_key", 0, STR_NONE),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    *ret_kid = kid;
    return 0;
}
