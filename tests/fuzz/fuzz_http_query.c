/* Query strings and paths: decoding stays inside its input and gives valid text. */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "http/query.h"
#include "http/route.h"
#include "http/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct route routes[] = {
    {.method = HTTP_GET_M, .path = "/a", .id = "a"},
    {.method = HTTP_GET_M, .path = "/a/{x}/b", .id = "b"},
    {.method = HTTP_GET_M, .path = "/a/a/{x}/{y}", .id = "c"},
    {.method = HTTP_PUT_M, .path = "/{x}", .id = "d"},
};

static void check(struct str text)
{
    if (!utf8_valid(text) || (text.len > 0 && memchr(text.ptr, '\0', text.len)))
        abort();
}

static void fuzz_query(struct arena *arena, struct str text)
{
    struct query query;
    const char *reason;

    if (query_parse(arena, text, &query, &reason) != 0)
        return;
    for (size_t i = 0; i < query.count; i++) {
        check(query.items[i].name);
        check(query.items[i].value);
        for (size_t k = 0; k < query.items[i].key_count; k++)
            check(query.items[i].keys[k]);
    }
}

static void fuzz_path(struct arena *arena, struct str text)
{
    static struct router *router;
    struct req req = {.method = HTTP_GET_M, .path = text};
    struct str allow;

    if (!router) {
        router = router_new();
        router_add(router, "/m", routes, ARRAY_LEN(routes));
    }
    req.task.arena = arena;
    if (router_match(router, &req, &allow) != 0)
        return;
    for (size_t i = 0; i < req.param_count; i++) {
        check(req.params[i]);
        if (req.params[i].len == 0 || memchr(req.params[i].ptr, '/', req.params[i].len))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct arena *arena = arena_new(0);

    fuzz_query(arena, text);
    fuzz_path(arena, text);
    arena_free(arena);
    return 0;
}
