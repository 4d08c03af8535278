/*
 * Writing to many files in one go, and removing them, without Python's lock: the event loop goes on meanwhile.
 *
 * store/native/writes.py does the same in Python; tests hold the two against each other.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    PyObject *path; /* bytes, ours */
    long long size, index;
    const char *data, *filling; /* of objects in the caller's list */
    Py_ssize_t data_size, filling_size;
    int is_new;
} Piece;

/* 0, or errno. */
static int put(int fd, const char *data, Py_ssize_t size, long long position)
{
    while (size > 0) {
        ssize_t written = pwrite(fd, data, (size_t)size, (off_t)position);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        if (written == 0)
            return EIO;
        data += written;
        size -= written;
        position += written;
    }
    return 0;
}

/* The folder of this path, and that one's, if it is missing too. 0, or errno. */
static int make_folders(const char *path, int levels)
{
    const char *end = strrchr(path, '/');
    if (end == NULL || end == path)
        return 0;
    char *folder = strndup(path, (size_t)(end - path));
    if (folder == NULL)
        return ENOMEM;
    int code = mkdir(folder, 0777) == 0 || errno == EEXIST ? 0 : errno;
    if (code == ENOENT && levels > 1) {
        code = make_folders(folder, levels - 1);
        if (code == 0)
            code = mkdir(folder, 0777) == 0 || errno == EEXIST ? 0 : errno;
    }
    free(folder);
    return code;
}

/* A descriptor, or minus errno. */
static int open_or_make(Piece *piece, const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno != ENOENT)
        return -errno;
    piece->is_new = 1;
    int code = make_folders(path, 4);
    if (code != 0)
        return -code;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)piece->size) != 0) {
        code = errno;
        close(fd);
        return -code;
    }
    return fd;
}

static int write_one(Piece *piece)
{
    int fd = open_or_make(piece, PyBytes_AS_STRING(piece->path));
    if (fd < 0)
        return -fd;
    int code = 0;
    if (piece->is_new && piece->filling_size)
        code = put(fd, piece->filling, piece->filling_size, 0);
    if (code == 0)
        code = put(fd, piece->data, piece->data_size, piece->index);
    close(fd);
    return code;
}

static int take(PyObject *tuple, Piece *piece)
{
    PyObject *path;
    if (!PyArg_ParseTuple(tuple, "ULLy#y#:write_pieces", &path, &piece->size, &piece->index, &piece->data,
                          &piece->data_size, &piece->filling, &piece->filling_size))
        return -1;
    return PyUnicode_FSConverter(path, &piece->path) ? 0 : -1;
}

PyDoc_STRVAR(write_pieces_doc,
    "write_pieces(pieces)\n\n"
    "Write each piece (path, the file's size, index, data, filling) to its file; see writes.py.");

static PyObject *write_pieces(PyObject *Py_UNUSED(module), PyObject *list)
{
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "a list of pieces");
    Py_ssize_t count = PyList_GET_SIZE(list), done = 0, taken = 0;
    Piece *pieces = PyMem_Calloc(count ? (size_t)count : 1, sizeof(Piece));
    PyObject *news = NULL, *result = NULL;
    int code = 0;
    if (pieces == NULL)
        return PyErr_NoMemory();
    for (; taken < count; taken++)
        if (take(PyList_GET_ITEM(list, taken), &pieces[taken]) < 0)
            goto out;
    /* The caller's list keeps what the pieces point to; nobody else has it. */
    Py_BEGIN_ALLOW_THREADS
    while (done < count && (code = write_one(&pieces[done])) == 0)
        done++;
    Py_END_ALLOW_THREADS
    news = PyList_New(done);
    if (news == NULL)
        goto out;
    for (Py_ssize_t at = 0; at < done; at++)
        PyList_SET_ITEM(news, at, PyBool_FromLong(pieces[at].is_new));
    result = Py_BuildValue("(Oi)", news, code);
out:
    Py_XDECREF(news);
    for (Py_ssize_t at = 0; at < count; at++)
        Py_XDECREF(pieces[at].path);
    PyMem_Free(pieces);
    return result;
}

