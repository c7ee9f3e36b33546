/* Builds requests and collects responses. */
#include "fetch/fetch_message_private.h"

#include "base/ascii.h"
#include "base/panic.h"

#define UNPACK_BYTES 4096U

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

/* Only libcurl and nghttp2 set headers of framing and connection. A conflicting header of the
 * caller would make request smuggling possible. */
static const char *const reserved_headers[] = {
    "Connection",
    "Content-Length",
    "Expect",
    "Host",
    "HTTP2-Settings",
    "Keep-Alive",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
};

/* --- request --- */

/* token, RFC 9110 section 5.6.2 */
static bool message_is_token(struct str text)
{
    return text.len > 0 && ascii_has_only(text, ASCII_ALNUM, ASCII_TOKEN_MARKS);
}

static bool is_field_value(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool fetch_header_is_reserved(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(reserved_headers); i++)
        if (str_ieq(name, str_from(reserved_headers[i])))
            return true;
    return false;
}

const char *fetch_message_method(const struct fetch_request *request)
{
    if (request->method.len == 0)
        return methods[0];
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(request->method, methods[i]))
            return methods[i];
    return NULL;
}

bool fetch_message_has_body(const struct fetch_request *request)
{
    return request->body.len > 0 || str_is(request->method, "POST") ||
           str_is(request->method, "PUT") || str_is(request->method, "PATCH");
}

int fetch_message_check(const struct fetch_request *request)
{
    size_t bytes = 0;
    if (!fetch_message_method(request) || request->nheaders > FETCH_MAX_HEADERS)
        return FETCH_BAD_HEADER;
    if (str_is(request->method, "HEAD") && request->body.len > 0)
        return FETCH_BAD_HEADER;
    for (size_t i = 0; i < request->nheaders; i++) {
        const struct fetch_header *header = &request->headers[i];
        bytes += header->name.len + header->value.len;
        if (!message_is_token(header->name) || !is_field_value(header->value) ||
            fetch_header_is_reserved(header->name))
            return FETCH_BAD_HEADER;
    }
    return bytes <= FETCH_MAX_HEADER_BYTES ? 0 : FETCH_BAD_HEADER;
}

static void header_append(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    MUST(longer != NULL);
    *list = longer;
}

struct curl_slist *
fetch_message_headers(struct arena *arena, const struct fetch_request *request, bool unpacks)
{
    struct curl_slist *list = NULL;
    bool has_type = false;
    bool has_encoding = false;
    for (size_t i = 0; i < request->nheaders; i++) {
        struct str name = request->headers[i].name;
        struct str value = str_trim(request->headers[i].value);
        has_type = has_type || str_ieq(name, STR("Content-Type"));
        has_encoding = has_encoding || str_ieq(name, STR("Accept-Encoding"));
        /* libcurl reads "Name:" as "do not send this header" and "Name;" as an empty value. */
        struct str line = value.len > 0
                              ? arena_printf(arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value))
                              : arena_printf(arena, "%.*s;", STR_ARG(name));
        header_append(&list, line.ptr);
    }
    if (!has_type)
        header_append(&list, "Content-Type:"); /* suppresses libcurl's form type */
    if (unpacks && !has_encoding)
        header_append(&list, "Accept-Encoding: gzip, deflate");
    header_append(&list, "Expect:"); /* do not wait for 100 Continue before a large body */
    return list;
}

/* --- response --- */

void fetch_answer_init(struct fetch_answer *answer, struct arena *arena, size_t max_bytes)
{
    *answer = (struct fetch_answer){.arena = arena};
    strbuf_init(&answer->body, arena, max_bytes ? max_bytes : FETCH_DEFAULT_RESPONSE_BYTES);
}

/* Returns whether the header names a compressed transfer coding. The response is then refused:
 * libcurl unpacks this coding on its own and without our limits, even if the request does not
 * accept it. */
static bool is_packed_transfer(struct str name, struct str value)
{
    return str_ieq(name, STR("Transfer-Encoding")) && !str_ieq(value, STR("chunked")) &&
           !str_ieq(value, STR("identity"));
}

static void header_add(struct fetch_answer *answer, struct str line)
{
    struct fetch_response *response = &answer->response;
    struct str value = line;
    struct str name = str_split(&value, ':');
    if (!value.ptr || !message_is_token(name))
        return; /* the empty line, or a continuation line */
    if (is_packed_transfer(name, str_trim(value))) {
        response->unreadable = true;
        return;
    }
    if (!response->headers)
        response->headers = ARENA_ARRAY(answer->arena, response->headers, FETCH_MAX_HEADERS);
    if (response->nheaders == FETCH_MAX_HEADERS) {
        answer->too_large = true;
        return;
    }
    response->headers[response->nheaders++] = (struct fetch_header){
        arena_dup(answer->arena, name),
        arena_dup(answer->arena, str_trim(value)),
    };
}

size_t fetch_answer_on_header(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_answer *answer = arg;
    size_t bytes = size * count;
    struct str line = {data, bytes};

    answer->header_bytes += bytes;
    if (answer->header_bytes > FETCH_MAX_HEADER_BYTES)
        answer->too_large = true;
    while (line.len > 0 && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '\r'))
        line.len--;
    if (str_starts(line, STR("HTTP/")))
        answer->response.nheaders = 0; /* earlier headers belong to an interim response (1xx) */
    else if (!answer->too_large && answer->body.len == 0) /* drops trailers */
        header_add(answer, line);
    return answer->too_large || answer->response.unreadable ? 0 : bytes;
}

