/* Internal to the implementation of vaultfmt.h, and not installed: the text that vaultfmt_error_text returns, which is separate
   for each thread. */
#ifndef VAULTFMT_ERROR_H
#define VAULTFMT_ERROR_H
#include <stddef.h>
#include <stdint.h>

void vaultfmt_internal_clear_error(void);

/* These are called before and after each call of the library. They clear the error, and postpone the cancellation of
   the thread until the call returns, because the call's resources would otherwise never be released. */
int vaultfmt_internal_begin(void);
void vaultfmt_internal_end(int cancel_state);

/* Stores as much of the UTF-8 text as fits. */
void vaultfmt_internal_set_error(const char *text, size_t size, int32_t has_offset, uint64_t offset);
#endif
