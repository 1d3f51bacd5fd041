/* vaultfmt.h - the C interface of vaultfmt: vaults, encrypted single-file stores of passwords, certificates, keys and identities.
 *
 * The format is specified in vaultfmt-1.md; "section" below is one of it. Link with `pkg-config --cflags --libs vaultfmt`.
 *
 * Conventions
 *
 *   Status     Functions return a vaultfmt_status: 0, or the number of an error, which is the same in every language. What went wrong, in
 *              words, is vaultfmt_error_text() of the same thread, until it calls the library again.
 *   Outputs    An output is zeroed first: after an error it is NULL, or all zero. An output pointer may not be NULL unless it says so.
 *   Bytes      Names and secrets are vaultfmt_bytes: pointer and size, without a terminator. Text is UTF-8 and may hold any character, NUL
 *              too; text that is not UTF-8 is VAULTFMT_INVALID_ARGUMENT. A pointer of NULL means "not given", which differs from empty.
 *              What is passed in is copied where it is kept: it remains the caller's, to be wiped (vaultfmt_wipe) and freed.
 *   Ownership  What a function returns through a pointer to a pointer is the caller's, to be given to the function that its type
 *              names. It is read-only, may be used after its vault was closed, and is wiped when it is freed. All freeing functions take NULL.
 *   Threads    "Any thread" means: at the same time as any other call, on the same handle too. A handle must not be used after, or while,
 *              it is freed. A thread needs a stack of 256 KiB. One that is cancelled (pthread_cancel) goes on until its call returns; a signal
 *              handler must not call the library, and neither it nor a function that the library calls may leave by longjmp.
 *   Processes  A handle or cursor belongs to the process that opened it. In a child process, after fork(), every call on it is
 *              VAULTFMT_OTHER_PROCESS, and closing it does nothing: the child neither writes nor gives up what its parent has locked. What the library returned
 *              (items, slots, reports) is the child's own. A child may open the vault itself, also where other threads of the parent were using
 *              the library as it forked: fork() waits for their calls, except while these wait for a lock or run a
 *              function of the caller's. A writer that dies within a transaction holds up other writers until its
 *              children have ended, too, unless they have called exec.
 *   Memory     Where there is none left for a secret, or for what a file or a caller has the size of, it is VAULTFMT_OUT_OF_MEMORY. At most some
 *              12,000 secrets over 32 KiB are held at a time. Where a small allocation fails, abort() ends the process.
 *   Randomness The system's random number generator must answer (getrandom, or /dev/urandom where the kernel has no such call): without it, abort() ends the
 *              process as the library is loaded, or as it is first used.
 *   Unloading  The library stays where it is after dlclose().
 *   Sizes      Structures that the caller fills in start with their size, which their VAULTFMT_..._INIT sets. A size
 *              that this library does not know is VAULTFMT_INVALID_ARGUMENT: the program has another header.
 *              Structures that the library returns may get more members at their end.
 *   Times      Milliseconds since 1970-01-01T00:00:00Z.
 *
 * Secrets and sealed attributes are held in locked, guarded memory that is wiped. Names and other attributes pass
 * through ordinary memory.
 */
#ifndef VAULTFMT_H
#define VAULTFMT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---- */

typedef int32_t vaultfmt_status;

enum {
    VAULTFMT_OK = 0,
    VAULTFMT_NOT_A_VAULT = 1,           /* the file does not start like a vault */
    VAULTFMT_UNSUPPORTED_VERSION = 2,   /* written in a later format */
    VAULTFMT_UNSUPPORTED_CRITICAL = 3,  /* needs an extension that this version does not know */
    VAULTFMT_HEADER_INVALID = 4,        /* the header is malformed */
    VAULTFMT_KDF_LIMIT = 5,             /* a slot's key derivation costs more than the reader's limits allow */
    VAULTFMT_NO_SLOT_OPENS = 6,         /* no slot opens with these factors */
    VAULTFMT_AUTHENTICATION_FAILED = 7, /* something sealed does not authenticate: damaged or altered */
    VAULTFMT_STRUCTURE_INVALID = 8,     /* authentic, but malformed */
    VAULTFMT_LIMIT_EXCEEDED = 9,        /* it would exceed a limit of the format (section 11); nothing was written */
    VAULTFMT_DEVICE_BOUND = 10,         /* the secret is bound to another device */
    VAULTFMT_TAMPERED = 11,             /* the newest commit was not made by an owner, or belongs to another header */
    VAULTFMT_ROLLED_BACK = 12,          /* older than a state that is remembered */
    VAULTFMT_FORKED = 13,               /* has another past than the state that is remembered */
    VAULTFMT_NO_SUCH_ITEM = 14,
    VAULTFMT_DUPLICATE_ITEM = 15,
    VAULTFMT_NO_SUCH_FILE = 16,
    VAULTFMT_FILE_EXISTS = 17,
    VAULTFMT_IO = 18,                   /* an operating system call failed */
    VAULTFMT_NO_SPACE = 19,
    VAULTFMT_BUSY = 20,                 /* another process is writing */
    VAULTFMT_READ_ONLY = 21,            /* the vault was opened for reading */
    VAULTFMT_LOCKED = 22,               /* the vault is locked */
    VAULTFMT_NOT_PERMITTED = 23,        /* the slot that opened the vault does not grant this */
    VAULTFMT_OUTCOME_UNKNOWN = 24,      /* a sync failed: what was written last may or may not be there; the handle writes no more */
    VAULTFMT_CANNOT_REPLACE = 25,       /* the file cannot be replaced without losing its links, owner or attributes */
    VAULTFMT_LAST_SLOT = 26,            /* the last full slot cannot be removed */
    VAULTFMT_NO_SUCH_SLOT = 27,
    VAULTFMT_KEY_FILE_INVALID = 28,     /* damaged, empty or too large */
    VAULTFMT_PASSPHRASE_INVALID = 29,   /* empty, too long or not UTF-8 */
    VAULTFMT_WEAK_KDF = 30,             /* below the floor of what a key derivation must cost */
    VAULTFMT_INVALID_ARGUMENT = 31,
    VAULTFMT_OUT_OF_MEMORY = 32,        /* memory for the key derivation, a secret or a large buffer could not be had */
    VAULTFMT_NO_KERNEL_KEYRING = 33,    /* the system has no kernel keyring, or does not lend it */
    VAULTFMT_OTHER_PROCESS = 34,        /* the handle was opened before a fork, by the parent process: open the vault again */
    VAULTFMT_ANCESTRY_UNPROVABLE = 35,  /* no longer proves that it continues the state that is remembered */
    VAULTFMT_FOREIGN_OWNER = 36,        /* belongs to other owners than the ones that are remembered or asked for */
    VAULTFMT_MEMORY_DAMAGED = 37,       /* what this machine remembers of the vault is damaged */
    VAULTFMT_UNSUPPORTED_FORM = 38,     /* the value is stored in a form that this version does not know */
    VAULTFMT_DAMAGED_TAIL = 39,         /* a damaged commit follows the newest state: call vaultfmt_repair first */
    VAULTFMT_READ_ONLY_EXTENSION = 40   /* the vault has an extension that only programs which know it may write to */
};

