#pragma once
/*
 * The kinds of events. event.def is the list. Pure data.
 */
#include "catalog/perm.h"

enum event_subject {
#define SUBJECT(constant, permission, access) constant,
#include "catalog/event.def"
    EVENT_SUBJECTS,
};

/* Events of records come first. */
enum event_kind {
#define EVENT(constant, name, subject, bit) constant,
#include "catalog/event.def"
    EVENT_KINDS,
    /* number of events of records */
    ENTITY_EVENTS = 0
/* NOLINTNEXTLINE(bugprone-macro-parentheses): each use adds a term to a sum */
#define EVENT(constant, name, subject, bit) +((subject) == SUBJECT_RECORDS)
#include "catalog/event.def"
};

/* EVENT_CREATED_BIT and so on, each unique among the events of a subject. */
enum event_bit {
#define EVENT(constant, name, subject, bit) constant##_BIT = (bit),
#include "catalog/event.def"
};

struct event_info {
    const char *name; /* "EntityCreated" */
    enum event_subject subject;
    enum event_bit bit;
};

/* Return the static properties, or the name, of a kind. */
const struct event_info *event_info(enum event_kind event);
const char *event_name(enum event_kind event);
/* Returns the kind of this name, EVENT_KINDS when there is none. */
enum event_kind event_find(struct str name);
/* Returns the permission that callers need to see data of this subject. */
enum perm event_permission(enum event_subject subject);
