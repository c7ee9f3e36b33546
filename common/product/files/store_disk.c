/*
 * The store in a directory: <dir>/<project>/<first two digits of the key>/<key>. A file is written
 * as "<key>.part", flushed and renamed, then its folder is flushed. So all bytes are under the key
 * or none are, even after a crash of the process or the machine.
 *
 * The file <dir>/MARK_NAME shows that the store's volume is mounted: a volume that is not mounted
 * looks like an empty directory. A call that does not find a file or folder checks for the mark.
 * Without the mark it returns FILES_UNAVAILABLE: nothing counts as missing, and no folder is
 * created.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/panic.h"
#include "files/store_private.h"
#include "files/type.h"
#include "log/log.h"
#include "loop/work.h"

#define DIR_BYTES_MAX          1024
#define PATH_BYTES             1152 /* the directory, project, folder and key */
#define DIR_MODE               0700
#define FILE_MODE              0600
#define REMOVE_DESCRIPTORS_MAX 16 /* descriptors that nftw() may hold open */

#define RENAME_CALL "rename"
#define MARK_CALL   "check of the mark"
#define MARK_NAME   "groundwork-files"

static char root[DIR_BYTES_MAX + 1];

struct disk_path {
    char folder[PATH_BYTES]; /* <dir>/<project>/<xx> */
    char part[PATH_BYTES];
    char whole[PATH_BYTES];
};

static void disk_path_build(const struct file_key *key, struct disk_path *ret)
{
    (void)snprintf(ret->folder,
                   sizeof(ret->folder),
                   "%.1024s/%lld/%.2s",
                   root,
                   (long long)key->project,
                   key->name);
    (void)snprintf(ret->whole, sizeof(ret->whole), "%.1100s/%s", ret->folder, key->name);
    (void)snprintf(ret->part, sizeof(ret->part), "%.1100s/%s.part", ret->folder, key->name);
}

/* --- results --- */

static int disk_result(const char *what, int error)
{
    if (error == ENOSPC || error == EDQUOT)
        return FILES_FULL;
    if (error == ENOENT && strcmp(what, RENAME_CALL) == 0)
        return FILES_COLLECTED; /* the collector has removed the unfinished file */
    log_warn("files.store_failed", L_CSTR("call", what), L_I64("errno", error));
    return FILES_UNAVAILABLE;
}

/* The outcome of system calls on a thread, for disk_result(). */
struct disk_job {
    const char *call; /* the call that failed; NULL = none */
    int error;        /* its errno */
};

static bool disk_job_fail(struct disk_job *job, const char *call)
{
    job->call = call;
    job->error = errno;
    return false;
}

/* co: Runs fn(arg) on a thread. fn stores a failure in `job`, which is part of `arg`. */
AWAITS static int disk_run(struct task *task, work_fn fn, void *arg, const struct disk_job *job)
{
    int rc = work_run(task, WORK_FILE, fn, arg);

    if (rc == -EAGAIN)
        return FILES_UNAVAILABLE;
    if (rc == 0 && job->call)
        rc = disk_result(job->call, job->error);
    return rc;
}

/* --- starting --- */

/* Creates the mark, an empty file, so that it survives a power cut. */
static bool mark_create(const char *dir)
{
    char path[PATH_BYTES];
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    (void)snprintf(path, sizeof(path), "%.1024s/%s", dir, MARK_NAME);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    bool made = fd >= 0 && folder >= 0 && fsync(fd) == 0 && fsync(folder) == 0;
    if (fd >= 0)
        (void)close(fd);
    if (folder >= 0)
        (void)close(folder);
    return made;
}

static bool dir_has_mark(const char *dir)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%.1024s/%s", dir, MARK_NAME);
    return access(path, F_OK) == 0;
}

const char *disk_check(const char *dir, bool used)
{
    if (strlen(dir) > DIR_BYTES_MAX || dir[0] != '/')
        return "is not an absolute path, or too long";
    if (mkdir(dir, DIR_MODE) != 0 && errno != EEXIST)
        return "cannot be created";
    if (access(dir, R_OK | W_OK | X_OK) != 0)
        return "is not a directory that can be written to";
    if (dir_has_mark(dir))
        return NULL;
    if (used)
        return "has no file named " MARK_NAME
               ", so it does not have this installation's files: is its "
               "volume not mounted? (If the files are lost, create an empty file of that name.)";
    return mark_create(dir) ? NULL : "cannot be written to";
}

void disk_start(const char *dir)
{
    MUST(strlen(dir) <= DIR_BYTES_MAX);
    (void)snprintf(root, sizeof(root), "%.1024s", dir);
}

static void disk_writer_close(struct store_writer *writer)
{
    if (writer->fd >= 0)
        (void)close(writer->fd);
    writer->fd = -1;
}

