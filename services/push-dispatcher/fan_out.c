/* Writes the devices of an audience. */
#include "fan_out.h"

#include "dispatch_fan_out_sql.h"
#include "fan_out_source.h"

enum { PAGE = 500 };

/* Values of send->fan_out_stage: from where the next rows are written. */
enum { FROM_DEVICES, FROM_SOURCE, ALL_WRITTEN };

/* Returns the providers of the send whose devices are in push_devices. FCM is not one of them when
 * a field of an entity has the tokens of FCM. */
static size_t device_providers(const struct send *send, struct str to[PUSH_PROVIDERS])
{
    const struct providers *p = send->providers;
    enum push_provider only = send->request.audience.provider;
    size_t count = 0;

    if (p->has_fcm && p->source.entity_id == 0 && only != PUSH_WEB)
        to[count++] = str_from(push_provider_name(PUSH_FCM));
    if (p->vapid != NULL && only != PUSH_FCM)
        to[count++] = str_from(push_provider_name(PUSH_WEB));
    return count;
}

static int owner_entity(const struct send *send, int64_t *ret_id)
{
    const struct push_audience *audience = &send->request.audience;
    const struct entity *entity;

    *ret_id = 0;
    if (audience->kind != PUSH_TO_OWNER)
        return 0;
    *ret_id = audience->owner_entity_id;
    if (*ret_id != 0)
        return 0;
    entity = model_entity(send->item.project->model, audience->owner_entity_name);
    if (entity == NULL)
        return FAN_OUT_BAD_AUDIENCE;
    *ret_id = entity->id;
    return 0;
}

/* A statement that writes a page of devices, with its additional parameters. */
#define FAN_OUT(statement, ...)                                                                    \
    statement(.id = send->item.id,                                                                 \
              .token = send->item.token,                                                           \
              .after = send->fan_out_after,                                                        \
              .providers = providers,                                                              \
              .count = PAGE,                                                                       \
              .key_id = send->key_id,                                                              \
              .next = next __VA_OPT__(, ) __VA_ARGS__)

AWAITS static int
devices_page(struct task *task, struct send *send, int64_t entity, struct rows *ret_rows)
{
    const struct push_audience *audience = &send->request.audience;
    struct db *db = &send->item.project->db;
    struct str names[PUSH_PROVIDERS];
    struct sql_strs providers = sql_strs(names, device_providers(send, names));
    int next = fan_out_has_source(send) ? FROM_SOURCE : ALL_WRITTEN;

    switch (audience->kind) {
    case PUSH_TO_ALL:
        return db_query(task, db, FAN_OUT(SQL_FAN_OUT_ALL), ret_rows);
    case PUSH_TO_USERS:
        return db_query(
            task,
            db,
            FAN_OUT(SQL_FAN_OUT_USERS, .users = sql_i64s(audience->users, audience->nusers)),
            ret_rows);
    default:
        return db_query(
            task,
            db,
            FAN_OUT(SQL_FAN_OUT_OWNER, .entity = entity, .record = audience->owner_record_id),
            ret_rows);
    }
}

AWAITS static int fan_out_page(struct task *task, struct send *send)
{
    struct rows rows;
    int64_t entity;

    TRY(owner_entity(send, &entity));
    TRY(send->fan_out_stage == FROM_DEVICES
            ? devices_page(task, send, entity, &rows)
            : fan_out_source_page(task, send, entity, ALL_WRITTEN, &rows));
    if (rows.count == 0) {
        send_stop(send, SEND_LOST);
        return 0;
    }
    const struct sql_fan_out_row row = sql_fan_out_row(&rows, 0);
    send->fan_out_stage = row.fan_out;
    send->fan_out_after = row.fan_out_after;
    send->key_id = row.key_id;
    if (row.cancelled)
        send_stop(send, SEND_CANCELLED);
    return 0;
}

int fan_out_run(struct task *task, struct send *send)
{
    struct arena *own = task->arena;
    struct arena *scratch = arena_new(0);
    int rc = 0;

    task->arena = scratch;
    while (rc == 0 && send->fan_out_stage < ALL_WRITTEN &&
           send_check_stop(send) == SEND_CONTINUES) {
        rc = fan_out_page(task, send);
        arena_reset(scratch);
    }
    task->arena = own;
    arena_free(scratch);
    return rc;
}
