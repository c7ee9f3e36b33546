/* Signals as loop callbacks: a fixed table, so that handles outlive their closing. */
#include "loop/signals.h"

#include <stdbool.h>
#include <uv.h>

#include "base/panic.h"
#include "base/result.h"
#include "loop/loop.h"

#define SIGNALS_MAX 8

static struct signal_slot {
    uv_signal_t uv;
    signals_fn fn;
    void *arg;
    bool used; /* until its close callback */
} slots[SIGNALS_MAX];

static void on_signal(uv_signal_t *uv, int signum)
{
    struct signal_slot *slot = uv->data;

    slot->fn(signum, slot->arg);
}

void signals_on(int signum, signals_fn fn, void *arg)
{
    struct signal_slot *slot = slots;

    while (slot < slots + SIGNALS_MAX && slot->used)
        slot++;
    MUST(slot < slots + SIGNALS_MAX);
    *slot = (struct signal_slot){.fn = fn, .arg = arg, .used = true};
    slot->uv.data = slot;
    MUST(uv_signal_init(loop_uv(), &slot->uv) == 0);
    MUST(uv_signal_start(&slot->uv, on_signal, signum) == 0);
    uv_unref((uv_handle_t *)&slot->uv);
}

static void signals_on_closed(uv_handle_t *handle)
{
    struct signal_slot *slot = handle->data;

    slot->used = false;
}

void signals_close(void)
{
    for (size_t i = 0; i < ARRAY_LEN(slots); i++) {
        uv_handle_t *handle = (uv_handle_t *)&slots[i].uv;
        if (slots[i].used && !uv_is_closing(handle))
            uv_close(handle, signals_on_closed);
    }
}
