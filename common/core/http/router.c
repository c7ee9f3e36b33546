/*
 * Router: a trie of path segments, built once. Each segment of a path is decoded exactly once,
 * before it is compared, and the handler gets the same bytes that were matched.
 */
#include "http/router.h"

#include "http/route.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/map.h"
#include "base/panic.h"

#define SEGMENTS_MAX 32
#define METHODS      ((size_t)HTTP_OTHER_M)

/* A mounted route. */
struct entry {
    const char *mount;
    const struct route *route;
    struct str param_names[REQ_PARAMS_MAX];
    size_t param_count;
};

struct router_node {
    struct str segment; /* of a literal; borrowed from the route table */
    struct router_node *literals;
    size_t literal_count; /* sorted by segment */
    struct router_node *param;
    const struct entry *by_method[METHODS];
    /* Routes of a mount's "/". They match with the slash, and without it where by_method has no
     * route. So {base_url}/ and /org/{project_id} may differ. */
    const struct entry *at_root[METHODS];
    bool is_subtree; /* longer paths match, too */
};

struct router {
    struct router_node root;
    struct entry **entries; /* in table order */
    size_t entry_count;
    struct map *ids;
};

static void *must_alloc(void *memory)
{
    if (!memory)
        PANIC("out of memory");
    return memory;
}

struct router *router_new(void)
{
    struct router *router = must_alloc(calloc(1, sizeof(*router)));
    router->ids = map_new();
    return router;
}

/* The trie is as deep as the longest route, known at compile time. */
static void
node_done(struct router_node *node) /* NOLINT(misc-no-recursion): bounded by SEGMENTS_MAX */
{
    for (size_t i = 0; i < node->literal_count; i++)
        node_done(&node->literals[i]);
    free(node->literals);
    if (node->param)
        node_done(node->param);
    free(node->param);
}

void router_free(struct router *router)
{
    if (!router)
        return;
    node_done(&router->root);
    for (size_t i = 0; i < router->entry_count; i++)
        free(router->entries[i]);
    free(router->entries);
    map_free(router->ids);
    free(router);
}

