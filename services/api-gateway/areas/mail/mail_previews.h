#pragma once
/*
 * Addresses of previews of mails: each answers the HTML once, within 30 s, under a policy of its
 * own, so that a page with a strict one shows it in a frame with the mail's inline styles.
 */
#include "app.h"

/* co: keeps the HTML and gives its address; arena-owned. */
AWAITS int mail_preview_keep(struct req *r, struct str html, struct str *ret_url) MUSTCHECK;
