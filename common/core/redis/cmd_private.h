#pragma once
/* Commands on a link. */
#include "redis/link_private.h"

/* any: sends or queues a command. `done` (may be NULL) is called once, with 0, REDIS_ERROR or
 * REDIS_UNAVAILABLE and the reply (NULL = none), perhaps before this returns. */
typedef void (*cmd_done_fn)(int rc, const redisReply *reply, void *arg);
void cmd_post(struct link *link,
              int64_t limit_ms,
              cmd_done_fn done,
              void *arg,
              size_t argc,
              const struct str *argv);
/* co: cmd_post() that waits for the result and copies the reply to the task's arena. */
AWAITS int cmd_run(struct task *task,
                   struct link *link,
                   int64_t limit_ms,
                   struct redis_reply *ret_reply,
                   size_t argc,
                   const struct str *argv) MUSTCHECK;
void cmd_send_queued(struct link *link);
void cmd_fail_queued(struct link *link);
