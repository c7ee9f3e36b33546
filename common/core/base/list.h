#pragma once
/* Intrusive doubly linked list; a node is in one list or in none (self-linked). */
#include <stdbool.h>
#include <stddef.h>

#include "base/result.h"

struct list {
    struct list *next;
    struct list *prev;
};

static inline void list_init(struct list *node)
{
    node->next = node;
    node->prev = node;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

/* Idempotent: the node is self-linked afterwards. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* First node taken out, or NULL when empty. */
static inline struct list *list_shift(struct list *head)
{
    struct list *node = head->next;
    if (node == head)
        return NULL;
    /* The analyzer cannot follow what list_remove() does to the neighbours: it sees a freed node
     * come back. */
    list_remove(node); /* NOLINT(clang-analyzer-unix.Malloc): see above */
    return node;
}

#define LIST_ITEM(node, type, member) CONTAINER_OF(node, type, member)
/* The body may remove `it` but no other node. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared cannot stand in parentheses */
#define LIST_FOR(it, head)                                                                         \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head);                      \
         it = it##_next, it##_next = it->next)
/* NOLINTEND(bugprone-macro-parentheses) */
