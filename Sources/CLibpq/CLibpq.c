// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#include "CLibpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

// The name and type of each call, and the place of the library's own one.
#define EACH_CALL(call) \
    call(PGconn *, PQconnectStartParams, (const char *const *keywords, const char *const *values, int expand_dbname), (keywords, values, expand_dbname)) \
    call(PostgresPollingStatusType, PQconnectPoll, (PGconn *conn), (conn)) \
    call(void, PQfinish, (PGconn *conn), (conn)) \
    call(PQconninfoOption *, PQconninfoParse, (const char *conninfo, char **errmsg), (conninfo, errmsg)) \
    call(void, PQconninfoFree, (PQconninfoOption *options), (options)) \
    call(int, PQlibVersion, (void), ()) \
    call(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn *conn, PQnoticeReceiver receiver, void *arg), (conn, receiver, arg)) \
    call(ConnStatusType, PQstatus, (const PGconn *conn), (conn)) \
    call(int, PQsocket, (const PGconn *conn), (conn)) \
    call(int, PQbackendPID, (const PGconn *conn), (conn)) \
    call(char *, PQerrorMessage, (const PGconn *conn), (conn)) \
    call(int, PQsetnonblocking, (PGconn *conn, int arg), (conn, arg)) \
    call(int, PQconsumeInput, (PGconn *conn), (conn)) \
    call(int, PQisBusy, (PGconn *conn), (conn)) \
    call(int, PQflush, (PGconn *conn), (conn)) \
    call(int, PQsendQuery, (PGconn *conn, const char *query), (conn, query)) \
    call(int, PQsendPrepare, (PGconn *conn, const char *name, const char *query, int count, const Oid *types), (conn, name, query, count, types)) \
    call(int, PQsendQueryPrepared, (PGconn *conn, const char *name, int count, const char *const *values, const int *lengths, const int *formats, int result_format), (conn, name, count, values, lengths, formats, result_format)) \
    call(PGresult *, PQgetResult, (PGconn *conn), (conn)) \
    call(void, PQclear, (PGresult *res), (res)) \
    call(ExecStatusType, PQresultStatus, (const PGresult *res), (res)) \
    call(char *, PQresultErrorField, (const PGresult *res, int field), (res, field)) \
    call(char *, PQcmdStatus, (PGresult *res), (res)) \
    call(char *, PQcmdTuples, (PGresult *res), (res)) \
    call(int, PQntuples, (const PGresult *res), (res)) \
    call(int, PQnfields, (const PGresult *res), (res)) \
    call(Oid, PQftype, (const PGresult *res, int column), (res, column)) \
    call(int, PQgetisnull, (const PGresult *res, int row, int column), (res, row, column)) \
    call(int, PQgetlength, (const PGresult *res, int row, int column), (res, row, column)) \
    call(char *, PQgetvalue, (const PGresult *res, int row, int column), (res, row, column))

#define PLACE(type, name, parameters, arguments) static type(*library_##name) parameters;
EACH_CALL(PLACE)

#define CALL(type, name, parameters, arguments) \
    type name parameters { return library_##name arguments; }
EACH_CALL(CALL)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char fault[512];

static void load(void) {
    // For the life of the process. Its own calls stay within it.
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        snprintf(fault, sizeof fault, "%s", why ? why : "libpq.so.5 cannot be loaded");
        return;
    }
#define FIND(type, name, parameters, arguments) \
    *(void **)&library_##name = dlsym(library, #name); \
    if (library_##name == NULL) { \
        snprintf(fault, sizeof fault, "libpq.so.5 has no %s", #name); \
        return; \
    }
    EACH_CALL(FIND)
}

const char *sealward_load_libpq(void) {
    pthread_once(&once, load);
    return fault[0] ? fault : NULL;
}
