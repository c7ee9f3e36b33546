#pragma once
/*
 * Rows of the service's own that have an owner, such as files and folders, under the row rule of
 * records: a statement that is put together from texts, values and the rule. Their table has a
 * column created_by; nothing is granted of them.
 */
#include "records/records.h"

struct owned;
/* any: arena-owned (ctx->task). */
struct owned *owned_new(struct records_ctx *ctx);
/* any: one of our own texts. */
void owned_text(struct owned *statement, const char *text);
/* any: a parameter as "$n::type"; borrowed until the statement is sent. */
void owned_value(struct owned *statement, struct db_param value, const char *type);
/* any: " and (...)" for the row named `alias`, or nothing for callers who see all rows. */
void owned_rule(struct owned *statement, enum perm_action action, const char *alias);
/* any: the same for files: one that belongs to a record is read by whoever reads that field of it,
 * and changed or deleted by whoever changes it; others are under the rule of their owner. */
void owned_file_rule(struct owned *statement, enum perm_action action, const char *alias);
/* any: the statement; `name` is for logs. `sort` of a :page, else NULL. */
struct db_call
owned_call(struct owned *statement, const char *name, enum sql_kind kind, const char *sort);
/* any: one that changes or locks rows. */
struct db_call owned_write(struct owned *statement, const char *name, enum sql_kind kind);
