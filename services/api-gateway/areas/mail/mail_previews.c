/* Previews of mails as pages. A preview can be opened once. */
#include "areas/mail/mail_previews.h"

#include "base/codec.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "mail_previews_sql.h"

#define TOKEN_BYTES         32
#define PREVIEW_SECONDS     30
#define PREVIEWS_OTHERS_MAX 49 /* of a project, in addition to the new one */

/* A preview runs no scripts and fetches nothing. Only pages of the same origin may show a preview
 * in a frame. */
#define PREVIEW_POLICY                                                                             \
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors "      \
    "'self'"

static struct str preview_hash(struct arena *arena, struct str token)
{
    uint8_t hash[DIGEST_SHA256_BYTES];

    digest_sha256(token, hash);
    return codec_hex(arena, (struct str){(const char *)hash, sizeof(hash)});
}

int mail_preview_store(struct req *r, struct str html, struct str *ret_url)
{
    struct arena *arena = r->task.arena;
    char random[TOKEN_BYTES];

    rand_bytes(random, sizeof(random));
    struct str token = codec_b64url(arena, (struct str){random, sizeof(random)});
    struct db_call calls[] = {
        db_call(SQL_MAIL_PREVIEWS_FORGET(.left = PREVIEWS_OTHERS_MAX)),
        db_call(SQL_MAIL_PREVIEW_ADD(.token_hash = preview_hash(arena, token),
                                     .html = html,
                                     .seconds = PREVIEW_SECONDS)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    *ret_url = arena_printf(
        arena, "%.*s/mail/previews/%.*s", STR_ARG(gateway_base_url(r)), STR_ARG(token));
    return 0;
}

static struct str preview_path_hash(struct req *r)
{
    return preview_hash(r->task.arena, req_param(r, "token"));
}

AWAITS static int mail_preview_guard(struct req *r)
{
    struct rows known;

    return sql_one(r, &known, SQL_MAIL_PREVIEW_KNOWN(.token_hash = preview_path_hash(r)));
}

AWAITS static int mail_previews_open(struct req *r)
{
    struct rows taken;

    TRY(sql_one(r, &taken, SQL_MAIL_PREVIEW_TAKE(.token_hash = preview_path_hash(r))));
    resp_header(r, "Content-Security-Policy", STR(PREVIEW_POLICY));
    resp_header(r, "Referrer-Policy", STR("no-referrer"));
    strbuf_str(&r->body, sql_mail_preview_take_row(&taken, 0).html);
    r->content_type = STR("text/html; charset=utf-8");
    r->status = 200;
    return 200;
}

static const struct route mail_previews_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/mail/previews/{token}",
        .id = "mail_previews_open",
        .auth = AUTH_PUBLIC,
        .open_query = true,
        .run = mail_previews_open,
        .guard = mail_preview_guard,
        .summary = "Show a preview of a mail as a page, once, for a frame",
        .doc = "The URL comes from POST /email-templates/{type}/preview and is valid for 30 s.",
        .success = {200, .content_type = "text/html"},
        .extra_statuses = {404},
    },
};
ROUTES(mail_previews, "Mail");
