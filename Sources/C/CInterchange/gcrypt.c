#include "load.h"
#include <gcrypt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    __typeof__(gcry_check_version) *gcry_check_version;
    __typeof__(gcry_control) *gcry_control;
    __typeof__(gcry_set_log_handler) *gcry_set_log_handler;
    __typeof__(gcry_md_hash_buffer) *gcry_md_hash_buffer;
    __typeof__(gcry_md_hash_buffers) *gcry_md_hash_buffers;
    __typeof__(gcry_kdf_derive) *gcry_kdf_derive;
    __typeof__(gcry_cipher_open) *gcry_cipher_open;
    __typeof__(gcry_cipher_setkey) *gcry_cipher_setkey;
    __typeof__(gcry_cipher_setiv) *gcry_cipher_setiv;
    __typeof__(gcry_cipher_encrypt) *gcry_cipher_encrypt;
    __typeof__(gcry_cipher_decrypt) *gcry_cipher_decrypt;
    __typeof__(gcry_cipher_close) *gcry_cipher_close;
    __typeof__(gcry_mpi_scan) *gcry_mpi_scan;
    __typeof__(gcry_mpi_snew) *gcry_mpi_snew;
    __typeof__(gcry_mpi_set_flag) *gcry_mpi_set_flag;
    __typeof__(gcry_mpi_powm) *gcry_mpi_powm;
    __typeof__(gcry_mpi_test_bit) *gcry_mpi_test_bit;
    __typeof__(gcry_mpi_release) *gcry_mpi_release;
} gcrypt;

/* Suppresses the line that libgcrypt logs before it aborts. */
static void no_log(void *context, int level, const char *format, va_list values) {
    (void)context;
    (void)level;
    (void)format;
    (void)values;
}

/* libgcrypt aborts if it cannot open the file that enables FIPS mode. Nothing has been written at that point, so the
   program exits as for any file that cannot be opened. */
static void end_of_start(int signal) {
    enum { EX_IOERR = 74 };
    static const char message[] = "vaultfmt: libgcrypt, which reads this format, cannot start; raise the limits on open files and "
                                  "memory, and try again\n";
    (void)signal;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(EX_IOERR);
    _exit(EX_IOERR);
}

int interchange_load_gcrypt(void) {
    void *library = interchange_open("libgcrypt.so.20");
    if (library == NULL) return 0;
    if (!(FIND(library, gcrypt, gcry_check_version) && FIND(library, gcrypt, gcry_control) &&
          FIND(library, gcrypt, gcry_set_log_handler) &&
          FIND(library, gcrypt, gcry_md_hash_buffer) && FIND(library, gcrypt, gcry_md_hash_buffers) &&
          FIND(library, gcrypt, gcry_kdf_derive) && FIND(library, gcrypt, gcry_cipher_open) &&
          FIND(library, gcrypt, gcry_cipher_setkey) && FIND(library, gcrypt, gcry_cipher_setiv) &&
          FIND(library, gcrypt, gcry_cipher_encrypt) && FIND(library, gcrypt, gcry_cipher_decrypt) &&
          FIND(library, gcrypt, gcry_cipher_close) && FIND(library, gcrypt, gcry_mpi_scan) &&
          FIND(library, gcrypt, gcry_mpi_snew) && FIND(library, gcrypt, gcry_mpi_set_flag) &&
          FIND(library, gcrypt, gcry_mpi_powm) && FIND(library, gcrypt, gcry_mpi_test_bit) &&
          FIND(library, gcrypt, gcry_mpi_release)))
        return 0;
    struct sigaction before, during = {.sa_handler = end_of_start, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGABRT, &during, &before);
    gcrypt.gcry_set_log_handler(no_log, NULL);
    int is_ready = gcrypt.gcry_check_version("1.9.0") != NULL;
    if (is_ready && !gcrypt.gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
        /* libgcrypt has only 32 KiB of locked memory and ends the program when that is used up; contexts are wiped in
           any case. */
        gcrypt.gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
        gcrypt.gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    }
    gcrypt.gcry_set_log_handler(NULL, NULL);
    sigaction(SIGABRT, &before, NULL);
    return is_ready;
}

void interchange_sha256(const void *bytes, size_t size, void *digest) {
    gcrypt.gcry_md_hash_buffer(GCRY_MD_SHA256, digest, bytes, size);
}

void interchange_sha512(const void *bytes, size_t size, void *digest) {
    gcrypt.gcry_md_hash_buffer(GCRY_MD_SHA512, digest, bytes, size);
}

void interchange_sha1(const void *bytes, size_t size, void *digest) {
    gcrypt.gcry_md_hash_buffer(GCRY_MD_SHA1, digest, bytes, size);
}

int interchange_hmac_sha256(const void *key, size_t key_size, const void *first, size_t first_size, const void *second,
                            size_t second_size, void *mac) {
    const gcry_buffer_t pieces[] = {
        {.size = key_size, .len = key_size, .data = (void *)key},
        {.size = first_size, .len = first_size, .data = (void *)first},
        {.size = second_size, .len = second_size, .data = (void *)second},
    };
    return (int)gcrypt.gcry_md_hash_buffers(GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC, mac, pieces, 3);
}

int interchange_pbkdf2_sha256(const void *password, size_t size, const void *salt, size_t salt_size, uint64_t rounds,
                              void *key, size_t key_size) {
    return (int)gcrypt.gcry_kdf_derive(password, size, GCRY_KDF_PBKDF2, GCRY_MD_SHA256, salt, salt_size,
                                       (unsigned long)rounds, key_size, key);
}

