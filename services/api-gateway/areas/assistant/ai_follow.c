/* Followers of answers. */
#include "areas/assistant/ai_follow.h"

#include <errno.h>
#include <stdlib.h>

#include "ai_conversations_sql.h"
#include "areas/assistant/ai_events.h"
#include "areas/assistant/ai_subscriber.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "http/feed.h"
#include "loop/background.h"
#include "redis/redis.h"

#define AI_CHANNEL            "groundwork:ai" /* payload: "<project number>:<message id>" */
#define FOLLOWERS             128
#define QUEUED_MAX            ((size_t)2 << 20) /* more unsent bytes end a feed; an answer fits */
#define POLL_MS               1000              /* when no notification arrives */
#define POLL_WITHOUT_REDIS_MS 300               /* while Redis is not connected */
#define TICK_MS               200               /* interval of checking the project's epoch */
#define FOLLOWED_MS           1000 /* interval of storing that the answer has followers */
#define ROUND_LIMIT_MS        10000

/* One client that follows an answer. */
struct follower {
    struct http_feed feed;
    struct list link;
    struct followed_answer *follow;
    struct share *share;
    struct ai_subscriber subscriber;
    int64_t characters_sent; /* characters sent so far */
    bool is_closed;
};

/* An answer with followers in this process. The followers are clients of the answer's user. */
struct followed_answer {
    struct list link;
    struct list followers;
    int64_t project, user_id, conversation_id, message_id;
    struct loop_timer timer;
    bool is_running, is_woken;
    int64_t due_ms, followed_stored_ms;
};

static struct {
    struct directory *directory;
    struct list follows;
    struct shares slots;
    bool is_stopped;
} following;

/* --- life --- */

static void follow_free_if_empty(struct followed_answer *follow)
{
    if (follow->is_running || !list_empty(&follow->followers))
        return;
    loop_timer_stop(&follow->timer);
    list_remove(&follow->link);
    free(follow);
}

static void follower_free(struct follower *follower)
{
    list_remove(&follower->link);
    shares_release(&following.slots, follower->share, 1);
    free(follower);
}

/* A running round may be using the follower: then follow_run() frees the follower at its end. */
static void follower_on_closed(void *arg)
{
    struct follower *follower = arg;
    struct followed_answer *follow = follower->follow;

    follower->is_closed = true;
    if (follow->is_running)
        return;
    follower_free(follower);
    follow_free_if_empty(follow);
}

/* --- sending --- */

static void follower_send(struct follower *follower, struct str event)
{
    struct http_chunk *chunk = http_chunk_new(event);

    if (!follower->is_closed)
        http_feed_send(&follower->feed, chunk);
    http_chunk_unref(chunk);
}

static void follower_end(struct follower *follower, struct str event)
{
    follower_send(follower, event);
    if (!follower->is_closed)
        http_feed_close(&follower->feed);
    follower->is_closed = true;
}

static void follow_end_all(struct followed_answer *follow, struct str event)
{
    LIST_FOR (link, &follow->followers)
        follower_end(LIST_ITEM(link, struct follower, link), event);
}

/* The text after its first `letters` characters. */
static struct str text_after(struct str text, int64_t letters)
{
    uint32_t code;
    size_t at = 0;

    for (; letters > 0 && at < text.len; letters--) {
        size_t bytes = utf8_decode(text, at, &code);
        at += bytes > 0 ? bytes : 1;
    }
    return (struct str){text.ptr + at, text.len - at};
}

/* --- rounds --- */

/* co: Ends the followers that may no longer read the answer. */
AWAITS static void follow_check_rights(struct task *task, struct followed_answer *follow)
{
    LIST_FOR (link, &follow->followers) {
        struct follower *follower = LIST_ITEM(link, struct follower, link);
        const char *code =
            follower->is_closed ? NULL : ai_subscriber_check(task, &follower->subscriber);
        if (code)
            follower_end(follower, ai_event_end(task->arena, code));
    }
}

/* The smallest number of characters that was sent to a follower; -1 = there is no follower. */
static int64_t follow_first_position(const struct followed_answer *follow)
{
    int64_t from = -1;

    LIST_FOR (link, &follow->followers) {
        const struct follower *follower = LIST_ITEM(link, struct follower, link);
        if (!follower->is_closed && (from < 0 || follower->characters_sent < from))
            from = follower->characters_sent;
    }
    return from;
}

