/* Requests to token servers. */
#include "integrations/token.h"

#include "base/ascii.h"
#include "base/codec.h"
#include "base/num.h"
#include "fetch/fetch.h"
#include "integrations/outgoing.h"
#include "json/jr.h"

#define ANSWER_BYTES 65536
#define FORM_BYTES   65536
#define TIMEOUT_MS   10000
#define TOKEN_BYTES  16384
#define EXPIRES_MAX  315360000 /* ten years */
#define ERROR_BYTES  60

/* --- the request --- */

static void token_form_text(struct strbuf *form, const char *name, struct str value)
{
    if (value.len)
        codec_form_add(form, str_from(name), value);
}

static struct str scope_text(struct arena *arena, const struct in_strs *scopes)
{
    struct strbuf text;

    strbuf_init(&text, arena, FORM_BYTES);
    for (size_t i = 0; i < scopes->count; i++) {
        if (i > 0)
            strbuf_char(&text, ' ');
        strbuf_str(&text, scopes->items[i]);
    }
    return strbuf_view(&text);
}

/* RFC 6749, 2.3.1: id and secret are encoded before they are joined. */
static struct str basic_authorization(struct arena *arena, const struct token_client *client)
{
    struct str pair = arena_printf(arena,
                                   "%.*s:%.*s",
                                   STR_ARG(codec_percent(arena, client->id)),
                                   STR_ARG(codec_percent(arena, client->secret)));

    return arena_printf(arena, "Basic %.*s", STR_ARG(codec_b64(arena, pair)));
}

/* co: Sends a form with the client's credentials. Returns 0, a FETCH_*, or a negative. */
AWAITS static int form_post(struct task *task,
                            const struct token_client *client,
                            struct str url,
                            struct strbuf *form,
                            struct fetch_response *ret_response)
{
    bool in_body = str_is(client->auth->client_auth.value, "body");
    struct fetch_header headers[3] = {
        {STR("Content-Type"), STR("application/x-www-form-urlencoded")},
        {STR("Accept"), STR("application/json")},
    };
    size_t count = 2;

    if (client->secret.len && !in_body) {
        headers[count++] =
            (struct fetch_header){STR("Authorization"), basic_authorization(task->arena, client)};
    } else {
        token_form_text(form, "client_id", client->id);
        token_form_text(form, "client_secret", client->secret);
    }
    if (form->overflow)
        return FETCH_TOO_LARGE;
    return fetch(task,
                 &(struct fetch_request){
                     .method = STR("POST"),
                     .url = url,
                     .headers = headers,
                     .nheaders = count,
                     .body = strbuf_view(form),
                     .timeout_ms = TIMEOUT_MS,
                     .max_response_bytes = ANSWER_BYTES,
                     .purpose = FETCH_INTEGRATION,
                     .once = true, /* a code or refresh token may be used up by the first try */
                 },
                 ret_response);
}

/* --- the answer --- */

/* Returns the error code (RFC 6749, 5.2), or "no_answer" if it is missing or implausible. */
static struct str error_code(struct arena *arena, const json_t *root)
{
    struct str code = jr_str(root, "error");

    if (code.len == 0 || code.len > ERROR_BYTES || !ascii_has_only(code, ASCII_ALNUM, "_-."))
        return STR("no_answer");
    return arena_dup(arena, code);
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    return text.len > 0 && text.len <= TOKEN_BYTES;
}

/* Returns the seconds of expires_in, -1 if missing. Some servers send them as a text. */
static int64_t expires_in(const json_t *root)
{
    const json_t *value = json_object_get(root, "expires_in");
    int64_t seconds = -1;

    if (json_is_number(value))
        seconds = json_number_value(value) < EXPIRES_MAX ? (int64_t)json_number_value(value)
                                                         : EXPIRES_MAX;
    else if (!num_parse_i64(jr_str(root, "expires_in"), &seconds))
        return -1;
    if (seconds < 0)
        return -1;
    return seconds > EXPIRES_MAX ? EXPIRES_MAX : seconds;
}

static int tokens_read(struct arena *arena, const json_t *root, struct token_answer *ret_answer)
{
    struct str type = jr_str(root, "token_type");
    struct token_answer answer = {
        .access_token = jr_str(root, "access_token"),
        .refresh_token = jr_str(root, "refresh_token"),
        .expires_in = expires_in(root),
    };

    if (!is_token(answer.access_token) || (type.len && !str_ieq(type, STR("bearer"))) ||
        (answer.refresh_token.len && !is_token(answer.refresh_token))) {
        ret_answer->error = error_code(arena, root);
        return TOKEN_UNAVAILABLE;
    }
    *ret_answer = answer;
    return 0;
}

/* Returns whether the error means that a repetition of the request would fail too. */
static bool token_error_is_final(const struct fetch_response *response, struct str error)
{
    static const char *const codes[] = {"invalid_grant",
                                        "invalid_client",
                                        "unauthorized_client",
                                        "unsupported_grant_type",
                                        "invalid_scope",
                                        "access_denied"};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (str_is(error, codes[i]))
            return true;
    return response->status == 401;
}

int token_request(struct task *task,
                  const struct token_client *client,
                  const struct token_grant *grant,
                  struct token_answer *ret_answer)
{
    struct arena *arena = task->arena;
    struct fetch_response response;
    struct jr_error wrong;
    struct strbuf form;
    json_t *root = NULL;

    *ret_answer = (struct token_answer){.error = STR("no_answer")};
    strbuf_init(&form, arena, FORM_BYTES);
    token_form_text(&form, "grant_type", str_from(grant->type));
    token_form_text(&form, "code", grant->code);
    token_form_text(&form, "redirect_uri", grant->redirect_uri);
    token_form_text(&form, "code_verifier", grant->code_verifier);
    token_form_text(&form, "refresh_token", grant->refresh_token);
    if (!grant->code.len && !grant->refresh_token.len)
        token_form_text(&form, "scope", scope_text(arena, &client->auth->scopes));
    token_form_text(&form, "audience", client->auth->audience.value);
    int rc = form_post(task, client, client->auth->token_url.value, &form, &response);
    if (rc != 0)
        return rc > 0 ? TOKEN_UNAVAILABLE : rc;
    if (jr_parse_external(arena, response.body, &root, &wrong) != 0)
        root = NULL;
    if (response.status == 200)
        return tokens_read(arena, root, ret_answer);
    ret_answer->error = error_code(arena, root);
    return response.status >= 400 && response.status < 500 &&
                   token_error_is_final(&response, ret_answer->error)
               ? TOKEN_REFUSED
               : TOKEN_UNAVAILABLE;
}

int token_revoke(struct task *task,
                 const struct token_client *client,
                 struct str token,
                 const char *hint)
{
    struct fetch_response response;
    struct strbuf form;

    strbuf_init(&form, task->arena, FORM_BYTES);
    token_form_text(&form, "token", token);
    token_form_text(&form, "token_type_hint", str_from(hint));
    int rc = form_post(task, client, client->auth->revocation_url.value, &form, &response);
    if (rc != 0)
        return rc > 0 ? TOKEN_UNAVAILABLE : rc;
    return response.status >= 200 && response.status < 300 ? 0 : TOKEN_UNAVAILABLE;
}
