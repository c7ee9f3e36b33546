/* Stores flows of sign-ins; each flow can be taken out once. */
#include "areas/auth/auth_flow.h"

#include "areas/auth/auth_session.h"
#include "auth_provider_sql.h"
#include "base/ascii.h"
#include "base/codec.h"
#include "project/unseal.h"

#define STATE_MAX       128
#define DOC_BYTES       32768
#define CHALLENGE_CHARS 43 /* base64url of a SHA-256 */

struct str auth_flow_challenge(struct arena *arena, struct str verifier)
{
    return codec_b64url(arena, auth_secret_hash(arena, verifier));
}

int auth_flow_check_challenge(struct req *r, struct str challenge)
{
    struct str decoded;

    if (challenge.ptr && (challenge.len != CHALLENGE_CHARS ||
                          !codec_b64url_decode(r->task.arena, challenge, &decoded)))
        return fail(
            r, PROBLEM_INVALID_QUERY, "code_challenge must be BASE64URL(SHA256(verifier)).");
    return 0;
}

struct str auth_flow_url(struct arena *arena, struct str url, const char *name, struct str value)
{
    struct str fragment = url;
    struct str page = str_split(&fragment, '#');

    return arena_printf(arena,
                        "%.*s%c%s=%.*s%s%.*s",
                        STR_ARG(page),
                        memchr(page.ptr, '?', page.len) ? '&' : '?',
                        name,
                        STR_ARG(codec_percent(arena, value)),
                        fragment.ptr ? "#" : "",
                        STR_ARG(fragment));
}

static struct str flow_aad(struct req *r, struct str state_hash)
{
    return aad_flow(r->task.arena, r->scope->project->number, state_hash);
}

static struct str flow_document(struct arena *arena, const struct auth_flow *flow)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, DOC_BYTES);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "redirect_to", flow->redirect_to);
    JW_STR(&w, "issuer", flow->issuer);
    JW_STR(&w, "client_id", flow->client_id);
    if (flow->code_challenge.len)
        JW_STR(&w, "code_challenge", flow->code_challenge);
    if (flow->user_id)
        JW_I64(&w, "user_id", flow->user_id);
    if (flow->session_id)
        JW_I64(&w, "session_id", flow->session_id);
    jw_obj_end(&w);
    return strbuf_view(&text);
}

int auth_flow_begin(struct req *r, struct auth_flow *flow)
{
    struct arena *arena = r->task.arena;

    flow->state = auth_secret_new(arena);
    flow->nonce = auth_secret_new(arena);
    flow->code_verifier = auth_secret_new(arena);
    struct str hash = auth_secret_hash(arena, flow->state);
    struct str secrets =
        arena_printf(arena, "%.*s.%.*s", STR_ARG(flow->nonce), STR_ARG(flow->code_verifier));
    struct str sealed = aead_seal(arena, &r->scope->project->data_key, secrets, flow_aad(r, hash));
    struct db_call calls[] = {
        db_call(SQL_FLOW_PRUNE()),
        db_call(
            SQL_FLOW_ADD(.state_hash = hash, .doc = flow_document(arena, flow), .sealed = sealed)),
    };
    return sql_batch(r, calls, ARRAY_LEN(calls));
}

static int fail_flow_invalid(struct req *r)
{
    return fail(
        r, PROBLEM_FLOW_STATE_INVALID, "This sign-in is unknown, used or too old; start again.");
}

int auth_flow_refuse(struct req *r, struct str error)
{
    static const char *const of_users[] = {"access_denied",
                                           "account_selection_required",
                                           "consent_required",
                                           "interaction_required",
                                           "login_required"};

    if (!ascii_has_only(error, ASCII_LOWER, "_"))
        error = STR("unknown error");
    for (size_t i = 0; i < ARRAY_LEN(of_users); i++)
        if (str_is(error, of_users[i]))
            return fail(r,
                        PROBLEM_FORBIDDEN,
                        "Access was not granted at the provider (%.*s); start again.",
                        STR_ARG(error));
    return fail(
        r, PROBLEM_PROVIDER_ERROR, "The provider refused the request (%.*s).", STR_ARG(error));
}

int auth_flow_take(struct req *r, struct str state, struct auth_flow *ret_flow)
{
    struct arena *arena = r->task.arena;
    struct str secrets;
    struct rows rows;

    if (state.len > STATE_MAX)
        return fail_flow_invalid(r);
    struct str hash = auth_secret_hash(arena, state);
    TRY(sql_all(r, &rows, SQL_FLOW_TAKE(.state_hash = hash)));
    if (!rows.count)
        return fail_flow_invalid(r);
    const struct sql_flow_take_row row = sql_flow_take_row(arena, &rows, 0);
    if (!row.live ||
        data_key_open(&r->task, r->scope->project, row.sealed, flow_aad(r, hash), &secrets) != 0)
        return fail_flow_invalid(r);
    *ret_flow = (struct auth_flow){
        .state = state,
        .nonce = str_split(&secrets, '.'),
        .code_verifier = secrets,
        .redirect_to = row.redirect_to,
        .issuer = row.issuer,
        .client_id = row.client_id,
        .code_challenge = row.code_challenge,
        .user_id = row.user_id,
        .session_id = row.session_id,
    };
    return 0;
}
