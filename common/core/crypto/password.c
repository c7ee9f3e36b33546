/* Argon2id password hashes by libargon2. */
#include "crypto/password.h"

#include <argon2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>

#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/rand.h"
#include "base/utf8.h"

enum {
    MEMORY_KIB = PASSWORD_MEMORY_KIB,
    PASSES = 2,
    LANE_COUNT = 1,
    SALT_BYTES = 16,
    TAG_BYTES = 32,
    PHC_MAX_BYTES = 256,
    MEMORY_KIB_MAX = 256 * 1024,
    PASSES_MAX = 16,
    LANES_MAX = 4,
};

struct phc_params {
    int64_t memory_kib;
    int64_t passes;
    int64_t lanes;
};

/* The NFC form of a password; `bytes` is NULL when it would not differ from the password. */
struct nfc {
    uint8_t *bytes; /* owned, nfc_free() */
    size_t len;
};

static struct nfc nfc_of(struct str password)
{
    struct nfc form = {0};

    if (password.len == 0 || !utf8_valid(password))
        return form;
    form.bytes =
        u8_normalize(UNINORM_NFC, (const uint8_t *)password.ptr, password.len, NULL, &form.len);
    if (form.bytes == NULL)
        PANIC("out of memory (password)");
    if (form.len == password.len && memcmp(form.bytes, password.ptr, form.len) == 0) {
        free(form.bytes);
        form = (struct nfc){0};
    }
    return form;
}

static struct str nfc_text(const struct nfc *form, struct str password)
{
    return form->bytes != NULL ? (struct str){(const char *)form->bytes, form->len} : password;
}

static void nfc_free(struct nfc *form)
{
    if (form->bytes != NULL)
        explicit_bzero(form->bytes, form->len);
    free(form->bytes);
}

size_t password_length(struct str password)
{
    struct nfc form = nfc_of(password);
    size_t length = utf8_length(nfc_text(&form, password));

    nfc_free(&form);
    return length;
}

static struct str hash_of_bytes(struct arena *arena, struct str password)
{
    uint8_t salt[SALT_BYTES];
    char phc[PHC_MAX_BYTES];

    rand_bytes(salt, sizeof(salt));
    int status = argon2id_hash_encoded(PASSES,
                                       MEMORY_KIB,
                                       LANE_COUNT,
                                       password.ptr,
                                       password.len,
                                       salt,
                                       sizeof(salt),
                                       TAG_BYTES,
                                       phc,
                                       sizeof(phc));
    if (status != ARGON2_OK)
        PANIC("argon2: %s", argon2_error_message(status));
    return arena_dup(arena, str_from(phc));
}

struct str password_hash(struct arena *arena, struct str password)
{
    struct nfc form = nfc_of(password);
    struct str hash = hash_of_bytes(arena, nfc_text(&form, password));

    nfc_free(&form);
    return hash;
}

/* Takes one "name=number" off the parameter list. */
static bool param_read(struct str *list, struct str name, int64_t *ret_value)
{
    struct str part = str_split(list, ',');
    if (!str_starts(part, name))
        return false;
    return num_parse_i64((struct str){part.ptr + name.len, part.len - name.len}, ret_value);
}

/* Reads the parameters of "$argon2id$v=19$m=..,t=..,p=..$salt$tag"; libargon2 checks the rest. */
static bool phc_params_read(struct str phc, struct phc_params *ret)
{
    if (!str_is(str_split(&phc, '$'), "") || !phc.ptr)
        return false;
    if (!str_is(str_split(&phc, '$'), "argon2id") || !phc.ptr)
        return false;
    if (!str_is(str_split(&phc, '$'), "v=19") || !phc.ptr)
        return false;
    struct str list = str_split(&phc, '$');
    return phc.ptr && param_read(&list, STR("m="), &ret->memory_kib) && list.ptr &&
           param_read(&list, STR("t="), &ret->passes) && list.ptr &&
           param_read(&list, STR("p="), &ret->lanes) && !list.ptr;
}

static bool phc_params_are_affordable(const struct phc_params *params)
{
    return params->memory_kib <= MEMORY_KIB_MAX && params->passes <= PASSES_MAX &&
           params->lanes <= LANES_MAX;
}

static bool phc_params_are_weak(const struct phc_params *params)
{
    return params->memory_kib < MEMORY_KIB || params->passes < PASSES;
}

static int bytes_verify(struct str phc, struct str password)
{
    char text[PHC_MAX_BYTES];
    struct phc_params params;

    if (phc.len == 0 || phc.len >= sizeof(text) || memchr(phc.ptr, '\0', phc.len))
        return PASSWORD_WRONG;
    if (!phc_params_read(phc, &params) || !phc_params_are_affordable(&params))
        return PASSWORD_WRONG;
    memcpy(text, phc.ptr, phc.len);
    text[phc.len] = '\0';
    int status = argon2id_verify(text, password.ptr, password.len);
    if (status == ARGON2_MEMORY_ALLOCATION_ERROR)
        PANIC("argon2: %s", argon2_error_message(status));
    if (status != ARGON2_OK)
        return PASSWORD_WRONG;
    return phc_params_are_weak(&params) ? PASSWORD_OK_REHASH : PASSWORD_OK;
}

int password_verify(struct str phc, struct str password)
{
    struct nfc form = nfc_of(password);
    bool has_other = form.bytes != NULL;

    int rc = bytes_verify(phc, nfc_text(&form, password));
    nfc_free(&form);
    if (rc != PASSWORD_WRONG || !has_other)
        return rc;
    return bytes_verify(phc, password) == PASSWORD_WRONG ? PASSWORD_WRONG : PASSWORD_OK_REHASH;
}

/* Returns base64 without padding, as in PHC strings. */
static struct str phc_part(struct arena *arena, const uint8_t *bytes, size_t len)
{
    struct str text = codec_b64(arena, (struct str){(const char *)bytes, len});

    while (str_ends(text, STR("=")))
        text.len--;
    return text;
}

struct str password_dummy_hash(struct arena *arena, const uint8_t seed[PASSWORD_SEED_BYTES])
{
    struct str salt = phc_part(arena, seed, SALT_BYTES);
    struct str tag = phc_part(arena, seed + SALT_BYTES, TAG_BYTES);

    return arena_printf(arena,
                        "$argon2id$v=19$m=%d,t=%d,p=%d$%.*s$%.*s",
                        MEMORY_KIB,
                        PASSES,
                        LANE_COUNT,
                        STR_ARG(salt),
                        STR_ARG(tag));
}
