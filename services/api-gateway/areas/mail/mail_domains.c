/* /tenant-domains: the domains that the project sends mail from, and their DNS records. */

#include <errno.h>

#include "base/clock.h"
#include "base/codec.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "crypto/rsa_key.h"
#include "dns/dns.h"
#include "json/jr.h"
#include "keys/sealed_aad.h"
#include "limit.h"
#include "loop/work.h"
#include "mail/domain.h"
#include "mail_domains_sql.h"
#include "stages/stages.h"

#define DOMAINS_MAX        20
#define CHANGES_PER_MINUTE 10 /* of a project: each makes a key, or queries name servers */
#define DNS_MS             12000
#define RECORDS_BYTES      65536
#define TOKEN_BYTES        16
#define SELECTOR_SALT      4

static struct str spf; /* the mechanism that names the operator's servers */

static void mail_domains_start(struct directory *directory UNUSED, const struct app_conf *conf)
{
    spf = conf->mail_spf;
}

const struct area_life mail_domains_life = {.start = mail_domains_start};

struct domain_in {
    struct in_str domain;
};
static const struct field domain_in_fields[] = {
    {.name = "domain",
     FIELD_AT(struct domain_in, domain),
     .type = FIELD_STR,
     .required = true,
     .max = MAIL_DOMAIN_MAX,
     .doc = "In ASCII; names in other scripts as xn--...",
     .example = "\"mail.example.com\""},
};
static const struct schema domain_in_schema =
    SCHEMA("TenantDomainCreate", struct domain_in, domain_in_fields);

static const char *const states[] = {"pending", "verified", "failed", NULL};
static const char *const purposes[] = {"ownership", "dkim", "spf", "dmarc", NULL};
static const char *const record_types[] = {"TXT", NULL};

static const struct field record_fields[] = {
    {.name = "purpose", .type = FIELD_STR, .required = true, .values = purposes},
    {.name = "type", .type = FIELD_STR, .required = true, .values = record_types},
    {.name = "name",
     .type = FIELD_STR,
     .required = true,
     .example = "\"_groundwork.mail.example.com\""},
    {.name = "value",
     .type = FIELD_STR,
     .required = true,
     .doc = "Text to publish; when longer than 255 characters, as several strings of one record"},
    {.name = "is_required",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "true: the domain cannot send without the record; false: the record helps delivery"},
    {.name = "status", .type = FIELD_STR, .required = true, .values = states},
    {.name = "found",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "The record that is published for this purpose"},
    {.name = "error",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .example = "\"there is no such record\""},
    {.name = "checked_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
static const struct schema record_schema = SCHEMA_OUT("TenantDomainRecord", record_fields);

static const struct field domain_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "domain", .type = FIELD_STR, .required = true},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = states,
     .doc = "verified: mail can be sent from the domain, and is signed"},
    {.name = "records", .type = FIELD_LIST, .required = true, .sub = &record_schema},
    {.name = "verified_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "checked_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema domain_schema = SCHEMA_OUT("TenantDomain", domain_fields);

/* --- records --- */

/* The state of a record, from an earlier check or the current one. */
struct record_state {
    struct str status, found, error, checked_at;
};

static struct record_state *record_states_new(struct arena *arena)
{
    struct record_state *list = ARENA_ARRAY(arena, list, MAIL_RECORDS);

    for (size_t i = 0; i < MAIL_RECORDS; i++)
        list[i] = (struct record_state){.status = STR("pending")};
    return list;
}

static void record_states_read(const json_t *records, struct record_state *list)
{
    size_t index;
    const json_t *record;

    json_array_foreach(records, index, record)
    {
        for (int i = 0; i < MAIL_RECORDS; i++) {
            if (!str_is(jr_str(record, "purpose"), mail_record_purpose((enum mail_record)i)))
                continue;
            list[i] = (struct record_state){jr_str(record, "status"),
                                            jr_str(record, "found"),
                                            jr_str(record, "error"),
                                            jr_str(record, "checked_at")};
        }
    }
}

static void domain_put_record(struct jw *w,
                              struct arena *arena,
                              const struct mail_domain *domain,
                              enum mail_record record,
                              const struct record_state *state)
{
    struct str value = mail_record_value(arena, domain, record);

    if (value.ptr == NULL)
        return;
    jw_obj(w);
    JW_CSTR(w, "purpose", mail_record_purpose(record));
    JW_CSTR(w, "type", "TXT");
    JW_STR(w, "name", mail_record_name(arena, domain, record));
    JW_STR(w, "value", value);
    JW_BOOL(w, "is_required", mail_record_is_required(record));
    JW_STR(w, "status", state->status);
    JW_STR_OR_NULL(w, "found", state->found);
    JW_STR_OR_NULL(w, "error", state->error);
    JW_STR_OR_NULL(w, "checked_at", state->checked_at);
    jw_obj_end(w);
}

static struct str
records_json(struct arena *arena, const struct mail_domain *domain, const struct record_state *list)
{
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, RECORDS_BYTES);
    jw_init(&w, &text);
    jw_arr(&w);
    for (int i = 0; i < MAIL_RECORDS; i++)
        domain_put_record(&w, arena, domain, (enum mail_record)i, &list[i]);
    jw_arr_end(&w);
    return strbuf_view(&text);
}