/* Remove a folder's files. 0, or errno; `*failed`: the file's path, to be freed. */
static int empty(const char *folder, char **failed)
{
    DIR *listed = opendir(folder);
    struct dirent *entry;
    int code = 0;
    if (listed == NULL)
        return errno;
    while (code == 0 && (errno = 0, entry = readdir(listed)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(dirfd(listed), name, 0) != 0 && errno != ENOENT) {
            code = errno;
            size_t size = strlen(folder) + strlen(name) + 2;
            if ((*failed = malloc(size)) != NULL)
                snprintf(*failed, size, "%s/%s", folder, name);
        }
    }
    if (code == 0)
        code = errno;
    closedir(listed);
    return code;
}

/* 0, or errno; `*at`: how many are done. */
static int remove_each(PyObject **folders, Py_ssize_t count, Py_ssize_t *at, char **failed)
{
    for (; *at < count; ++*at) {
        const char *folder = PyBytes_AS_STRING(folders[*at]);
        int code = empty(folder, failed);
        if (code == 0 && rmdir(folder) != 0)
            code = errno;
        if (code != 0 && code != ENOENT)
            return code;
    }
    return 0;
}

static int remove_empty(PyObject **parents, Py_ssize_t count, Py_ssize_t *at)
{
    for (; *at < count; ++*at)
        if (rmdir(PyBytes_AS_STRING(parents[*at])) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
            return errno;
    return 0;
}

/* Our own bytes of each path; NULL with an exception. */
static PyObject **take_paths(PyObject *list, Py_ssize_t *count)
{
    *count = 0;
    PyObject **paths = PyMem_Calloc((size_t)PyList_GET_SIZE(list) + 1, sizeof(PyObject *));
    if (paths == NULL)
        return (PyObject **)PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(list); at++, ++*count)
        if (!PyUnicode_FSConverter(PyList_GET_ITEM(list, at), &paths[at]))
            return paths;
    return paths;
}

static void give_back(PyObject **paths, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; paths != NULL && at < count; at++)
        Py_DECREF(paths[at]);
    PyMem_Free(paths);
}

PyDoc_STRVAR(remove_folders_doc,
    "remove_folders(folders, parents)\n\n"
    "Remove each folder with the files in it, then those parents that are empty; see writes.py.");

static PyObject *remove_folders(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *first, *second, *result = NULL;
    PyObject **folders = NULL, **parents = NULL;
    Py_ssize_t folder_count = 0, parent_count = 0, at = 0;
    char *failed = NULL;
    int code, in_parents = 0;
    if (!PyArg_ParseTuple(args, "O!O!:remove_folders", &PyList_Type, &first, &PyList_Type, &second))
        return NULL;
    folders = take_paths(first, &folder_count);
    if (!PyErr_Occurred())
        parents = take_paths(second, &parent_count);
    if (PyErr_Occurred())
        goto out;
    Py_BEGIN_ALLOW_THREADS
    code = remove_each(folders, folder_count, &at, &failed);
    if (code == 0) {
        in_parents = 1;
        at = 0;
        code = remove_empty(parents, parent_count, &at);
    }
    Py_END_ALLOW_THREADS
    if (code == 0)
        result = Py_BuildValue("(is)", 0, "");
    else if (failed != NULL)
        result = Py_BuildValue("(iN)", code, PyUnicode_DecodeFSDefault(failed));
    else
        result = Py_BuildValue("(iO)", code, PyList_GET_ITEM(in_parents ? second : first, at));
out:
    free(failed);
    give_back(folders, folder_count);
    give_back(parents, parent_count);
    return result;
}

static PyMethodDef methods[] = {
    {"remove_folders", remove_folders, METH_VARARGS, remove_folders_doc},
    {"write_pieces", write_pieces, METH_O, write_pieces_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef writes = {
    PyModuleDef_HEAD_INIT, "trimq.store.native._writes", "store/native/writes.py in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__writes(void)
{
    return PyModule_Create(&writes);
}
