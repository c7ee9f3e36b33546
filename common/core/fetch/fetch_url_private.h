#pragma once
/*
 * Reading a URL the way the dialler will: one parser (libcurl's), whose result is handed to libcurl
 * itself, after everything on which parsers disagree has been refused. Loop thread.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct fetch_url {
    CURLU *parsed;     /* released with the arena */
    struct str target; /* what the host is asked for: path and query; of fetch_url_parse_again() */
    const char *host;  /* without trailing dot; IPv6 literals in brackets */
    long port;
    bool secure;      /* https: how many requests its connections take is known once they stand */
    bool is_address;  /* host is an IP literal: nothing to resolve */
    bool any_address; /* the operator allows private addresses for this host */
};

/* 0, FETCH_BAD_URL, or FETCH_REFUSED for a port or literal address that is not allowed. */
int fetch_url_parse(struct arena *arena, struct str url, struct fetch_url *ret_url) MUSTCHECK;

/* The same of one that is asked for again and again, as the last few are remembered: with `target`,
 * without `parsed`. */
int fetch_url_parse_again(struct arena *arena, struct str url, struct fetch_url *ret_url) MUSTCHECK;

/* any: path and query, of one with `parsed`. */
struct str fetch_url_target(struct arena *arena, const struct fetch_url *url);

/* The operator's list, copied; see struct fetch_config. */
void fetch_url_allow(const struct str *allow, size_t nallow);
void fetch_url_allow_done(void);
