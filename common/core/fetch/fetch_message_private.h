#pragma once
/* Checks and builds requests, and collects responses. Loop thread. */
#include <curl/curl.h>

#include "base/arena.h"
#include "base/gunzip.h"
#include "base/strbuf.h"
#include "fetch/fetch.h"
#include "fetch/fetch_budget_private.h"

/* Checks method and headers. Returns 0 or FETCH_BAD_HEADER. */
int fetch_message_check(const struct fetch_request *request) MUSTCHECK;
/* Returns the method of a checked request as a static text. */
const char *fetch_message_method(const struct fetch_request *request);
/* Returns whether the request has a body. POST, PUT and PATCH always have one, maybe empty. */
bool fetch_message_has_body(const struct fetch_request *request);
/* Returns the headers of a checked request; the caller frees them with curl_slist_free_all().
 * `unpacks`: adds Accept-Encoding, unless the request has this header. */
struct curl_slist *
fetch_message_headers(struct arena *arena, const struct fetch_request *request, bool unpacks);

/* A response while it arrives. The callbacks (`arg`: the struct fetch_answer) stop the transfer
 * when the response exceeds a limit. */
struct fetch_answer {
    struct arena *arena;
    struct strbuf body;
    struct fetch_response response;
    size_t header_bytes; /* of all responses, including interim responses */
    bool too_large;
    size_t received_bytes;        /* bytes of the body before unpacking */
    struct gunzip *unpacker;      /* NULL = no content coding */
    struct arena *unpacker_arena; /* freed by fetch_answer_end() */
    size_t unpacked_bytes; /* bytes already unpacked of a chunk that will be delivered again */
    CURL *easy;            /* set once the transfer has started */
    struct fetch_budget_wait budget;
};
/* fetch_answer_init() prepares for a body of at most `max_bytes`, 0 = default. The other two
 * functions are libcurl's header and write callbacks. */
void fetch_answer_init(struct fetch_answer *answer, struct arena *arena, size_t max_bytes);
size_t fetch_answer_on_header(char *data, size_t size, size_t count, void *arg);
size_t fetch_answer_on_body(char *data, size_t size, size_t count, void *arg);
/* any: Call it when the transfer has ended, with any result. Frees the decompressor and marks a
 * truncated body as unreadable. */
void fetch_answer_end(struct fetch_answer *answer);
/* Returns the complete response. */
struct fetch_response fetch_answer_take(struct fetch_answer *answer);