/* --- checks --- */

/* Sets the state of a record by the answer of the name server. Without an answer, the status stays
 * as it was. A found text that is not valid UTF-8 is left out, because it would not be JSON. */
static void record_take_answer(struct arena *arena,
                               const struct mail_domain *domain,
                               enum mail_record record,
                               const struct dns_question *question,
                               struct record_state *state)
{
    char *now = arena_alloc(arena, CLOCK_TEXT_BYTES);

    state->checked_at = str_from(clock_format(now, clock_wall_ms()));
    if (question->rc != 0 && question->rc != DNS_MISSING) {
        state->error =
            arena_printf(arena, "the name server could not be queried: %s", question->reason);
        return;
    }
    const struct mail_verdict verdict =
        mail_record_judge(arena, domain, record, question->texts, question->count);
    state->status = verdict.ok ? STR("verified") : STR("failed");
    state->found = verdict.found.len && utf8_valid(verdict.found) ? verdict.found : STR_NONE;
    state->error = str_from(verdict.error);
}

AWAITS static int
domain_check(struct req *r, const struct mail_domain *domain, struct record_state *list)
{
    struct dns_question *questions = ARENA_ARRAY(r->task.arena, questions, MAIL_RECORDS);
    size_t count = 0;

    for (int i = 0; i < MAIL_RECORDS; i++)
        if (mail_record_value(r->task.arena, domain, (enum mail_record)i).ptr != NULL)
            questions[count++].name = mail_record_name(r->task.arena, domain, (enum mail_record)i);
    int rc = dns_query_txt(&r->task, questions, count, DNS_MS);
    if (rc == DNS_BUSY)
        return fail(
            r, PROBLEM_DEPENDENCY_UNAVAILABLE, "Too many domains are being checked; try again.");
    if (rc != 0)
        return rc;
    count = 0;
    for (int i = 0; i < MAIL_RECORDS; i++)
        if (mail_record_value(r->task.arena, domain, (enum mail_record)i).ptr != NULL)
            record_take_answer(
                r->task.arena, domain, (enum mail_record)i, &questions[count++], &list[i]);
    return 0;
}

static struct str domain_status(const struct record_state *list)
{
    bool all = true;

    for (int i = 0; i < MAIL_RECORDS; i++) {
        if (!mail_record_is_required((enum mail_record)i))
            continue;
        if (str_is(list[i].status, "failed"))
            return STR("failed");
        all = all && str_is(list[i].status, "verified");
    }
    return all ? STR("verified") : STR("pending");
}

