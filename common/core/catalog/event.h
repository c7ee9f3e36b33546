#pragma once
/*
 * The kinds of events, in one list: event.def. Pure data.
 */
#include "catalog/perm.h"

enum event_subject {
#define SUBJECT(constant, permission, access) constant,
#include "catalog/event.def"
    EVENT_SUBJECTS,
};

/* Those of records come first. */
enum event_kind {
#define EVENT(constant, name, subject, bit) constant,
#include "catalog/event.def"
    EVENT_KINDS,
    /* how many are of records */
    ENTITY_EVENTS = 0
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a sum, term by term */
#define EVENT(constant, name, subject, bit) +((subject) == OF_RECORDS)
#include "catalog/event.def"
};

/* EVENT_CREATED_BIT ... */
enum event_bit {
#define EVENT(constant, name, subject, bit) constant##_BIT = (bit),
#include "catalog/event.def"
};

struct event_info {
    const char *name; /* "EntityCreated" */
    enum event_subject subject;
    enum event_bit bit;
};

const struct event_info *event_info(enum event_kind event);
const char *event_name(enum event_kind event);
/* EVENT_KINDS when there is none of that name. */
enum event_kind event_find(struct str name);
/* What somebody needs who is shown data of such a subject. */
enum perm event_permission(enum event_subject subject);