/* A status as a word, "no-such-item"; "unknown" for a number that is none. Static. Any thread. */
const char *vaultfmt_status_name(vaultfmt_status status);

/* What the last call that failed on this thread has to say, one line of UTF-8 of at most 1023 bytes; "" after one
   that did not fail. May hold names from the vault, never a secret. Not to be freed; valid until this thread calls
   the library again. Any thread. */
const char *vaultfmt_error_text(void);

/* Where in the file that failure is: 1 and the offset in bytes, or 0 where it has no place. Any thread. */
int32_t vaultfmt_error_offset(uint64_t *offset);

/* The version that this header belongs to. */
#define VAULTFMT_VERSION "0.1.0"

/* The version of the library that runs. Static. Any thread. */
const char *vaultfmt_version(void);

/* The newest version of the format that this library reads and writes. Any thread. */
uint32_t vaultfmt_format_version(void);

/* ---- Bytes ---- */

typedef struct vaultfmt_bytes {
    const uint8_t *data;
    size_t size;
} vaultfmt_bytes;

/* The bytes of a C string; not given for NULL. */
static inline vaultfmt_bytes vaultfmt_text(const char *text) {
    vaultfmt_bytes bytes;
    bytes.data = (const uint8_t *)text;
    bytes.size = text == NULL ? 0 : strlen(text);
    return bytes;
}

/* Overwrites memory of the caller's, in a way that a compiler keeps. Any thread. */
void vaultfmt_wipe(void *memory, size_t size);

/* Bytes that a function returns: a secret, a value, a path. */
typedef struct vaultfmt_value {
    vaultfmt_bytes bytes; /* never NULL */
} vaultfmt_value;

/* Wipes and frees a value. One thread. */
void vaultfmt_value_free(const vaultfmt_value *value);

/* ---- Factors: what opens a slot ---- */

typedef struct vaultfmt_provider vaultfmt_provider; /* see "External keys" */

/* A passphrase, the content of a key file, both together; a provider's key, alone or with a passphrase; or a raw key
   alone. The memory is the caller's. */
typedef struct vaultfmt_factors {
    uint32_t struct_size;
    vaultfmt_bytes passphrase; /* UTF-8, 1 to 65,536 bytes; normalised to NFC by the library, not trimmed */
    vaultfmt_bytes key_file;   /* the file's content, 1 byte to 64 MiB */
    vaultfmt_bytes raw_key;    /* exactly 32 bytes with the strength of random ones: nothing stretches them */
    const vaultfmt_provider *external; /* finds the external key; NULL for none */
} vaultfmt_factors;

#define VAULTFMT_FACTORS_INIT {(uint32_t)sizeof(vaultfmt_factors), {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL}

#define VAULTFMT_KEY_FILE_SIZE 89
/* Makes the content of a new key file, 89 bytes of ASCII (section 3.1): to be kept in a file that only its owner can
   read, and wiped. Any thread. */
vaultfmt_status vaultfmt_key_file_generate(uint8_t out[VAULTFMT_KEY_FILE_SIZE]);

#define VAULTFMT_DEVICE_SIZE 48
/* Makes a new device, id and secret: what items of this device only need besides the vault's own keys. Keep it like
   a key file. Any thread. */
vaultfmt_status vaultfmt_device_generate(uint8_t out[VAULTFMT_DEVICE_SIZE]);

/* ---- External keys ----
 *
 * A provider makes 32 secret bytes for a slot, and parameters from which somebody with the right token, device or
 * identity finds the same bytes again (section 3.1). Its functions return VAULTFMT_OK, or a status with which the call
 * ends that they were called in; vaultfmt_fail gives it a text. They run on the thread of that call and must not use
 * the vault that it is for: that is VAULTFMT_INVALID_ARGUMENT, and other writers wait meanwhile. The structure and its
 * name are needed until the call returns. The vault keeps neither. The file never chooses a provider: only the caller
 * does.
 */

#define VAULTFMT_EXTERNAL_KEY_SIZE 32

/* What a provider makes for a slot, and the keys that it finds, are put here; only while its function runs. */
typedef struct vaultfmt_wrapped vaultfmt_wrapped;
typedef struct vaultfmt_candidates vaultfmt_candidates;

/* A slot as its provider sees it. */
typedef struct vaultfmt_external_slot {
    uint8_t id[16];
    vaultfmt_bytes parameters; /* what the provider stored, or whoever can write to the file put in its place */
} vaultfmt_external_slot;

struct vaultfmt_provider {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const char *name;  /* ASCII 33 to 126, 1 to 64 bytes; names without a dot are reserved for the specification */
    void *context;     /* passed to each function */
    /* Makes a key for a new slot, and gives it to vaultfmt_wrapped_set. NULL if it cannot. */
    vaultfmt_status (*wrap)(void *context, vaultfmt_wrapped *wrapped);
    /* Makes another key for the slot whose owners' data these are, without anybody's token or identity: rotation
       needs that. Setting nothing, or NULL for the function, means that it cannot: the rotation drops the slot. */
    vaultfmt_status (*rewrap)(void *context, vaultfmt_bytes owners_data, vaultfmt_wrapped *wrapped);
    /* Finds the keys of slots, all of the vault's that name this provider, and gives them to
       vaultfmt_candidates_add; none for a slot that it cannot open. NULL if it can open none. */
    vaultfmt_status (*unwrap)(
        void *context, const vaultfmt_external_slot *slots, size_t count, vaultfmt_candidates *candidates);
};

#define VAULTFMT_PROVIDER_INIT {(uint32_t)sizeof(vaultfmt_provider), 0, NULL, NULL, NULL, NULL, NULL}

/* Sets what a provider has made, in its wrap or rewrap; the last call counts. All of it is copied. Parameters, which
   anybody can read, and owners' data have at most 16,384 bytes each: VAULTFMT_LIMIT_EXCEEDED; the key has exactly
   32: VAULTFMT_INVALID_ARGUMENT. The function's thread. */
vaultfmt_status vaultfmt_wrapped_set(
    vaultfmt_wrapped *wrapped, vaultfmt_bytes parameters, vaultfmt_bytes owners_data, vaultfmt_bytes key);

/* Adds a candidate for the slot at an index of those that unwrap was given; copied. Of one slot, 16 count, and
   further ones are ignored. VAULTFMT_INVALID_ARGUMENT for another index, or a key that has not exactly 32 bytes. The
   function's thread. */
vaultfmt_status vaultfmt_candidates_add(vaultfmt_candidates *candidates, size_t slot, vaultfmt_bytes key);

/* For a provider's function to return: sets the text that the failing call will have, one line of UTF-8, and returns
   the status. Any thread. */
vaultfmt_status vaultfmt_fail(vaultfmt_status status, const char *text);

/* ---- Creating, opening, closing ---- */

typedef struct vaultfmt_vault vaultfmt_vault; /* closed with vaultfmt_close */

