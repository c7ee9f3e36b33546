/* Connects sends with the queue. */
#include "work.h"

#include "dispatch_claim_sql.h"
#include "send.h"
#include "window.h"

#define RETAIN_EVERY_MS 60000

static struct queue *sends;

static const struct sql *const retain_statements[] = {
    &SQL_RETAIN_DELIVERIES,
    &SQL_RETAIN_SENDS,
    NULL,
};

static const struct queue_kind kind = {
    .name = "push_sends",
    .size = sizeof(struct send),
    .read = send_from_row,
    .run = send_run,
    .claim = &SQL_SENDS_CLAIM,
    .claim_crashed = &SQL_SENDS_CLAIM_CRASHED,
    .renew = &SQL_SENDS_RENEW,
    .still_held = &SQL_SENDS_HELD,
    .release = &SQL_SENDS_RELEASE,
    .rescue = &SQL_SENDS_QUARANTINE,
    .projects = &SQL_PUSH_PROJECTS,
    .poll = &SQL_PUSH_POLL,
    .retain = retain_statements,
    .has_old = &SQL_SENDS_OLD,
    .topic = BUS_PUSH,
    .group = "push-dispatcher",
    .message = "push.queued",
};

/* --- life --- */

void dispatcher_work_prepare(void)
{
    queue_prepare(&kind);
}

void dispatcher_work_start(void)
{
    const struct app_conf *conf = dispatcher_conf();

    window_start();
    sends = queue_start(&kind,
                        &(struct queue_config){
                            .directory = dispatcher_directory(),
                            .bus = dispatcher_bus(),
                            .slots = (unsigned)conf->send_slots,
                            .slots_per_project = (unsigned)conf->send_slots_per_project,
                            .lease_ms = conf->lease_ms,
                            .sweep_ms = conf->sweep_ms,
                            .attempts = conf->send_attempts,
                            .retain_days = conf->send_retention_days,
                            .retain_every_ms = RETAIN_EVERY_MS,
                        });
}

void dispatcher_work_end(int64_t last_call_mono_ms, loop_fn done, void *arg)
{
    queues_end(dispatcher_bus(), &sends, 1, last_call_mono_ms, done, arg);
}

void dispatcher_work_stop(void)
{
    queue_stop(sends);
    sends = NULL;
    window_stop();
}
