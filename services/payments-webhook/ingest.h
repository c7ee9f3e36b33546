#pragma once
/*
 * Events as they come: verified over the raw bytes, checked to be this project's, and stored, once,
 * in a transaction that has ended before the answer begins.
 */
#include "http/req.h"

/* Before fork: metrics. */
void ingest_prepare(void);
/* co: handlers of the two routes; r->scope->project is found. */
AWAITS int ingest_processor(struct req *r);
AWAITS int ingest_store(struct req *r);
