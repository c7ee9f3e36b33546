/* AWS Signature Version 4, against the examples that are published for S3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit.h"

#include "crypto/digest.h"
#include "files/sigv4_private.h"

#define NOW_MS 1369353600000 /* 2013-05-24T00:00:00Z */

static struct arena *arena;

static const struct sigv4_key key = {
    .id = STR_INIT("AKIAIOSFODNN7EXAMPLE"),
    .secret = STR_INIT("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    .region = STR_INIT("us-east-1"),
};

static struct sigv4_request request_to(const char *method, const char *path, const char *body)
{
    return (struct sigv4_request){
        .method = str_from(method),
        .host = STR("examplebucket.s3.amazonaws.com"),
        .path = str_from(path),
        .payload_sha256 = digest_sha256_hex(arena, str_from(body)),
    };
}

static void
check(const struct sigv4_request *request, const char *target, const char *names, const char *end)
{
    struct sigv4_signed made;

    sigv4_sign(arena, &key, request, NOW_MS, &made);
    assert_string_equal(arena_cstr(arena, made.target), target);
    assert_string_equal(arena_cstr(arena, made.date), "20130524T000000Z");
    assert_string_equal(
        arena_cstr(arena, made.authorization),
        arena_printf(arena,
                     "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                     "aws4_request,SignedHeaders=%s,Signature=%s",
                     names,
                     end)
            .ptr);
}

TEST(test_get)
{
    struct sigv4_request request = request_to("GET", "/test.txt", "");

    request.headers[request.header_count++] = (struct sigv4_pair){STR("range"), STR("bytes=0-9")};
    check(&request,
          "/test.txt",
          "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(test_put)
{
    struct sigv4_request request = request_to("PUT", "/test%24file.text", "Welcome to Amazon S3.");

    request.headers[request.header_count++] =
        (struct sigv4_pair){STR("date"), STR("Fri, 24 May 2013 00:00:00 GMT")};
    request.headers[request.header_count++] =
        (struct sigv4_pair){STR("x-amz-storage-class"), STR("REDUCED_REDUNDANCY")};
    check(&request,
          "/test%24file.text",
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

/* A query with a parameter without a value, and one whose parameters must be sorted. */
TEST(test_queries)
{
    struct sigv4_request request = request_to("GET", "/", "");

    request.query[0] = (struct sigv4_pair){STR("lifecycle"), STR("")};
    request.query_count = 1;
    check(&request,
          "/?lifecycle=",
          "host;x-amz-content-sha256;x-amz-date",
          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    request.query[0] = (struct sigv4_pair){STR("prefix"), STR("J")};
    request.query[1] = (struct sigv4_pair){STR("max-keys"), STR("2")};
    request.query_count = 2;
    check(&request,
          "/?max-keys=2&prefix=J",
          "host;x-amz-content-sha256;x-amz-date",
          "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

static int set_up(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(set_up, tear_down)
