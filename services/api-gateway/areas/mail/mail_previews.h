#pragma once
/*
 * URLs of previews of mails. A URL returns the HTML once, within 30 s, with a
 * Content-Security-Policy of its own, so that a page with a strict policy can show the mail's
 * inline styles in a frame.
 */
#include "app.h"

/* co: Stores the HTML and returns its URL, which is arena-owned. 0, a negative, or the status that
 * was put. */
AWAITS int mail_preview_store(struct req *r, struct str html, struct str *ret_url) MUSTCHECK;
