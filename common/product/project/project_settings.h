#pragma once
/*
 * Settings of a project: the schema of PUT {base_url}/, their JSON, and their storage. The settings
 * are stored in {p}.settings, kind 'setting', key 'project'. The identity provider's client secret
 * is sealed in a column of its own.
 */
#include "db/db.h"
#include "json/schema.h"
#include "project/project.h"

/* The "settings" member. A member that is absent keeps its value, null restores the default. */
struct project_settings_patch {
#define SETTING_I64(member, ...)  struct in_i64 member;
#define SETTING_ID(member, ...)   struct in_i64 member;
#define SETTING_BOOL(member, ...) struct in_bool member;
#define SETTING_STR(member, ...)  struct in_str member;
#define SETTING_STRS(member, ...) struct in_strs member;
#include "project/setting.def"
    struct in_str oidc_client_secret; /* "********" keeps the stored secret */
};
extern const struct schema project_settings_schema;

/* The request body. */
struct project_patch {
    struct in_str name;
    struct in_strs allowed_origins;
    struct in_obj settings; /* struct project_settings_patch */
};
extern const struct schema project_schema;
/* The resource that GET and PUT return, for the documentation. */
extern const struct schema project_out_schema;

/* The operator's ceilings on the rates and the quota of all projects; 0 = none. */
struct project_rates {
    int64_t read, write, heavy, sign_in;
    int64_t storage; /* bytes */
};
/* any: call once, at the start. Stored rates above a ceiling are cut when they are read. */
void project_settings_ceilings(const struct project_rates *rates);

/* any: call once, at the start. Whether links in mails of every project have a page without its
 * settings: the gateway serves one. */
void project_settings_has_own_page(bool has_page);

/* any: the settings of a project that has stored none. */
void project_settings_set_default(struct project_settings *ret_settings);
/* any: checks the rules that the schema cannot express. Origins are exactly scheme://host[:port] or
 * "*". Redirect URLs and auth_page_url are allowed by redirect.h. Rates do not exceed the ceilings.
 * The time zone exists. The accent color is #rrggbb. A masked secret matches `stored` (NULL: no
 * settings stored). Adds findings to errors and returns whether there are none. */
bool project_patch_check(struct arena *arena,
                         const struct project_patch *in,
                         const struct project_settings *stored,
                         struct schema_errors *errors);
/* co: checks the rule that only the project's database can decide: whether the database has a
 * collation for the locale. Rewrites the locale as the database spells it, such as en-GB. Adds
 * findings to errors. Returns 0, a DB_* or a negative. */
AWAITS int project_patch_check_locale(struct task *task,
                                      struct project *project,
                                      struct project_patch *in,
                                      struct schema_errors *errors) MUSTCHECK;
/* co: checks that the logo is a public picture that browsers show. Adds findings to errors. Returns
 * 0, a DB_* or a negative. */
AWAITS int project_patch_check_logo(struct task *task,
                                    struct project *project,
                                    const struct project_patch *in,
                                    struct schema_errors *errors) MUSTCHECK;
/* any: applies the members that are set. Texts are borrowed from `in`. */
void project_settings_merge(struct project_settings *settings, const struct project_patch *in);
/* any: writes the "settings" object. The secret is "********" when set, else null. */
void project_settings_json(struct jw *w, const struct project_settings *settings);
/* any: writes the resource's members: project_id, name, allowed_origins, settings, warnings,
 * created_at, updated_at. */
void project_json_members(struct jw *w, const struct project *project);
/* co: merges `in` into the stored settings, adds `audit` (may be NULL) and renames the project, all
 * on the transaction `tx`. The caller commits and then calls project_epoch_raise(). Returns 0, a
 * DB_* or a negative. */
AWAITS int project_settings_save(struct task *task,
                                 struct directory *directory,
                                 struct project *project,
                                 struct db *tx,
                                 const struct project_patch *in,
                                 const struct db_call *audit) MUSTCHECK;