/* --- handlers --- */

AWAITS static int domains_list(struct req *r)
{
    return reply_page(r, "id", SQL_DOMAINS_LIST());
}

AWAITS static int reply_domain(struct req *r, int status, int64_t id)
{
    struct rows domain;

    TRY(sql_one(r, &domain, SQL_DOMAIN_GET(.id = id)));
    return reply_row(r, status, &domain);
}

AWAITS static int domains_get(struct req *r)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    return reply_domain(r, 200, id);
}

static void key_make(void *arg)
{
    *(struct rsa_key **)arg = rsa_key_generate();
}

/* co: Makes a pair of keys, with the public key as text and the private key sealed. */
AWAITS static int domain_new_key(struct req *r, struct mail_domain *domain, struct str *ret_sealed)
{
    struct arena *arena = r->task.arena;
    struct rsa_key *key = NULL;

    int rc = work_run(&r->task, WORK_HASH, key_make, &key);
    if (key != NULL)
        arena_defer(arena, rsa_key_free_deferred, key);
    if (rc == -EAGAIN)
        return fail(r, PROBLEM_DEPENDENCY_UNAVAILABLE, "Too many keys are being made; try again.");
    if (rc != 0)
        return rc;
    domain->public_key = codec_b64(arena, rsa_key_spki(arena, key));
    *ret_sealed =
        aead_seal(arena,
                  &r->scope->project->data_key,
                  rsa_key_to_pkcs8(arena, key),
                  aad_setting(arena, r->scope->project->number, STR("dkim"), domain->domain));
    return 0;
}

static struct str random_hex(struct arena *arena, size_t bytes)
{
    char *raw = arena_alloc(arena, bytes);

    rand_bytes(raw, bytes);
    return codec_hex(arena, (struct str){raw, bytes});
}

static struct db_call domain_audit(struct req *r, const char *action, int64_t id, struct str domain)
{
    /* A domain's name needs no escaping. */
    return gateway_audit(r,
                         action,
                         "tenant_domain",
                         id,
                         arena_printf(r->task.arena, "{\"domain\":\"%.*s\"}", STR_ARG(domain)));
}

static const struct limit domains_limit = {"mail_domains", "A project", "domains", DOMAINS_MAX};

AWAITS static int add_domain(struct req *r, const struct mail_domain *domain, struct str sealed)
{
    struct db_call count = db_call(SQL_DOMAINS_COUNT());
    struct arena *arena = r->task.arena;
    struct rows rows;

    TRY(sql_begin(r));
    TRY(limit_check(r, &domains_limit, 0, &count, 1));
    TRY(sql_all(r,
                &rows,
                SQL_DOMAIN_ADD(.domain = domain->domain,
                               .token = domain->token,
                               .selector = domain->selector,
                               .public_key = domain->public_key,
                               .records = records_json(arena, domain, record_states_new(arena)))));
    if (!rows.count)
        return fail_unique_violation(
            r, "domain", "is taken", "The project already has this domain.");
    int64_t id = sql_domain_add_row(&rows, 0).id;
    struct db_call calls[] = {
        db_call(SQL_DOMAIN_KEY_PUT(.domain = domain->domain,
                                   .selector = domain->selector,
                                   .sealed = sealed)),
        domain_audit(r, "tenant_domains.create", id, domain->domain),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    reply_location(r, id);
    return reply_domain(r, 201, id);
}

AWAITS static int domains_create(struct req *r)
{
    struct arena *arena = r->task.arena;
    struct mail_domain domain = {.spf = spf};
    struct domain_in in;
    struct str sealed;

    TRY(req_json(r, &domain_in_schema, &in));
    domain.domain = arena_lower(arena, in.domain.value);
    if (!mail_domain_is_valid(domain.domain))
        return fail_field(r, "domain", PROBLEM_PATTERN, "must be a domain, such as example.com");
    TRY(rate_limit_sign_in(r, "mail_domains", STR("all"), CHANGES_PER_MINUTE));
    domain.token = random_hex(arena, TOKEN_BYTES);
    domain.selector = arena_printf(arena, "gw%.*s", STR_ARG(random_hex(arena, SELECTOR_SALT)));
    TRY(domain_new_key(r, &domain, &sealed));
    return add_domain(r, &domain, sealed);
}

/* No row is locked while name servers are queried. Of concurrent requests, each stores the answers
 * that it got. */
AWAITS static int domains_verify(struct req *r)
{
    struct record_state *list = record_states_new(r->task.arena);
    struct jr_error error;
    json_t *records;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &rows, SQL_DOMAIN_READ(.id = id)));
    TRY(rate_limit_sign_in(r, "mail_domains", STR("all"), CHANGES_PER_MINUTE));
    const struct sql_domain_read_row row = sql_domain_read_row(&rows, 0);
    const struct mail_domain domain = {row.domain, row.token, row.selector, row.public_key, spf};
    if (jr_parse_stored(r->task.arena, row.records, &records, &error) != 0)
        return fail_internal(r, -EBADMSG);
    record_states_read(records, list);
    TRY(domain_check(r, &domain, list));
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_DOMAIN_CHECKED(.id = id,
                                   .status = domain_status(list),
                                   .records = records_json(r->task.arena, &domain, list))));
    struct db_call audit = domain_audit(r, "tenant_domains.verify", id, domain.domain);
    TRY(sql_batch(r, &audit, 1));
    TRY(sql_commit(r));
    return reply_domain(r, 200, id);
}

