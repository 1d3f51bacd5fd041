/* Support code for the page's module in addition to the reader: memory, Argon2id in a separate instance, and the few
 * functions of a C library and of libsodium that are called. It is compiled only for WebAssembly, without a system: the
 * module has no files, clock or random numbers, because a reader does not need them. */
#include <argon2.h>
#include <core.h> /* libargon2's, for the progress */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("reader"), import_name(#name)))

/* ---- Bytes ---- */

/* With bulk memory operations, the first three functions compile to single instructions, not to recursive calls. */
void *memcpy(void *restrict out, const void *restrict in, size_t count) {
    return __builtin_memcpy(out, in, count);
}

void *memmove(void *out, const void *in, size_t count) {
    return __builtin_memmove(out, in, count);
}

void *memset(void *out, int value, size_t count) {
    return __builtin_memset(out, value, count);
}

int memcmp(const void *left, const void *right, size_t count) {
    const unsigned char *l = left, *r = right;
    for (size_t i = 0; i < count; i++) {
        if (l[i] != r[i]) return l[i] < r[i] ? -1 : 1;
    }
    return 0;
}

size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

/* ---- Memory ----
 *
 * A first-fit allocator with a list of free blocks in address order; adjacent free blocks are merged. A reader has few
 * blocks at a time. WebAssembly memory is never returned to the host. */

enum { PAGE = 65536, HEAD = 16 };

typedef struct piece {
    size_t size; /* with the head */
    struct piece *next;
} piece;

extern unsigned char __heap_base;
static piece *first;
static uintptr_t heap_end; /* 0 before the first call */

/* Adds memory from the host, or the remainder of the first pages. */
static piece *grow(size_t size) {
    if (heap_end == 0) {
        uintptr_t start = ((uintptr_t)&__heap_base + HEAD - 1) & ~(uintptr_t)(HEAD - 1);
        heap_end = __builtin_wasm_memory_size(0) * PAGE;
        piece *rest = (piece *)start;
        rest->size = heap_end - start;
        if (rest->size >= size) return rest;
        free((unsigned char *)rest + HEAD);
    }
    size_t pages = size / PAGE + 1;
    size_t before = __builtin_wasm_memory_grow(0, pages);
    if (before == SIZE_MAX) return NULL;
    piece *new = (piece *)(before * PAGE);
    new->size = pages * PAGE;
    heap_end = (uintptr_t)new + new->size; /* 0 if memory is 4 GiB, in which case it cannot grow further */
    return new;
}

static piece *take(size_t size) {
    for (piece **at = &first; *at != NULL; at = &(*at)->next) {
        piece *found = *at;
        if (found->size < size) continue;
        *at = found->next;
        return found;
    }
    return NULL;
}

void *malloc(size_t count) {
    if (count > (size_t)UINT32_MAX - 2 * PAGE) return NULL;
    size_t size = ((count + HEAD - 1) & ~(size_t)(HEAD - 1)) + HEAD;
    piece *found = take(size);
    if (found == NULL) found = grow(size);
    if (found == NULL) return NULL;
    if (found->size - size >= 4 * HEAD) {
        piece *rest = (piece *)((unsigned char *)found + size);
        rest->size = found->size - size;
        found->size = size;
        free((unsigned char *)rest + HEAD);
    }
    return (unsigned char *)found + HEAD;
}

void *calloc(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    void *memory = malloc(total);
    if (memory != NULL) memset(memory, 0, total);
    return memory;
}

static int adjoins(const piece *left, const piece *right) {
    return (const unsigned char *)left + left->size == (const unsigned char *)right;
}

void free(void *memory) {
    if (memory == NULL) return;
    piece *freed = (piece *)((unsigned char *)memory - HEAD), *before = NULL, *after = first;
    while (after != NULL && after < freed) {
        before = after;
        after = after->next;
    }
    freed->next = after;
    if (before != NULL) before->next = freed;
    else first = freed;
    if (after != NULL && adjoins(freed, after)) {
        freed->size += after->size;
        freed->next = after->next;
    }
    if (before != NULL && adjoins(before, freed)) {
        before->size += freed->size;
        before->next = freed->next;
    }
}

/* ---- Argon2id ----
 *
 * WebAssembly's memory never shrinks. If Argon2id ran in the reader's memory, a page would use 256 MiB until it is
 * closed. Therefore, the host runs it in another instance of this module, which it then drops. The reader's call of
 * argon2_ctx() is compiled as a call of page_argon2(), which calls the host; the host calls argon2() of the other
 * instance. */

enum { INPUT = 32, SALT = 32, OUTPUT = 32 };

/* Computes Argon2id of INPUT and SALT bytes, and returns 0. */
IMPORT(stretch) int host_stretch(void *out, const void *input, const void *salt, uint32_t memory, uint32_t passes,
                                 uint32_t lanes);

int page_argon2(argon2_context *context, argon2_type type);

int page_argon2(argon2_context *context, argon2_type type) {
    if (type != Argon2_id || context->pwdlen != INPUT || context->saltlen != SALT || context->outlen != OUTPUT) {
        return ARGON2_INCORRECT_TYPE;
    }
    return host_stretch(context->out, context->pwd, context->salt, context->m_cost, context->t_cost, context->lanes);
}

/* Computes Argon2id: `bytes` contains the input and the salt; the output is stored after them. Returns 0, or an error
 * code of libargon2; ARGON2_MEMORY_ALLOCATION_ERROR means that the host does not have enough memory. */
EXPORT(argon2) int argon2(uint8_t *bytes, uint32_t memory, uint32_t passes, uint32_t lanes);

int argon2(uint8_t *bytes, uint32_t memory, uint32_t passes, uint32_t lanes) {
    argon2_context context = {
        .out = bytes + INPUT + SALT,
        .outlen = OUTPUT,
        .pwd = bytes,
        .pwdlen = INPUT,
        .salt = bytes + INPUT,
        .saltlen = SALT,
        .t_cost = passes,
        .m_cost = memory,
        .lanes = lanes,
        .threads = 1,
        .version = ARGON2_VERSION_13,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    return argon2_ctx(&context, Argon2_id);
}

/* Reports that `done` of `total` segments of equal cost are complete. */
IMPORT(progress) void host_progress(uint32_t done, uint32_t total);

void page_fill_segment(const argon2_instance_t *instance, argon2_position_t position);

/* libargon2's loop over the segments is compiled with this instead of fill_segment(). */
void page_fill_segment(const argon2_instance_t *instance, argon2_position_t position) {
    fill_segment(instance, position);
    uint32_t quarters = position.pass * ARGON2_SYNC_POINTS + position.slice;
    uint32_t total = instance->passes * ARGON2_SYNC_POINTS * instance->lanes;
    host_progress(quarters * instance->lanes + position.lane + 1, total);
}

/* ---- Ends ---- */

_Noreturn void abort(void) {
    __builtin_trap();
}

/* ---- libsodium ---- */

/* libsodium uses the portable implementations by default; no others are available here. */
int sodium_init(void) {
    return 0;
}

_Noreturn void sodium_misuse(void) {
    __builtin_trap();
}
