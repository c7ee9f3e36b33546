/* Operations on all projects. */
#include "project/upkeep.h"

#include "keys/rotate.h"
#include "migrations/migrate.h"
#include "project/project_private.h"

static void upkeep_publish(void *arg, int64_t number, int64_t epoch)
{
    epoch_publish(arg, number, epoch);
}

static struct rotation_targets key_owners_make(struct directory *directory)
{
    return (struct rotation_targets){
        .servers = &directory->servers,
        .masters = &directory->masters,
        .on_epoch_raised = upkeep_publish,
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
    struct rotation_targets owners = key_owners_make(directory);

    return keys_rewrap(task, &owners, say, ret_reason);
}

int data_keys_rotate(struct task *task,
                     struct directory *directory,
                     int64_t settle_ms,
                     void (*say)(const char *text),
                     struct str *ret_reason)
{
    struct rotation_targets owners = key_owners_make(directory);

    return keys_rotate(task, &owners, settle_ms, say, ret_reason);
}