static void disk_reader_close(struct store_reader *reader)
{
    if (reader->fd >= 0)
        (void)close(reader->fd);
    reader->fd = -1;
    free(reader->buffer);
    reader->buffer = NULL;
}

/* --- on threads --- */

static bool folder_flush(const char *path, struct disk_job *job)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return disk_job_fail(job, "open folder");
    bool ok = fsync(fd) == 0 || disk_job_fail(job, "fsync folder");
    (void)close(fd);
    return ok;
}

/* Creates a folder, and flushes its parent before a file is written in the new folder. */
static bool folder_create(char *path, struct disk_job *job)
{
    if (mkdir(path, DIR_MODE) != 0)
        return errno == EEXIST || disk_job_fail(job, "mkdir");
    char *slash = strrchr(path, '/');
    *slash = '\0';
    bool ok = folder_flush(path, job);
    *slash = '/';
    return ok;
}

/* Returns whether the whole store is missing: its volume is not mounted. Runs on a thread. */
static bool store_is_unmounted(struct disk_job *job)
{
    if (dir_has_mark(root))
        return false;
    errno = ENODEV;
    (void)disk_job_fail(job, MARK_CALL);
    return true;
}

static bool folders_create(struct disk_path *path, struct disk_job *job)
{
    char *slash = strrchr(path->folder, '/');

    if (store_is_unmounted(job))
        return false;

    *slash = '\0';
    bool ok = folder_create(path->folder, job);
    *slash = '/';
    return ok && folder_create(path->folder, job);
}

static bool part_open(const struct file_key *key, int *ret_fd, struct disk_job *job)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    struct disk_path path;

    disk_path_build(key, &path);
    *ret_fd = open(path.part, flags, FILE_MODE);
    if (*ret_fd < 0 && errno == ENOENT) {
        if (!folders_create(&path, job))
            return false;
        *ret_fd = open(path.part, flags, FILE_MODE);
    }
    return *ret_fd >= 0 || disk_job_fail(job, "open");
}

