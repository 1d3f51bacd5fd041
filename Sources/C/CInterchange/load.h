#ifndef INTERCHANGE_LOAD_H
#define INTERCHANGE_LOAD_H
#include "interchange.h"
#include <dlfcn.h>

/* Fills a table of typed function pointers: each is the library's own declaration. */
#define FIND(library, table, function) \
    (((table).function = (__typeof__((table).function))dlsym((library), #function)) != NULL)

int interchange_load_gcrypt(void);
int interchange_load_zlib(void);
int interchange_load_expat(void);

void interchange_wipe(void *bytes, size_t size);
void *interchange_allocate(size_t size);
void *interchange_reallocate(void *block, size_t size);
void interchange_free(void *block);
#endif
