#pragma once
/*
 * What every server of requests does with each of them: a name for it, the address it counts for,
 * one line in the log when it is over.
 */
#include "conf/conf.h"
#include "http/req.h"

/* any: r->request_id is the caller's X-Request-Id when it is a sane token, so that traces join up,
 * else a new one. */
void request_id_set(struct req *r);

/* any: r->peer is the client's address as given by a trusted proxy. Once at start: the networks
 * proxies may come from; NULL, or what is wrong with them. */
void peer_set(struct req *r);
bool peer_is_proxy(const char *peer); /* is it one of those networks? */
const char *peer_trust(const struct conf_list *proxies);

/* any: after the response: its line. `caller` "user", "key", "none" ...; `spent_us` since the first
 * byte. */
void access_line(struct req *r, const char *caller, int64_t spent_us);