/* How much a key derivation may or shall cost: Argon2id's memory, passes and lanes. */
typedef struct vaultfmt_open_options {
    uint32_t struct_size;
    uint32_t writable;                /* 1 to be able to change the vault */
    int64_t lock_wait;                /* how long a change waits for another writer, in milliseconds */
    uint32_t most_kdf_memory;         /* of one slot, in KiB: over it, VAULTFMT_KDF_LIMIT before any work */
    uint32_t most_kdf_passes;         /* of one slot */
    uint32_t most_kdf_lanes;          /* of one slot */
    uint32_t reserved;                /* 0 */
    uint64_t most_kdf_work;           /* memory in KiB times passes, over all slots that are tried */
    vaultfmt_bytes device;            /* this device, of vaultfmt_device_generate; without it, items of a device only are listed, not opened */
    const char *anchor;               /* a state that the vault must have come from, of vaultfmt_info; NULL for none */
    vaultfmt_bytes owners;            /* the owners' public key that it must have, 32 bytes of vaultfmt_info:
                                         VAULTFMT_FOREIGN_OWNER otherwise, before anything of it is served; for
                                         programs that remember nothing */
} vaultfmt_open_options;

#define VAULTFMT_OPEN_OPTIONS_INIT \
    {(uint32_t)sizeof(vaultfmt_open_options), 0, 10000, 2u << 20, 16, 16, 0, 16u << 20, {NULL, 0}, NULL, {NULL, 0}}

typedef struct vaultfmt_create_options {
    uint32_t struct_size;
    uint32_t kdf_memory;              /* in KiB; 8 KiB a lane at least */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t allow_weak_kdf;          /* 1 for a cost below 19 MiB or 2 passes, which is VAULTFMT_WEAK_KDF otherwise */
    uint32_t kept_versions;           /* how many earlier values an item keeps, 0 to 50 */
    int64_t lock_wait;                /* as when opening */
    vaultfmt_bytes slot_name;         /* of the first slot, at most 63 bytes */
    vaultfmt_bytes device;            /* as when opening */
} vaultfmt_create_options;

/* 256 MiB, 3 passes, 1 lane; 10 earlier values. */
#define VAULTFMT_CREATE_OPTIONS_INIT \
    {(uint32_t)sizeof(vaultfmt_create_options), 256u << 10, 3, 1, 0, 10, 10000, {NULL, 0}, {NULL, 0}}

/* Creates a vault with one full slot, and opens it for changing. Never overwrites: VAULTFMT_FILE_EXISTS. Without
   options, the defaults. Also VAULTFMT_WEAK_KDF, _KDF_LIMIT, _PASSPHRASE_INVALID, _KEY_FILE_INVALID, _NO_SPACE, _IO,
   and what a provider returns. Any thread. */
vaultfmt_status vaultfmt_create(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_create_options *options, vaultfmt_vault **vault);

/* Opens a vault with the factors of one of its slots. Without options, the defaults: for reading. Nothing is
   remembered: see "This machine". VAULTFMT_NO_SUCH_FILE, _NOT_A_VAULT, _UNSUPPORTED_VERSION, _UNSUPPORTED_CRITICAL,
   _HEADER_INVALID, _KDF_LIMIT, _NO_SLOT_OPENS, _AUTHENTICATION_FAILED, _STRUCTURE_INVALID, _TAMPERED, _IO; with an
   owners' key or an anchor, _FOREIGN_OWNER; with an anchor, _ROLLED_BACK, _FORKED and _ANCESTRY_UNPROVABLE; and what
   a provider returns. Any thread. */
vaultfmt_status vaultfmt_open(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, vaultfmt_vault **vault);

/* Wipes the keys and frees the handle. A transaction that is open is rolled back. Cursors of the vault can still be
   used, and keep the file open. One thread, after all other calls on this handle. */
void vaultfmt_close(vaultfmt_vault *vault);

/* Makes a second handle of the same open vault, with its own transaction: see "Transactions". It has its state, keys
   and lock in common with the first; each is closed by itself, and the last one wipes the keys.
   VAULTFMT_OTHER_PROCESS. Any thread. */
vaultfmt_status vaultfmt_share(vaultfmt_vault *vault, vaultfmt_vault **shared);

/* Moves to the newest committed state of the file; a change does so by itself. A locked vault stays where it is.
   VAULTFMT_ROLLED_BACK or _FORKED if that state does not come from the current one; what opening returns. Any
   thread. */
vaultfmt_status vaultfmt_refresh(vaultfmt_vault *vault);

/* Wipes the vault key and the keys of items that are accessible when unlocked only; the rest can be read further, in
   the state of now. VAULTFMT_INVALID_ARGUMENT within a transaction. Any thread. */
vaultfmt_status vaultfmt_lock(vaultfmt_vault *vault);

/* Unlocks it with the factors of any of its slots, and moves to the newest state. Of the options, only the limits
   count; without them, the defaults. Returns what opening returns. Any thread. */
vaultfmt_status vaultfmt_unlock(vaultfmt_vault *vault, const vaultfmt_factors *factors, const vaultfmt_open_options *options);

/* ---- Unlocking once ----
 *
 * What opens a vault can be kept in the user's keyring in the Linux kernel: in no file, never swapped out, wiped when
 * its time is up, and there for every process of the same user. `vaultfmt unlock` and `vaultfmt lock` do the same.
 * VAULTFMT_NO_KERNEL_KEYRING where there is none, as in most containers.
 */

/* Keeps a vault unlocked for this many seconds, at least 1. VAULTFMT_LOCKED. Any thread. */
vaultfmt_status vaultfmt_keep_unlocked(vaultfmt_vault *vault, uint32_t seconds);

/* Opens a vault that is kept unlocked; VAULTFMT_NO_SLOT_OPENS if it is not. Without options, the defaults. As
   vaultfmt_local_open otherwise. Any thread. */
vaultfmt_status vaultfmt_open_unlocked(const char *path, const vaultfmt_open_options *options, vaultfmt_vault **vault);

/* Ends this for the vault in a file, and for the one that was unlocked in it, even if that is gone or damaged; open
   handles stay open. VAULTFMT_OK also if it was not kept unlocked. Any thread. */
vaultfmt_status vaultfmt_end_unlocked(const char *path);

/* ---- This machine ----
 *
 * vaultfmt_open remembers nothing: it is for programs that keep anchors themselves. These functions do what the
 * `vaultfmt` command does: the machine remembers the newest durable state of each vault and the key that it was under,
 * in $XDG_STATE_HOME/vaultfmt. A vault is compared with that before anything of it is shown, and again when it is
 * refreshed, unlocked or changed. What does not continue it is refused:
 *
 *   VAULTFMT_ROLLED_BACK          an older state
 *   VAULTFMT_FORKED               it was continued from another state
 *   VAULTFMT_ANCESTRY_UNPROVABLE  it no longer proves that it continues the remembered state
 *   VAULTFMT_FOREIGN_OWNER        it belongs to other owners, and no hand-over leads there (a rotation hands over)
 *   VAULTFMT_MEMORY_DAMAGED       what is remembered is damaged
 *
 * until it is accepted, by vaultfmt_local_accept or `vaultfmt anchor --accept`. The machine's device is used where the
 * options name none.
 */

