#pragma once
/*
 * Settings of a project: PUT {base_url}/ as a schema, their JSON, and how they are stored
 * ({p}.settings, kind 'setting', key 'project'; the identity provider's client secret sealed beside
 * the document).
 */
#include "db/db.h"
#include "json/schema.h"
#include "project/project.h"

/* The "settings" member. Left out keeps, null restores the default. */
struct project_settings_in {
    struct in_strs redirect_urls;
    struct in_i64 password_min_length;
    struct in_i64 access_token_seconds;
    struct in_i64 refresh_token_seconds;
    struct in_i64 session_seconds;
    struct in_bool sign_up;
    struct in_bool link_verified_email;
    struct in_bool oidc_trust_email;
    struct in_bool require_confirmed_email;
    struct in_bool default_row_level_security;
    struct in_i64 rate_read;
    struct in_i64 rate_write;
    struct in_i64 rate_heavy;
    struct in_i64 storage_quota;
    struct in_i64 rate_sign_in_account;
    struct in_i64 rate_sign_in_address;
    struct in_str oidc_issuer;
    struct in_str oidc_client_id;
    struct in_str oidc_client_secret; /* "********" keeps it */
    struct in_str mail_sender;
    struct in_str timezone;
    struct in_str locale;
    struct in_str auth_page_url;
};
extern const struct schema project_settings_schema;

/* The whole body. */
struct project_in {
    struct in_str name;
    struct in_strs allowed_origins;
    struct in_obj settings; /* struct project_settings_in */
};
extern const struct schema project_schema;
/* The resource that GET and PUT answer (documentation). */
extern const struct schema project_out_schema;

/* The operator's ceilings on the rates and the quota that projects set for themselves; 0 = none. */
struct project_rates {
    int64_t read, write, heavy, sign_in;
    int64_t storage; /* bytes */
};
/* any: once, at the start. Stored rates above them are cut when they are read. */
void project_settings_ceilings(const struct project_rates *rates);

/* What a project without stored settings has. */
void project_settings_default(struct project_settings *ret_settings);
/* any: what the schema cannot say: origins are exactly scheme://host[:port] or "*", redirect URLs
 * are URLs, rates are below the operator's ceilings, a masked secret is that of the stored settings
 * (NULL: none). Findings go to errors. */
bool project_in_check(struct arena *arena,
                      const struct project_in *in,
                      const struct project_settings *stored,
                      struct schema_errors *errors);
/* co: the same of what the project's database has to know: that it has a collation of the locale,
 * which is then written as the database does, en-GB. Findings go to errors. 0, a DB_* or a
 * negative. */
AWAITS int project_in_check_locale(struct task *task,
                                   struct project *project,
                                   struct project_in *in,
                                   struct schema_errors *errors) MUSTCHECK;
/* any: applies what is set. Texts are borrowed from `in`. */
void project_settings_merge(struct project_settings *settings, const struct project_in *in);
/* any: the "settings" object; never the secret: "********" when set, else null. */
void project_settings_json(struct jw *w, const struct project_settings *settings);
/* any: members of the resource: project_id, name, allowed_origins, settings, warnings, created_at,
 * updated_at. */
void project_json_members(struct jw *w, const struct project *project);
/* co: merges into what is stored, on the transaction `tx` with `audit` (may be NULL), and renames.
 * The caller commits and touches the project afterwards. A DB_*, or a negative. */
AWAITS int project_settings_save(struct task *task,
                                 struct directory *directory,
                                 struct project *project,
                                 struct db *tx,
                                 const struct project_in *in,
                                 const struct db_call *audit) MUSTCHECK;
