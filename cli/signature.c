#include "cli/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file.h"

enum { KEY_BYTES = TP_KEY_DIGITS / 2, SIGNATURE_BYTES = TP_SIGNATURE_DIGITS / 2, MAX_FILE = 1 << 20 };

struct tp_signing_key {
    EVP_PKEY *pair;
    tp_str public_key;
};

/* OpenSSL as it is built, whatever the configuration of the machine says; NULL: it has no memory to begin with. */
static OSSL_LIB_CTX *library;

static void open_library(void)
{
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
        library = OSSL_LIB_CTX_new();
}

static bool has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return library != NULL;
}

/* ---- digits ---- */

static tp_str digits_of(tp_arena *a, const uint8_t *bytes, size_t n)
{
    tp_buf b = {.arena = a};
    for (size_t i = 0; i < n; i++)
        tp_buf_printf(&b, "%02x", bytes[i]);
    return tp_buf_view(&b);
}

/* Exactly n bytes, in small letters: a key has one spelling. */
static bool bytes_of(tp_str digits, uint8_t *bytes, size_t n)
{
    static const char DIGITS[] = "0123456789abcdef";
    if (digits.n != 2 * n)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        const char *at = digits.p[i] ? strchr(DIGITS, digits.p[i]) : NULL;
        if (!at)
            return false;
        bytes[i / 2] = (uint8_t)((i % 2 ? bytes[i / 2] << 4 : 0) | (at - DIGITS));
    }
    return true;
}

/* ---- private keys ---- */

/* Takes the pair. */
static tp_signing_key *keep(const tp_cli *c, EVP_PKEY *pair)
{
    uint8_t bytes[KEY_BYTES];
    size_t n = sizeof bytes;
    if (!pair || EVP_PKEY_get_raw_public_key(pair, bytes, &n) != 1 || n != sizeof bytes) {
        EVP_PKEY_free(pair);
        return NULL;
    }
    tp_signing_key *k = TP_NEW(c->arena, tp_signing_key);
    *k = (tp_signing_key){pair, digits_of(c->arena, bytes, n)};
    return k;
}

/* A key behind a passphrase is refused, not asked for: nobody may be there to answer. */
static int no_passphrase(char *to, int size, int writing, void *unused)
{
    (void)to, (void)size, (void)writing, (void)unused;
    return -1;
}

tp_signing_key *tp_signing_key_read(const tp_cli *c, const char *option, const char *path)
{
    struct stat st;
    tp_str text, why;
    if (tp_read_file(c->arena, path, MAX_FILE, &text, &why) != TP_OK)
        return tp_usage_error("--%s: cannot read the key `%s`: %.*s", option, path, TP_FMT(why)), NULL;
    if (stat(path, &st) == 0 && (st.st_mode & 077))
        return tp_usage_error("--%s: others may read or write the key `%s`: chmod 600 it, or make a new one", option,
                              path),
               NULL;
    if (!has_library())
        return tp_usage_error("--%s: out of memory", option), NULL;
    BIO *in = BIO_new_mem_buf(text.p, (int)text.n);
    EVP_PKEY *pair = in ? PEM_read_bio_PrivateKey_ex(in, NULL, no_passphrase, NULL, library, NULL) : NULL;
    BIO_free(in);
    OPENSSL_cleanse(tp_writable(text.p), text.n);
    bool fits = pair && EVP_PKEY_get_id(pair) == EVP_PKEY_ED25519;
    if (!fits)
        EVP_PKEY_free(pair);
    tp_signing_key *k = fits ? keep(c, pair) : NULL;
    if (!k)
        tp_usage_error("--%s: `%s` is not an Ed25519 private key without a passphrase; `tileproof keygen FILE` makes "
                       "one",
                       option, path);
    return k;
}

tp_signing_key *tp_signing_key_new(tp_cli *c)
{
    EVP_PKEY *pair = NULL;
    EVP_PKEY_CTX *ctx = has_library() ? EVP_PKEY_CTX_new_from_name(library, "ED25519", NULL) : NULL;
    if (ctx && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_keygen(ctx, &pair) != 1)
        pair = NULL;
    EVP_PKEY_CTX_free(ctx);
    return keep(c, pair);
}

tp_str tp_signing_key_text(tp_cli *c, const tp_signing_key *k)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *at = NULL;
    tp_str text = {NULL, 0};
    if (out && PEM_write_bio_PKCS8PrivateKey(out, k->pair, NULL, NULL, 0, NULL, NULL) == 1) {
        long n = BIO_get_mem_data(out, &at);
        text = n > 0 ? tp_printf(c->arena, "%.*s", (int)n, at) : text;
        OPENSSL_cleanse(at, n > 0 ? (size_t)n : 0);
    }
    BIO_free(out);
    return text;
}