typedef struct vaultfmt_local_options {
    uint32_t struct_size;
    uint32_t make_device;     /* 1 to make this machine's device, for items of this device only, where it has none */
    const char *state_folder; /* what this machine remembers, and its device; NULL for $XDG_STATE_HOME/vaultfmt */
    /* Is told of what was seen for the first time, made (0), or could not be done (is_warning 1): one line of UTF-8,
       which does not outlive the call. It is called by the thread of the call that it comes from, until the vault is
       closed, and must not use the vault. NULL for nobody. */
    void (*notice)(void *context, uint32_t is_warning, const char *text);
    void *context;
} vaultfmt_local_options;

#define VAULTFMT_LOCAL_OPTIONS_INIT {(uint32_t)sizeof(vaultfmt_local_options), 0, NULL, NULL, NULL}

/* The vault that is used where none is named: VAULTFMT_VAULT, or vaultfmt/default.vault in XDG_DATA_HOME. With its
   terminator; VAULTFMT_LIMIT_EXCEEDED if that is more than `size` bytes. Any thread. */
vaultfmt_status vaultfmt_local_default_path(char *path, size_t size);

/* As vaultfmt_create, and remembers the vault. A path of NULL is the default one. Any thread. */
vaultfmt_status vaultfmt_local_create(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_create_options *options, const vaultfmt_local_options *local,
    vaultfmt_vault **vault);

/* As vaultfmt_open, compared with what this machine remembers. A path of NULL is the default one. Without factors,
   it is opened with what VAULTFMT_PASSPHRASE, VAULTFMT_PASSPHRASE_FILE and VAULTFMT_KEY_FILE give, else with what
   `vaultfmt unlock` keeps; else VAULTFMT_NO_SLOT_OPENS. Any thread. */
vaultfmt_status vaultfmt_local_open(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, const vaultfmt_local_options *local,
    vaultfmt_vault **vault);

/* Remembers the state of a file, whatever was remembered. Look at it first. What vaultfmt_open returns; VAULTFMT_IO
   or _OUTCOME_UNKNOWN where it cannot be stored. Any thread. */
vaultfmt_status vaultfmt_local_accept(
    const char *path, const vaultfmt_factors *factors, const vaultfmt_open_options *options, const vaultfmt_local_options *local);

/* ---- State ---- */

enum {
    VAULTFMT_TAIL_CLEAN = 0,
    VAULTFMT_TAIL_WRITE_IN_PROGRESS = 1, /* another process is writing */
    /* tail_size bytes after the newest commit belong to none. The next writer cuts them off. */
    VAULTFMT_TAIL_TORN = 2,
    /* Generation tail_generation is incomplete: the one before is read. The next writer keeps it aside. */
    VAULTFMT_TAIL_INCOMPLETE = 3,
    /* tail_size bytes after the newest commit hold one that does not open. Writers refuse until vaultfmt_repair. */
    VAULTFMT_TAIL_DAMAGED = 4
};

#define VAULTFMT_ANCHOR_SIZE 192
#define VAULTFMT_OWNERS_SIZE 32

typedef struct vaultfmt_info {
    uint32_t struct_size;               /* set by the caller */
    uint32_t is_writable;
    uint32_t is_locked;
    uint32_t is_owner;                  /* 0: a scoped slot opened it, which reads the index and some access groups */
    uint64_t generation;                /* of the state: greater than that of every state before it */
    uint8_t vault_id[16];
    /* The owners' public key: the same for all slots, another after a rotation. It reveals nothing. */
    uint8_t owners[VAULTFMT_OWNERS_SIZE];
    /* The state, to be remembered: whoever does notices if the file is put back (section 7.2). Its form is
       VAULT:GENERATION:CHAIN:OWNERS, the generation decimal, the others 32, 64 and 64 hexadecimal digits, and stays. */
    char anchor[VAULTFMT_ANCHOR_SIZE];
    uint32_t tail;                      /* VAULTFMT_TAIL_... */
    uint32_t kept_versions;             /* how many earlier values an item keeps */
    uint64_t tail_size;
    uint64_t tail_generation;
} vaultfmt_info;

/* What is known of a vault without reading its index. `info->struct_size` must be set; the rest is zeroed first. Any
   thread. */
vaultfmt_status vaultfmt_get_info(vaultfmt_vault *vault, vaultfmt_info *info);

enum {
    VAULTFMT_VERDICT_SAME = 0,       /* it is that state */
    VAULTFMT_VERDICT_DESCENDS = 1,   /* it came from that state */
    VAULTFMT_VERDICT_OLDER = 2,      /* it is older than that state: the file was put back */
    VAULTFMT_VERDICT_FORKED = 3,     /* it was continued from another state */
    VAULTFMT_VERDICT_UNPROVABLE = 4, /* the file no longer holds what would tell */
    VAULTFMT_VERDICT_FOREIGN = 5     /* it belongs to other owners, and no hand-over leads there */
};

/* How the state compares with an anchor that was remembered. VAULTFMT_INVALID_ARGUMENT for one of another vault. Any
   thread. */
vaultfmt_status vaultfmt_check_anchor(vaultfmt_vault *vault, const char *anchor, int32_t *verdict);

typedef struct vaultfmt_statistics {
    uint32_t struct_size;       /* set by the caller */
    uint32_t is_memory_locked;  /* 0: secrets could not be kept from being swapped out */
    uint64_t items;
    uint64_t tombstones;
    uint64_t file_bytes;
    uint64_t live_bytes;
    uint64_t dead_bytes;        /* what compaction would free */
    uint32_t tree_height;
    uint32_t kept_versions;     /* how many earlier values an item keeps */
    uint64_t earlier_values;
} vaultfmt_statistics;

/* Counts; reads the whole index and no secret. Any thread. */
vaultfmt_status vaultfmt_get_statistics(vaultfmt_vault *vault, vaultfmt_statistics *statistics);

/* ---- Items ---- */

enum {
    VAULTFMT_GENERIC_PASSWORD = 1,
    VAULTFMT_INTERNET_PASSWORD = 2,
    VAULTFMT_CERTIFICATE = 3,
    VAULTFMT_KEY = 4,
    VAULTFMT_IDENTITY = 5
    /* 6 to 63 are left to later versions of the format: such items are listed, read, moved and removed, and not made */
};

/* When a secret can be read: which keys a locked vault keeps, and whether the device is needed that wrote it. */
enum {
    VAULTFMT_WHEN_UNLOCKED = 1,
    VAULTFMT_AFTER_FIRST_UNLOCK = 2,
    VAULTFMT_ALWAYS = 3,
    VAULTFMT_WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 4,
    VAULTFMT_WHEN_UNLOCKED_THIS_DEVICE_ONLY = 5,
    VAULTFMT_AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 6,
    VAULTFMT_ALWAYS_THIS_DEVICE_ONLY = 7
};

/* What an item is found by: its class and that class's fields (section 6.1). Fields of other classes must be left
   zero, and a field of its own that is not given is empty or 0. Zero all of it first. Texts and bytes have at most
   4096 bytes each, 8192 in all. */
