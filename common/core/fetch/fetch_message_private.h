#pragma once
/* What goes into a request and what comes out of a response. Loop thread. */
#include <curl/curl.h>

#include "base/arena.h"
#include "base/gunzip.h"
#include "base/strbuf.h"
#include "fetch/fetch.h"
#include "fetch/fetch_room_private.h"

/* 0 or FETCH_BAD_HEADER. */
int fetch_message_check(const struct fetch_request *request) MUSTCHECK;
/* Borrowed text of a checked method. */
const char *fetch_message_method(const struct fetch_request *request);
/* POST, PUT and PATCH always have a body, if an empty one. */
bool fetch_message_has_body(const struct fetch_request *request);
/* Owned: curl_slist_free_all(). For a checked request. `unpacks`: says which content codings the
 * answer may have, unless the request says it itself. */
struct curl_slist *
fetch_message_headers(struct arena *arena, const struct fetch_request *request, bool unpacks);

/* The response as it arrives; the callbacks (arg: the answer) stop the transfer
 * when it passes a limit. */
struct fetch_answer {
    struct arena *arena;
    struct strbuf body;
    struct fetch_response response;
    size_t header_bytes; /* of all responses, interim ones too */
    bool too_large;
    size_t received;              /* bytes of the body as it came */
    struct gunzip *unpacker;      /* NULL = it has no content coding */
    struct arena *unpacker_arena; /* until fetch_answer_end() */
    size_t unpacked;              /* of a piece that comes again */
    CURL *easy;                   /* the transfer, once it has started */
    struct fetch_room_wait room;
};
/* `max_bytes` of body, 0 = default. */
void fetch_answer_init(struct fetch_answer *answer, struct arena *arena, size_t max_bytes);
size_t fetch_answer_on_header(char *data, size_t size, size_t count, void *arg);
size_t fetch_answer_on_body(char *data, size_t size, size_t count, void *arg);
/* any: the transfer has ended, however: gives up what unpacked it. */
void fetch_answer_end(struct fetch_answer *answer);
/* The complete response. */
struct fetch_response fetch_answer_take(struct fetch_answer *answer);