/* Returns the budget that the whole response may need: its limit, or its Content-Length if that is
 * smaller (libcurl enforces it). The Content-Length of a compressed body says nothing about the
 * unpacked size, so the limit of the response counts. The result is doubled, because the buffer
 * grows by doubling. */
static uint64_t budget_needed(const struct fetch_answer *answer)
{
    uint64_t most = answer->body.max;
    curl_off_t said = -1;

    if (answer->unpacker != NULL)
        return 2 * most;
    (void)curl_easy_getinfo(answer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &said);
    return 2 * (said >= 0 && (uint64_t)said < most ? (uint64_t)said : most);
}

/* Returns the content coding of a response, STR_NONE without one, "several" for more than one. */
static struct str content_coding_of(const struct fetch_response *response)
{
    struct str rest = fetch_response_header(response, "content-encoding");
    struct str coding = STR_NONE;

    while (rest.ptr != NULL) {
        struct str part = str_trim(str_split(&rest, ','));
        if (part.len == 0 || str_ieq(part, STR("identity")))
            continue;
        coding = coding.ptr == NULL ? part : STR("several");
    }
    return coding;
}

/* Chooses the decompressor by the content coding, before the first byte of the body. */
static void unpacker_choose(struct fetch_answer *answer)
{
    struct str coding = content_coding_of(&answer->response);

    if (coding.ptr == NULL)
        return;
    answer->unpacker_arena = arena_new(0);
    if (str_ieq(coding, STR("gzip")) || str_ieq(coding, STR("x-gzip")))
        answer->unpacker = gunzip_new(answer->unpacker_arena);
    else if (str_ieq(coding, STR("deflate")))
        answer->unpacker = gunzip_new_deflate(answer->unpacker_arena);
    else
        answer->response.unreadable = true;
}

static bool answer_has_budget(struct fetch_answer *answer, size_t bytes)
{
    return answer->body.len + bytes <= FETCH_BUDGET_FREE_BYTES ||
           fetch_budget_acquire(&answer->budget, budget_needed(answer), answer->easy);
}

/* Adds an uncompressed chunk to the body. Returns the result of fetch_answer_on_body(). */
static size_t answer_add(struct fetch_answer *answer, struct str chunk)
{
    if (!answer_has_budget(answer, chunk.len))
        return CURL_WRITEFUNC_PAUSE;
    strbuf_str(&answer->body, chunk);
    answer->too_large = answer->too_large || answer->body.overflow;
    return answer->too_large ? 0 : chunk.len;
}

/* Unpacks a chunk, a few kilobytes at a time and no further than the response's limit. When the
 * memory budget is exhausted, libcurl delivers the same chunk again from its beginning. The part
 * that is already unpacked is then skipped. Returns the result of fetch_answer_on_body(). */
static size_t answer_unpack(struct fetch_answer *answer, struct str chunk)
{
    struct str rest = {chunk.ptr + answer->unpacked_bytes, chunk.len - answer->unpacked_bytes};
    char out[UNPACK_BYTES];
    size_t made;

    do {
        if (!answer_has_budget(answer, sizeof(out)))
            return CURL_WRITEFUNC_PAUSE;
        if (!gunzip_step(answer->unpacker, &rest, out, sizeof(out), &made)) {
            answer->response.unreadable = true;
            return 0;
        }
        answer->unpacked_bytes = chunk.len - rest.len;
        strbuf_str(&answer->body, (struct str){out, made});
        answer->too_large = answer->too_large || answer->body.overflow;
    } while ((made > 0 || rest.len > 0) && !answer->too_large);
    answer->unpacked_bytes = 0;
    return answer->too_large ? 0 : chunk.len;
}

size_t fetch_answer_on_body(char *data, size_t size, size_t count, void *arg)
{
    struct fetch_answer *answer = arg;
    struct str chunk = {data, size * count};

    if (answer->received_bytes == 0 && answer->unpacker_arena == NULL)
        unpacker_choose(answer);
    if (answer->response.unreadable)
        return 0;
    size_t taken =
        answer->unpacker != NULL ? answer_unpack(answer, chunk) : answer_add(answer, chunk);
    if (taken != CURL_WRITEFUNC_PAUSE)
        answer->received_bytes += taken;
    /* Limit received bytes as well: a body that unpacks to nothing may be endless. */
    answer->too_large = answer->too_large || answer->received_bytes > answer->body.max;
    return answer->too_large ? 0 : taken;
}

void fetch_answer_end(struct fetch_answer *answer)
{
    struct fetch_response *response = &answer->response;

    if (answer->unpacker != NULL && !gunzip_is_complete(answer->unpacker))
        response->unreadable = true;
    if (answer->unpacker_arena != NULL)
        arena_free(answer->unpacker_arena);
    answer->unpacker_arena = NULL;
    answer->unpacker = NULL;
    if (response->unreadable)
        answer->body.len = 0;
}

struct fetch_response fetch_answer_take(struct fetch_answer *answer)
{
    size_t bytes = answer->body.len;
    answer->response.body = (struct str){strbuf_cstring(&answer->body), bytes};
    return answer->response;
}

struct str fetch_response_header(const struct fetch_response *response, const char *name)
{
    for (size_t i = 0; i < response->nheaders; i++)
        if (str_ieq(response->headers[i].name, str_from(name)))
            return response->headers[i].value;
    return STR_NONE;
}