tp_str tp_signing_key_public(const tp_signing_key *k)
{
    return k->public_key;
}

tp_str tp_sign(tp_arena *a, const tp_signing_key *k, tp_str bytes)
{
    uint8_t signature[SIGNATURE_BYTES];
    size_t n = sizeof signature;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool made = ctx && EVP_DigestSignInit_ex(ctx, NULL, NULL, library, NULL, k->pair, NULL) == 1 &&
                EVP_DigestSign(ctx, signature, &n, (const uint8_t *)bytes.p, bytes.n) == 1 && n == sizeof signature;
    EVP_MD_CTX_free(ctx);
    return made ? digits_of(a, signature, n) : (tp_str){NULL, 0};
}

void tp_signing_key_free(tp_signing_key *k)
{
    if (k)
        EVP_PKEY_free(k->pair);
}

tp_str tp_seal(tp_arena *a, const tp_signing_key *k, tp_str bytes)
{
    uint8_t secret[KEY_BYTES], seal[TP_SEAL_DIGITS / 2];
    size_t n = sizeof secret, length = 0;
    bool made = EVP_PKEY_get_raw_private_key(k->pair, secret, &n) == 1 &&
                EVP_Q_mac(library, "HMAC", NULL, "SHA256", NULL, secret, n, (const uint8_t *)bytes.p, bytes.n, seal,
                          sizeof seal, &length) &&
                length == sizeof seal;
    OPENSSL_cleanse(secret, sizeof secret);
    return made ? digits_of(a, seal, sizeof seal) : (tp_str){NULL, 0};
}

bool tp_seal_holds(tp_arena *a, const tp_signing_key *k, tp_str bytes, tp_str seal)
{
    tp_str right = tp_seal(a, k, bytes);
    return right.n && right.n == seal.n && CRYPTO_memcmp(right.p, seal.p, seal.n) == 0;
}

/* ---- public keys ---- */

bool tp_signature_holds(tp_str public_key, tp_str bytes, tp_str signature, bool *asked)
{
    uint8_t key[KEY_BYTES], sig[SIGNATURE_BYTES];
    *asked = true;
    if (!bytes_of(public_key, key, sizeof key) || !bytes_of(signature, sig, sizeof sig))
        return false;
    *asked = false;
    if (!has_library())
        return false;
    EVP_PKEY *of = EVP_PKEY_new_raw_public_key_ex(library, "ED25519", NULL, key, sizeof key);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    *asked = of && ctx && EVP_DigestVerifyInit_ex(ctx, NULL, NULL, library, NULL, of, NULL) == 1;
    bool holds = *asked && EVP_DigestVerify(ctx, sig, sizeof sig, (const uint8_t *)bytes.p, bytes.n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(of);
    return holds;
}

static tp_str trim(tp_str s)
{
    while (s.n && strchr(" \t\r", s.p[0]) && s.p[0])
        s = (tp_str){s.p + 1, s.n - 1};
    while (s.n && s.p[s.n - 1] && strchr(" \t\r", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* KEY NAME, or a line that says nothing; false: neither. */
static bool read_line(tp_str line, tp_str *key, tp_str *name)
{
    uint8_t bytes[KEY_BYTES];
    line = trim(line);
    *key = *name = (tp_str){NULL, 0};
    if (!line.n || line.p[0] == '#')
        return true;
    size_t n = line.n < TP_KEY_DIGITS ? line.n : TP_KEY_DIGITS;
    *key = (tp_str){line.p, n};
    *name = trim((tp_str){line.p + n, line.n - n});
    return bytes_of(*key, bytes, sizeof bytes) && name->n && (line.p[n] == ' ' || line.p[n] == '\t');
}

int tp_trusted_name(tp_cli *c, const char *path, tp_str public_key, tp_str *name)
{
    tp_str text, why;
    *name = (tp_str){NULL, 0};
    if (tp_read_file(c->arena, path, MAX_FILE, &text, &why) != TP_OK) {
        tp_usage_error("--trust: cannot read the keys `%s`: %.*s", path, TP_FMT(why));
        return TP_EXIT_INPUT;
    }
    for (uint32_t number = 1; text.n; number++) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        tp_str key, whose;
        if (!read_line((tp_str){text.p, n}, &key, &whose)) {
            tp_usage_error("--trust: %s:%u: a line is a public key (64 small hexadecimal digits), a blank, and a name",
                           path, number);
            return TP_EXIT_INPUT;
        }
        if (key.n && tp_str_eq(key, public_key) && !name->n)
            *name = whose;
        text = (tp_str){text.p + n + (end != NULL), text.n - n - (end != NULL)};
    }
    return TP_EXIT_OK;
}
