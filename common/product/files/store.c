/* The part of the store that is common to directories and buckets. */
#include "files/store_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/panic.h"
#include "base/rand.h"

static const struct store_driver *store; /* NULL = this installation stores no files */

void file_key_new(int64_t project, struct file_key *ret_key)
{
    uint64_t high = rand_u64();
    uint64_t low = rand_u64();

    ret_key->project = project;
    (void)snprintf(ret_key->name,
                   sizeof(ret_key->name),
                   "%016llx%016llx",
                   (unsigned long long)high,
                   (unsigned long long)low);
}

void file_key_set(int64_t project, struct str name, struct file_key *ret_key)
{
    MUST(name.len == FILE_KEY_BYTES);
    ret_key->project = project;
    (void)snprintf(ret_key->name, sizeof(ret_key->name), "%.*s", STR_ARG(name));
}

const char *store_check(const char *dir, bool used)
{
    return disk_check(dir, used);
}

void store_start_with(const struct store_driver *driver)
{
    store = driver;
}

void store_start(const char *dir)
{
    if (dir)
        disk_start(dir);
    store = dir ? &disk_driver : NULL;
}

bool store_is_configured(void)
{
    return store != NULL;
}

/* --- writing --- */

static void writer_done(void *arg)
{
    struct store_writer *writer = arg;

    free(writer->buffer);
    writer->buffer = NULL;
    digest_done(&writer->digest);
    store->writer_close(writer);
}

struct store_writer *store_writer_new(struct task *task, const struct file_key *key)
{
    struct store_writer *writer = ARENA_NEW(task->arena, writer);

    writer->task = task;
    writer->key = *key;
    writer->fd = -1;
    digest_init(&writer->digest);
    arena_defer(task->arena, writer_done, writer);
    return writer;
}

int store_write(struct store_writer *writer, struct str chunk)
{
    MUST(!writer->is_finished);
    writer->written += (int64_t)chunk.len;
    if (!writer->buffer) {
        writer->buffer = malloc(STORE_BUFFER_BYTES);
        MUST(writer->buffer != NULL);
    }
    while (chunk.len > 0) {
        size_t capacity = STORE_BUFFER_BYTES - writer->buffered;
        size_t take = chunk.len < capacity ? chunk.len : capacity;
        memcpy(writer->buffer + writer->buffered, chunk.ptr, take);
        writer->buffered += take;
        chunk = (struct str){chunk.ptr + take, chunk.len - take};
        if (writer->buffered == STORE_BUFFER_BYTES) {
            TRY(store->write(writer, (struct str){writer->buffer, writer->buffered}));
            writer->buffered = 0;
        }
    }
    return 0;
}

int64_t store_written(const struct store_writer *writer)
{
    return writer->written;
}

int store_finish(struct store_writer *writer, struct file_facts *ret_facts)
{
    MUST(!writer->is_finished);
    writer->is_finished = true;
    TRY(store->finish(writer, (struct str){writer->buffer, writer->buffered}, ret_facts));
    ret_facts->size = writer->written;
    writer_done(writer);
    return 0;
}

/* --- reading --- */

static void reader_done(void *arg)
{
    store->reader_close(arg);
}

void store_close(struct store_reader *reader)
{
    reader_done(reader);
}

int store_open(struct task *task,
               const struct file_key *key,
               int64_t offset,
               int64_t bytes,
               struct store_reader **ret)
{
    struct store_reader *reader = ARENA_NEW(task->arena, reader);

    reader->task = task;
    reader->key = *key;
    reader->fd = -1;
    arena_defer(task->arena, reader_done, reader);
    TRY(store->open(reader, offset, bytes));
    *ret = reader;
    return 0;
}

int store_read(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret)
{
    return store->read(reader, offset, bytes, ret);
}

int store_fd(const struct store_reader *reader)
{
    return reader->fd;
}

/* --- removing --- */

int store_remove(struct task *task, const struct file_key *key)
{
    return store->remove(task, key);
}

int store_remove_project(struct task *task, int64_t project)
{
    return store->remove_project(task, project);
}
