/* Requests and their repetitions. */
#include "deliver.h"

#include <string.h>

#include "base/clock.h"
#include "base/rand.h"
#include "send.h"

static struct deliver_stats stats;

struct deliver_stats *deliver_stats(void)
{
    return &stats;
}

void delivery_set_outcome(struct delivery *delivery, enum push_outcome outcome, struct str code)
{
    size_t len = code.len < PUSH_CODE_MAX ? code.len : PUSH_CODE_MAX;

    delivery->outcome = outcome;
    memcpy(delivery->code, len > 0 ? code.ptr : "", len);
    delivery->code[len] = '\0';
}

void deliver_until_final(struct task *task,
                         struct delivery *delivery,
                         unsigned retries,
                         deliver_request_fn request)
{
    const struct app_conf *conf = dispatcher_conf();
    const struct push_backoff backoff = {.first_ms = conf->push_retry_ms,
                                         .over_rate_ms = conf->push_retry_ms * 60};
    int64_t until_ms = clock_mono_ms() + conf->push_deadline_ms;
    struct push_answer answer;

    while (true) {
        delivery->tries++;
        int rc = request(task, delivery, &answer);
        if (rc < 0) { /* cancelled: the row stays pending */
            delivery_set_outcome(delivery, PUSH_RETRY, STR(""));
            return;
        }
        int64_t pause_ms =
            push_pause_ms(&answer,
                          &backoff,
                          &(struct push_attempts){.request_count = delivery->tries,
                                                  .retries = retries,
                                                  .left_ms = until_ms - clock_mono_ms()},
                          answer.outcome == PUSH_RETRY ? rand_u64() : 0);
        if (pause_ms < 0)
            break;
        if (delivery->send->stop != SEND_CONTINUES) {
            delivery_set_outcome(delivery, PUSH_RETRY, STR(""));
            return;
        }
        stats.retries++;
        delivery->is_idle = true;
        rc = task_sleep(task, pause_ms);
        delivery->is_idle = false;
        if (rc != 0) {
            delivery_set_outcome(delivery, PUSH_RETRY, STR(""));
            return;
        }
    }
    /* No try or no time is left, so an answer that asks for another try is a failure. */
    delivery_set_outcome(delivery,
                         answer.outcome == PUSH_DELIVERED || answer.outcome == PUSH_UNREGISTERED
                             ? answer.outcome
                             : PUSH_FAILED,
                         answer.code);
}
