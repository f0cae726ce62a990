/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keep_open.c - a dlclose that closes nothing, to be preloaded, so that
 * LeakSanitizer can name the library of each leak.
 */
int dlclose(void *handle);

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
