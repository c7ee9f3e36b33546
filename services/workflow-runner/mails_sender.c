/* Chooses the sender of a mail and the key that signs it. */
#include "crypto/rsa_key.h"
#include "fetch/mail.h"
#include "fetch/mail_dkim.h"
#include "keys/sealed_aad.h"
#include "log/log.h"
#include "mails.h"
#include "project/unseal.h"
#include "runner_mails_sql.h"

/* Reads "Name <address>" or a bare address. */
static void read_sender(struct str sender, struct mail *mail)
{
    const char *open = sender.len ? memchr(sender.ptr, '<', sender.len) : NULL;

    if (open == NULL || !str_ends(sender, STR(">"))) {
        mail->from = str_trim(sender);
        return;
    }
    if (!mail->from_name.len)
        mail->from_name = str_trim((struct str){sender.ptr, (size_t)(open - sender.ptr)});
    mail->from = (struct str){open + 1, (size_t)(sender.ptr + sender.len - open) - 2};
}

static struct str domain_of_address(struct str address)
{
    struct str domain = address;

    if (address.len)
        (void)str_split(&domain, '@');
    return domain;
}

/* Replaces control characters: a project's name is any text, but a header is one line. */
static struct str sender_name_line(struct arena *arena, struct str text)
{
    char *line = arena_alloc(arena, text.len + 1);

    for (size_t i = 0; i < text.len; i++)
        line[i] = (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f ? ' ' : text.ptr[i];
    return (struct str){line, text.len};
}

/* co: Opens the DKIM key. *ret_key: NULL when it cannot be opened (logged). 0 or a negative. */
AWAITS static int open_dkim_key(struct task *task,
                                struct project *project,
                                const struct sql_mail_sender_row *row,
                                struct rsa_key **ret_key)
{
    struct str place = aad_setting(task->arena, project->number, STR("dkim"), row->domain);
    struct str plain;

    *ret_key = NULL;
    int rc = data_key_open(task, project, row->sealed, place, &plain);
    if (rc == 0 && rsa_key_from_pkcs8(plain, ret_key) == 0)
        arena_defer(task->arena, rsa_key_free_deferred, *ret_key);
    if (*ret_key == NULL && rc >= 0)
        log_warn("mail.key_not_opened", L_I64("project", project->number));
    return rc < 0 ? rc : 0;
}

/* co: Sets the project's own sender and key. Leaves mail->from empty when there is none. */
AWAITS static int
find_own_sender(struct task *task, struct project *project, int64_t sender_id, struct mail *mail)
{
    struct str setting = arena_dup(task->arena, project->settings.mail_sender);
    struct rsa_key *key;
    struct rows rows;

    TRY(db_query(
        task,
        &project->db,
        SQL_MAIL_SENDER(.id = sender_id, .email = setting, .domain = domain_of_address(setting)),
        &rows));
    if (rows.count == 0)
        return 0;
    const struct sql_mail_sender_row row = sql_mail_sender_row(task->arena, &rows, 0);
    TRY(open_dkim_key(task, project, &row, &key));
    if (key == NULL)
        return 0;
    struct mail_dkim *dkim = ARENA_NEW(task->arena, dkim);
    *dkim = (struct mail_dkim){row.domain, row.selector, key};
    mail->from = row.email;
    if (!mail->from_name.len)
        mail->from_name = row.name;
    mail->dkim = dkim;
    return 0;
}

int mails_sender(struct task *task,
                 const struct claimed_mail *claimed,
                 int64_t sender_id,
                 struct str name,
                 struct mail *mail)
{
    if (claimed->has_verified_domain)
        TRY(find_own_sender(task, claimed->item.project, sender_id, mail));
    if (!mail->from_name.len)
        mail->from_name = sender_name_line(task->arena, name);
    if (mail->from.len)
        return 0;
    read_sender(runner_conf()->mail_from, mail);
    return mail->from.len ? 0 : MAIL_DROPPED;
}
