#define _GNU_SOURCE
#include "load.h"
#include <argon2.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int (*const loaders[])(void) = {
    [INTERCHANGE_GCRYPT] = interchange_load_gcrypt,
    [INTERCHANGE_ZLIB] = interchange_load_zlib,
    [INTERCHANGE_EXPAT] = interchange_load_expat,
    [INTERCHANGE_ZXCVBN] = interchange_load_zxcvbn,
};
enum { library_count = sizeof loaders / sizeof loaders[0] };

int interchange_load(enum interchange_library library) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int loaded[library_count];
    if ((size_t)library >= library_count) return 0;
    pthread_mutex_lock(&lock);
    if (!loaded[library]) loaded[library] = loaders[library]();
    int result = loaded[library];
    pthread_mutex_unlock(&lock);
    return result;
}

const char *interchange_package(enum interchange_library library) {
    switch (library) {
    case INTERCHANGE_GCRYPT: return "libgcrypt20";
    case INTERCHANGE_ZLIB: return "zlib1g";
    case INTERCHANGE_EXPAT: return "libexpat1";
    case INTERCHANGE_ZXCVBN: return "libzxcvbn0";
    }
    return "";
}

void interchange_wipe(void *bytes, size_t size) { explicit_bzero(bytes, size); }

void *interchange_allocate(size_t size) { return malloc(size); }

void *interchange_reallocate(void *block, size_t size) {
    if (block == NULL) return malloc(size);
    size_t used = malloc_usable_size(block);
    if (size <= used && size > used / 2) return block;
    void *other = malloc(size);
    if (other == NULL) return NULL;
    memcpy(other, block, used < size ? used : size);
    interchange_free(block);
    return other;
}

void interchange_free(void *block) {
    if (block == NULL) return;
    explicit_bzero(block, malloc_usable_size(block));
    free(block);
}

/* The maximum number of threads: unlike the number of lanes, the number of threads does not affect the result. */
enum { most_threads = 16 };

int interchange_argon2(const struct interchange_argon2 *p, void *key) {
    argon2_context context = {
        .out = key,
        .outlen = 32,
        .pwd = (uint8_t *)p->password,
        .pwdlen = p->password_size,
        .salt = (uint8_t *)p->salt,
        .saltlen = p->salt_size,
        .secret = (uint8_t *)p->secret,
        .secretlen = p->secret_size,
        .ad = (uint8_t *)p->associated,
        .adlen = p->associated_size,
        .t_cost = p->passes,
        .m_cost = p->memory_kib,
        .lanes = p->lanes,
        .threads = p->lanes < most_threads ? p->lanes : most_threads,
        .version = p->version,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    return argon2_ctx(&context, p->is_id ? Argon2_id : Argon2_d);
}
