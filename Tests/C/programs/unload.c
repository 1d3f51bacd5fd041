/* Loads and unloads the library again and again, using it each time: nothing of it may stay behind for each time (C9). Usage: unload LIBRARY */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static long resident(void) {
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &pages) != 2) return -1;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    uint8_t key_file[89];
    long before = 0, grown;
    int round;
    if (argc != 2) return 2;
    for (round = 0; round < 60; round++) {
        int32_t (*generate)(uint8_t *);
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&generate = dlsym(library, "vaultfmt_key_file_generate");
        if (generate(key_file) != 0) return 1;
        dlclose(library);
        if (round == 9) before = resident();
    }
    grown = resident() - before;
    printf("%ld bytes more after 50 times\n", grown);
    return grown < 500000 ? 0 : 1;
}
