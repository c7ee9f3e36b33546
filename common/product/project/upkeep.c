/* Operations on all projects. */
#include "project/upkeep.h"

#include "keys/rotate.h"
#include "migrations/migrate.h"
#include "project/project_private.h"

static void upkeep_changed(void *arg, int64_t number, int64_t epoch)
{
    epoch_publish(arg, number, epoch);
}

static struct key_owners owners_of(struct directory *directory)
{
    return (struct key_owners){
        .servers = &directory->servers,
        .masters = &directory->masters,
        .changed = upkeep_changed,
        .arg = directory,
    };
}

int migrate_all(struct task *task,
                struct directory *directory,
                void (*say)(const char *text),
                struct str *ret_reason)
{
    return migrate_run(
        task, &directory->servers, migrate_platform_list, migrate_project_list, say, ret_reason);
}

int data_keys_rewrap(struct task *task,
                     struct directory *directory,
                     void (*say)(const char *text),
                     struct str *ret_reason)
{
    struct key_owners owners = owners_of(directory);

    return keys_rewrap(task, &owners, say, ret_reason);
}

int data_keys_rotate(struct task *task,
                     struct directory *directory,
                     int64_t settle_ms,
                     void (*say)(const char *text),
                     struct str *ret_reason)
{
    struct key_owners owners = owners_of(directory);

    return keys_rotate(task, &owners, settle_ms, say, ret_reason);
}
