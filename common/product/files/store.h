#pragma once
/*
 * The store of files' bytes. Bytes are named by project and key, written once and never changed.
 * Which bytes are files is recorded by the ledger (ledger.h).
 *
 * The store of an installation is a directory or an S3 bucket that all gateways share. Blocking
 * calls (open, write, fsync, rename, unlink) run on threads, which are shared fairly between
 * projects. Bytes in the kernel's page cache are read without a thread.
 *
 * Results: FILES_MISSING (no such bytes), FILES_FULL (no space left), FILES_UNAVAILABLE (the store
 * cannot be reached or no thread is free: try again later), -ECANCELED, -ETIMEDOUT.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "crypto/digest.h"
#include "loop/task.h"

#define FILE_KEY_BYTES 32 /* of text: lower-case hexadecimal */

struct file_key {
    int64_t project;
    char name[FILE_KEY_BYTES + 1];
};

/* any: Makes a new random key. */
void file_key_new(int64_t project, struct file_key *ret_key);
/* any: Makes the key with this name, which has FILE_KEY_BYTES bytes and comes from the ledger. */
void file_key_set(int64_t project, struct str name, struct file_key *ret_key);

/* any, blocks: Checks the directory at the start, and creates it if it is missing. `used`: projects
 * have files already, so a directory without the store's mark is refused: a volume may not be
 * mounted. Returns NULL, or what is wrong with the directory (static). */
const char *store_check(const char *dir, bool used);
/* any: Selects the directory of the store; call once in each worker. Copies `dir`. NULL: this
 * installation stores no files. */
void store_start(const char *dir);
/* any: Returns whether this installation stores files. */
bool store_is_configured(void);

/* A bucket. All texts are NUL-terminated and must stay valid until the process ends. */
struct store_s3 {
    struct str endpoint; /* https://host or https://host:port; http is allowed */
    struct str bucket, region, key_id, secret;
    struct str prefix;    /* of all keys, or empty */
    struct str spool_dir; /* for parts that are being sent, 16 MB for each upload */
    bool virtual_host;    /* https://bucket.host/key, else https://host/bucket/key */
    int64_t idle_ms;      /* how long the server may send nothing */
};
/* any, blocks: Checks the configuration, without a request. NULL, or what is wrong (static). */
const char *store_s3_check(const struct store_s3 *config);
/* any: Selects a bucket as the store, instead of store_start(). */
void store_start_s3(const struct store_s3 *config);
/* co: Sends one request to the bucket, at the start. Returns FILES_UNAVAILABLE with *ret_reason
 * (arena-owned) if the answer shows a fault that an operator must correct. Returns 0 also if the
 * store cannot be reached or is overloaded, because each operation on a file sends its own
 * requests. */
AWAITS int store_s3_probe(struct task *task, struct str *ret_reason) MUSTCHECK;

/* Facts about bytes that were written. */
struct file_facts {
    int64_t size;
    uint8_t sha256[DIGEST_SHA256_BYTES];
    char mime_type[128]; /* detected from the bytes (type.h) */
};

struct store_writer;
/* any: Prepares to write the bytes of a key. The writer is arena-owned and closed with the arena.
 * Nothing is stored before the buffer is full or the writer is finished. store_remove() removes
 * what an unfinished writer has stored. */
struct store_writer *store_writer_new(struct task *task, const struct file_key *key);
/* co: Appends a chunk, which is copied. */
AWAITS int store_write(struct store_writer *writer, struct str chunk) MUSTCHECK;
/* any: Returns the number of bytes that were passed to store_write(). */
int64_t store_written(const struct store_writer *writer);
/* co: Completes the bytes. Returns 0 once they are stored under their key and would survive a power
 * cut; FILES_COLLECTED when the collector has removed the unfinished bytes. */
AWAITS int store_finish(struct store_writer *writer, struct file_facts *ret_facts) MUSTCHECK;

struct store_reader;
/* co: Opens bytes for reading. The reader is arena-owned and closed with the arena. With a
 * directory, bytes that are removed while they are read can be read to their end. With a bucket,
 * the request for `bytes` bytes from `offset` is sent at once, so pass the first range to read. */
AWAITS int store_open(struct task *task,
                      const struct file_key *key,
                      int64_t offset,
                      int64_t bytes,
                      struct store_reader **ret) MUSTCHECK;
/* any: Closes the reader; idempotent. Bytes that store_read() returned become invalid. */
void store_close(struct store_reader *reader);
/* co: Reads at least one and at most `bytes` bytes from `offset`, borrowed until the next call.
 * FILES_MISSING when the stored bytes end at `offset`: the ledger promises more of them. */
AWAITS int store_read(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret)
    MUSTCHECK;

/* any: Returns the file descriptor that a directory's bytes are read from, which the reader owns;
 * -1 for a bucket. */
int store_fd(const struct store_reader *reader);

/* co: Removes the bytes of a key, unfinished ones too. Returns 0 also when there are none. */
AWAITS int store_remove(struct task *task, const struct file_key *key) MUSTCHECK;
/* co: Removes all bytes of a project. */
AWAITS int store_remove_project(struct task *task, int64_t project) MUSTCHECK;
