#pragma once
/*
 * Statements over tables of the service that have an owner, such as files and folders, under the
 * row rule of records. A statement is built from texts, values and the rule. The table has a column
 * created_by; there are no grants for its rows.
 */
#include "records/records.h"

struct owned_statement;
/* any: begins a statement, which is arena-owned (ctx->task). */
struct owned_statement *owned_new(struct records_ctx *ctx);
/* any: appends SQL. `text` must be one of our own literals. */
void owned_add_text(struct owned_statement *statement, const char *text);
/* any: appends a parameter as "$n::type". The value is borrowed until the statement is sent. */
void owned_add_value(struct owned_statement *statement, struct db_param value, const char *type);
/* any: appends " and (...)" for the row named `alias`, or nothing if the caller sees all rows. */
void owned_add_rule(struct owned_statement *statement, enum perm_action action, const char *alias);
/* any: appends the rule for files. A caller that reads a record's file field may read the file, and
 * a caller that may update the field may change or delete the file. Files without a record are
 * under the rule of their owner. */
void owned_add_file_rule(struct owned_statement *statement,
                         enum perm_action action,
                         const char *alias);
/* any: finishes the statement. `name` is for logs. `sort`: for SQL_PAGE the columns by which
 * db_sql_page() may order the rows, comma separated; else NULL. */
struct db_call owned_finish(struct owned_statement *statement,
                            const char *name,
                            enum sql_kind kind,
                            const char *sort);
/* any: finishes a statement that changes or locks rows. */
struct db_call
owned_finish_write(struct owned_statement *statement, const char *name, enum sql_kind kind);
