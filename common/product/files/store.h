#pragma once
/*
 * Where the bytes of files are: named by project and key, written once, never changed. What a file
 * is called, who may read it and whether it is kept at all is the ledger's (ledger.h).
 *
 * The store of an installation is a directory, or a bucket of a store that speaks S3, that all
 * gateways share. Whatever may block (open, write, fsync, rename, unlink) runs on threads, of which
 * projects take turns; bytes that the kernel has in memory are read without one.
 *
 * Results: FILES_GONE (no such bytes), FILES_FULL (no room), FILES_AWAY (the store cannot be
 * reached, or no thread is free: later), -ECANCELED, -ETIMEDOUT.
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

/* any: one that nothing has. */
void file_key_new(int64_t project, struct file_key *ret_key);
/* any: as it stands in the ledger. */
void file_key_set(int64_t project, struct str name, struct file_key *ret_key);

/* any, blocks: at the start: makes the directory when it is missing. NULL, or what is wrong with
 * it. `used`: there are files already, so it is where they are, or their volume is not mounted. */
const char *store_check(const char *dir, bool used);
/* any: once in each worker. NULL: this installation keeps no files. */
void store_start(const char *dir);
bool store_is_there(void);

/* A bucket; all borrowed for ever, texts NUL-terminated. */
struct store_s3 {
    struct str endpoint; /* https://host, with a port perhaps */
    struct str bucket, region, key_id, secret;
    struct str prefix;    /* of all keys, or empty */
    struct str spool_dir; /* for parts on their way, 16 MB an upload */
    bool virtual_host;    /* https://bucket.host/key, else https://host/bucket/key */
    int64_t idle_ms;      /* that it may say nothing */
};
/* any, blocks: NULL, or what is wrong with it. */
const char *store_s3_check(const struct store_s3 *config);
/* any: instead of store_start(). */
void store_start_s3(const struct store_s3 *config);
/* co: once started, asks it: FILES_AWAY and an answer that will not change by itself. One that
 * cannot be reached now is asked again with each file. */
AWAITS int store_s3_probe(struct task *task, struct str *ret_reason) MUSTCHECK;

/* What is known of bytes that were written. */
struct file_facts {
    int64_t size;
    uint8_t sha256[DIGEST_SHA256_BYTES];
    char mime_type[128]; /* of the bytes themselves (type.h) */
};

struct store_writer;
/* any: arena-owned; nothing is made before the first bytes are more than its buffer holds. The
 * writer's file is closed with the arena; what is left of it store_remove() removes. */
struct store_writer *store_writer_new(struct task *task, const struct file_key *key);
AWAITS int store_write(struct store_writer *writer, struct str piece) MUSTCHECK;
/* Bytes given to it so far. */
int64_t store_written(const struct store_writer *writer);
/* co: 0 once the bytes would survive a power cut under their key. */
AWAITS int store_finish(struct store_writer *writer, struct file_facts *ret_facts) MUSTCHECK;

struct store_reader;
/* co: arena-owned, closed with it. Bytes that are removed meanwhile are read to their end, from a
 * directory at least. `bytes` from `offset` are what will be read first: a store far away is asked
 * for them at once. */
AWAITS int store_open(struct task *task,
                      const struct file_key *key,
                      int64_t offset,
                      int64_t bytes,
                      struct store_reader **ret) MUSTCHECK;
/* any: idempotent; what it lent is gone. */
void store_close(struct store_reader *reader);
/* co: up to `bytes` from `offset`, as many as there are at hand; borrowed until the next call.
 * Fewer bytes than the ledger promises are FILES_GONE. */
AWAITS int store_read(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret)
    MUSTCHECK;

/* any: of a directory, the descriptor that bytes are read from, the reader's; else -1. */
int store_fd(const struct store_reader *reader);

/* co: 0 also when there is nothing; half-written ones too. */
AWAITS int store_remove(struct task *task, const struct file_key *key) MUSTCHECK;
/* co: all of a project. */
AWAITS int store_remove_project(struct task *task, int64_t project) MUSTCHECK;
