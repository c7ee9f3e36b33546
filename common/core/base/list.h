#pragma once
/* Intrusive doubly linked list. A node is in one list, or in no list and then linked to itself. */
#include <stdbool.h>
#include <stddef.h>

#include "base/result.h"

struct list {
    struct list *next;
    struct list *prev;
};

/* Prepares an empty list, or a node that is in no list. */
static inline void list_init(struct list *node)
{
    node->next = node;
    node->prev = node;
}

/* Returns whether the list has no nodes. */
static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

/* Adds a node, which is in no list, at the end. */
static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

/* Removes the node from its list and links it to itself. A node in no list stays as it is. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Removes the first node and returns it, or NULL when the list is empty. */
static inline struct list *list_shift(struct list *head)
{
    struct list *node = head->next;
    if (node == head)
        return NULL;
    /* The analyzer cannot follow the changes of list_remove() to the neighbours, and believes that
     * a freed node is returned. */
    list_remove(node); /* NOLINT(clang-analyzer-unix.Malloc): see above */
    return node;
}

/* The struct of this type whose `member` is the node. */
#define LIST_ITEM(node, type, member) CONTAINER_OF(node, type, member)
/* Iterates over the nodes. The body may remove `it` but no other node. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a declared name cannot have parentheses around it */
#define LIST_FOR(it, head)                                                                         \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head);                      \
         it = it##_next, it##_next = it->next)
/* NOLINTEND(bugprone-macro-parentheses) */
