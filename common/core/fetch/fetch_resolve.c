/* Resolves names: one thread per lookup, and one wake-up handle for all of them. */
#include "fetch/fetch_resolve_private.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/panic.h"
#include "fetch/fetch.h"
#include "fetch/fetch_address_private.h"
#include "loop/task.h"

enum { OWNER_FRACTION = 4 }; /* one owner may use 1/OWNER_FRACTION of the threads */

/* Owned by the thread until it is in `done`, then by the loop. Only the loop uses "loop"
 * members. */
struct lookup {
    struct list link;
    struct list running; /* loop: in resolver.running */
    struct list waiters; /* loop: struct waiter; empty when all callers have left */
    struct share *share; /* loop: held until its thread has ended */
    int64_t project;
    int rc;
    struct fetch_addresses addresses;
    char host[FETCH_HOST_BYTES];
};

/* A coroutine that waits for a lookup; on the caller's stack. */
struct waiter {
    struct await await;
    struct list link;
    struct fetch_addresses *ret_addresses;
};

static struct {
    pthread_mutex_t lock; /* guards done, open */
    struct list done;
    bool open;
    struct list running;  /* loop thread only */
    struct shares shares; /* loop thread only: counts threads */
    uv_async_t *wake;
} resolver = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- thread --- */

/* Appends one address; false when the list is full. */
static bool list_add(struct fetch_addresses *addresses, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    size_t used = strlen(addresses->list);
    bool v6 = address->sa_family == AF_INET6;
    socklen_t bytes = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    if (sizeof(addresses->list) - used < INET6_ADDRSTRLEN + 3)
        return false;
    if (getnameinfo(address, bytes, text, sizeof(text), NULL, 0, NI_NUMERICHOST) != 0)
        return true; /* a scoped address: never public, so all_public is false already */
    (void)snprintf(addresses->list + used,
                   sizeof(addresses->list) - used,
                   v6 ? "%s[%s]" : "%s%s",
                   used > 0 ? "," : "",
                   text);
    return true;
}

static int resolve_look_up(const char *host, struct fetch_addresses *ret)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return FETCH_UNREACHABLE;
    bool is_admitted = true;
    ret->all_public = true;
    for (const struct addrinfo *one = found; one; one = one->ai_next) {
        ret->all_public = ret->all_public && fetch_address_is_public(one->ai_addr);
        is_admitted = is_admitted && list_add(ret, one->ai_addr);
    }
    freeaddrinfo(found);
    return ret->list[0] ? 0 : FETCH_UNREACHABLE;
}

static void *thread_main(void *arg)
{
    struct lookup *lookup = arg;
    lookup->rc = resolve_look_up(lookup->host, &lookup->addresses);

    (void)pthread_mutex_lock(&resolver.lock);
    if (resolver.open) {
        list_append(&resolver.done, &lookup->link);
        (void)uv_async_send(resolver.wake);
    } else {
        free(lookup);
    }
    (void)pthread_mutex_unlock(&resolver.lock);
    return NULL;
}

/* --- loop --- */

static struct lookup *done_take(void)
{
    (void)pthread_mutex_lock(&resolver.lock);
    struct list *node = list_shift(&resolver.done);
    (void)pthread_mutex_unlock(&resolver.lock);
    return node ? LIST_ITEM(node, struct lookup, link) : NULL;
}

/* Ends the lookup for all waiters. No further caller can join it. */
static void lookup_finish(struct lookup *lookup, int rc)
{
    struct list *node;

    list_remove(&lookup->running);
    while ((node = list_shift(&lookup->waiters)) != NULL) {
        struct waiter *waiter = LIST_ITEM(node, struct waiter, link);
        if (rc == 0)
            *waiter->ret_addresses = lookup->addresses;
        await_done(&waiter->await, rc);
    }
}

static void resolve_on_wake(uv_async_t *wake UNUSED)
{
    struct lookup *lookup;

    while ((lookup = done_take()) != NULL) {
        if (lookup->rc == 0)
            fetch_resolve_cache_put(
                lookup->project, lookup->host, clock_mono_ms(), &lookup->addresses);
        lookup_finish(lookup, lookup->rc);
        shares_release(&resolver.shares, lookup->share, 1);
        free(lookup);
    }
}

/* Initialises the shares once per process: threads that are still running after
 * fetch_resolve_done() keep their shares. */
static void shares_prepare(unsigned max_threads)
{
    const struct shares_config config = {
        .name = "fetch_lookups",
        .limit = max_threads,
        .per_owner = max_threads / OWNER_FRACTION > 0 ? max_threads / OWNER_FRACTION : 1,
        .waiting = max_threads,
        .leave_room = true,
    };

    if (resolver.shares.owners == NULL)
        shares_init(&resolver.shares, &config);
    resolver.shares.config = config;
}

