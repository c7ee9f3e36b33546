/*
 * Rate limits: counters per project, principal, route class and minute, in memory that all workers
 * of this gateway share. Sign-in attempts are counted in Redis, together with gateways on other
 * machines. While Redis cannot be reached they are counted in this memory.
 */
#include <arpa/inet.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "redis/redis.h"
#include "stages/counters.h"
#include "stages/refusals.h"
#include "stages/stages.h"

#define WINDOW_MS  COUNTERS_WINDOW_MS
#define WIDE_TIMES 4   /* an IPv6 /48 has this multiple of the limit of a /64 */
#define MISSES_MAX 600 /* look-ups of projects that do not exist, per address and minute */

void rate_limit_prepare(void)
{
    counters_prepare();
}

static uint64_t rate_limit_mix(uint64_t hash, uint64_t value)
{
    return counters_mix(hash, value);
}

static int64_t seconds_left(void)
{
    return (WINDOW_MS - clock_wall_ms() % WINDOW_MS + 999) / 1000;
}

static void put_limit(struct req *r, int64_t limit, int64_t left, int64_t seconds)
{
    resp_header_printf(r, "RateLimit-Limit", "%lld", (long long)limit);
    resp_header_printf(r, "RateLimit-Remaining", "%lld", (long long)left);
    resp_header_printf(r, "RateLimit-Reset", "%lld", (long long)seconds);
}

static int rate_limit_refuse(struct req *r, int64_t limit, int64_t seconds)
{
    resp_header_printf(r, "Retry-After", "%lld", (long long)seconds);
    return refusal(r,
                   REFUSE_RATE,
                   "At most %lld requests a minute are allowed; wait and try again.",
                   (long long)limit);
}

static enum route_class class_of(const struct route *route)
{
    if (route->class != CLASS_OF_METHOD)
        return route->class;
    return route->method == HTTP_GET_M ? CLASS_READ : CLASS_WRITE;
}

static int64_t class_limit(const struct project_settings *settings, enum route_class class)
{
    switch (class) {
    case CLASS_READ:
        return settings->rate_read;
    case CLASS_WRITE:
        return settings->rate_write;
    case CLASS_HEAVY:
        return settings->rate_heavy;
    case CLASS_AUTH: /* areas/auth counts these itself, by account and address */
    case CLASS_OF_METHOD:
        break;
    }
    return 0;
}

/* Returns the limit of requests per minute. Requests by which a signed-in user changes sessions or
 * the account have the limit of sign-ins per address. */
static int64_t rate_limit_of(const struct req *r)
{
    const struct project_settings *settings = &r->scope->project->settings;

    if (r->route->class == CLASS_AUTH && r->route->auth == AUTH_USER)
        return settings->rate_sign_in_address;
    return class_limit(settings, class_of(r->route));
}

/* --- addresses --- */

/* A client with one IPv6 address has a whole network: at least a /64 (RFC 6177), often a /48. */
static bool is_ipv6(const char *peer, struct in6_addr *ret_address)
{
    return inet_pton(AF_INET6, peer, ret_address) == 1 && !IN6_IS_ADDR_V4MAPPED(ret_address);
}

static struct str network_text(struct arena *arena, const struct in6_addr *address, unsigned bytes)
{
    struct in6_addr part = {0};
    char text[INET6_ADDRSTRLEN];

    memcpy(&part, address, bytes);
    MUST(inet_ntop(AF_INET6, &part, text, sizeof(text)) != NULL);
    return arena_printf(arena, "%s/%u", text, bytes * 8);
}

struct str rate_limit_network(struct req *r)
{
    struct in6_addr address;

    if (is_ipv6(r->peer, &address))
        return network_text(r->task.arena, &address, 8);
    if (inet_pton(AF_INET6, r->peer, &address) == 1) /* an IPv4 address mapped into IPv6 */
        return arena_printf(r->task.arena,
                            "%u.%u.%u.%u",
                            address.s6_addr[12],
                            address.s6_addr[13],
                            address.s6_addr[14],
                            address.s6_addr[15]);
    return str_from(r->peer);
}

static uint64_t principal_key(struct req *r)
{
    const struct caller *caller = r->scope->caller;
    uint64_t key = rate_limit_mix(counters_seed(), (uint64_t)r->scope->project->number);

    key = rate_limit_mix(key, (uint64_t)class_of(r->route));
    if (caller->kind == CALLER_NONE)
        return rate_limit_mix(key, str_hash(rate_limit_network(r)));
    key = rate_limit_mix(key, (uint64_t)caller->kind);
    return rate_limit_mix(
        key, (uint64_t)(caller->kind == CALLER_KEY ? caller->key_id : caller->user_id));
}

int rate_limit_run(struct req *r)
{
    const struct counters_group group = {
        r->scope->project->number, r->scope->caller->kind == CALLER_NONE, class_of(r->route)};
    int64_t limit = rate_limit_of(r);
    int64_t seen;

    if (limit <= 0)
        return 0;
    seen = counters_add(&group, principal_key(r), 1);
    put_limit(r, limit, seen < limit ? limit - seen : 0, seconds_left());
    return seen > limit ? rate_limit_refuse(r, limit, seconds_left()) : 0;
}

