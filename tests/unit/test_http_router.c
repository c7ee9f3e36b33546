/* Routing: a path is decoded once and has one meaning, and tables of routes obey their rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/route.h"
#include "http/router.h"

static const struct route org_routes[] = {
    {.method = HTTP_GET_M, .path = "/menus", .id = "menus_list"},
    {.method = HTTP_POST_M, .path = "/menus", .id = "menus_create"},
    {.method = HTTP_GET_M, .path = "/menus/{id}", .id = "menus_get"},
    {.method = HTTP_PUT_M, .path = "/menus/{id}", .id = "menus_update"},
    {.method = HTTP_GET_M, .path = "/menus/default", .id = "menus_default"},
    {.method = HTTP_POST_M, .path = "/menus/default/reset", .id = "menus_reset"},
    {.method = HTTP_POST_M, .path = "/menus/{menu_id}/items", .id = "menus_add_item"},
    {.method = HTTP_DELETE_M, .path = "/menus/{menu_id}/items/{id}", .id = "menus_del_item"},
    {.method = HTTP_GET_M, .path = "/", .id = "project_read"},
    {.method = HTTP_PUT_M, .path = "/", .id = "project_update"},
    {.method = HTTP_PATCH_M, .path = "/both", .id = "both_patch"},
    {.method = HTTP_PUT_M, .path = "/both", .id = "both_put"},
    {.method = HTTP_GET_M, .path = "/site", .subtree = true, .id = "site"},
    {.method = HTTP_GET_M, .path = "/site/both/{id}", .id = "site_both"},
    {.method = HTTP_GET_M, .path = "/site/{name}/{id}/{part}/end", .id = "site_end"},
};
static const struct route top_routes[] = {
    {.method = HTTP_GET_M, .path = "/healthz", .id = "healthz"},
    {.method = HTTP_GET_M, .path = "/org/{project_id}", .id = "project_get"},
    {.method = HTTP_GET_M, .path = "/pages", .subtree = true, .id = "pages"},
    {.method = HTTP_GET_M, .path = "/pages/own/{id}", .id = "page_own"},
};

static struct router *router;
static struct arena *arena;
static struct req req;
static struct str allow;

static int match(enum http_method method, const char *path)
{
    arena_reset(arena);
    memset(&req, 0, sizeof(req));
    allow = STR_NONE;
    req.task.arena = arena;
    req.method = method;
    req.path = str_from(path);
    return router_match(router, &req, &allow);
}

static void expect(enum http_method method, const char *path, const char *id)
{
    assert_int_equal(match(method, path), 0);
    assert_string_equal(req.route->id, id);
}

TEST(test_match)
{
    expect(HTTP_GET_M, "/healthz", "healthz");
    expect(HTTP_GET_M, "/org/p1/menus", "menus_list");
    expect(HTTP_HEAD_M, "/org/p1/menus", "menus_list");
    expect(HTTP_POST_M, "/org/p1/menus", "menus_create");
    expect(HTTP_PATCH_M, "/org/p1/menus/7", "menus_update");
    expect(HTTP_PATCH_M, "/org/p1/both", "both_patch");
    expect(HTTP_PUT_M, "/org/p1/both", "both_put");
    expect(HTTP_GET_M, "/org/p1/menus/default", "menus_default");
    expect(HTTP_POST_M, "/org/p1/menus/default/reset", "menus_reset");
    /* the literal has no such route, so the parameter matches */
    expect(HTTP_POST_M, "/org/p1/menus/default/items", "menus_add_item");
    assert_true(str_is(req_param(&req, "menu_id"), "default"));
    expect(HTTP_DELETE_M, "/org/p%C3%A9/menus/a%20b/items/%61;x=1", "menus_del_item");
    assert_int_equal(req.param_count, 3);
    assert_true(str_is(req_param(&req, "project_id"), "p\xc3\xa9"));
    assert_true(str_is(req_param(&req, "menu_id"), "a b"));
    assert_true(str_is(req_param(&req, "id"), "a;x=1"));
    assert_null(req_param(&req, "other").ptr);
    expect(HTTP_GET_M, "/%68ealthz", "healthz");
    /* decoded once */
    expect(HTTP_GET_M, "/org/p1/menus/%2541", "menus_get");
    assert_true(str_is(req_param(&req, "id"), "%41"));
    /* the root of a mount answers with and without its slash */
    expect(HTTP_PUT_M, "/org/p1/", "project_update");
    expect(HTTP_PUT_M, "/org/p1", "project_update");
    /* unless another route has the path without it */
    expect(HTTP_GET_M, "/org/p1/", "project_read");
    expect(HTTP_GET_M, "/org/p1", "project_get");
    expect(HTTP_HEAD_M, "/org/p1", "project_get");
}

TEST(test_subtree)
{
    expect(HTTP_GET_M, "/pages", "pages");
    expect(HTTP_GET_M, "/pages/", "pages");
    expect(HTTP_HEAD_M, "/pages/a/b/c.js", "pages");
    expect(HTTP_GET_M, "/pages/own/1/more", "pages");
    assert_int_equal(req.param_count, 0);
    /* an exact route wins */
    expect(HTTP_GET_M, "/pages/own/1", "page_own");
    assert_true(str_is(req_param(&req, "id"), "1"));
    assert_int_equal(match(HTTP_GET_M, "/pages/../healthz"), ROUTER_BAD_PATH);
    assert_int_equal(match(HTTP_GET_M, "/pagesx"), ROUTER_NOT_FOUND);
    assert_int_equal(match(HTTP_POST_M, "/pages/a"), ROUTER_METHOD);
    assert_true(str_is(allow, "GET, HEAD, OPTIONS"));
}

