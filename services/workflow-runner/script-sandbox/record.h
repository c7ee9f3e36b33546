#pragma once
/*
 * Records that a running script reports to the process that watches it. They go through a pipe. A
 * record is a byte of kind, a length (u32 in the machine's byte order, because both ends are the
 * same program) and that number of bytes of JSON text.
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
#define RESULT_DEPTH_MAX  50 /* levels; a reader with a limit of 64 can still wrap the result */
#define MESSAGE_BYTES     2048
#define RECORDS_BYTES_MAX (4U << 20) /* of all records of one run */
#define EXIT_NO_MEMORY    3          /* the script's process could not allocate */

/* A growing text. Lack of memory ends the process with EXIT_NO_MEMORY. */
struct text {
    char *ptr;
    size_t len;
    size_t cap;
};
/* text_add() appends bytes, text_cstr() a NUL-terminated text, and text_int() a decimal number. */
void text_add(struct text *text, const void *bytes, size_t count);
void text_cstr(struct text *text, const char *words);
void text_int(struct text *text, int64_t value);
/* Appends UTF-16 as a JSON string with its quotes. After `max_bytes` of UTF-8 the text is cut, and
 * "..." follows. Lone surrogates and U+0000 become U+FFFD. */
void text_quoted(struct text *text, const uint16_t *units, size_t count, size_t max_bytes);

/* Appends JSON that JSON.stringify() wrote, as UTF-8 that a strict reader accepts: integers that
 * may not fit into int64 become reals. NULL, or the reason why no reader would accept it. */
const char *text_json(struct text *text, const uint16_t *units, size_t count);

/* Writes all bytes to `fd`. False when a write fails, for example because the reader has closed its
 * end. */
bool write_to(int fd, const void *bytes, size_t count);
/* write_all() writes all bytes to fd 1 and record_write() writes one record there. Both end the
 * process when a write fails. */
void write_all(const void *bytes, size_t count);
void record_write(char kind, const struct text *text);
