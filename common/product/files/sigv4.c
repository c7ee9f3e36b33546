/* AWS Signature Version 4, for S3. */
#include "files/sigv4_private.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/codec.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "crypto/digest.h"

#define TEXT_BYTES    32768U
#define ALGORITHM     "AWS4-HMAC-SHA256"
#define SIGNED_ALWAYS 3

/* Returns "20130524T000000Z". The first eight characters are the day. */
static struct str sigv4_date(struct arena *arena, int64_t now_ms)
{
    char text[CLOCK_TEXT_BYTES]; /* 2013-05-24T00:00:00.000Z */

    clock_format(text, now_ms);
    return arena_printf(arena,
                        "%.4s%.2s%.2sT%.2s%.2s%.2sZ",
                        text,
                        text + 5,
                        text + 8,
                        text + 11,
                        text + 14,
                        text + 17);
}

/* Sorts a few pairs by name, in place. */
static void pairs_sort(struct sigv4_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && str_cmp(pairs[k].name, pairs[k - 1].name) < 0; k--) {
            struct sigv4_pair swap = pairs[k];
            pairs[k] = pairs[k - 1];
            pairs[k - 1] = swap;
        }
}

static struct str query_text(struct arena *arena, const struct sigv4_pair *query, size_t count)
{
    struct sigv4_pair encoded[SIGV4_QUERY_MAX];
    struct strbuf out;

    MUST(count <= ARRAY_LEN(encoded));
    for (size_t i = 0; i < count; i++)
        encoded[i] = (struct sigv4_pair){codec_percent(arena, query[i].name),
                                         codec_percent(arena, query[i].value)};
    pairs_sort(encoded, count);
    strbuf_init(&out, arena, TEXT_BYTES);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(
            &out, "%s%.*s=%.*s", i ? "&" : "", STR_ARG(encoded[i].name), STR_ARG(encoded[i].value));
    return strbuf_view(&out);
}

/* Returns the canonical headers. *ret_names is their names, joined by ';'. */
static struct str sigv4_header_text(struct arena *arena,
                                    struct sigv4_pair *headers,
                                    size_t count,
                                    struct str *ret_names)
{
    struct strbuf text;
    struct strbuf names;

    pairs_sort(headers, count);
    strbuf_init(&text, arena, TEXT_BYTES);
    strbuf_init(&names, arena, TEXT_BYTES);
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(
            &text, "%.*s:%.*s\n", STR_ARG(headers[i].name), STR_ARG(str_trim(headers[i].value)));
        strbuf_printf(&names, "%s%.*s", i ? ";" : "", STR_ARG(headers[i].name));
    }
    *ret_names = strbuf_view(&names);
    return strbuf_view(&text);
}

static struct str digest_hex(struct arena *arena, const uint8_t digest[DIGEST_SHA256_BYTES])
{
    return codec_hex(arena, (struct str){(const char *)digest, DIGEST_SHA256_BYTES});
}

/* Signs the canonical request with a key that is derived from secret, day, region and service. */
static struct str sigv4_signature(struct arena *arena,
                                  const struct sigv4_key *key,
                                  struct str date,
                                  struct str canonical)
{
    struct str day = {date.ptr, 8};
    const struct str steps[] = {day, key->region, STR("s3"), STR("aws4_request")};
    struct str secret = arena_printf(arena, "AWS4%.*s", STR_ARG(key->secret));
    struct str text = arena_printf(arena,
                                   ALGORITHM "\n%.*s\n%.*s/%.*s/s3/aws4_request\n%.*s",
                                   STR_ARG(date),
                                   STR_ARG(day),
                                   STR_ARG(key->region),
                                   STR_ARG(digest_sha256_hex(arena, canonical)));
    uint8_t step[DIGEST_SHA256_BYTES];
    uint8_t next[DIGEST_SHA256_BYTES];

    digest_hmac_sha256(secret, steps[0], step);
    for (size_t i = 1; i <= ARRAY_LEN(steps); i++) {
        struct str from = {(const char *)step, sizeof(step)};
        digest_hmac_sha256(from, i < ARRAY_LEN(steps) ? steps[i] : text, next);
        memcpy(step, next, sizeof(step));
    }
    return digest_hex(arena, step);
}

static struct str canonical_request(struct arena *arena,
                                    const struct sigv4_request *request,
                                    struct str query,
                                    struct str headers,
                                    struct str names,
                                    struct str payload)
{
    return arena_printf(arena,
                        "%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s",
                        STR_ARG(request->method),
                        STR_ARG(request->path),
                        STR_ARG(query),
                        STR_ARG(headers),
                        STR_ARG(names),
                        STR_ARG(payload));
}

static struct str path_with_query(struct arena *arena, struct str path, struct str query)
{
    return query.len ? arena_printf(arena, "%.*s?%.*s", STR_ARG(path), STR_ARG(query)) : path;
}

void sigv4_sign(struct arena *arena,
                const struct sigv4_key *key,
                const struct sigv4_request *request,
                int64_t now_ms,
                struct sigv4_signed *ret)
{
    struct sigv4_pair headers[SIGV4_HEADERS_MAX + SIGNED_ALWAYS] = {
        {STR("host"), request->host},
        {STR("x-amz-content-sha256"), request->payload_sha256},
        {STR("x-amz-date"), sigv4_date(arena, now_ms)},
    };
    struct str names;

    ret->date = headers[2].value;
    for (size_t i = 0; i < request->header_count; i++)
        headers[SIGNED_ALWAYS + i] = request->headers[i];
    struct str query = query_text(arena, request->query, request->query_count);
    struct str text =
        sigv4_header_text(arena, headers, SIGNED_ALWAYS + request->header_count, &names);
    struct str canonical =
        canonical_request(arena, request, query, text, names, request->payload_sha256);
    ret->target = path_with_query(arena, request->path, query);
    ret->authorization = arena_printf(arena,
                                      ALGORITHM " Credential=%.*s/%.8s/%.*s/s3/aws4_request,"
                                                "SignedHeaders=%.*s,Signature=%.*s",
                                      STR_ARG(key->id),
                                      ret->date.ptr,
                                      STR_ARG(key->region),
                                      STR_ARG(names),
                                      STR_ARG(sigv4_signature(arena, key, ret->date, canonical)));
}