TEST(test_subtree_below_parameters)
{
    static const char *const paths[] = {
        "/org/p1/site", "/org/p1/site/", "/org/p1/site/a/b", "/org/p1/site/both/1/x"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        expect(HTTP_GET_M, paths[i], "site");
        assert_int_equal(req.param_count, 1);
        assert_true(str_is(req_param(&req, "project_id"), "p1"));
    }
    /* an exact route wins; a search that has tried parameters does not change the subtree's */
    expect(HTTP_GET_M, "/org/p1/site/both/1", "site_both");
    assert_true(str_is(req_param(&req, "id"), "1"));
    expect(HTTP_GET_M, "/org/p1/site/both/1/2/3", "site");
    assert_int_equal(req.param_count, 1);
    assert_int_equal(match(HTTP_POST_M, "/org/p1/site/a"), ROUTER_METHOD);
    assert_int_equal(match(HTTP_GET_M, "/org/p1/sites"), ROUTER_NOT_FOUND);
}

TEST(test_not_found)
{
    const char *const paths[] = {
        "/",
        "/nope",
        "/Healthz",
        "/healthz/",
        "/org",
        "/org/p1/menus/",
        "/org/p1/Menus",
        "/org/p1/menus/1/items/2/3",
        "/org/p1/menus/default/nope",
        "/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0",
    };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(match(HTTP_GET_M, paths[i]), ROUTER_NOT_FOUND);
}

TEST(test_bad_path)
{
    const char *const paths[] = {
        "",
        "healthz",
        "*",
        "//",
        "//healthz",
        "/org//menus",
        "/org/p1/menus//",
        "/org/p1/menus/..",
        "/org/p1/./menus",
        "/org/p1/%2e%2e",
        "/org/p1/%2E",
        "/org/.%2e/x",
        "/org/p1/menus/a%2Fb",
        "/org/p1/menus/%2f",
        "/org/p1/menus/%00",
        "/org/p1/menus/%",
        "/org/p1/menus/%4",
        "/org/p1/menus/%zz",
        "/org/p1/menus/%c0%af",
        "/org/p1/menus/%ff",
        "/org/p1/menus/%ed%a0%80",
        "/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/%00",
    };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(match(HTTP_GET_M, paths[i]), ROUTER_BAD_PATH);
}

TEST(test_method)
{
    assert_int_equal(match(HTTP_DELETE_M, "/org/p1/menus"), ROUTER_METHOD);
    assert_true(str_is(allow, "GET, HEAD, POST, OPTIONS"));
    assert_int_equal(match(HTTP_OPTIONS_M, "/org/p1/menus/1"), ROUTER_METHOD);
    assert_true(str_is(allow, "GET, HEAD, PUT, PATCH, OPTIONS"));
    assert_int_equal(match(HTTP_OTHER_M, "/healthz"), ROUTER_METHOD);
    assert_int_equal(match(HTTP_OPTIONS_M, "*"), ROUTER_METHOD);
    assert_true(str_is(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
    /* the literal is the resource: its methods count, not those of the parameter */
    assert_int_equal(match(HTTP_PUT_M, "/org/p1/menus/default"), ROUTER_METHOD);
    assert_true(str_is(allow, "GET, HEAD, OPTIONS"));
}

TEST(test_next)
{
    size_t cursor = 0, count = 0;
    const char *mount;
    const struct route *route;
    while (router_next(router, &cursor, &mount, &route)) {
        if (count == 0)
            assert_string_equal(route->id, "menus_list");
        if (count < ARRAY_LEN(org_routes))
            assert_string_equal(mount, "/org/{project_id}");
        count++;
    }
    assert_int_equal(count, ARRAY_LEN(org_routes) + ARRAY_LEN(top_routes));
}

/* A mistake in a table ends the process at start. */
static void expect_panic(const struct route *routes, size_t count)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct router *broken = router_new();
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(2);
        router_add(broken, "", routes, count);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(test_panics)
{
    const struct route same_path[] = {
        {.method = HTTP_GET_M, .path = "/a/{x}", .id = "one"},
        {.method = HTTP_GET_M, .path = "/a/{y}", .id = "two"},
    };
    const struct route same_id[] = {
        {.method = HTTP_GET_M, .path = "/a", .id = "one"},
        {.method = HTTP_GET_M, .path = "/b", .id = "one"},
    };
    const struct route many[] = {
        {.method = HTTP_GET_M, .path = "/{a}/{b}/{c}/{d}/{e}/{f}/{g}", .id = "one"},
    };
    expect_panic(same_path, 2);
    expect_panic(same_id, 2);
    expect_panic(many, 1);
}

static int begin(void **state UNUSED)
{
    arena = arena_new(0);
    router = router_new();
    router_add(router, "/org/{project_id}", org_routes, ARRAY_LEN(org_routes));
    router_add(router, "", top_routes, ARRAY_LEN(top_routes));
    return 0;
}

static int end(void **state UNUSED)
{
    router_free(router);
    arena_free(arena);
    return 0;
}

GROUP(begin, end)
