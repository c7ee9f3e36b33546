#pragma once
/*
 * Ids, client addresses and log lines of requests, for every HTTP server.
 */
#include "conf/conf.h"
#include "http/req.h"

/* any: Sets r->request_id to the client's X-Request-Id when that has 1 to 64 characters, each a
 * letter, a digit, '-', '_' or '.', so that traces of both sides match; else to a new id. */
void request_id_set(struct req *r);

/* any: peer_set() sets r->peer to the client's address as reported by a trusted proxy.
 * peer_set_trusted() is called once at start with the networks of the trusted proxies; it returns
 * NULL, or what is wrong with them. */
void peer_set(struct req *r);
bool peer_is_proxy(const char *peer); /* whether `peer` is in a trusted network */
const char *peer_set_trusted(const struct conf_list *proxies);

/* any: Logs the line of a request after its response. `caller`: "user", "key", "none" ...;
 * `spent_us`: since the first byte. */
void log_access_line(struct req *r, const char *caller, int64_t spent_us);
