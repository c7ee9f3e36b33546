#pragma once
/*
 * What a running script reports to the process that watches it: records on a pipe, each a byte of
 * kind, a length (u32, the machine's order: both ends are the same program) and that many bytes of
 * JSON text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_LOG    'L' /* one JSON string: an entry of the log */
#define RECORD_ANSWER 'A' /* members of an object without braces: "ok":true,"result":1 */

#define RECORD_HEAD_BYTES 5
#define LOG_ENTRIES_MAX   100
#define LOG_ENTRY_BYTES   2048 /* of text, before it is escaped */
#define RESULT_BYTES_MAX  1048576
#define RESULT_DEPTH_MAX  50 /* levels that a reader with a limit of 64 can wrap further */
#define MESSAGE_BYTES     2048
#define RECORDS_BYTES_MAX (4U << 20) /* all records of one run */
#define EXIT_NO_MEMORY    3          /* the script's process could not allocate */

/* Growing text. Lack of memory ends the process with EXIT_NO_MEMORY. */
struct text {
    char *ptr;
    size_t len;
    size_t cap;
};
void text_add(struct text *text, const void *bytes, size_t count);
void text_cstr(struct text *text, const char *words);
void text_int(struct text *text, int64_t value);
/* UTF-16 as a JSON string with its quotes, cut after `max_bytes` of UTF-8 ("..." follows then).
 * Lone surrogates and U+0000 become U+FFFD. */
void text_quoted(struct text *text, const uint16_t *units, size_t count, size_t max_bytes);

/* JSON as JSON.stringify() wrote it -> UTF-8 JSON that a strict reader takes: integers outside
 * int64 become reals. NULL, or why no reader would take it. */
const char *text_json(struct text *text, const uint16_t *units, size_t count);

/* False when nobody reads any more. */
bool write_to(int fd, const void *bytes, size_t count);
/* Writes all bytes to fd 1; ends the process when nobody reads any more. */
void write_all(const void *bytes, size_t count);
void record_write(char kind, const struct text *text);
