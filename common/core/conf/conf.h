#pragma once
/*
 * Configuration. Every setting is an environment variable, declared once: an entry of a .def file
 * becomes a member of a struct, a parser with bounds, a line of --help-config and a row of the
 * README table. An example with two invented entries:
 *
 *   services/push-dispatcher/config.def
 *       CONF_INT(fcm_requests, 100, 1, 500, "Devices notified in one round")
 *       CONF_SECRET(push_token, CONF_REQUIRED, 16, 200, "Token of the push provider")
 *
 *   services/push-dispatcher/app.h              struct app_conf {struct conf_common common; ...}
 *       #include "conf/conf_struct.h"
 *
 *   services/push-dispatcher/main.c             app_conf_spec, once per program
 *       #include "conf/conf_items.h"
 *
 *       struct app_conf conf;
 *       const char *error = conf_load(arena, &app_conf_spec, environ, &conf);
 *       if (error) { fprintf(stderr, "%s\n", error); return 2; }
 *       serve(conf.common.port, conf.fcm_requests);
 *
 * The variable is GROUNDWORK_ and the member's name in capitals: GROUNDWORK_FCM_REQUESTS. An empty
 * variable counts as not set. Entries (the text is one phrase, without a full stop):
 *
 *   CONF_STR(name, default, min, max, text)      struct str; bounds of its bytes
 *   CONF_SECRET(name, default, min, max, text)   struct str, never printed; also read from
 *                                                the file that <VARIABLE>_FILE names
 *   CONF_KEY(name, default, min, max, text)      a secret in base64 or hexadecimal: the member
 *                                                holds decoded bytes, and the bounds count these
 *   CONF_LIST(name, default, min, max, text)     conf_list, split at commas; bounds of its count
 *   CONF_CHOICE(name, default, choices, text)    struct str; choices is "one, two, three"
 *   CONF_BOOL(name, default, text)               bool; "true" or "false"
 *   CONF_INT(name, default, min, max, text)      int
 *   CONF_MS(name, default, min, max, text)       int64_t, milliseconds; end the name in _ms
 *   CONF_BYTES(name, default, min, max, text)    size_t, bytes; K, M and G (1024) may follow
 *
 * The default of CONF_STR, CONF_SECRET, CONF_KEY and CONF_LIST is a text, CONF_REQUIRED, or
 * CONF_OPTIONAL. An optional variable that is not set becomes STR_NONE or an empty list. The
 * compiler checks the default of a number against its bounds.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

extern const char conf_required[];
#define CONF_REQUIRED conf_required
#define CONF_OPTIONAL ((const char *)NULL)

struct conf_list {
    struct str *items;
    size_t count;
};

/* The settings of every daemon; the first member of each struct app_conf. */
/* clang-format off */
struct conf_common {
#include "conf/conf_members.h"
#include "conf/common.def"
#include "conf/conf_end.h"
};
/* clang-format on */

enum conf_kind {
    CONF_KIND_STR,
    CONF_KIND_SECRET,
    CONF_KIND_KEY,
    CONF_KIND_LIST,
    CONF_KIND_CHOICE,
    CONF_KIND_BOOL,
    CONF_KIND_INT,
    CONF_KIND_MS,
    CONF_KIND_BYTES,
};

struct conf_item {
    const char *name; /* of the member */
    enum conf_kind kind;
    size_t offset;        /* in struct app_conf */
    const char *fallback; /* default as the text of a variable, CONF_REQUIRED, or CONF_OPTIONAL */
    const char *choices;  /* of CONF_CHOICE */
    int64_t min;
    int64_t max;
    const char *text;
};

struct conf_spec {
    const struct conf_item *items; /* without the entries of common.def */
    size_t count;
    size_t bytes; /* of struct app_conf */
    /* Names, in the form of member names, of variables that may be set but are ignored by this
     * program; "push_*" means all names with this beginning. The help leaves out entries of
     * common.def with these names. NULL-terminated. */
    const char *const *ignored;
};

/* Reads `environment` (NULL-terminated, like environ) into *ret_conf, a struct app_conf. Returns
 * NULL on success. Otherwise writes nothing and returns one line for the operator, arena-owned and
 * without secrets: the caller prints the line and exits with 2. Texts and lists of the result are
 * arena-owned. */
MUSTCHECK const char *conf_load(struct arena *arena,
                                const struct conf_spec *spec,
                                char *const *environment,
                                void *ret_conf);

enum conf_help { CONF_HELP_NONE, CONF_HELP_TEXT, CONF_HELP_MARKDOWN };

/* Returns which help the arguments request: --help-config or --help-config=markdown. */
enum conf_help conf_help_from_args(int argc, char *const *argv);
/* Returns a description of every variable, for people or for the README; arena-owned. */
struct str conf_help(struct arena *arena, const struct conf_spec *spec, enum conf_help form);