/* Returns the index of the literal, or the index at which it belongs. */
static size_t literal_index(const struct router_node *node, struct str segment)
{
    size_t low = 0;
    size_t high = node->literal_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (str_cmp(node->literals[middle].segment, segment) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct router_node *literal_find(const struct router_node *node, struct str segment)
{
    size_t index = literal_index(node, segment);
    if (index < node->literal_count && str_eq(node->literals[index].segment, segment))
        return &node->literals[index];
    return NULL;
}

static struct router_node *literal_add(struct router_node *node, struct str segment)
{
    size_t index = literal_index(node, segment);
    struct router_node *grown =
        must_alloc(realloc(node->literals, (node->literal_count + 1) * sizeof(*grown)));
    memmove(&grown[index + 1], &grown[index], (node->literal_count - index) * sizeof(*grown));
    grown[index] = (struct router_node){.segment = segment};
    node->literals = grown;
    node->literal_count++;
    return &grown[index];
}

static struct router_node *
param_child(struct router_node *node, struct str segment, struct entry *entry)
{
    MUST(segment.len > 2 && segment.ptr[segment.len - 1] == '}');
    if (entry->param_count == REQ_PARAMS_MAX)
        PANIC("route %s: more than %d parameters", entry->route->id, REQ_PARAMS_MAX);
    entry->param_names[entry->param_count++] = (struct str){segment.ptr + 1, segment.len - 2};
    if (!node->param)
        node->param = must_alloc(calloc(1, sizeof(*node)));
    return node->param;
}

/* Returns the node of `path` below `node`, and creates missing nodes. Names of parameters go to the
 * entry. */
static struct router_node *
node_of_path(struct router_node *node, const char *path, struct entry *entry)
{
    struct str rest = str_from(path);

    if (rest.len == 0 || str_is(rest, "/"))
        return node;
    if (rest.ptr[0] != '/')
        PANIC("route %s: path \"%s\" must begin with '/'", entry->route->id, path);
    rest = (struct str){rest.ptr + 1, rest.len - 1};
    while (rest.ptr) {
        struct str segment = str_split(&rest, '/');
        if (segment.len == 0)
            PANIC("route %s: empty segment in \"%s\"", entry->route->id, path);
        if (segment.ptr[0] == '{') {
            node = param_child(node, segment, entry);
        } else {
            struct router_node *next = literal_find(node, segment);
            node = next ? next : literal_add(node, segment);
        }
    }
    return node;
}

/* A PUT route also serves PATCH, and a GET route HEAD, unless these have routes of their own. */
static void methods_set(const struct entry *methods[METHODS], const struct entry *entry)
{
    enum http_method method = entry->route->method;
    const struct entry *taken;

    MUST(method < METHODS);
    taken = methods[method];
    if (taken && taken->route->method == method)
        PANIC(
            "routes %s and %s answer the same method and path", taken->route->id, entry->route->id);
    methods[method] = entry;
    if (method == HTTP_PUT_M && !methods[HTTP_PATCH_M])
        methods[HTTP_PATCH_M] = entry;
    if (method == HTTP_GET_M && !methods[HTTP_HEAD_M])
        methods[HTTP_HEAD_M] = entry;
}

void router_add(struct router *router, const char *mount, const struct route *routes, size_t count)
{
    size_t total = router->entry_count + count + 1;

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is meant */
    router->entries = must_alloc(realloc(router->entries, total * sizeof(*router->entries)));
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = must_alloc(calloc(1, sizeof(*entry)));
        struct router_node *node;

        entry->mount = mount;
        entry->route = &routes[i];
        MUST(entry->route->id && entry->route->path);
        if (map_put(router->ids, str_from(entry->route->id), entry))
            PANIC("two routes have the id %s", entry->route->id);
        router->entries[router->entry_count++] = entry;

        node = node_of_path(&router->root, mount, entry);
        node = node_of_path(node, entry->route->path, entry);
        node->is_subtree = node->is_subtree || routes[i].subtree;
        bool at_root = mount[0] != '\0' && strcmp(entry->route->path, "/") == 0;
        methods_set(at_root ? node->at_root : node->by_method, entry);
    }
}

bool router_next(const struct router *router,
                 size_t *cursor,
                 const char **ret_mount,
                 const struct route **ret_route)
{
    if (*cursor >= router->entry_count)
        return false;
    *ret_mount = router->entries[*cursor]->mount;
    *ret_route = router->entries[*cursor]->route;
    (*cursor)++;
    return true;
}

/* An encoded '/' is refused: a proxy in front of us could read the path differently. */
static bool has_encoded_slash(struct str raw)
{
    const char *at = raw.ptr;
    const char *end = raw.ptr + raw.len;
    while (end - at >= 3 && (at = memchr(at, '%', (size_t)(end - at) - 2)) != NULL) {
        if (at[1] == '2' && (at[2] == 'f' || at[2] == 'F'))
            return true;
        at++;
    }
    return false;
}

static bool segment_decode(struct arena *arena, struct str raw, struct str *ret_segment)
{
    struct str segment;
    if (raw.len == 0 || has_encoded_slash(raw) ||
        !codec_percent_decode(arena, raw, false, &segment))
        return false;
    if (str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
        return false;
    *ret_segment = segment;
    return true;
}

struct path_segments {
    struct str segments[SEGMENTS_MAX];
    size_t count;
    bool trailing_slash;
    bool too_deep;
};

static int path_split(struct arena *arena, struct str path, struct path_segments *segments)
{
    struct str rest;

    segments->count = 0;
    segments->trailing_slash = false;
    segments->too_deep = false;
    if (path.len == 0 || path.ptr[0] != '/')
        return ROUTER_BAD_PATH;
    if (path.len == 1)
        return 0;
    rest = (struct str){path.ptr + 1, path.len - 1};
    while (rest.ptr) {
        struct str raw = str_split(&rest, '/');
        struct str segment;
        if (raw.len == 0 && !rest.ptr) {
            segments->trailing_slash = true;
            return 0;
        }
        if (!segment_decode(arena, raw, &segment))
            return ROUTER_BAD_PATH;
        /* Deeper than any route: not found, but the whole path must still be well-formed. */
        if (segments->count == SEGMENTS_MAX)
            segments->too_deep = true;
        else
            segments->segments[segments->count++] = segment;
    }
    return 0;
}

static const struct entry *
node_entry(const struct router_node *node, bool trailing_slash, size_t method)
{
    if (!trailing_slash && node->by_method[method])
        return node->by_method[method];
    return node->at_root[method];
}

static bool node_answers(const struct router_node *node, bool trailing_slash)
{
    for (size_t i = 0; i < METHODS; i++)
        if (node_entry(node, trailing_slash, i))
            return true;
    return false;
}

/* The last subtree that contains the path. */
struct subtree_match {
    const struct router_node *node; /* NULL = none */
    size_t depth;
    bool by_param[SEGMENTS_MAX];
};

/* Searches depth-first, literals before parameters. Without an exact match, returns the last
 * subtree that contains the path, and cuts the segments that are longer than its route; NULL when
 * no route matches. `by_param` says which segments are parameters. Each node of the trie is visited
 * at most once. */
static const struct router_node *node_match(const struct router_node *root,
                                            struct path_segments *segments,
                                            bool by_param[SEGMENTS_MAX])
{
    const struct router_node *nodes[SEGMENTS_MAX + 1];
    struct subtree_match subtree = {0};
    size_t depth = 0;

    nodes[0] = root;
    for (;;) {
        const struct router_node *node = nodes[depth];
        const struct router_node *next = NULL;
        if (node->is_subtree) {
            subtree.node = node;
            subtree.depth = depth;
            memcpy(subtree.by_param, by_param, depth * sizeof(*by_param));
        }
        if (depth == segments->count) {
            if (node_answers(node, segments->trailing_slash))
                return node;
        } else {
            next = literal_find(node, segments->segments[depth]);
            by_param[depth] = next == NULL;
            if (!next)
                next = node->param;
        }
        while (!next && depth > 0) { /* dead end: take a parameter where a literal was taken */
            depth--;
            if (!by_param[depth]) {
                by_param[depth] = true;
                next = nodes[depth]->param;
            }
        }
        if (!next)
            break;
        nodes[++depth] = next;
    }
    if (subtree.node) {
        segments->count = subtree.depth;
        memcpy(by_param, subtree.by_param, subtree.depth * sizeof(*by_param));
    }
    return subtree.node;
}

static struct str
allow_text(struct arena *arena, const struct router_node *node, bool trailing_slash)
{
    struct strbuf text;
    strbuf_init(&text, arena, 128);
    for (size_t i = 0; i < METHODS; i++) {
        if (node && !node_entry(node, trailing_slash, i) && i != HTTP_OPTIONS_M)
            continue;
        if (text.len > 0)
            strbuf_cstr(&text, ", ");
        strbuf_cstr(&text, http_method_name((enum http_method)i));
    }
    return strbuf_view(&text);
}

int router_find(const struct router *router,
                struct arena *arena,
                enum http_method method,
                struct str path,
                struct route_match *ret_match,
                struct str *ret_allow)
{
    struct path_segments segments;
    bool by_param[SEGMENTS_MAX];
    const struct router_node *node;
    const struct entry *entry;
    int rc;

    if (method == HTTP_OPTIONS_M && str_eq(path, STR("*"))) {
        *ret_allow = allow_text(arena, NULL, false);
        return ROUTER_METHOD;
    }
    rc = path_split(arena, path, &segments);
    if (rc != 0)
        return rc;
    node = segments.too_deep ? NULL : node_match(&router->root, &segments, by_param);
    if (!node)
        return ROUTER_NOT_FOUND;
    if (node->is_subtree) /* a final slash makes no difference */
        segments.trailing_slash = false;
    entry = method < METHODS ? node_entry(node, segments.trailing_slash, method) : NULL;
    if (!entry) {
        *ret_allow = allow_text(arena, node, segments.trailing_slash);
        return ROUTER_METHOD;
    }

    ret_match->route = entry->route;
    ret_match->param_names = entry->param_names;
    ret_match->param_count = 0;
    for (size_t i = 0; i < segments.count; i++)
        if (by_param[i])
            ret_match->params[ret_match->param_count++] = segments.segments[i];
    MUST(ret_match->param_count == entry->param_count);
    return 0;
}

int router_match(const struct router *router, struct req *req, struct str *ret_allow)
{
    struct route_match match;

    TRY(router_find(router, req->task.arena, req->method, req->path, &match, ret_allow));
    req->route = match.route;
    req->param_names = match.param_names;
    req->param_count = match.param_count;
    for (size_t i = 0; i < match.param_count; i++)
        req->params[i] = match.params[i];
    return 0;
}

struct str route_match_param(const struct route_match *match, const char *name)
{
    for (size_t i = 0; i < match->param_count; i++)
        if (str_is(match->param_names[i], name))
            return match->params[i];
    return STR_NONE;
}
