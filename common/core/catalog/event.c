/* Event tables, generated from event.def. */
#include "catalog/event.h"

#include "base/panic.h"

static const struct event_info infos[EVENT_KINDS] = {
#define EVENT(constant, name, subject, bit) [constant] = {name, subject, constant##_BIT},
#include "catalog/event.def"
};

static const enum perm permissions[EVENT_SUBJECTS] = {
#define SUBJECT(constant, permission, access) [constant] = (permission),
#include "catalog/event.def"
};

const struct event_info *event_info(enum event_kind event)
{
    MUST(event < EVENT_KINDS);
    return &infos[event];
}

const char *event_name(enum event_kind event)
{
    return event_info(event)->name;
}

enum event_kind event_find(struct str name)
{
    for (size_t i = 0; i < EVENT_KINDS; i++)
        if (str_is(name, infos[i].name))
            return (enum event_kind)i;
    return EVENT_KINDS;
}

enum perm event_permission(enum event_subject subject)
{
    MUST(subject < EVENT_SUBJECTS);
    return permissions[subject];
}
