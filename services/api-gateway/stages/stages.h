#pragma once
/*
 * The stages that every request passes, in the order of pipeline.c. Each returns 0 to go on, the
 * status of the answer it has put, or a negative.
 */
#include "app.h"
#include "app/request.h"

/* co: the whole way of a request: http_config.handle. */
AWAITS int pipeline_run(struct req *r);

/* co: Access-Control-* for requests with an Origin. `allow` is set for OPTIONS: answers the
 * preflight. */
AWAITS int cors_run(struct req *r, struct str slug, struct str allow);

/* co: who calls; fills r->scope->caller. AUTH_PUBLIC routes look at no credentials. */
AWAITS int authenticate_run(struct req *r);
/* any: the credentials of "Authorization: Bearer <credentials>" (RFC 6750, 2.1); false when the
 * header has another scheme or none after it. */
bool authorization_bearer(struct str header, struct str *ret_credentials);
/* co: a bearer token or an API key -> credential; fills user, session and key of the caller. */
AWAITS int auth_token_check(struct req *r, struct str token, struct caller *caller);
AWAITS int auth_apikey_check(struct req *r, struct str key, struct caller *caller);

/* co: administrator-only, permission, API Access flag, in this order. */
AWAITS int authorize_run(struct req *r);

/* co: the route's handler, run again from its beginning when that is as good as a first time: it
 * met others head-on in the database (db_again()), or the model is newer than it knew. Not when it
 * has committed, written or called anybody, begun a stream or taken a body in pieces. */
AWAITS int handler_run(struct req *r);
/* co: the route's guard and its handler, once. */
AWAITS int handler_run_once(struct req *r);
/* co: puts the answer of `shown`, a GET of the request's own path, as r->scope->db shows the
 * resource to the caller; its rights on that route are not asked. */
AWAITS int handler_show(struct req *r, const struct route *shown);
/* any: is it a status by which a guard refuses (route.h)? */
bool handler_is_refusal(int status);
/* any: takes the answer back that a try has put; of the headers the first `headers` bytes stay. */
void handler_forget(struct req *r, size_t headers);

/* any: counters per project, principal (a caller, else an address or IPv6 /64), route class and
 * minute; RateLimit-* headers. */
int rate_limit_run(struct req *r);
/* any: may the address have another name of a project looked up? 0, or 429: too many of them were
 * of nothing, which rate_limit_missed() counts. */
int rate_limit_lookup(struct req *r);
void rate_limit_missed(struct req *r);
void rate_limit_prepare(void); /* before fork: maps the counters that workers share */
/* co: sign-in attempts: `scope` "account" or "address"; 429 when `per_minute` is passed. Counted in
 * Redis so that all gateways count together, here when Redis is away. */
AWAITS int rate_limit_sign_in(struct req *r, const char *scope, struct str key, int64_t per_minute);
/* co: the same for the caller's address, by the project's limit: an IPv4 address or an IPv6 /64,
 * and its /48 at four times the limit. */
AWAITS int rate_limit_address(struct req *r, const char *scope);
/* any: 429 while this gateway knows the address to be over that limit; counts nothing. */
int rate_limit_address_refused(struct req *r, const char *scope);
/* any: what an address is counted as: an IPv4 address, or an IPv6 /64 ("2001:db8::/64"). */
struct str rate_limit_network(struct req *r);

/* any: after the response: access line and metrics. */
void access_log_finished(struct req *r);
void access_log_prepare(void); /* before fork: registers the metrics of every route */
