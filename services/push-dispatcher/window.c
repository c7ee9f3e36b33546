/* Limits the devices that are under way. */
#include "window.h"

/* One project alone may hold half of the slots, and one of its sends half of that, which is the
 * largest GROUNDWORK_FCM_REQUESTS. A project has no more slots for browsers than fetch() runs for
 * it at the same time. Browsers' servers may be slow, and the time that a request waits inside
 * fetch() counts for its timeout. */
enum { FCM_SLOTS = 2000, WEB_SLOTS = 1024 };

static const uint64_t slots[PUSH_PROVIDERS + 1] = {[PUSH_FCM] = FCM_SLOTS, [PUSH_WEB] = WEB_SLOTS};
static struct shares projects[PUSH_PROVIDERS + 1];

void window_start(void)
{
    static const char *const names[] = {[PUSH_FCM] = "push_fcm", [PUSH_WEB] = "push_web"};

    for (enum push_provider i = PUSH_FCM; i <= PUSH_WEB; i++)
        shares_init(
            &projects[i],
            &(struct shares_config){
                .name = names[i], .limit = slots[i], .per_owner = SHARES_ANY, .leave_room = true});
}

void window_stop(void)
{
    for (enum push_provider i = PUSH_FCM; i <= PUSH_WEB; i++)
        shares_done(&projects[i]);
}

void window_init(struct window *window)
{
    for (enum push_provider i = PUSH_FCM; i <= PUSH_WEB; i++)
        shares_init(&window->sends[i],
                    &(struct shares_config){
                        .limit = slots[i] / 2, .per_owner = SHARES_ANY, .leave_room = true});
}

void window_done(struct window *window)
{
    for (enum push_provider i = PUSH_FCM; i <= PUSH_WEB; i++)
        shares_done(&window->sends[i]);
}

bool window_enter(struct window *window,
                  enum push_provider provider,
                  struct share_owner send,
                  struct window_slot *ret_slot)
{
    const struct share_owner project = {.project = send.project};

    *ret_slot = (struct window_slot){0};
    if (shares_try(&window->sends[provider], send, 1, &ret_slot->send_share) != 0)
        return false;
    if (shares_try(&projects[provider], project, 1, &ret_slot->project_share) == 0)
        return true;
    window_leave(window, provider, ret_slot);
    return false;
}

void window_leave(struct window *window, enum push_provider provider, struct window_slot *slot)
{
    if (slot->project_share != NULL)
        shares_release(&projects[provider], slot->project_share, 1);
    if (slot->send_share != NULL)
        shares_release(&window->sends[provider], slot->send_share, 1);
    *slot = (struct window_slot){0};
}