AWAITS static int domains_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_DOMAIN_LOCK(.id = id)));
    const struct sql_domain_lock_row domain = sql_domain_lock_row(&rows, 0);
    if (domain.senders > 0)
        return fail(r, PROBLEM_CONFLICT, "Delete the sender addresses of the domain first.");
    struct db_call calls[] = {
        db_call(SQL_DOMAIN_REMOVE(.id = id)),
        db_call(SQL_DOMAIN_KEY_REMOVE(.domain = domain.domain)),
        domain_audit(r, "tenant_domains.delete", id, domain.domain),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

static const struct route tenant_domains_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/tenant-domains",
        .id = "tenant_domains_list",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .success = {200, &domain_schema, .list = true},
        .run = domains_list,
        .summary = "List the domains that the project sends mail from",
    },
    {
        .method = HTTP_POST_M,
        .path = "/tenant-domains",
        .id = "tenant_domains_create",
        .auth = AUTH_ADMIN,
        .body = &domain_in_schema,
        .success = {201, &domain_schema},
        .extra_statuses = {409},
        .run = domains_create,
        .class = CLASS_AUTH,
        .summary = "Add a domain, and get the DNS records to publish",
        .doc = "Makes a pair of keys for the domain's signatures (DKIM). The private key is stored "
               "encrypted and is never returned.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/tenant-domains/{id}",
        .id = "tenant_domains_get",
        .auth = AUTH_ADMIN,
        .success = {200, &domain_schema},
        .extra_statuses = {404},
        .run = domains_get,
        .summary = "Get a domain with its records",
    },
    {
        .method = HTTP_POST_M,
        .path = "/tenant-domains/{id}/verify",
        .id = "tenant_domains_verify",
        .auth = AUTH_ADMIN,
        .success = {200, &domain_schema},
        .extra_statuses = {404},
        .run = domains_verify,
        .guard = domains_get,
        .class = CLASS_AUTH,
        .summary = "Check the published DNS records of a domain",
        .doc = "A record keeps its status while the name server does not answer; error has the "
               "reason.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/tenant-domains/{id}",
        .id = "tenant_domains_delete",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = domains_delete,
        .guard = domains_get,
        .summary = "Delete a domain and its key",
    },
};
ROUTES(tenant_domains, "Mail");
