#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "vault_shim.h"

void *vault_wiping_realloc(void *block, size_t size)
{
    void *larger = malloc(size);
    if (larger == NULL || block == NULL)
        return larger;
    size_t used = malloc_usable_size(block);
    memcpy(larger, block, used < size ? used : size);
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