int interchange_is_memory(int error) { return (error & GPG_ERR_CODE_MASK) == GPG_ERR_ENOMEM; }

static int open_cipher(int algorithm, int mode, unsigned flags, const void *key, size_t key_size, const void *iv,
                       size_t iv_size, void **handle) {
    gcry_cipher_hd_t opened = NULL;
    int result = (int)gcrypt.gcry_cipher_open(&opened, algorithm, mode, flags);
    if (result != 0) return result;
    result = (int)gcrypt.gcry_cipher_setkey(opened, key, key_size);
    if (result == 0) result = (int)gcrypt.gcry_cipher_setiv(opened, iv, iv_size);
    if (result == 0) *handle = opened;
    if (result != 0) gcrypt.gcry_cipher_close(opened);
    return result;
}

int interchange_cipher_open(enum interchange_cipher cipher, const void *key, const void *iv, size_t iv_size,
                            void **handle) {
    static const struct {
        int algorithm, mode;
        size_t key_size;
    } ciphers[] = {
        [INTERCHANGE_AES256_CBC] = {GCRY_CIPHER_AES256, GCRY_CIPHER_MODE_CBC, 32},
        [INTERCHANGE_TWOFISH_CBC] = {GCRY_CIPHER_TWOFISH, GCRY_CIPHER_MODE_CBC, 32},
        [INTERCHANGE_CHACHA20] = {GCRY_CIPHER_CHACHA20, GCRY_CIPHER_MODE_STREAM, 32},
        [INTERCHANGE_SALSA20] = {GCRY_CIPHER_SALSA20, GCRY_CIPHER_MODE_STREAM, 32},
        [INTERCHANGE_AES128_CBC] = {GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, 16},
    };
    *handle = NULL;
    return open_cipher(ciphers[cipher].algorithm, ciphers[cipher].mode, 0, key, ciphers[cipher].key_size, iv, iv_size,
                       handle);
}

int interchange_cipher_encrypt(void *handle, void *bytes, size_t size) {
    return (int)gcrypt.gcry_cipher_encrypt(handle, bytes, size, NULL, 0);
}

int interchange_cipher_decrypt(void *handle, void *bytes, size_t size) {
    return (int)gcrypt.gcry_cipher_decrypt(handle, bytes, size, NULL, 0);
}

void interchange_cipher_close(void *handle) { gcrypt.gcry_cipher_close(handle); }

/* CBC over zeros from the initialisation vector B is E(B), E(E(B)), …: the chain for one half of the key, without a
   call for each round. Only the last block is needed, which is the result of CBC-MAC. */
static int iterate(const void *seed, void *block, uint64_t rounds) {
    enum { step = 4096 };
    static const unsigned char zeros[step * 16];
    void *handle = NULL;
    int result = open_cipher(GCRY_CIPHER_AES256, GCRY_CIPHER_MODE_CBC, GCRY_CIPHER_CBC_MAC, seed, 32, block, 16, &handle);
    if (result != 0) return result;
    unsigned char last[16];
    while (rounds > 0 && result == 0) {
        size_t count = rounds < step ? (size_t)rounds : step;
        result = (int)gcrypt.gcry_cipher_setiv(handle, block, 16);
        if (result == 0) result = (int)gcrypt.gcry_cipher_encrypt(handle, last, 16, zeros, count * 16);
        memcpy(block, last, 16);
        rounds -= count;
    }
    gcrypt.gcry_cipher_close(handle);
    interchange_wipe(last, sizeof last);
    return result;
}

int interchange_aes_kdf(const void *seed, void *key, uint64_t rounds) {
    int result = iterate(seed, key, rounds);
    return result == 0 ? iterate(seed, (unsigned char *)key + 16, rounds) : result;
}

/* Returns a number of `size` bytes, which libgcrypt wipes when it is released. */
static int scan(gcry_mpi_t *number, const void *bytes, size_t size) {
    int result = (int)gcrypt.gcry_mpi_scan(number, GCRYMPI_FMT_USG, bytes, size, NULL);
    /* This flag makes libgcrypt compute with the number in constant time. */
    if (result == 0) gcrypt.gcry_mpi_set_flag(*number, GCRYMPI_FLAG_SECURE);
    return result;
}

int interchange_modular_power(const void *base, const void *exponent, const void *modulus, size_t size, void *power) {
    gcry_mpi_t b = NULL, e = NULL, m = NULL, p = NULL;
    int result = scan(&b, base, size);
    if (result == 0) result = scan(&e, exponent, size);
    if (result == 0) result = scan(&m, modulus, size);
    if (result == 0) {
        p = gcrypt.gcry_mpi_snew((unsigned)size * 8);
        gcrypt.gcry_mpi_powm(p, b, e, m);
        /* gcry_mpi_print leaves a copy in memory that it does not wipe. */
        unsigned char *out = power;
        memset(out, 0, size);
        for (unsigned bit = 0; bit < size * 8; bit++)
            if (gcrypt.gcry_mpi_test_bit(p, bit)) out[size - 1 - bit / 8] |= (unsigned char)(1u << bit % 8);
    }
    gcrypt.gcry_mpi_release(b);
    gcrypt.gcry_mpi_release(e);
    gcrypt.gcry_mpi_release(m);
    gcrypt.gcry_mpi_release(p);
    return result;
}
