/*
 * Writing to many files in one go, without Python's lock: the event loop goes on meanwhile.
 *
 * store/native/writes.py does the same in Python; tests hold the two against each other.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

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

static PyMethodDef methods[] = {
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
