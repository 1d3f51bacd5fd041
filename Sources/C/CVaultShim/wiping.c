#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "vault_shim.h"

void *vault_wiping_realloc(void *block, size_t size)
{
    if (block == NULL)
        return malloc(size);
    /* The size is doubled, because callers grow blocks in small steps; otherwise, a long block would take quadratic
     * time. */
    size_t used = malloc_usable_size(block);
    if (size <= used)
        return block;
    void *larger = malloc(size / 2 > used ? size : 2 * used);
    if (larger == NULL)
        return NULL;
    memcpy(larger, block, used);
    vault_wiping_free(block);
    return larger;
}

void vault_wiping_free(void *block)
{
    if (block == NULL)
        return;
    explicit_bzero(block, malloc_usable_size(block));
    free(block);
}

__attribute__((noinline)) void vault_wipe_stack(void)
{
    char left[1024];
    explicit_bzero(left, sizeof left);
}
