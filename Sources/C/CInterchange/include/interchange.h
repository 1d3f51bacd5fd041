/* Libraries for other programs' file formats and for 'check', which vaults do not need: libgcrypt, zlib, expat and
   zxcvbn, each loaded on first use; and Argon2 with KeePass's parameters. If a library accepts an allocator, its memory
   is wiped when it is freed. */
#ifndef INTERCHANGE_H
#define INTERCHANGE_H
#include <stddef.h>
#include <stdint.h>

enum interchange_library { INTERCHANGE_GCRYPT, INTERCHANGE_ZLIB, INTERCHANGE_EXPAT, INTERCHANGE_ZXCVBN };

enum interchange_loading { INTERCHANGE_LOADED, INTERCHANGE_MISSING, INTERCHANGE_FAILED };

/* Loads a library unless it is already loaded. Load a library before calling any of its functions below. If it is
   installed but cannot be loaded, for example because the process has too many open files, the reason is stored in
   `reason`. */
enum interchange_loading interchange_load(enum interchange_library library, char *reason, size_t size);
/* Returns the name of the Debian package that contains a library. */
const char *interchange_package(enum interchange_library library);

/* libgcrypt. Functions return 0, or libgcrypt's error code. */

/* Returns 1 if the error code means that there is too little memory. */
int interchange_is_memory(int error);

void interchange_sha256(const void *bytes, size_t size, void *digest);
void interchange_sha512(const void *bytes, size_t size, void *digest);
void interchange_sha1(const void *bytes, size_t size, void *digest);
/* Computes the HMAC-SHA-256 of two pieces, one after the other. */
int interchange_hmac_sha256(const void *key, size_t key_size, const void *first, size_t first_size, const void *second,
                            size_t second_size, void *mac);
int interchange_pbkdf2_sha256(const void *password, size_t size, const void *salt, size_t salt_size, uint64_t rounds,
                              void *key, size_t key_size);

enum interchange_cipher {
    INTERCHANGE_AES256_CBC,
    INTERCHANGE_TWOFISH_CBC,
    INTERCHANGE_CHACHA20,
    INTERCHANGE_SALSA20,
    INTERCHANGE_AES128_CBC,
};
/* Opens a cipher with a key of 32 bytes, or of 16 for AES-128. */
int interchange_cipher_open(enum interchange_cipher cipher, const void *key, const void *iv, size_t iv_size,
                            void **handle);
int interchange_cipher_encrypt(void *handle, void *bytes, size_t size);
int interchange_cipher_decrypt(void *handle, void *bytes, size_t size);
void interchange_cipher_close(void *handle);

/* KeePass's AES-KDF: encrypts both halves of a key repeatedly with AES-256. */
int interchange_aes_kdf(const void *seed, void *key, uint64_t rounds);

/* Computes a power in a finite field; all numbers are unsigned, big-endian and of `size` bytes. The exponent and the
   power may be secret. */
int interchange_modular_power(const void *base, const void *exponent, const void *modulus, size_t size, void *power);

/* Argon2 with all parameters that KeePass can set. The number of threads does not affect the result. Returns 0, or the
   library's error code. */
struct interchange_argon2 {
    int is_id;
    uint32_t version, passes, memory_kib, lanes, threads;
    const void *password, *salt, *secret, *associated;
    uint32_t password_size, salt_size, secret_size, associated_size;
};
int interchange_argon2(const struct interchange_argon2 *parameters, void *key);
/* Returns 1 if the error code means that there is too little memory, or that there are too few threads. */
int interchange_argon2_lacks_memory(int error);

/* zlib, in gzip's format. */

enum interchange_flow { INTERCHANGE_MORE, INTERCHANGE_END, INTERCHANGE_BROKEN, INTERCHANGE_NO_MEMORY };
void *interchange_inflate_open(void);
void *interchange_deflate_open(void);
/* Consumes as much input and fills as much output as possible; `input_size` and `output_size` are set to the numbers of
   bytes that remain. */
enum interchange_flow interchange_inflate(void *stream, const void *input, size_t *input_size, void *output,
                                          size_t *output_size);
enum interchange_flow interchange_deflate(void *stream, const void *input, size_t *input_size, int is_last, void *output,
                                          size_t *output_size);
void interchange_inflate_close(void *stream);
void interchange_deflate_close(void *stream);

/* expat, without document types, and therefore without custom entities. */

struct interchange_xml_handlers {
    /* `attributes` contains alternating names and values, followed by NULL. */
    void (*start)(void *context, const char *name, const char *const *attributes);
    void (*end)(void *context);
    void (*text)(void *context, const char *bytes, int size);
};
void *interchange_xml_open(void *context, const struct interchange_xml_handlers *handlers);
/* Returns 1 if the document is well-formed so far. */
int interchange_xml_parse(void *parser, const void *bytes, size_t size, int is_last);
/* Called by a handler to stop the parser: no further handler is called, and the parse fails. */
void interchange_xml_stop(void *parser);
/* Returns 1 if the parse failed because there is too little memory. */
int interchange_xml_lacks_memory(void *parser);
/* Returns the current line number. */
uint64_t interchange_xml_line(void *parser);
/* Returns the reason why the parse failed: expat's message, or a message about a document type. */
const char *interchange_xml_error(void *parser);
void interchange_xml_close(void *parser);

/* zxcvbn: returns an upper bound for the number of bits needed to guess a password. `words` contains words that are
   related to the user, followed by NULL. Copies of the password that zxcvbn makes on its stack and heap are not
   wiped. */
double interchange_zxcvbn(const char *password, const char *words[]);
#endif
