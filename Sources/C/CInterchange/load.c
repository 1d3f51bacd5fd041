#define _GNU_SOURCE
#include "load.h"
#include <argon2.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*const loaders[])(void) = {
    [INTERCHANGE_GCRYPT] = interchange_load_gcrypt,
    [INTERCHANGE_ZLIB] = interchange_load_zlib,
    [INTERCHANGE_EXPAT] = interchange_load_expat,
    [INTERCHANGE_ZXCVBN] = interchange_load_zxcvbn,
};
enum { library_count = sizeof loaders / sizeof loaders[0] };

/* The reason why the last library could not be opened, if it is installed. Accessed only while the lock of
 * interchange_load is held. */
static char failure[256];

void *interchange_open(const char *name) {
    dlerror();
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *words = library == NULL ? dlerror() : NULL;
    /* The dynamic loader has no error codes, but its message ends with the system's error text. */
    if (words != NULL && strstr(words, strerror(ENOENT)) == NULL) snprintf(failure, sizeof failure, "%s", words);
    return library;
}

enum interchange_loading interchange_load(enum interchange_library library, char *reason, size_t size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int loaded[library_count];
    if (size > 0) reason[0] = 0;
    if ((size_t)library >= library_count) return INTERCHANGE_MISSING;
    pthread_mutex_lock(&lock);
    failure[0] = 0;
    if (!loaded[library]) loaded[library] = loaders[library]();
    enum interchange_loading result = INTERCHANGE_LOADED;
    if (!loaded[library]) result = failure[0] == 0 ? INTERCHANGE_MISSING : INTERCHANGE_FAILED;
    if (result == INTERCHANGE_FAILED) snprintf(reason, size, "%s", failure);
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

int interchange_argon2_lacks_memory(int error) { return error == ARGON2_MEMORY_ALLOCATION_ERROR || error == ARGON2_THREAD_FAIL; }

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
        .threads = p->threads,
        .version = p->version,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    return argon2_ctx(&context, p->is_id ? Argon2_id : Argon2_d);
}
