/* The project's database holds the SHA-256 of tickets. Any gateway accepts a ticket, once. */
#include "stages/realtime_ticket.h"

#include "base/clock.h"
#include "base/codec.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "stages_sql.h"

#define TICKET_BYTES   32
#define TICKET_SECONDS 30
#define TICKET_CHARS   64 /* more than any ticket has */

static struct str hash_of(struct arena *arena, struct str ticket)
{
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);

    digest_sha256(ticket, hash);
    return (struct str){(const char *)hash, DIGEST_SHA256_BYTES};
}

int realtime_ticket_create(struct req *r, struct str *ret_ticket, int64_t *ret_expires_ms)
{
    const struct caller *caller = r->scope->caller;
    char bytes[TICKET_BYTES];

    rand_bytes(bytes, sizeof(bytes));
    *ret_ticket = codec_b64url(r->task.arena, (struct str){bytes, sizeof(bytes)});
    *ret_expires_ms = clock_wall_ms() + TICKET_SECONDS * 1000LL;
    return sql_exec(r,
                    NULL,
                    SQL_REALTIME_TICKET_ADD(.hash = hash_of(r->task.arena, *ret_ticket),
                                            .user_id = caller->user_id,
                                            .session_id = caller->session_id,
                                            .key_id = caller->key_id,
                                            .group_scope = caller->group_scope,
                                            .ends_at = caller->ends_ms,
                                            .seconds = TICKET_SECONDS));
}

int realtime_ticket_use(struct req *r, struct str ticket, struct caller *caller, bool *ret_found)
{
    struct rows rows;

    *ret_found = false;
    if (ticket.len == 0 || ticket.len > TICKET_CHARS)
        return 0;
    TRY(sql_all(r, &rows, SQL_REALTIME_TICKET_USE(.hash = hash_of(r->task.arena, ticket))));
    if (rows.count == 0)
        return 0;
    const struct sql_realtime_ticket_use_row row = sql_realtime_ticket_use_row(&rows, 0);
    caller->kind = row.key_id != 0 ? CALLER_KEY : CALLER_USER;
    caller->user_id = row.user_id;
    caller->session_id = row.session_id;
    caller->key_id = row.key_id;
    caller->group_scope = row.group_scope;
    caller->ends_ms = row.ends_at;
    *ret_found = true;
    return 0;
}
