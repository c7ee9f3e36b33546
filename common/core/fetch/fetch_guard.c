/* Restricts connections to permitted addresses. */
#include "fetch/fetch_guard_private.h"

#include <sys/socket.h>

#include "base/panic.h"
#include "fetch/fetch_address_private.h"

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct fetch_guard *guard = arg;
    bool allowed = purpose == CURLSOCKTYPE_IPCXN &&
                   (address->family == AF_INET || address->family == AF_INET6) &&
                   (guard->url.any_address || fetch_address_is_public(&address->addr));
    if (!allowed) {
        guard->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl calls this before each request, also on a pooled connection, and again when it repeats a
 * request because the pooled connection was dead. */
static int on_before_request(void *arg, char *remote, char *local, int remote_port, int local_port)
{
    (void)local, (void)local_port;
    struct fetch_guard *guard = arg;
    if (remote_port == guard->url.port &&
        (guard->url.any_address || fetch_address_text_is_public(remote))) {
        guard->sent_count++;
        return CURL_PREREQFUNC_OK;
    }
    guard->refused = true;
    return CURL_PREREQFUNC_ABORT;
}

int fetch_guard_resolve(struct task *task,
                        struct fetch_guard *guard,
                        struct share_owner owner,
                        int64_t limit_ms)
{
    if (guard->url.is_address)
        return 0;
    TRY(fetch_resolve(task, guard->url.host, owner, limit_ms, &guard->addresses));
    return guard->url.any_address || guard->addresses.all_public ? 0 : FETCH_REFUSED;
}

/* Returns an entry for CURLOPT_RESOLVE, so that libcurl dials only the checked addresses. The '+'
 * lets the entry expire from libcurl's DNS cache. */
static struct curl_slist *resolve_list_make(struct arena *arena, const struct fetch_guard *guard)
{
    if (guard->url.is_address)
        return NULL;
    struct str entry =
        arena_printf(arena, "+%s:%ld:%s", guard->url.host, guard->url.port, guard->addresses.list);
    struct curl_slist *list = curl_slist_append(NULL, entry.ptr);
    MUST(list != NULL);
    return list;
}

struct curl_slist *fetch_guard_apply(CURL *easy, struct arena *arena, struct fetch_guard *guard)
{
    struct curl_slist *list = resolve_list_make(arena, guard);

    (void)curl_easy_setopt(easy, CURLOPT_CURLU, guard->url.parsed);
    (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, guard);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_before_request);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, guard);
    if (list)
        (void)curl_easy_setopt(easy, CURLOPT_RESOLVE, list);
    return list;
}