/* A follower that joined while the text was read may have fewer than `from` characters. The next
 * round serves this follower. */
static void
follow_send(struct arena *arena, struct followed_answer *follow, int64_t from, struct str text)
{
    int64_t letters = from + (int64_t)utf8_length(text);

    LIST_FOR (link, &follow->followers) {
        struct follower *follower = LIST_ITEM(link, struct follower, link);
        if (follower->is_closed || follower->characters_sent < from ||
            follower->characters_sent >= letters)
            continue;
        struct str rest = text_after(text, follower->characters_sent - from);
        follower->characters_sent = letters;
        follower_send(follower, ai_event_delta(arena, letters, rest));
    }
}

AWAITS static int
follow_finish(struct task *task, struct followed_answer *follow, struct project *project)
{
    struct str event;

    TRY(ai_event_done(
        task, project, follow->user_id, follow->conversation_id, follow->message_id, &event));
    if (!follow->is_woken) /* else a new follower may lack text: the next round sends it */
        follow_end_all(follow, event);
    return 0;
}

AWAITS static int follow_round(struct task *task, struct followed_answer *follow)
{
    int64_t now_ms = clock_mono_ms();
    struct project *project;
    struct rows rows;

    TRY(project_find_number(task, following.directory, follow->project, &project));
    follow_check_rights(task, follow);
    int64_t from = follow_first_position(follow);
    if (from < 0)
        return 0;
    if (follow->followed_stored_ms == 0 || now_ms - follow->followed_stored_ms >= FOLLOWED_MS) {
        TRY(db_query(task, &project->db, SQL_AI_MESSAGE_FOLLOW(.id = follow->message_id), NULL));
        follow->followed_stored_ms = now_ms;
    }
    TRY(db_query(task,
                 &project->db,
                 SQL_AI_MESSAGE_REST(.seen = from,
                                     .user_id = follow->user_id,
                                     .conversation_id = follow->conversation_id,
                                     .id = follow->message_id),
                 &rows));
    if (rows.count == 0) {
        follow_end_all(follow, ai_event_end(task->arena, "not_found"));
        return 0;
    }
    const struct sql_ai_message_rest_row row = sql_ai_message_rest_row(&rows, 0);
    follow_send(task->arena, follow, from, row.text);
    return row.streaming ? 0 : follow_finish(task, follow, project);
}

AWAITS static void follow_run(struct task *task, void *arg)
{
    struct followed_answer *follow = arg;

    follow->is_woken = false;
    task->project = follow->project;
    int rc = follow_round(task, follow);
    if (rc == PROJECT_NOT_FOUND)
        follow_end_all(follow, ai_event_end(task->arena, "not_found"));
    else if (rc != 0 && rc != -ECANCELED)
        log_debug("ai.follow_failed", L_I64("message", follow->message_id), L_RESULT("rc", rc));
    follow->is_running = false;
    LIST_FOR (link, &follow->followers) {
        struct follower *follower = LIST_ITEM(link, struct follower, link);
        if (follower->is_closed)
            follower_free(follower);
    }
    const struct redis *redis = directory_redis(following.directory);
    follow->due_ms = clock_mono_ms() + (redis && redis_up(redis) ? POLL_MS : POLL_WITHOUT_REDIS_MS);
    if (!following.is_stopped)
        loop_timer_start(&follow->timer, follow->is_woken ? 0 : TICK_MS);
    follow_free_if_empty(follow);
}

static bool follow_is_due(const struct followed_answer *follow)
{
    if (follow->is_woken || clock_mono_ms() >= follow->due_ms)
        return true;
    LIST_FOR (link, &follow->followers)
        if (ai_subscriber_is_due(&LIST_ITEM(link, struct follower, link)->subscriber))
            return true;
    return false;
}

static void follow_on_timer(void *arg)
{
    struct followed_answer *follow = arg;

    if (follow->is_running || following.is_stopped)
        return;
    if (!follow_is_due(follow)) {
        loop_timer_start(&follow->timer, TICK_MS);
        return;
    }
    follow->is_running = true;
    background_run(ROUND_LIMIT_MS, follow_run, follow);
}

static void follow_wake(struct followed_answer *follow)
{
    follow->is_woken = true;
    if (!follow->is_running && !following.is_stopped)
        loop_timer_start(&follow->timer, 0);
}

/* --- notifications --- */