typedef struct vaultfmt_key {
    uint32_t item_class;                 /* VAULTFMT_GENERIC_PASSWORD to _IDENTITY, or 6 to 63 */
    uint32_t synchronizable;             /* 0 or 1 */
    vaultfmt_bytes group;                /* the access group */
    vaultfmt_bytes service;              /* generic password */
    vaultfmt_bytes account;              /* generic and internet password */
    vaultfmt_bytes server;               /* internet password, and the next five */
    vaultfmt_bytes protocol;
    vaultfmt_bytes path;
    vaultfmt_bytes security_domain;
    vaultfmt_bytes authentication_type;
    uint32_t port;
    uint32_t type;                       /* certificate and identity, and the next two */
    vaultfmt_bytes issuer;               /* DER */
    vaultfmt_bytes serial_number;
    uint32_t key_class;                  /* key, and all that follow */
    uint32_t key_type;
    vaultfmt_bytes application_label;
    vaultfmt_bytes application_tag;
    uint32_t size_in_bits;
    uint32_t effective_size;
    const vaultfmt_bytes *texts;         /* classes 6 to 63: their fields but for the group, at most 15 */
    size_t text_count;
} vaultfmt_key;

/* The key of a generic password. The strings are not copied. */
static inline vaultfmt_key vaultfmt_generic_password(const char *service, const char *account) {
    vaultfmt_key key;
    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_GENERIC_PASSWORD;
    key.service = vaultfmt_text(service);
    key.account = vaultfmt_text(account);
    return key;
}

/* The key of an internet password. The strings are not copied. */
static inline vaultfmt_key vaultfmt_internet_password(const char *server, const char *account, const char *protocol, uint32_t port) {
    vaultfmt_key key;
    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_INTERNET_PASSWORD;
    key.server = vaultfmt_text(server);
    key.account = vaultfmt_text(account);
    key.protocol = vaultfmt_text(protocol);
    key.port = port;
    return key;
}

enum {
    VAULTFMT_ATTRIBUTE_SEALED = 1,    /* as secret as the item's secret: not in the index; earlier values are kept */
    VAULTFMT_ATTRIBUTE_CONCEALED = 2, /* to be shown only when asked for */
    VAULTFMT_ATTRIBUTE_BINARY = 4     /* not text */
};

/* A name of 1 to 255 bytes and a value of at most 16 MiB; an item has at most 64. Listing reads values of at most
   256 bytes that are not sealed, vaultfmt_get those of at most 4096, and vaultfmt_get_attribute any. */
typedef struct vaultfmt_attribute {
    vaultfmt_bytes name;
    vaultfmt_bytes value;  /* NULL in what the library returns: not read; in what it is given: to be removed */
    uint32_t flags;        /* VAULTFMT_ATTRIBUTE_... */
    /* 1 for `flags` as they are here, also in what the library returns; 0 for those that the item's attribute of this
       name has, or for a new one the usual ones: `notes`, `otp` and names that start with "sealed:" are sealed,
       `conflict` is sealed and binary. */
    uint32_t states_flags;
} vaultfmt_attribute;

/* An attribute with a text, and the flags that it has or usually has. The strings are not copied; NULL for a value
   removes it. */
static inline vaultfmt_attribute vaultfmt_text_attribute(const char *name, const char *value) {
    vaultfmt_attribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.name = vaultfmt_text(name);
    attribute.value = vaultfmt_text(value);
    return attribute;
}

/* An item. Freed with vaultfmt_item_free, and all it points to with it. */
typedef struct vaultfmt_item {
    uint8_t id[16];                       /* random, and the item's own as long as it exists */
    vaultfmt_key key;
    vaultfmt_bytes encoded_key;           /* the key as it stands in the index: its order is the order of items */
    uint32_t accessibility;               /* VAULTFMT_WHEN_UNLOCKED to _ALWAYS_THIS_DEVICE_ONLY */
    uint32_t is_device_bound;
    uint8_t device[16];                   /* the device that it is for, if it is for one only; else zero */
    int64_t created;
    int64_t modified;
    uint64_t revision;                    /* a hybrid logical clock: which of two states of the item is newer */
    const vaultfmt_attribute *attributes; /* all of them, ascending by the bytes of their names */
    size_t attribute_count;
    size_t unread_attribute_count;        /* how many of them have a value that was not read */
    vaultfmt_bytes secret;                /* NULL if it was not asked for, or refused */
    vaultfmt_status secret_status;        /* why it was refused: VAULTFMT_DEVICE_BOUND, _NOT_PERMITTED or _LOCKED; else VAULTFMT_OK */
    uint32_t earlier_value_count;
} vaultfmt_item;

/* Wipes and frees an item. One thread. */
void vaultfmt_item_free(const vaultfmt_item *item);

/* The item with this key, without its secret. VAULTFMT_NO_SUCH_ITEM, and what reading can return:
   _AUTHENTICATION_FAILED, _STRUCTURE_INVALID, _IO. Any thread. */
vaultfmt_status vaultfmt_find(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_item **item);

/* The item with this key, with its secret and its attributes of at most 4096 bytes. As vaultfmt_find, and
   VAULTFMT_LOCKED, _NOT_PERMITTED (a scoped slot without the item's group), _DEVICE_BOUND, _UNSUPPORTED_FORM. Any
   thread. */
vaultfmt_status vaultfmt_get(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_item **item);

/* The value of one attribute, of any size, to be freed with vaultfmt_value_free; VAULTFMT_OK and NULL if the item
   has none of this name. As vaultfmt_get otherwise. Any thread. */
vaultfmt_status vaultfmt_get_attribute(
    vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes name, const vaultfmt_value **value);

#define VAULTFMT_UNSET INT64_MIN

/* What is stored besides the secret. */
typedef struct vaultfmt_details {
    uint32_t struct_size;
    uint32_t accessibility;               /* 0 for the one that the item has, or VAULTFMT_WHEN_UNLOCKED for a new one */
    const vaultfmt_attribute *attributes; /* to be set; one with a value of NULL is removed */
    size_t attribute_count;
    uint32_t replaces_attributes;         /* 1: attributes that are not named go; 0: they stay */
    uint32_t reserved;                    /* 0 */
    int64_t created;                      /* VAULTFMT_UNSET for what the item has, or now */
    int64_t modified;                     /* VAULTFMT_UNSET: the current time */
} vaultfmt_details;

#define VAULTFMT_DETAILS_INIT {(uint32_t)sizeof(vaultfmt_details), 0, NULL, 0, 0, 0, VAULTFMT_UNSET, VAULTFMT_UNSET}

/* Adds an item. VAULTFMT_DUPLICATE_ITEM if there is one with this key; VAULTFMT_LIMIT_EXCEEDED, _DEVICE_BOUND where
   a device is needed and none was given; and what a commit can return: _READ_ONLY, _LOCKED, _NOT_PERMITTED, _BUSY,
   _NO_SPACE, _IO, _OUTCOME_UNKNOWN, _DAMAGED_TAIL, _READ_ONLY_EXTENSION. Durable on return, except within a
   transaction. `details` may be NULL. A secret has at most 16 MiB. Any thread. */
