#pragma once
/* Between the store and what keeps the bytes. */
#include "files/store.h"

#define STORE_BUFFER_BYTES 65536U

struct store_writer {
    struct task *task;
    struct file_key key;
    int64_t written; /* given to it */
    char *buffer;    /* malloc; NULL before the first bytes and after the last */
    size_t buffered;
    bool finished;
    struct digest digest;
    int fd;               /* disk: -1 = not made yet */
    struct s3_writer *s3; /* NULL = not made yet */
};

struct store_reader {
    struct task *task;
    struct file_key key;
    char *buffer;                /* disk: malloc, at the first read */
    int fd;                      /* disk */
    struct fetch_stream *stream; /* S3: NULL = none */
    int64_t at;                  /* of the file, what it says next */
};

struct store_driver {
    AWAITS int (*write)(struct store_writer *writer, struct str piece);
    /* `rest` is what has not been written yet; but for the size all facts are found here. */
    AWAITS int (*finish)(struct store_writer *writer, struct str rest, struct file_facts *ret);
    void (*writer_close)(struct store_writer *writer); /* any: idempotent */
    AWAITS int (*open)(struct store_reader *reader, int64_t offset, int64_t bytes);
    AWAITS int (*read)(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret);
    void (*reader_close)(struct store_reader *reader); /* any: idempotent */
    AWAITS int (*remove)(struct task *task, const struct file_key *key);
    AWAITS int (*remove_project)(struct task *task, int64_t project);
};
extern const struct store_driver disk_driver, s3_driver;

/* any: this one from now on. */
void store_start_with(const struct store_driver *driver);

/* store_disk.c. */
void disk_start(const char *dir);
const char *disk_check(const char *dir, bool used);