void fetch_resolve_init(unsigned max_threads)
{
    uv_async_t *wake = malloc(sizeof(*wake));
    MUST(wake != NULL && uv_async_init(loop_uv(), wake, resolve_on_wake) == 0);
    uv_unref((uv_handle_t *)wake);
    list_init(&resolver.running);
    fetch_resolve_cache_clear();
    shares_prepare(max_threads);
    (void)pthread_mutex_lock(&resolver.lock);
    list_init(&resolver.done);
    resolver.wake = wake;
    resolver.open = true;
    (void)pthread_mutex_unlock(&resolver.lock);
}

static void on_wake_closed(uv_handle_t *wake)
{
    free(wake);
}

void fetch_resolve_done(void)
{
    resolve_on_wake(resolver.wake); /* lookups that have finished still count */
    LIST_FOR (node, &resolver.running)
        lookup_finish(LIST_ITEM(node, struct lookup, running), FETCH_UNREACHABLE);
    (void)pthread_mutex_lock(&resolver.lock);
    resolver.open = false;
    (void)pthread_mutex_unlock(&resolver.lock);
    resolve_on_wake(resolver.wake); /* frees late lookups without waiters */
    uv_close((uv_handle_t *)resolver.wake, on_wake_closed);
    resolver.wake = NULL;
}

/* Starts a detached thread. False when the system cannot create one. */
static bool thread_start(struct lookup *lookup)
{
    pthread_t thread;
    pthread_attr_t attr;

    MUST(pthread_attr_init(&attr) == 0);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attr, thread_main, lookup) == 0;
    (void)pthread_attr_destroy(&attr);
    return started;
}

static void resolve_waiter_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

/* Returns the project's running lookup of this name, or NULL. */
static struct lookup *lookup_find(int64_t project, const char *host)
{
    LIST_FOR (node, &resolver.running) {
        struct lookup *lookup = LIST_ITEM(node, struct lookup, running);
        if (lookup->project == project && strcmp(lookup->host, host) == 0)
            return lookup;
    }
    return NULL;
}

/* Starts a lookup, which takes over the share. Returns NULL when no thread can be created. */
static struct lookup *lookup_start(int64_t project, const char *host, struct share *share)
{
    struct lookup *lookup = calloc(1, sizeof(*lookup));

    MUST(lookup != NULL && strlen(host) < sizeof(lookup->host));
    memcpy(lookup->host, host, strlen(host) + 1);
    lookup->project = project;
    lookup->share = share;
    list_init(&lookup->waiters);
    list_init(&lookup->running);
    if (!thread_start(lookup)) {
        free(lookup);
        return NULL;
    }
    list_append(&resolver.running, &lookup->running);
    return lookup;
}

/* Returns whether no new lookup is needed: addresses are cached, or *ret_lookup is running. */
static bool is_cached_or_running(struct share_owner owner,
                                 const char *host,
                                 struct fetch_addresses *ret_addresses,
                                 struct lookup **ret_lookup)
{
    *ret_lookup = NULL;
    if (fetch_resolve_cache_get(owner.project, host, clock_mono_ms(), ret_addresses))
        return true;
    *ret_lookup = lookup_find(owner.project, host);
    return *ret_lookup != NULL;
}

/* co: Returns in *ret_lookup the lookup to wait for, or NULL when *ret_addresses is filled. */
AWAITS static int lookup_find_or_start(struct task *task,
                                       const char *host,
                                       struct share_owner owner,
                                       int64_t limit_ms,
                                       struct fetch_addresses *ret_addresses,
                                       struct lookup **ret_lookup)
{
    struct share *share;

    if (is_cached_or_running(owner, host, ret_addresses, ret_lookup))
        return 0;
    int rc = shares_acquire(task, &resolver.shares, owner, 1, limit_ms, &share);
    if (rc != 0)
        return rc == -EAGAIN ? FETCH_BUSY : rc;
    if (!resolver.wake) { /* fetch_resolve_done() was called during the wait */
        rc = FETCH_UNREACHABLE;
    } else if (!is_cached_or_running(owner, host, ret_addresses, ret_lookup)) {
        *ret_lookup = lookup_start(owner.project, host, share);
        if (*ret_lookup)
            return 0;
        rc = FETCH_BUSY;
    }
    shares_release(&resolver.shares, share, 1);
    return rc;
}

int fetch_resolve(struct task *task,
                  const char *host,
                  struct share_owner owner,
                  int64_t limit_ms,
                  struct fetch_addresses *ret_addresses)
{
    int64_t due_ms = clock_mono_ms() + limit_ms;
    struct waiter waiter = {.ret_addresses = ret_addresses};
    struct lookup *lookup;

    if (!resolver.wake)
        return FETCH_UNREACHABLE;
    TRY(lookup_find_or_start(task, host, owner, limit_ms, ret_addresses, &lookup));
    if (!lookup)
        return 0;
    await_init(&waiter.await);
    waiter.await.abandon = resolve_waiter_abandon;
    list_append(&lookup->waiters, &waiter.link);
    int64_t left_ms = due_ms - clock_mono_ms();
    return await_wait(task, &waiter.await, left_ms > 0 ? left_ms : 1);
}
