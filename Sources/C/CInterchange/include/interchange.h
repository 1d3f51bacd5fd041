/* What other programs' files need and vaults do not: libgcrypt, zlib and expat, each loaded when it
   is first used, so that no other command pays for them; and Argon2 as KeePass uses it. What they allocate is wiped
   when it is freed, where they let their caller allocate. */
#ifndef INTERCHANGE_H
#define INTERCHANGE_H
#include <stddef.h>
#include <stdint.h>

enum interchange_library { INTERCHANGE_GCRYPT, INTERCHANGE_ZLIB, INTERCHANGE_EXPAT };

/* Loads a library, once; 1 if it is there. Every function below needs its library loaded. */
int interchange_load(enum interchange_library library);
/* The Debian package that has it. */
const char *interchange_package(enum interchange_library library);

/* libgcrypt. Functions return 0, or libgcrypt's error. */

void interchange_sha256(const void *bytes, size_t size, void *digest);
void interchange_sha512(const void *bytes, size_t size, void *digest);
void interchange_sha1(const void *bytes, size_t size, void *digest);
/* HMAC-SHA-256 of two pieces, one after the other. */
int interchange_hmac_sha256(const void *key, size_t key_size, const void *first, size_t first_size, const void *second,
                            size_t second_size, void *mac);
int interchange_pbkdf2_sha256(const void *password, size_t size, const void *salt, size_t salt_size, uint64_t rounds,
                              void *key, size_t key_size);

enum interchange_cipher {
    INTERCHANGE_AES256_CBC,
    INTERCHANGE_TWOFISH_CBC,
    INTERCHANGE_CHACHA20,
    INTERCHANGE_SALSA20,
};
/* A cipher with a key of 32 bytes; NULL where it cannot be made. */
void *interchange_cipher_open(enum interchange_cipher cipher, const void *key, const void *iv, size_t iv_size);
int interchange_cipher_encrypt(void *handle, void *bytes, size_t size);
int interchange_cipher_decrypt(void *handle, void *bytes, size_t size);
void interchange_cipher_close(void *handle);

/* KeePass's AES-KDF: encrypts both halves of a key again and again with AES-256. */
int interchange_aes_kdf(const void *seed, void *key, uint64_t rounds);

/* Argon2 with everything that KeePass can set; 0, or the library's error. */
struct interchange_argon2 {
    int is_id;
    uint32_t version, passes, memory_kib, lanes;
    const void *password, *salt, *secret, *associated;
    uint32_t password_size, salt_size, secret_size, associated_size;
};
int interchange_argon2(const struct interchange_argon2 *parameters, void *key);

/* zlib, in gzip's format. */

enum interchange_flow { INTERCHANGE_MORE, INTERCHANGE_END, INTERCHANGE_BROKEN };
void *interchange_inflate_open(void);
void *interchange_deflate_open(void);
/* Consumes input and fills output as far as it goes; `input_size` and `output_size` become what is left of them. */
enum interchange_flow interchange_inflate(void *stream, const void *input, size_t *input_size, void *output,
                                          size_t *output_size);
enum interchange_flow interchange_deflate(void *stream, const void *input, size_t *input_size, int is_last, void *output,
                                          size_t *output_size);
void interchange_inflate_close(void *stream);
void interchange_deflate_close(void *stream);

/* expat, without a document type, and so without entities of its own. */

struct interchange_xml_handlers {
    /* `attributes` is names and values in turn, then NULL. */
    void (*start)(void *context, const char *name, const char *const *attributes);
    void (*end)(void *context);
    void (*text)(void *context, const char *bytes, int size);
};
void *interchange_xml_open(void *context, const struct interchange_xml_handlers *handlers);
/* 1 if the bytes were well-formed so far. */
int interchange_xml_parse(void *parser, const void *bytes, size_t size, int is_last);
/* For handlers: no more of them is called, and the parse fails. */
void interchange_xml_stop(void *parser);
/* Where it is. */
uint64_t interchange_xml_line(void *parser);
/* Why it failed: expat's words, or that there is a document type. */
const char *interchange_xml_error(void *parser);
void interchange_xml_close(void *parser);
#endif