vaultfmt_status vaultfmt_add(vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes secret, const vaultfmt_details *details);

/* Adds an item, or replaces its secret and the attributes that are named. What a secret or a sealed attribute was
   becomes an earlier value, if the vault keeps any. As vaultfmt_add otherwise. Any thread. */
vaultfmt_status vaultfmt_set(vaultfmt_vault *vault, const vaultfmt_key *key, vaultfmt_bytes secret, const vaultfmt_details *details);

/* Changes attributes or accessibility and not the secret; `created` and `modified` must be VAULTFMT_UNSET.
   VAULTFMT_NO_SUCH_ITEM; as vaultfmt_add otherwise. Any thread. */
vaultfmt_status vaultfmt_update(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_details *details);

/* Gives an item another key of the same class; it keeps id, secret and attributes. VAULTFMT_NO_SUCH_ITEM,
   _DUPLICATE_ITEM if there is one with the new key; as vaultfmt_add otherwise. Any thread. */
vaultfmt_status vaultfmt_move(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_key *new_key);

/* Removes an item with its earlier values; VAULTFMT_NO_SUCH_ITEM if there is none. Its ciphertext stays in the file
   until vaultfmt_compact, and in copies of it. Any thread. */
vaultfmt_status vaultfmt_remove(vaultfmt_vault *vault, const vaultfmt_key *key);

/* ---- Earlier values ----
 *
 * When an item's secret or a sealed attribute is replaced, the vault keeps what it was, up to a number of values that
 * is the vault's own setting; the oldest go first. Only owners read them: a scoped slot is VAULTFMT_NOT_PERMITTED, a
 * locked vault VAULTFMT_LOCKED.
 */

/* Which of an item's earlier values is meant. */
typedef struct vaultfmt_earlier_id {
    uint64_t revision;   /* that the item had when this was its value */
    uint8_t device[16];  /* that made it, or zeros */
} vaultfmt_earlier_id;

typedef struct vaultfmt_earlier_value {
    vaultfmt_earlier_id id;
    int64_t replaced;                     /* when it ceased to be the item's value */
    int64_t modified;                     /* when it was changed last */
    const vaultfmt_attribute *attributes; /* the item's at the time, read as those of a vaultfmt_item */
    size_t attribute_count;
    size_t unread_attribute_count;
    vaultfmt_bytes secret;                /* NULL in a list */
} vaultfmt_earlier_value;

/* Wipes and frees an earlier value. One thread. */
void vaultfmt_earlier_value_free(const vaultfmt_earlier_value *value);

typedef struct vaultfmt_earlier_values {
    const vaultfmt_earlier_value *const *values; /* the oldest first */
    size_t count;
} vaultfmt_earlier_values;

/* Frees a list of earlier values. One thread. */
void vaultfmt_earlier_values_free(const vaultfmt_earlier_values *values);

/* The earlier values of an item, without secrets. VAULTFMT_NO_SUCH_ITEM; as vaultfmt_get otherwise. Any thread. */
vaultfmt_status vaultfmt_get_earlier_values(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_values **values);

/* One of them, with its secret and its attributes of at most 4096 bytes. VAULTFMT_NO_SUCH_ITEM also if there is no
   such value. Any thread. */
vaultfmt_status vaultfmt_get_earlier_value(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id,
    const vaultfmt_earlier_value **value);

/* An attribute that the item had then, as vaultfmt_get_attribute. Any thread. */
vaultfmt_status vaultfmt_get_earlier_attribute(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id, vaultfmt_bytes name,
    const vaultfmt_value **value);

/* Makes an item what it was: secret and attributes; key and accessibility stay. What it is now becomes an earlier
   value, and the restored one stays among them. VAULTFMT_NO_SUCH_ITEM, and what a commit can return. Any thread. */
vaultfmt_status vaultfmt_restore(vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *id);

/* Forgets earlier values of an item: `count` of them, or all where `ids` is NULL and `count` is 0. Their ciphertext
   stays in the file until vaultfmt_compact, and in copies of it. Gives how many there were, unless `forgotten` is
   NULL. VAULTFMT_NO_SUCH_ITEM, then none is forgotten, and what a commit can return. Any thread. */
vaultfmt_status vaultfmt_forget(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_earlier_id *ids, size_t count, size_t *forgotten);

/* An earlier value that an import brings along. */
typedef struct vaultfmt_new_earlier_value {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    vaultfmt_bytes secret;
    const vaultfmt_attribute *attributes; /* each with a value */
    size_t attribute_count;
    int64_t modified;
    int64_t replaced;
} vaultfmt_new_earlier_value;

#define VAULTFMT_NEW_EARLIER_VALUE_INIT {(uint32_t)sizeof(vaultfmt_new_earlier_value), 0, {NULL, 0}, NULL, 0, 0, 0}

/* Adds earlier values to an item, the oldest first; they come after those that it has. Gives how many were added,
   unless `added` is NULL: as many as the vault keeps, the last ones. VAULTFMT_NO_SUCH_ITEM; as vaultfmt_add
   otherwise. Any thread. */
vaultfmt_status vaultfmt_add_earlier_values(
    vaultfmt_vault *vault, const vaultfmt_key *key, const vaultfmt_new_earlier_value *values, size_t count,
    size_t *added);

/* Sets how many earlier values an item keeps, 0 to 50: VAULTFMT_LIMIT_EXCEEDED beyond that. Those that are too many
   go when their item changes, or with vaultfmt_compact. What a commit can return. Any thread. */
vaultfmt_status vaultfmt_keep_versions(vaultfmt_vault *vault, uint32_t count);

/* ---- Transactions ----
 *
 * Changes that become durable together, in one commit, or not at all. A transaction belongs to the handle that it was
 * begun on, and its thread is the one that began it. Until it ends,
 *   - vaultfmt_find, _get, _get_attribute, _add, _set, _update, _move, _remove and the functions of "Earlier values" by
 *     that thread on that handle are part of it, and see what it did;
 *   - its other calls, and all of its calls on another handle of the same open vault (vaultfmt_share), are VAULTFMT_INVALID_ARGUMENT;
 *   - calls of other threads, on any handle of the same open vault, wait for at most lock_wait and are VAULTFMT_BUSY then;
 *   - other openings, in this or another process, cannot write.
 * A call that fails changes nothing, and the transaction goes on. Where its thread has ended, no other takes its place:
 * any thread may commit it or roll it back. A program whose tasks share a thread gives each of them a handle by
 * vaultfmt_share: then none joins another's transaction by mistake.
 */

/* Starts a transaction, on the newest state. VAULTFMT_INVALID_ARGUMENT where this thread has one open already;
   VAULTFMT_READ_ONLY, _LOCKED, _NOT_PERMITTED, _BUSY, _IO. Any thread. */
vaultfmt_status vaultfmt_begin(vaultfmt_vault *vault);

