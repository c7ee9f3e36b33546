/* Ids, client addresses and log lines of requests. */
#include "app/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/num.h"
#include "base/rand.h"

#define REQUEST_ID_MAX 64
#define NETWORKS_MAX   32

/* --- ids --- */

static bool is_valid_request_id(struct str id)
{
    return id.len >= 1 && id.len <= REQUEST_ID_MAX && ascii_has_only(id, ASCII_ALNUM, "-_.");
}

void request_id_set(struct req *r)
{
    struct str id = req_header(r, "x-request-id");

    if (!is_valid_request_id(id)) {
        char *text = arena_alloc(r->task.arena, 27);
        rand_ulid(text);
        id = (struct str){text, 26};
    }
    r->request_id = id;
    r->task.log.request_id = id;
}

/* --- addresses --- */

/*
 * The address that limits of a request count for. Clients may claim anything in X-Forwarded-For. It
 * is therefore read only from a reverse proxy that the configuration trusts, from its end, up to
 * the first address that is not such a proxy (RFC 7239 section 5.2 says the same of its own
 * header).
 */

struct network {
    struct in6_addr address;
    unsigned bits;
};

static struct network networks[NETWORKS_MAX];
static size_t network_count;

/* IPv4 addresses are stored in their IPv6-mapped form, so that one comparison serves both. */
static bool parse_address(struct str text, struct in6_addr *ret_address, bool *ret_v4)
{
    char buf[INET6_ADDRSTRLEN + 8];

    if (text.len == 0 || text.len >= INET6_ADDRSTRLEN)
        return false;
    memcpy(buf, text.ptr, text.len);
    buf[text.len] = '\0';
    *ret_v4 = false;
    if (inet_pton(AF_INET6, buf, ret_address) == 1)
        return true;
    *ret_v4 = true;
    (void)snprintf(buf, sizeof(buf), "::ffff:%.*s", STR_ARG(text));
    return inet_pton(AF_INET6, buf, ret_address) == 1;
}

static bool parse_network(struct str text, struct network *ret_network)
{
    struct str address = str_split(&text, '/');
    int64_t bits;
    bool v4;

    if (!parse_address(address, &ret_network->address, &v4))
        return false;
    bits = v4 ? 32 : 128;
    if (text.ptr && (!num_parse_i64(text, &bits) || bits < 0 || bits > (v4 ? 32 : 128)))
        return false;
    ret_network->bits = (unsigned)(v4 ? bits + 96 : bits);
    return true;
}

const char *peer_set_trusted(const struct conf_list *proxies)
{
    network_count = 0;
    for (size_t i = 0; i < proxies->count; i++) {
        struct str rest = proxies->items[i];
        while (rest.ptr) {
            struct str network = str_split(&rest, ' ');
            if (network_count == NETWORKS_MAX)
                return "GROUNDWORK_TRUSTED_PROXIES may list at most 32 addresses or networks";
            if (!parse_network(network, &networks[network_count++]))
                return "GROUNDWORK_TRUSTED_PROXIES must list addresses or networks, such as "
                       "10.0.0.0/8";
        }
    }
    return NULL;
}

static bool is_in_network(const struct in6_addr *address, const struct network *network)
{
    unsigned whole = network->bits / 8;
    unsigned rest = network->bits % 8;
    unsigned mask = 0xff00U >> rest & 0xffU;

    if (memcmp(address, &network->address, whole) != 0)
        return false;
    return rest == 0 ||
           (address->s6_addr[whole] & mask) == (network->address.s6_addr[whole] & mask);
}

static bool is_trusted(struct str text)
{
    struct in6_addr address;
    bool v4;

    if (!parse_address(text, &address, &v4))
        return false;
    for (size_t i = 0; i < network_count; i++) {
        if (is_in_network(&address, &networks[i]))
            return true;
    }
    return false;
}

bool peer_is_proxy(const char *peer)
{
    return is_trusted(str_from(peer));
}

/* Cuts the last address off a comma-separated list and returns it. */
static struct str list_pop_last(struct str *list)
{
    size_t at = list->len;
    struct str last;

    while (at > 0 && list->ptr[at - 1] != ',')
        at--;
    last = str_trim((struct str){list->ptr + at, list->len - at});
    list->len = at > 0 ? at - 1 : 0;
    return last;
}

/* Reads the addresses of one header line from its end. Returns false at the first address that is
 * not a trusted proxy or not an address. */
static bool forwarded_read_back(struct str forwarded, char peer[REQ_PEER_BYTES])
{
    struct in6_addr parsed;
    bool v4;

    while (forwarded.len > 0) {
        struct str address = list_pop_last(&forwarded);
        if (!parse_address(address, &parsed, &v4))
            return false;
        (void)snprintf(peer, REQ_PEER_BYTES, "%.*s", STR_ARG(address));
        if (!is_trusted(address))
            return false;
    }
    return true;
}

/* Header lines of one name form one list (RFC 9110 section 5.3), because a proxy may add its own
 * line after those of the client. */
void peer_set(struct req *r)
{
    char peer[REQ_PEER_BYTES] = "";
    bool goes_on = true;

    if (network_count == 0 || !is_trusted(str_from(r->peer)))
        return;
    for (size_t i = r->header_count; i > 0 && goes_on; i--) {
        const struct http_header *header = &r->headers[i - 1];
        if (str_ieq(header->name, STR("x-forwarded-for")))
            goes_on = forwarded_read_back(header->value, peer);
    }
    if (peer[0] != '\0' && strcmp(peer, r->peer) != 0)
        req_peer_set(r, peer);
}

/* --- lines --- */

/* Logs an unexpected failure: the handler's result, or the error that was answered with 500. */
static void failure_log(const struct req *r)
{
    int rc = r->failure != 0 ? r->failure : r->task.site.rc;

    log_error("request.failed", L_RESULT("error", rc), L_AT(&r->task.site, rc));
}

void log_access_line(struct req *r, const char *caller, int64_t spent_us)
{
    /* The coroutine has ended, but its context still names the request. */
    log_context_set(&r->task.log);
    if (r->status == 500 ||
        (r->failure != 0 && r->failure != -ECANCELED && r->failure != -ETIMEDOUT))
        failure_log(r);
    log_info("access",
             L_CSTR("method", http_method_name(r->method)),
             L_I64("status", r->status),
             L_I64("us", spent_us),
             L_I64("db_us", r->task.db_us),
             L_I64("bytes_in", (int64_t)r->bytes_in),
             L_I64("bytes_out", (int64_t)r->bytes_out),
             L_CSTR("caller", caller),
             L_CSTR("code", r->error_code ? r->error_code : ""),
             L_CSTR("peer", r->peer));
    log_context_set(NULL);
}