static const struct counters_group lookups = {.anonymous = true, .class = CLASS_READ};

int rate_limit_check_lookup(struct req *r)
{
    uint64_t key = rate_limit_mix(counters_seed() ^ 2, str_hash(rate_limit_network(r)));

    if (counters_add(&lookups, key, 0) < MISSES_MAX)
        return 0;
    resp_header_printf(r, "Retry-After", "%lld", (long long)seconds_left());
    return refusal(r,
                   REFUSE_RATE,
                   "Your address requested too many projects that do not exist; try again later.");
}

void rate_limit_count_miss(struct req *r)
{
    (void)counters_add(
        &lookups, rate_limit_mix(counters_seed() ^ 2, str_hash(rate_limit_network(r))), 1);
}

/* Counts in one script, so that no counter exists without an expiry. The script returns 100 times
 * the count, plus the seconds that the counter still has to live. */
AWAITS static bool
count_in_redis(struct req *r, struct str name, int64_t *ret_seen, int64_t *ret_seconds)
{
    static const char script[] = "local n = redis.call('INCR', KEYS[1]) "
                                 "if n == 1 then redis.call('EXPIRE', KEYS[1], 60) end "
                                 "return n * 100 + redis.call('TTL', KEYS[1])";
    struct redis *redis = directory_redis(gateway_directory());
    struct str argv[] = {STR("EVAL"), STR(script), STR("1"), name};
    struct redis_reply reply;

    if (!redis || redis_cmd(&r->task, redis, &reply, ARRAY_LEN(argv), argv) != 0)
        return false;
    *ret_seen = reply.number / 100;
    *ret_seconds = reply.number % 100 > 0 ? reply.number % 100 : 1;
    return true;
}

/* --- keys over the limit, remembered in this gateway: refused without a call to Redis --- */

static uint64_t refused_key(struct str name, int64_t limit)
{
    return rate_limit_mix(rate_limit_mix(counters_seed() ^ 1, str_hash(name)), (uint64_t)limit);
}

/* Names and addresses of sign-in attempts come from anonymous callers. */
static struct counters_group sign_in_group(const struct req *r)
{
    return (struct counters_group){r->scope->project->number, true, CLASS_AUTH};
}

static void remember_refusal(const struct req *r, uint64_t key, int64_t seconds)
{
    const struct counters_group group = sign_in_group(r);

    counters_set_time(&group, key, clock_wall_ms() / 1000 + seconds);
}

/* Returns the seconds for which the key is still refused; 0 = it is not. */
static int64_t refusal_seconds(uint64_t key)
{
    int64_t now_s = clock_wall_ms() / 1000;
    int64_t until_s = counters_get_time(key);

    return until_s > now_s && until_s <= now_s + WINDOW_MS / 1000 ? until_s - now_s : 0;
}

static struct str counter_name(struct req *r, const char *scope, struct str key)
{
    return arena_printf(r->task.arena,
                        "groundwork:signin:%lld:%s:%016llx",
                        (long long)r->scope->project->number,
                        scope,
                        str_hash(key));
}

static int refuse_remembered(struct req *r, struct str name, int64_t per_minute)
{
    int64_t seconds = refusal_seconds(refused_key(name, per_minute));

    if (!seconds)
        return 0;
    put_limit(r, per_minute, 0, seconds);
    return rate_limit_refuse(r, per_minute, seconds);
}

int rate_limit_sign_in(struct req *r, const char *scope, struct str key, int64_t per_minute)
{
    const struct counters_group group = sign_in_group(r);
    struct str name = counter_name(r, scope, key);
    int64_t seconds = seconds_left();
    int64_t seen;

    if (per_minute <= 0)
        return 0;
    TRY(refuse_remembered(r, name, per_minute));
    if (!count_in_redis(r, name, &seen, &seconds))
        seen = counters_add(&group, rate_limit_mix(counters_seed(), str_hash(name)), 1);
    if (seen <= per_minute)
        return 0;
    remember_refusal(r, refused_key(name, per_minute), seconds);
    put_limit(r, per_minute, 0, seconds);
    return rate_limit_refuse(r, per_minute, seconds);
}

int rate_limit_address(struct req *r, const char *scope)
{
    int64_t per_minute = r->scope->project->settings.rate_sign_in_address;
    struct in6_addr address;

    TRY(rate_limit_sign_in(r, scope, rate_limit_network(r), per_minute));
    if (!is_ipv6(r->peer, &address))
        return 0;
    return rate_limit_sign_in(
        r, scope, network_text(r->task.arena, &address, 6), per_minute * WIDE_TIMES);
}

int rate_limit_address_refused(struct req *r, const char *scope)
{
    int64_t per_minute = r->scope->project->settings.rate_sign_in_address;
    struct in6_addr address;

    TRY(refuse_remembered(r, counter_name(r, scope, rate_limit_network(r)), per_minute));
    if (!is_ipv6(r->peer, &address))
        return 0;
    return refuse_remembered(r,
                             counter_name(r, scope, network_text(r->task.arena, &address, 6)),
                             per_minute * WIDE_TIMES);
}