/* Makes its changes durable. The transaction has ended in any case: after an error, nothing has changed, but for
   VAULTFMT_OUTCOME_UNKNOWN, which says that this is not known. VAULTFMT_INVALID_ARGUMENT if there is none, and while
   another thread is in a call that is part of it: then it goes on. Any thread. */
vaultfmt_status vaultfmt_commit(vaultfmt_vault *vault);

/* Gives its changes up. VAULTFMT_INVALID_ARGUMENT as for vaultfmt_commit. Any thread. */
vaultfmt_status vaultfmt_rollback(vaultfmt_vault *vault);

/* ---- Many items ---- */

#define VAULTFMT_ANY (-1)

/* Which items: each member that is given must match exactly, `pattern` in part. */
typedef struct vaultfmt_query {
    uint32_t struct_size;
    uint32_t item_class;        /* 0 for any */
    vaultfmt_bytes service;
    vaultfmt_bytes account;
    vaultfmt_bytes server;
    vaultfmt_bytes protocol;
    vaultfmt_bytes path;
    vaultfmt_bytes group;
    vaultfmt_bytes label;
    vaultfmt_bytes pattern;     /* what service, account, server or label contain, whatever its case */
    int64_t port;               /* VAULTFMT_ANY for any */
    int32_t synchronizable;     /* 0, 1, or VAULTFMT_ANY */
    uint32_t accessibility;     /* 0 for any */
} vaultfmt_query;

#define VAULTFMT_QUERY_INIT                                                                                                          \
    {(uint32_t)sizeof(vaultfmt_query), 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, \
     VAULTFMT_ANY, VAULTFMT_ANY, 0}

typedef struct vaultfmt_cursor vaultfmt_cursor; /* closed with vaultfmt_cursor_close */

/* Starts to go through all matching items in the order of their keys, as they are now, without their secrets; later
   changes are not seen. Without a query, all items. Any thread. */
vaultfmt_status vaultfmt_items(vaultfmt_vault *vault, const vaultfmt_query *query, vaultfmt_cursor **cursor);

/* The next item, to be freed with vaultfmt_item_free; VAULTFMT_OK and NULL after the last. _AUTHENTICATION_FAILED,
   _STRUCTURE_INVALID, _IO; _INVALID_ARGUMENT while another thread is in this call with the same cursor. Any thread. */
vaultfmt_status vaultfmt_cursor_next(vaultfmt_cursor *cursor, const vaultfmt_item **item);

/* Frees a cursor. One thread. */
void vaultfmt_cursor_close(vaultfmt_cursor *cursor);

/* Takes an item, which is the callee's only until it returns; 0 to go on, anything else to end. */
typedef int32_t (*vaultfmt_item_function)(void *context, const vaultfmt_item *item);

/* Calls a function with every matching item and its secret, in the order of keys, as they are at the start: the fast
   way to read everything. A secret that is refused has its reason in secret_status; a damaged one ends it with an
   error. VAULTFMT_OK also if the function ended it. The function is called on the caller's thread, and may use the
   vault. Any thread. */
vaultfmt_status vaultfmt_each_secret(
    vaultfmt_vault *vault, const vaultfmt_query *query, vaultfmt_item_function function, void *context);

/* ---- Slots ---- */

enum {
    VAULTFMT_FACTOR_PASSPHRASE = 1,
    VAULTFMT_FACTOR_GENERATED_KEY_FILE = 2,
    VAULTFMT_FACTOR_OTHER_KEY_FILE = 4,
    VAULTFMT_FACTOR_RAW_KEY = 8,
    VAULTFMT_FACTOR_EXTERNAL_KEY = 16
};

enum {
    VAULTFMT_SLOT_FULL = 0x01,
    VAULTFMT_SLOT_SCOPED = 0x82
};

typedef struct vaultfmt_slot {
    uint8_t id[16];               /* stays when name or grants change, and is new when the factors do */
    uint32_t kind;                /* VAULTFMT_SLOT_..., or another number: a kind that this version does not know */
    uint32_t factors;             /* VAULTFMT_FACTOR_..., all of which it takes; also bits that are not known */
    uint32_t is_known;            /* 0: this version does not know its kind or its factors, nor its strength, and keeps
                                     it as it is */
    uint32_t is_full;             /* 1: it opens everything */
    uint32_t opened_this;         /* 1: it is the one that opened the vault */
    uint32_t is_weak;             /* 1: its key derivation is below the floor */
    uint32_t kdf_memory;          /* in KiB; 0 where there is no key derivation, or the slot is not known */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t reserved;
    vaultfmt_bytes provider;      /* who makes its external key; NULL where it has none */
    vaultfmt_bytes name;          /* NULL for anyone but an owner */
    const vaultfmt_bytes *groups; /* that a scoped slot opens; NULL for any other, and for anyone but an owner */
    size_t group_count;
    uint64_t revision;            /* when it was made, or its name or grants changed; 0 for anyone but an owner */
    uint8_t device[16];           /* that did so; zeros if none was given, and for anyone but an owner */
} vaultfmt_slot;

typedef struct vaultfmt_slots {
    const vaultfmt_slot *const *slots; /* in the order of the header */
    size_t count;
} vaultfmt_slots;

/* The slots, to be freed with vaultfmt_slots_free. Any thread. */
vaultfmt_status vaultfmt_get_slots(vaultfmt_vault *vault, const vaultfmt_slots **slots);

/* Frees a list of slots. One thread. */
void vaultfmt_slots_free(const vaultfmt_slots *slots);

/* What a slot is to be. */
typedef struct vaultfmt_slot_options {
    uint32_t struct_size;
    uint32_t kdf_memory;          /* in KiB; all three 0 when factors are changed: what the slot has, or the default */
    uint32_t kdf_passes;
    uint32_t kdf_lanes;
    uint32_t allow_weak_kdf;      /* as when creating */
    uint32_t is_scoped;           /* 1: the slot opens the index and the secrets of `groups` only; for a new slot only */
    vaultfmt_bytes name;          /* at most 63 bytes; for a new slot only */
    const vaultfmt_bytes *groups; /* at most 32 */
    size_t group_count;
} vaultfmt_slot_options;

#define VAULTFMT_SLOT_OPTIONS_INIT {(uint32_t)sizeof(vaultfmt_slot_options), 256u << 10, 3, 1, 0, 0, {NULL, 0}, NULL, 0}

/* What a change of slots did. */
typedef struct vaultfmt_slot_report {
    uint8_t id[16];                      /* of the slot that was added, changed or removed; zeros for a rotation */
    const vaultfmt_slot *const *dropped; /* slots that had to go with it: nobody here can give them the new keys */
    size_t dropped_count;
    const vaultfmt_key *const *kept;     /* items of other devices: their secrets could not be sealed under new keys */
    size_t kept_count;
} vaultfmt_slot_report;

/* Frees what a change of slots did. One thread. */
void vaultfmt_slot_report_free(const vaultfmt_slot_report *report);

