/* Checks that the system's random number generator and enough memory are available before any other code of this
   program runs. The Swift runtime needs random bytes when it is loaded, and libsodium when it is initialised; without
   these bytes, or without memory for the command's arguments, they abort without an error message. */
#define _GNU_SOURCE
#include "vault_start.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    UNAVAILABLE = 69,
    NO_MEMORY = 74,
    /* Reading the arguments takes less than 1 MiB; later code that may need much memory checks for it separately. */
    LEAST_MEMORY = 4 << 20
};

static void end(int status, const char *message) {
    if (write(STDERR_FILENO, message, strlen(message)) < 0) _exit(status);
    _exit(status);
}

/* Without getrandom in the kernel, /dev/urandom is read instead. */
static int device_answers(void) {
    struct stat status;
    char byte;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int answers = fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && read(fd, &byte, 1) == 1;
    close(fd);
    return answers;
}

static void check_random_source(void) {
    char byte;
    ssize_t count;
    do count = getrandom(&byte, 1, 0);
    while (count < 0 && errno == EINTR);
    if (count == 1 || (count < 0 && errno == ENOSYS && device_answers())) return;
    end(UNAVAILABLE, "vaultfmt: the system's random number generator does not respond: allow the system call getrandom, or provide /dev/urandom\n");
}

static void check_memory(void) {
    void *room = mmap(NULL, LEAST_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) end(NO_MEMORY, "vaultfmt: there is not enough memory to start; raise the limit (ulimit -v) or free some\n");
    munmap(room, LEAST_MEMORY);
}

static void check(void) {
    check_memory();
    check_random_source();
}

/* This runs before the constructors of all libraries, including those of the Swift runtime. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = check;
