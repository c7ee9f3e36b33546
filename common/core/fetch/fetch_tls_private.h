#pragma once
/*
 * TLS client between two memory buffers. The owner of the socket copies bytes to and from them, in
 * as few calls as it likes. The certificate is verified against the host name or address, TLS is at
 * least version 1.2, and HTTP/2 is offered. Loop thread.
 */
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

#define FETCH_TLS_OUT_BYTES    65536 /* encrypted bytes to be sent */
#define FETCH_TLS_IN_BYTES     32768
#define FETCH_TLS_RECORD_BYTES 16384 /* plain bytes of one TLS record, at most */

/* Zeroed before fetch_tls_open(); released by fetch_tls_close(). */
struct fetch_tls {
    SSL *ssl;
    BIO *wire;
};

/* loop: Sets the trusted certificates: `ca_file` (copied), NULL = the system's. The file is read on
 * first use and again after a day. fetch_tls_done() releases everything. */
void fetch_tls_init(const char *ca_file);
void fetch_tls_done(void);

/* loop: Prepares a connection to `host`, in the form of a URL. Returns 0, or FETCH_UNREACHABLE when
 * the trusted certificates cannot be read. */
int fetch_tls_open(struct fetch_tls *tls, const char *host, bool is_address) MUSTCHECK;
/* loop: Releases the connection. Idempotent. */
void fetch_tls_close(struct fetch_tls *tls);

/* The next three functions return a value above 0 when done (the bytes read or written), 0 when
 * more must be received or sent first, -1 when the connection has ended or failed. */
int fetch_tls_handshake(struct fetch_tls *tls);
int fetch_tls_read(struct fetch_tls *tls, void *data, size_t max);
/* Writes all bytes or none. After 0 the next call must pass the same bytes. */
int fetch_tls_write(struct fetch_tls *tls, const void *data, size_t bytes);
/* Returns whether the peer chose HTTP/2. Call it after the handshake. */
bool fetch_tls_chose_h2(const struct fetch_tls *tls);

/* The encrypted side. fetch_tls_input() returns where received bytes go and how many fit (0 =
 * full), fetch_tls_input_commit() reports how many were put there. fetch_tls_output() returns the
 * bytes to send (0 = none), fetch_tls_output_commit() reports how many were sent. */
size_t fetch_tls_input(struct fetch_tls *tls, char **ret_data);
void fetch_tls_input_commit(struct fetch_tls *tls, size_t bytes);
size_t fetch_tls_output(struct fetch_tls *tls, char **ret_data);
void fetch_tls_output_commit(struct fetch_tls *tls, size_t bytes);