/* Adds a slot, at most 64, and gives its id. A scoped slot reads the vault as it is from now on, and nothing of what
   it was: index and groups get new keys, and the file is rewritten. A group that the vault does not have is made.
   `report` may be NULL here and in the next functions. VAULTFMT_INVALID_ARGUMENT for factors that open a slot
   already, _NOT_PERMITTED for anyone but an owner, _LIMIT_EXCEEDED, _WEAK_KDF, _KDF_LIMIT (also if readers would no
   longer try all slots with these kinds of factors), _CANNOT_REPLACE; what a provider returns, and what a commit can
   return. Any thread. */
vaultfmt_status vaultfmt_slot_add(
    vaultfmt_vault *vault, const vaultfmt_factors *factors, const vaultfmt_slot_options *options, uint8_t id[16],
    const vaultfmt_slot_report **report);

/* Removes a slot. Removing any but a full one also replaces the keys that it held. VAULTFMT_LAST_SLOT,
   _NO_SUCH_SLOT; as vaultfmt_slot_add otherwise. Anyone who copied the vault key from a full slot keeps it: only
   vaultfmt_rotate revokes that. Any thread. */
vaultfmt_status vaultfmt_slot_remove(vaultfmt_vault *vault, const uint8_t id[16], const vaultfmt_slot_report **report);

/* Gives a slot other factors: the one with this id, or with NULL the one that opened the vault. Name, groups and
   place in the list stay, the id does not; options other than the cost must not be given. For a full slot nothing
   else is encrypted again; a scoped one is replaced as if it were removed and added. VAULTFMT_INVALID_ARGUMENT also
   for a slot that this version does not know. As vaultfmt_slot_add otherwise. Any thread. */
vaultfmt_status vaultfmt_slot_change(
    vaultfmt_vault *vault, const uint8_t *id, const vaultfmt_factors *factors, const vaultfmt_slot_options *options,
    const vaultfmt_slot_report **report);

/* Gives a slot another name. As vaultfmt_slot_remove otherwise. Any thread. */
vaultfmt_status vaultfmt_slot_rename(vaultfmt_vault *vault, const uint8_t id[16], vaultfmt_bytes name);

/* Replaces the groups that a scoped slot opens; a group that the vault does not have is made. Groups that it gains
   or loses get new keys, and the file is rewritten. VAULTFMT_INVALID_ARGUMENT for a slot that is not scoped; as
   vaultfmt_slot_remove otherwise. Any thread. */
vaultfmt_status vaultfmt_slot_grant(
    vaultfmt_vault *vault, const uint8_t id[16], const vaultfmt_bytes *groups, size_t count,
    const vaultfmt_slot_report **report);

/* A slot of an external key alone, which a rotation keeps without anybody's identity: the provider's rewrap makes it
   again. */
typedef struct vaultfmt_made_again {
    uint8_t id[16];
    const vaultfmt_provider *provider;
} vaultfmt_made_again;

/* Encrypts everything again under new keys. The slots that the `kept` factors open are kept, one of them a full one,
   and those that a provider makes again; the others are dropped. Slots of external keys are made again by rewrap.
   VAULTFMT_NO_SLOT_OPENS, _LAST_SLOT, _NO_SUCH_SLOT; _INVALID_ARGUMENT for one to be made again that takes other
   factors, or another provider's key; as vaultfmt_slot_add otherwise. Any thread. */
vaultfmt_status vaultfmt_rotate(
    vaultfmt_vault *vault, const vaultfmt_factors *kept, size_t count, const vaultfmt_made_again *again,
    size_t again_count,
    const vaultfmt_slot_report **report);

/* ---- Maintenance ---- */

/* Rewrites the file without what is dead. Gives its length before and after; both pointers may be NULL.
   VAULTFMT_CANNOT_REPLACE, and what a commit can return. Any thread. */
vaultfmt_status vaultfmt_compact(vaultfmt_vault *vault, uint64_t *before, uint64_t *after);

/* Copies a damaged tail (VAULTFMT_TAIL_DAMAGED) to a file next to the vault, FILE.damaged-G with the generation G
   after the newest, and cuts it off: then the vault can be changed again. Gives the path of that file, to be freed
   with vaultfmt_value_free; NULL if the tail was not damaged. VAULTFMT_LIMIT_EXCEEDED for a tail that is longer than
   the vault and than 64 MiB, and what a commit can return. Any thread. */
vaultfmt_status vaultfmt_repair(vaultfmt_vault *vault, const vaultfmt_value **kept);

typedef struct vaultfmt_problem {
    vaultfmt_bytes what;
    uint64_t offset;
    uint32_t has_offset;
    uint32_t reserved;
} vaultfmt_problem;

typedef struct vaultfmt_report {
    uint32_t is_sound;                  /* every byte was authenticated, and nothing is wrong */
    uint32_t reserved;
    uint64_t items;                     /* in the newest state */
    uint64_t objects;                   /* that were authenticated */
    uint64_t unopened;                  /* objects whose key is not to be had with this slot and device: they could not be checked */
    uint64_t problem_count;
    const vaultfmt_problem *problems;   /* the first 1000 of them */
    size_t listed_problems;
    uint64_t earlier_values;            /* in the newest state */
} vaultfmt_report;

/* Authenticates every byte of every object. Damage is in the report, to be freed with vaultfmt_report_free, and is
   not a failure of this call. VAULTFMT_LOCKED, _IO. Any thread. */
vaultfmt_status vaultfmt_verify(vaultfmt_vault *vault, const vaultfmt_report **report);

/* Frees a report. One thread. */
void vaultfmt_report_free(const vaultfmt_report *report);

/* ---- What a file shows without a key ---- */

typedef struct vaultfmt_objects {
    vaultfmt_bytes type; /* record, page, versions frame, keyring, history or commit */
    uint64_t count;
    uint64_t bytes;
} vaultfmt_objects;

typedef struct vaultfmt_extension {
    vaultfmt_bytes name;
    uint64_t size;
    uint32_t is_critical;  /* 1: a reader must know it */
    uint32_t is_read_only; /* 1: a writer must know it */
} vaultfmt_extension;

typedef struct vaultfmt_inspection {
    uint32_t format_version;
    uint32_t tail;                        /* VAULTFMT_TAIL_..., by its looks */
    uint64_t tail_size;
    uint8_t vault_id[16];
    uint64_t header_bytes;
    uint64_t file_bytes;
    const vaultfmt_slot *const *slots;    /* without names and groups */
    size_t slot_count;
    const vaultfmt_extension *extensions;
    size_t extension_count;
    const vaultfmt_objects *objects;      /* by type; those that there are none of are left out */
    size_t object_type_count;
} vaultfmt_inspection;

/* Reads what a file shows without any key, to be freed with vaultfmt_inspection_free. Nothing of it is
   authenticated. VAULTFMT_NO_SUCH_FILE, _NOT_A_VAULT, _UNSUPPORTED_VERSION, _UNSUPPORTED_CRITICAL, _HEADER_INVALID,
   _IO. Any thread. */
vaultfmt_status vaultfmt_inspect(const char *path, const vaultfmt_inspection **inspection);

/* Frees an inspection. One thread. */
void vaultfmt_inspection_free(const vaultfmt_inspection *inspection);

#ifdef __cplusplus
}
#endif
#endif
