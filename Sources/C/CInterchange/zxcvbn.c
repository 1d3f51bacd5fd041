#include "load.h"
#include <limits.h>

/* On most machines, Debian's package contains the library without a header, so its function is declared here (libzxcvbn
   2.5). If the last argument is NULL, nothing is allocated for the caller. */
static struct {
    double (*ZxcvbnMatch)(const char *password, const char *words[], void **information);
} zxcvbn;

int interchange_load_zxcvbn(void) {
    void *library = interchange_open("libzxcvbn.so.0");
    return library != NULL && FIND(library, zxcvbn, ZxcvbnMatch);
}

double interchange_zxcvbn(const char *password, const char *words[]) {
    return zxcvbn.ZxcvbnMatch(password, words, NULL);
}