static bool disk_write_all(int fd, struct str data, struct disk_job *job)
{
    while (data.len > 0) {
        ssize_t done = write(fd, data.ptr, data.len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return disk_job_fail(job, "write");
        data = (struct str){data.ptr + done, data.len - (size_t)done};
    }
    return true;
}

struct disk_write {
    struct disk_job job;
    struct store_writer *writer;
    struct str chunk;
    struct file_facts *facts; /* set with the last chunk; NULL before */
};

static bool chunk_write(struct disk_write *job)
{
    struct store_writer *writer = job->writer;

    if (writer->fd < 0 && !part_open(&writer->key, &writer->fd, &job->job))
        return false;
    digest_update(&writer->digest, job->chunk);
    return disk_write_all(writer->fd, job->chunk, &job->job);
}

static void disk_write_run(void *arg)
{
    (void)chunk_write(arg);
}

/* Detects the type from the beginning of the file. If the last chunk is not the whole file, its
 * beginning is read again, most likely from the page cache. */
static void type_find(struct disk_write *job)
{
    struct str head = job->chunk;
    char *copy = NULL;

    if ((int64_t)head.len < job->writer->written) {
        copy = malloc(TYPE_HEAD_BYTES);
        MUST(copy != NULL);
        ssize_t got = pread(job->writer->fd, copy, TYPE_HEAD_BYTES, 0);
        head = (struct str){copy, got > 0 ? (size_t)got : 0};
    }
    type_detect(head, job->facts->mime_type, sizeof(job->facts->mime_type));
    free(copy);
}

static void disk_finish_run(void *arg)
{
    struct disk_write *job = arg;
    struct disk_path path;

    if (!chunk_write(job))
        return;
    digest_final(&job->writer->digest, job->facts->sha256);
    type_find(job);
    disk_path_build(&job->writer->key, &path);
    if (fsync(job->writer->fd) != 0) {
        (void)disk_job_fail(&job->job, "fsync");
        return;
    }
    if (rename(path.part, path.whole) != 0) {
        (void)disk_job_fail(&job->job, RENAME_CALL);
        if (job->job.error == ENOENT)
            (void)store_is_unmounted(&job->job);
        return;
    }
    (void)folder_flush(path.folder, &job->job);
}

AWAITS static int disk_write(struct store_writer *writer, struct str chunk)
{
    struct disk_write job = {.writer = writer, .chunk = chunk};

    return disk_run(writer->task, disk_write_run, &job, &job.job);
}

AWAITS static int
disk_finish(struct store_writer *writer, struct str rest, struct file_facts *ret_facts)
{
    struct disk_write job = {.writer = writer, .chunk = rest, .facts = ret_facts};

    return disk_run(writer->task, disk_finish_run, &job, &job.job);
}

/* --- reading --- */

struct disk_open {
    struct disk_job job;
    const struct file_key *key;
    int fd;
};

static void disk_open_run(void *arg)
{
    struct disk_open *job = arg;
    struct disk_path path;

    disk_path_build(job->key, &path);
    job->fd = open(path.whole, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (job->fd < 0)
        (void)disk_job_fail(&job->job, "open");
    if (job->fd < 0 && job->job.error == ENOENT)
        (void)store_is_unmounted(&job->job);
}

/* Opens a file without a thread if the kernel can resolve the path from its cache (openat2(2),
 * RESOLVE_CACHED). Returns the descriptor, or -1. */
static int disk_open_cached(const struct file_key *key)
{
    static bool unsupported;
    struct disk_path path;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_CACHED};
    long fd;

    if (unsupported)
        return -1;
    disk_path_build(key, &path);
    fd = syscall(SYS_openat2, AT_FDCWD, path.whole, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
        unsupported = true;
    return (int)fd;
}

AWAITS static int
disk_open(struct store_reader *reader, int64_t offset UNUSED, int64_t bytes UNUSED)
{
    struct disk_open job = {.key = &reader->key};

    reader->fd = disk_open_cached(&reader->key);
    if (reader->fd >= 0)
        return 0;
    int rc = work_run(reader->task, WORK_FILE, disk_open_run, &job);
    if (rc == -EAGAIN)
        return FILES_UNAVAILABLE;
    TRY(rc);
    if (job.job.call)
        return job.job.error == ENOENT ? FILES_MISSING : disk_result(job.job.call, job.job.error);
    reader->fd = job.fd;
    return 0;
}

struct disk_read {
    struct disk_job job;
    int fd;
    char *buffer;
    size_t bytes;
    int64_t offset;
    ssize_t got;
};

static void disk_read_run(void *arg)
{
    struct disk_read *job = arg;

    do {
        job->got = pread(job->fd, job->buffer, job->bytes, job->offset);
    } while (job->got < 0 && errno == EINTR);
    if (job->got < 0)
        (void)disk_job_fail(&job->job, "read");
}

AWAITS static int
disk_read(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret)
{
    struct disk_read job = {.fd = reader->fd, .offset = offset};

    if (!reader->buffer)
        reader->buffer = malloc(STORE_BUFFER_BYTES);
    MUST(reader->buffer != NULL);
    job.buffer = reader->buffer;
    job.bytes = bytes < (int64_t)STORE_BUFFER_BYTES ? (size_t)bytes : STORE_BUFFER_BYTES;
    struct iovec into = {job.buffer, job.bytes};
    job.got = preadv2(reader->fd, &into, 1, offset, RWF_NOWAIT);
    if (job.got <= 0) /* not in the page cache, or RWF_NOWAIT is not supported */
        TRY(disk_run(reader->task, disk_read_run, &job, &job.job));
    if (job.got <= 0)
        return FILES_MISSING;
    *ret = (struct str){job.buffer, (size_t)job.got};
    return 0;
}

/* --- removing --- */

struct disk_remove {
    struct disk_job job;
    const struct file_key *key;
};

static bool path_unlink(const char *path, struct disk_job *job)
{
    return unlink(path) == 0 || errno == ENOENT || disk_job_fail(job, "unlink");
}

/* Also flushes the folder, because the caller deletes the key's row next. */
static void disk_remove_run(void *arg)
{
    struct disk_remove *job = arg;
    struct disk_path path;

    disk_path_build(job->key, &path);
    if (!path_unlink(path.part, &job->job) || !path_unlink(path.whole, &job->job))
        return;
    if (access(path.folder, F_OK) == 0)
        (void)folder_flush(path.folder, &job->job);
    else
        (void)store_is_unmounted(&job->job);
}

AWAITS static int disk_remove(struct task *task, const struct file_key *key)
{
    struct disk_remove job = {.key = key};

    return disk_run(task, disk_remove_run, &job, &job.job);
}

struct disk_remove_tree {
    struct disk_job job;
    int64_t project;
};

static int tree_entry_remove(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static void disk_remove_tree_run(void *arg)
{
    struct disk_remove_tree *job = arg;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%.1024s/%lld", root, (long long)job->project);
    if (store_is_unmounted(&job->job))
        return;
    if (nftw(path, tree_entry_remove, REMOVE_DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) !=
            0 &&
        errno != ENOENT)
        (void)disk_job_fail(&job->job, "remove");
}

AWAITS static int disk_remove_project(struct task *task, int64_t project)
{
    struct disk_remove_tree job = {.project = project};

    return disk_run(task, disk_remove_tree_run, &job, &job.job);
}

const struct store_driver disk_driver = {
    .write = disk_write,
    .finish = disk_finish,
    .writer_close = disk_writer_close,
    .open = disk_open,
    .read = disk_read,
    .reader_close = disk_reader_close,
    .remove = disk_remove,
    .remove_project = disk_remove_project,
};
