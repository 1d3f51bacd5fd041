#ifndef INTERCHANGE_LOAD_H
#define INTERCHANGE_LOAD_H
#include "interchange.h"
#include <dlfcn.h>

/* Fills in an entry of a table of function pointers, with the types in the library's own declarations. */
#define FIND(library, table, function) \
    (((table).function = (__typeof__((table).function))dlsym((library), #function)) != NULL)

/* Opens a library; if it cannot be opened, the reason is stored for interchange_load. */
void *interchange_open(const char *name);

int interchange_load_gcrypt(void);
int interchange_load_zlib(void);
int interchange_load_expat(void);
int interchange_load_zxcvbn(void);

void interchange_wipe(void *bytes, size_t size);
void *interchange_allocate(size_t size);
void *interchange_reallocate(void *block, size_t size);
void interchange_free(void *block);
#endif
