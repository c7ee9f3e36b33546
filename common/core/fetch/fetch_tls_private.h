#pragma once
/*
 * TLS of a client between two buffers in memory: whoever has the socket carries bytes to and from
 * them, in as few calls as it likes. Names and addresses are verified, TLS 1.2 at least, HTTP/2
 * offered. Loop thread.
 */
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

#define FETCH_TLS_OUT_BYTES    65536 /* encrypted, on its way out */
#define FETCH_TLS_IN_BYTES     32768
#define FETCH_TLS_RECORD_BYTES 16384 /* the most that one record holds */

/* Zeroed before fetch_tls_open(), after it until fetch_tls_close(). */
struct fetch_tls {
    SSL *ssl;
    BIO *wire;
};

/* loop: `ca_file` is copied; NULL: the system's authorities. It is read when it is needed first,
 * and again after a day. */
void fetch_tls_init(const char *ca_file);
void fetch_tls_done(void);

/* loop: `host` as a URL has it. 0, or FETCH_UNREACHABLE when the authorities cannot be read. */
int fetch_tls_open(struct fetch_tls *tls, const char *host, bool is_address) MUSTCHECK;
/* loop: idempotent. */
void fetch_tls_close(struct fetch_tls *tls);

/* What the next three return: above 0 it is done, so many bytes; 0: after more has come or gone on
 * the wire; -1: the connection has ended or is broken. */
int fetch_tls_handshake(struct fetch_tls *tls);
int fetch_tls_read(struct fetch_tls *tls, void *data, size_t max);
/* All of it or nothing; after nothing again the same bytes. */
int fetch_tls_write(struct fetch_tls *tls, const void *data, size_t bytes);
/* Did the peer choose HTTP/2? After the handshake. */
bool fetch_tls_chose_h2(const struct fetch_tls *tls);

/* The wire: where what arrives is put, and where what leaves stands; 0: no room, nothing. */
size_t fetch_tls_room(struct fetch_tls *tls, char **ret_data);
void fetch_tls_arrived(struct fetch_tls *tls, size_t bytes);
size_t fetch_tls_output(struct fetch_tls *tls, char **ret_data);
void fetch_tls_sent(struct fetch_tls *tls, size_t bytes);
