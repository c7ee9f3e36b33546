#pragma once
/* URLs and addresses of servers. */
#include "redis/link_private.h"

/* any: sets user, password and database of `redis`, and *ret_address, owned. Returns false for a
 * URL that redis_new() does not support. */
bool url_parse(struct redis *redis, struct str url, struct address *ret_address);
void address_done(struct address *address);
#define ADDRESS_TEXT_BYTES 64
/* any: the n-th address of a name as text; after the last address the first address follows.
 * "localhost" may be ::1 first where Redis listens on 127.0.0.1 alone, so each failed attempt has
 * to lead to the next address. */
void address_pick(const struct addrinfo *found, unsigned n, char ret_text[ADDRESS_TEXT_BYTES]);
