#pragma once
/*
 * Parses a URL as the connection will use it: libcurl's parser is the only one, and its result is
 * handed to libcurl. URLs on which parsers disagree are refused before that. Loop thread.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct fetch_url {
    CURLU *parsed;     /* released with the arena */
    struct str target; /* path and query; set by fetch_url_parse_cached() only */
    const char *host;  /* without trailing dot; IPv6 literals in brackets */
    long port;
    bool secure;      /* https: TLS negotiates whether a connection can carry several requests */
    bool is_address;  /* host is an IP literal: nothing to resolve */
    bool any_address; /* the operator allows private addresses for this host */
};

/* Parses and checks a URL. Returns 0, FETCH_BAD_URL, or FETCH_REFUSED for a port or literal address
 * that is not allowed. */
int fetch_url_parse(struct arena *arena, struct str url, struct fetch_url *ret_url) MUSTCHECK;

/* Like fetch_url_parse(), with a cache of a few URLs. The result has `target`, but no `parsed`. */
int fetch_url_parse_cached(struct arena *arena, struct str url, struct fetch_url *ret_url)
    MUSTCHECK;

/* any: Returns path and query of a URL that has `parsed`. Arena-owned. */
struct str fetch_url_target(struct arena *arena, const struct fetch_url *url);

/* Copies the operator's allow list (struct fetch_config); fetch_url_allow_done() frees it. */
void fetch_url_allow(const struct str *allow, size_t nallow);
void fetch_url_allow_done(void);
