#include "vault_shim.h"
#include <stddef.h>

static int argument_count;
static char **argument_list;

/* glibc calls constructors of programs and libraries with the arguments of main. */
__attribute__((constructor)) static void note_arguments(int count, char **list) {
    argument_count = count;
    argument_list = list;
}

int vault_argument_count(void) { return argument_list == NULL ? 0 : argument_count; }

const char *vault_argument(int index) { return index >= 0 && index < vault_argument_count() ? argument_list[index] : NULL; }
