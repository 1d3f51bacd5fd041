/* What the primitives take by themselves, on this machine and file system: nothing that does the same work with them can be faster.
   One JSON object on standard output, the microseconds of each operation by its name.
   cc -O2 limits.c -o limits -lsodium      ./limits FOLDER OPERATION:BYTES …
       seal, open   XChaCha20-Poly1305 of so many bytes of plaintext, with 60 bytes of associated data
       hash         BLAKE2b-256
       sign         an Ed25519 signature of so many bytes
       read         opening a file, reading so many bytes of it from the page cache, closing it
       overwrite    writing so many bytes over zeros that a file has there already, and fdatasync: what a small commit comes down to
       append       writing so many bytes in pieces of 1 MiB at a file's end, and fdatasync
       copy         copy_file_range of a file of so many bytes into a new one, and fsync of the new one */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE (1 << 20)

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
static void must(int ok, const char *what) { if (!ok) { perror(what); exit(1); } }

static void put(int file, const unsigned char *bytes, size_t count, off_t offset) {
  for (size_t done = 0; done < count;) {
    size_t piece = count - done < PIECE ? count - done : PIECE;
    must(pwrite(file, bytes, piece, offset + done) == (ssize_t)piece, "pwrite");
    done += piece;
  }
}

/* A new file without a name. */
static int scratch(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/limits-XXXXXX", folder);
  int file = mkstemp(path);
  must(file >= 0, path);
  unlink(path);
  return file;
}

struct work { unsigned char *in, *out, key[crypto_sign_SECRETKEYBYTES]; size_t bytes; const char *folder, *path; int file, source; off_t end; };

static void seal(struct work *w) {
  crypto_aead_xchacha20poly1305_ietf_encrypt(w->out, 0, w->in, w->bytes, w->in, 60, 0, w->in, w->in);
}
static void unseal(struct work *w) {
  must(!crypto_aead_xchacha20poly1305_ietf_decrypt(w->in, 0, 0, w->out, w->bytes + 16, w->in, 60, w->in, w->in), "open");
}
static void hash(struct work *w) { crypto_generichash(w->out, 32, w->in, w->bytes, 0, 0); }
static void sign(struct work *w) { crypto_sign_detached(w->out, 0, w->in, w->bytes, w->key); }
static void read_file(struct work *w) {
  int file = open(w->path, O_RDONLY | O_CLOEXEC);
  must(pread(file, w->out, w->bytes, 0) == (ssize_t)w->bytes, "pread");
  close(file);
}
static void overwrite(struct work *w) {
  put(w->file, w->in, w->bytes, w->end);
  w->end += w->bytes;
  must(!fdatasync(w->file), "fdatasync");
}
static void copy(struct work *w) {
  int file = scratch(w->folder);
  loff_t from = 0;
  while ((size_t)from < w->bytes) must(copy_file_range(w->source, &from, file, 0, w->bytes - from, 0) > 0, "copy_file_range");
  must(!fsync(file), "fsync");
  close(file);
}

static double timed(void (*run)(struct work *), struct work *w, int least, double enough) {
  double start = now();
  int count = 0;
  do { run(w); count++; } while (count < least || (now() - start < enough && count < 1000000));
  return (now() - start) / count;
}

static double cost(const char *name, size_t bytes, const char *folder) {
  size_t memory = bytes < PIECE ? PIECE : bytes;
  int in_pieces = !strcmp(name, "append") || !strcmp(name, "copy");
  struct work w = { .bytes = bytes, .folder = folder, .file = -1, .source = -1 };
  if (in_pieces) memory = PIECE;
  w.in = calloc(1, memory);
  w.out = calloc(1, memory + 16);
  must(w.in && w.out, "memory");
  double result = -1;
  if (!strcmp(name, "seal")) { seal(&w); result = timed(seal, &w, 3, 10000); }
  /* What is opened must be what was sealed, key and nonce included, which stand at the beginning of the plaintext: opening it puts the same there. */
  if (!strcmp(name, "open")) {
    seal(&w); unseal(&w);
    result = timed(unseal, &w, 3, 10000);
  }
  if (!strcmp(name, "hash")) { hash(&w); result = timed(hash, &w, 3, 10000); }
  if (!strcmp(name, "sign")) { crypto_sign_seed_keypair(w.out, w.key, w.in); sign(&w); result = timed(sign, &w, 3, 10000); }
  if (!strcmp(name, "read")) {
    char path[4096];
    snprintf(path, sizeof path, "%s/limits-read-%d", folder, getpid());
    w.path = path;
    int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    must(file >= 0, path);
    put(file, w.in, bytes, 0); close(file);
    read_file(&w);
    result = timed(read_file, &w, 100, 10000);
    unlink(path);
  }
  if (!strcmp(name, "overwrite")) {
    int count = 100;
    w.file = scratch(folder);
    for (int i = 0; i <= count; i++) put(w.file, w.in, bytes, (off_t)i * bytes);
    must(!fsync(w.file), "fsync");
    memset(w.in, 1, memory);
    result = timed(overwrite, &w, count, 0);
  }
  if (!strcmp(name, "append")) { w.file = scratch(folder); result = timed(overwrite, &w, bytes < 16 * PIECE ? 5 : 1, 0); }
  if (!strcmp(name, "copy")) {
    w.source = scratch(folder);
    put(w.source, w.in, bytes, 0);
    must(!fsync(w.source), "fsync");
    result = timed(copy, &w, bytes < 16 * PIECE ? 5 : 1, 0);
  }
  if (w.file >= 0) close(w.file);
  if (w.source >= 0) close(w.source);
  free(w.in); free(w.out);
  return result;
}

int main(int count, char **arguments) {
  must(count > 1 && sodium_init() >= 0, "libsodium");
  for (int i = 2; i < count; i++) {
    char name[16];
    size_t bytes;
    double result = sscanf(arguments[i], "%15[a-z]:%zu", name, &bytes) == 2 ? cost(name, bytes, arguments[1]) : -1;
    if (result < 0) { fprintf(stderr, "limits: no such operation: %s\n", arguments[i]); return 1; }
    printf("%s\"%s\": %.4f", i > 2 ? ", " : "{", arguments[i], result);
  }
  printf("}\n");
}
