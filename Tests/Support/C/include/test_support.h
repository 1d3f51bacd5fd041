/* What the tests need of the system and the Glibc module lacks. Each returns 0 or more, or the negated errno. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H
#include <stddef.h>
#include <sys/types.h>

/* Opens a new pseudo-terminal's master side and writes the path of its other side. */
int test_open_terminal(char *path, size_t size);

/* A pipe whose ends no other child inherits. */
int test_pipe(int ends[2]);

/* Starts a program in a session of its own. Standard input is `input` (a descriptor), or if that is negative the file `input_path`;
   opened first in a new session, a terminal becomes the program's own. Standard output and error go to files, made if need be. */
int test_spawn(pid_t *pid, const char *program, char *const arguments[], char *const environment[], const char *directory,
               int input, const char *input_path, const char *output_path, const char *error_path);

/* The one limit of every wait for an event, in seconds: no machine, however busy, needs as long for what a test waits for. */
enum { test_patience = 600 };

/* Waits for the end of a child and returns its exit status as `test_exit_status` has it; -ETIMEDOUT if it does not end in time. */
int test_wait(pid_t pid);
/* The same; stores the most memory that the child had at a time. */
int test_wait_measured(pid_t pid, long *peak_kib);

/* The exit status of a wait status; 128 and the signal's number for a signal; -1 while it runs or is stopped. */
int test_exit_status(int status);
/* Takes a writer's lock on a whole file, as another process would hold it; returns the descriptor that holds it. */
int test_lock(const char *path);
/* As test_lock, of a part of the file: `length` bytes at `start`, or to the greatest offset if it is 0. */
int test_lock_range(const char *path, off_t start, off_t length);
/* Lets go of a lock by closing the descriptor that holds it. */
int test_unlock(int fd);

/* A program to be started: with its own standard descriptors, as another user unless that is 0, traced by who starts it or not. */
struct test_program {
    const char *path;
    char *const *arguments;
    char *const *environment;
    const char *directory;
    int input;
    int output;
    int error;
    uid_t user;
    int is_traced;
};

/* Starts it; returns its process id. */
int test_start(const struct test_program *program);

/* Lets a traced program run until it is about to exit, with its memory as it then is; -ESRCH if it ended otherwise. By the thread that started it. */
int test_run_to_exit(pid_t pid);

/* Lets it end, and returns its exit status as `test_exit_status` has it. */
int test_let_exit(pid_t pid);

/* Where in the bytes the needle first stands; -1 if nowhere. */
long test_find(const void *bytes, size_t size, const void *needle, size_t length);

/* A file that has no name and is in memory; its descriptor. */
int test_memory_file(void);

/* Removes a folder with all that is in it; what cannot be removed stays. */
void test_remove_folder(const char *path);

/* fork(2), which Swift does not offer; for programs of one thread. */
pid_t test_fork(void);
#endif
