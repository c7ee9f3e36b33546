#pragma once
/*
 * What the daemon's files share. A project's index has one writer at a time, under a lease (work.c,
 * common/product/queue). It goes round until nothing is left (index.c): generations are compared
 * with the model (align.c), changed records are indexed as they are now (live.c), what many records
 * want because of one change is done some at a time (spread.c), generations are built (build.c,
 * postings.c) and removed (drop.c). What goes into an index says shape.c, source.c reads it,
 * batch.c writes what changed about some records, lexicon_rows.c the rows of words.
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* The configuration of this process. */
const struct app_conf *indexer_conf(void);
struct directory *indexer_directory(void);
struct bus *indexer_bus(void);
