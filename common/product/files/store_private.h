#pragma once
/* The interface between the store and its drivers: a directory or a bucket. */
#include "files/store.h"

#define STORE_BUFFER_BYTES 65536U

struct store_writer {
    struct task *task;
    struct file_key key;
    int64_t written; /* bytes passed to store_write() */
    char *buffer;    /* malloc; NULL before the first bytes and after the last */
    size_t buffered;
    bool is_finished;
    struct digest digest;
    int fd;               /* disk; -1 = not created yet */
    struct s3_writer *s3; /* S3; NULL = not created yet */
};

struct store_reader {
    struct task *task;
    struct file_key key;
    char *buffer;                /* disk: malloc, allocated by the first read */
    int fd;                      /* disk; -1 = not open */
    struct fetch_stream *stream; /* S3; NULL = none */
    int64_t stream_offset;       /* S3: offset in the file of the stream's next byte */
};

struct store_driver {
    AWAITS int (*write)(struct store_writer *writer, struct str chunk);
    /* Writes `rest`, the bytes that write() has not received, and sets all facts but the size. */
    AWAITS int (*finish)(struct store_writer *writer, struct str rest, struct file_facts *ret);
    void (*writer_close)(struct store_writer *writer); /* any: idempotent */
    AWAITS int (*open)(struct store_reader *reader, int64_t offset, int64_t bytes);
    AWAITS int (*read)(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret);
    void (*reader_close)(struct store_reader *reader); /* any: idempotent */
    AWAITS int (*remove)(struct task *task, const struct file_key *key);
    AWAITS int (*remove_project)(struct task *task, int64_t project);
};
extern const struct store_driver disk_driver, s3_driver;

/* any: Selects the driver of this process. */
void store_start_with(const struct store_driver *driver);

/* In store_disk.c. */
void disk_start(const char *dir);
const char *disk_check(const char *dir, bool used);
