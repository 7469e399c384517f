/* Keeps what a loss of power would leave: the content of a file as it was at its last sync, and the names in a directory
 * as they were at its last sync. Everything else under POWERLOSS_ROOT is lost. Preloaded into the process under test.
 *
 * POWERLOSS_KEPT/<key>      the synced content of the file with that key
 * POWERLOSS_KEPT/<key>.dir  the synced names of the directory with that key: one "<key> <type> <name>" a line
 *
 * A key is inode and time of birth, because inodes are given out again.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int key_of(int at, const char *name, char *key, size_t size) {
    struct statx found;
    int flags = AT_SYMLINK_NOFOLLOW | (name[0] ? 0 : AT_EMPTY_PATH);
    if (statx(at, name, flags, STATX_INO | STATX_BTIME, &found) != 0) return -1;
    snprintf(key, size, "%llu-%lld-%u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
    return 0;
}

static int is_ours(int fd) {
    const char *root = getenv("POWERLOSS_ROOT");
    char link[64], path[PATH_MAX];
    if (root == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, root, strlen(root)) == 0;
}

static int open_kept(const char *key, const char *suffix, char *temporary, char *final) {
    const char *kept = getenv("POWERLOSS_KEPT");
    snprintf(final, PATH_MAX, "%s/%s%s", kept, key, suffix);
    snprintf(temporary, PATH_MAX, "%s/.%s%s.%d", kept, key, suffix, (int)getpid());
    return open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

static void keep_file(int fd, const char *key) {
    char temporary[PATH_MAX], final[PATH_MAX], path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int in = open(path, O_RDONLY);
    int out = open_kept(key, "", temporary, final);
    if (in < 0 || out < 0) abort();
    while (sendfile(out, in, NULL, 1 << 24) > 0) {
    }
    close(in);
    close(out);
    rename(temporary, final);
}

static void keep_directory(int fd, const char *key) {
    char temporary[PATH_MAX], final[PATH_MAX], path[64], child[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    DIR *directory = opendir(path);
    int out = open_kept(key, ".dir", temporary, final);
    if (directory == NULL || out < 0) abort();
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (key_of(fd, entry->d_name, child, sizeof child) != 0) continue;
        dprintf(out, "%s %c %s\n", child, entry->d_type == DT_DIR ? 'd' : 'f', entry->d_name);
    }
    closedir(directory);
    close(out);
    rename(temporary, final);
}

static void keep(int fd) {
    struct stat found;
    char key[64];
    if (!is_ours(fd) || fstat(fd, &found) != 0 || key_of(fd, "", key, sizeof key) != 0) return;
    pthread_mutex_lock(&lock);
    if (S_ISDIR(found.st_mode)) keep_directory(fd, key);
    else keep_file(fd, key);
    pthread_mutex_unlock(&lock);
}

int fsync(int fd) {
    static int (*real)(int);
    if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}

int fdatasync(int fd) {
    static int (*real)(int);
    if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    if (result == 0) keep(fd);
    return result;
}
