#pragma once
/*
 * The stages that every request passes, in the order of pipeline.c. Each stage returns 0 to
 * continue, the status of the answer that it has put, or a negative.
 */
#include "app.h"
#include "app/request.h"

/* co: Runs all stages of a request (http_config.handle). */
AWAITS int pipeline_run(struct req *r);

/* co: Adds the Access-Control-* headers to the answer of a request with an Origin. `slug`: the
 * project in the path. `allow`: for an OPTIONS request the methods of the path, and cors_run()
 * answers the request; otherwise STR_NONE. */
AWAITS int cors_run(struct req *r, struct str slug, struct str allow);

/* co: Identifies the caller and fills r->scope->caller. Routes with AUTH_PUBLIC ignore
 * credentials. */
AWAITS int authenticate_run(struct req *r);
/* any: Reads the credentials of "Authorization: Bearer <credentials>" (RFC 6750, 2.1). Returns
 * false when the header has another scheme or no credentials. */
bool authorization_bearer(struct str header, struct str *ret_credentials);
/* co: auth_token_check() verifies a bearer token, auth_apikey_check() an API key. Both fill kind,
 * ids and ends_ms of `caller`. */
AWAITS int auth_token_check(struct req *r, struct str token, struct caller *caller);
AWAITS int auth_apikey_check(struct req *r, struct str key, struct caller *caller);

/* co: Makes the checks of checks.h on the caller's rights, in their order. */
AWAITS int authorize_run(struct req *r);

/* co: Runs the route's guard and handler, again from the beginning when the transaction conflicted
 * with another transaction (db_should_retry()), or when the model turns out to have changed. Never
 * runs them again after a commit, a write, a call to another server or the beginning of a stream,
 * and never on routes that read the body in chunks. */
AWAITS int handler_run(struct req *r);
/* co: Runs the route's guard and its handler once. */
AWAITS int handler_run_once(struct req *r);
/* co: Puts the answer of `shown`, a GET of the request's own path, with the resource as
 * r->scope->db shows it to the caller. The caller's permissions on that route are not checked. */
AWAITS int handler_run_get(struct req *r, const struct route *shown);
/* any: Returns whether `status` is a status with which guards refuse (route.h). */
bool handler_is_refusal(int status);
/* any: Discards the answer that a run of the handler has put. The first `headers` bytes of its
 * headers stay. */
void handler_discard_answer(struct req *r, size_t headers);

/* any: Counts the request per project, principal (the caller, otherwise an address or IPv6 /64),
 * route class and minute. Adds the RateLimit-* headers and puts 429 above the limit. */
int rate_limit_run(struct req *r);
/* any: rate_limit_check_lookup() returns 0, or puts 429 when the address has looked up too many
 * projects that do not exist. rate_limit_count_miss() counts such a look-up. */
int rate_limit_check_lookup(struct req *r);
void rate_limit_count_miss(struct req *r);
void rate_limit_prepare(void); /* before fork: maps the counters that workers share */
/* co: Counts an attempt on `key`, such as a sign-in, and puts 429 above `per_minute` (0 = no
 * limit). `scope` names the kind of key: "account", "address", ... Redis counts for all gateways
 * together. While Redis cannot be reached this gateway counts in its own memory. */
AWAITS int rate_limit_sign_in(struct req *r, const char *scope, struct str key, int64_t per_minute);
/* co: Counts an attempt of the caller's address, by the project's limit for addresses. The limit
 * holds for an IPv4 address or an IPv6 /64, and an IPv6 /48 has four times the limit. */
AWAITS int rate_limit_address(struct req *r, const char *scope);
/* any: Puts 429 while this gateway remembers that the address is over the limit of
 * rate_limit_address(). Counts nothing. */
int rate_limit_address_refused(struct req *r, const char *scope);
/* any: Returns the network by which the caller's address is counted: an IPv4 address, or an IPv6
 * /64 such as "2001:db8::/64". Borrowed or arena-owned. */
struct str rate_limit_network(struct req *r);

/* any: Writes the access line and the metrics of a request, after its response. */
void access_log_write(struct req *r);
void access_log_prepare(void); /* before fork: registers the metrics of every route */
