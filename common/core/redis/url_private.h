#pragma once
/* Where the servers are. */
#include "redis/link_private.h"

/* any: fills user, password and database of `redis` and *ret_address, owned. False when `url` is
 * none that redis_new() knows. */
bool url_parse(struct redis *redis, struct str url, struct address *ret_address);
void address_done(struct address *address);
#define ADDRESS_TEXT_BYTES 64
/* any: the n-th of what a name stands for, round and round, as text: "localhost" may be ::1 first
 * where Redis listens on 127.0.0.1 alone, so that each failed try has to lead to the next one. */
void address_pick(const struct addrinfo *found, unsigned n, char ret_text[ADDRESS_TEXT_BYTES]);