static struct followed_answer *follow_find(int64_t project, int64_t message_id)
{
    LIST_FOR (link, &following.follows) {
        struct followed_answer *follow = LIST_ITEM(link, struct followed_answer, link);
        if (follow->project == project && follow->message_id == message_id)
            return follow;
    }
    return NULL;
}

static void follow_on_notification(struct str payload, void *arg UNUSED)
{
    struct str rest = payload;
    struct followed_answer *follow;
    int64_t message_id;
    int64_t project;

    if (!payload.ptr) { /* connected again: notifications may have been lost */
        LIST_FOR (link, &following.follows)
            follow_wake(LIST_ITEM(link, struct followed_answer, link));
        return;
    }
    if (num_parse_i64(str_split(&rest, ':'), &project) && rest.ptr &&
        num_parse_i64(rest, &message_id) && (follow = follow_find(project, message_id)) != NULL)
        follow_wake(follow);
}

void ai_follow_notify(int64_t project, int64_t message_id)
{
    struct redis *redis = directory_redis(following.directory);
    char text[48];

    if (!redis)
        return;
    int len = snprintf(text, sizeof(text), "%lld:%lld", (long long)project, (long long)message_id);
    redis_post(redis,
               REDIS_ARGS(STR("PUBLISH"), STR(AI_CHANNEL), ((struct str){text, (size_t)len})));
}

static void ai_follow_start(struct directory *directory, const struct app_conf *conf UNUSED)
{
    following.directory = directory;
    following.is_stopped = false;
    list_init(&following.follows);
    shares_init(&following.slots,
                &(struct shares_config){.name = "ai_followers",
                                        .limit = FOLLOWERS,
                                        .per_owner = SHARES_ANY,
                                        .leave_room = true});
    if (directory_redis(directory))
        redis_subscribe(directory_redis(directory), AI_CHANNEL, follow_on_notification, NULL);
}

/* Stops all rounds, so that no more text is sent. The feeds end when the HTTP server stops. */
static void ai_follow_stop(void)
{
    if (!following.directory)
        return;
    following.is_stopped = true;
    LIST_FOR (link, &following.follows)
        loop_timer_stop(&LIST_ITEM(link, struct followed_answer, link)->timer);
}

const struct area_life ai_follow_life = {
    .start = ai_follow_start, .drain = ai_follow_stop, .stop = ai_follow_stop};

/* --- new followers --- */

static struct followed_answer *follow_new(const struct req *r,
                                          const struct ai_follow_params *params)
{
    struct followed_answer *follow = calloc(1, sizeof(*follow));

    MUST(follow != NULL);
    follow->project = r->scope->project->number;
    follow->user_id = r->scope->caller->user_id;
    follow->conversation_id = params->conversation_id;
    follow->message_id = params->message_id;
    list_init(&follow->followers);
    loop_timer_init(&follow->timer, follow_on_timer, follow);
    list_append(&following.follows, &follow->link);
    return follow;
}

static struct follower *
follower_new(const struct req *r, const struct ai_follow_params *params, struct share *share)
{
    struct follower *follower = calloc(1, sizeof(*follower));
    struct followed_answer *follow = follow_find(r->scope->project->number, params->message_id);

    MUST(follower != NULL);
    follower->follow = follow ? follow : follow_new(r, params);
    follower->share = share;
    follower->characters_sent = params->characters_seen;
    follower->feed = (struct http_feed){
        .on_closed = follower_on_closed, .arg = follower, .queued_max = QUEUED_MAX};
    ai_subscriber_init(&follower->subscriber, r, PERM_SVC_AI_CHAT_READ);
    list_append(&follower->follow->followers, &follower->link);
    return follower;
}

int ai_follow_begin(struct req *r, const struct ai_follow_params *params)
{
    struct share *share;

    if (shares_try(&following.slots, share_owner_of(&r->task), 1, &share) != 0) {
        resp_header(r, "Retry-After", STR("5"));
        return fail(
            r, PROBLEM_RATE_LIMITED, "Too many clients of the project follow answers; try again.");
    }
    struct follower *follower = follower_new(r, params, share);
    struct followed_answer *follow = follower->follow;
    resp_header(r, "X-Accel-Buffering", STR("no")); /* proxies must not buffer events */
    if (!http_feed_begin(r, STR("text/event-stream"), &follower->feed)) {
        follower_free(follower);
        follow_free_if_empty(follow);
        return -ECANCELED;
    }
    follow_wake(follow);
    return 200;
}
