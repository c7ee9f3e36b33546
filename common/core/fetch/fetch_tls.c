/* OpenSSL on memory buffers instead of a socket. */
#include "fetch/fetch_tls_private.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"

#define CONTEXT_MS (24LL * 3600 * 1000)

static const unsigned char protocols[] = "\x02h2\x08http/1.1";

static char *authorities; /* path of a CA file; NULL = the system's certificates */
static SSL_CTX *context;
static int64_t context_until_ms; /* mono */

void fetch_tls_init(const char *ca_file)
{
    authorities = NULL;
    if (ca_file != NULL) {
        authorities = strdup(ca_file);
        MUST(authorities != NULL);
    }
}

static void context_drop(void)
{
    SSL_CTX_free(context); /* open connections keep a reference to it */
    context = NULL;
}

void fetch_tls_done(void)
{
    context_drop();
    free(authorities);
    authorities = NULL;
}

static bool context_fill(SSL_CTX *made)
{
    MUST(SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) == 1);
    (void)SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    MUST(SSL_CTX_set_alpn_protos(made, protocols, sizeof(protocols) - 1) == 0);
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    return authorities != NULL ? SSL_CTX_load_verify_file(made, authorities) == 1
                               : SSL_CTX_set_default_verify_paths(made) == 1;
}

static SSL_CTX *context_get(void)
{
    int64_t now_ms = clock_mono_ms();

    if (context != NULL && now_ms < context_until_ms)
        return context;
    SSL_CTX *made = SSL_CTX_new(TLS_client_method());
    MUST(made != NULL);
    if (!context_fill(made)) {
        SSL_CTX_free(made);
        return context; /* the previous context, or NULL */
    }
    context_drop();
    context = made;
    context_until_ms = now_ms + CONTEXT_MS;
    return context;
}

static void peer_name_set(SSL *ssl, const char *host, bool is_address)
{
    char text[64] = "";

    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!is_address) {
        MUST(SSL_set1_host(ssl, host) == 1);
        MUST(SSL_set_tlsext_host_name(ssl, host) == 1);
        return;
    }
    const char *start = host[0] == '[' ? host + 1 : host;
    size_t len = strcspn(start, "]");
    if (len >= sizeof(text))
        len = sizeof(text) - 1;
    memcpy(text, start, len);
    MUST(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), text) == 1);
}

int fetch_tls_open(struct fetch_tls *tls, const char *host, bool is_address)
{
    BIO *own = NULL;

    ERR_clear_error();
    SSL_CTX *with = context_get();
    if (with == NULL)
        return FETCH_UNREACHABLE;
    tls->ssl = SSL_new(with);
    MUST(tls->ssl != NULL);
    MUST(BIO_new_bio_pair(&own, FETCH_TLS_OUT_BYTES, &tls->wire, FETCH_TLS_IN_BYTES) == 1);
    SSL_set_bio(tls->ssl, own, own);
    SSL_set_connect_state(tls->ssl);
    peer_name_set(tls->ssl, host, is_address);
    return 0;
}

void fetch_tls_close(struct fetch_tls *tls)
{
    SSL_free(tls->ssl);
    BIO_free(tls->wire);
    *tls = (struct fetch_tls){0};
}

/* --- plain data --- */

static int tls_result(const struct fetch_tls *tls, int result)
{
    if (result > 0)
        return result;
    int error = SSL_get_error(tls->ssl, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

int fetch_tls_handshake(struct fetch_tls *tls)
{
    ERR_clear_error();
    return tls_result(tls, SSL_do_handshake(tls->ssl));
}

int fetch_tls_read(struct fetch_tls *tls, void *data, size_t max)
{
    ERR_clear_error();
    return tls_result(tls, SSL_read(tls->ssl, data, (int)max));
}

int fetch_tls_write(struct fetch_tls *tls, const void *data, size_t bytes)
{
    ERR_clear_error();
    return tls_result(tls, SSL_write(tls->ssl, data, (int)bytes));
}

bool fetch_tls_chose_h2(const struct fetch_tls *tls)
{
    const unsigned char *name;
    unsigned len;

    SSL_get0_alpn_selected(tls->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

/* --- encrypted data --- */

static size_t tls_span(int bytes)
{
    return bytes > 0 ? (size_t)bytes : 0;
}

size_t fetch_tls_input(struct fetch_tls *tls, char **ret_data)
{
    return tls_span(BIO_nwrite0(tls->wire, ret_data));
}

void fetch_tls_input_commit(struct fetch_tls *tls, size_t bytes)
{
    char *data;

    MUST(BIO_nwrite(tls->wire, &data, (int)bytes) == (int)bytes);
}

size_t fetch_tls_output(struct fetch_tls *tls, char **ret_data)
{
    return tls_span(BIO_nread0(tls->wire, ret_data));
}

void fetch_tls_output_commit(struct fetch_tls *tls, size_t bytes)
{
    char *data;

    MUST(BIO_nread(tls->wire, &data, (int)bytes) == (int)bytes);
}
