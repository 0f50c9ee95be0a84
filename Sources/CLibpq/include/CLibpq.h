// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The part of libpq that the PostgreSQL store calls, loaded when a store is opened: the program starts without the library, and is built
// without its headers. The types are those of libpq-fe.h (libpq.so.5, whose interface only grows).

#ifndef SEALWARD_LIBPQ_H
#define SEALWARD_LIBPQ_H

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef unsigned int Oid;

typedef enum { CONNECTION_OK, CONNECTION_BAD } ConnStatusType;

typedef enum {
    PGRES_POLLING_FAILED = 0,
    PGRES_POLLING_READING,
    PGRES_POLLING_WRITING,
    PGRES_POLLING_OK
} PostgresPollingStatusType;

typedef enum {
    PGRES_EMPTY_QUERY = 0,
    PGRES_COMMAND_OK,
    PGRES_TUPLES_OK,
    PGRES_COPY_OUT,
    PGRES_COPY_IN,
    PGRES_BAD_RESPONSE,
    PGRES_NONFATAL_ERROR,
    PGRES_FATAL_ERROR,
    PGRES_COPY_BOTH
} ExecStatusType;

typedef struct {
    char *keyword;
    char *envvar;
    char *compiled;
    char *val;
    char *label;
    char *dispchar;
    int dispsize;
} PQconninfoOption;

typedef void (*PQnoticeReceiver)(void *arg, const PGresult *res);

// Hidden, so that the library's own calls stay its own.
#pragma GCC visibility push(hidden)

/// Loads libpq once. NULL if it is there, else what the system says about it, for the life of the process.
const char *sealward_load_libpq(void);

// Nothing below may be called before the library was loaded.
PGconn *PQconnectStartParams(const char *const *keywords, const char *const *values, int expand_dbname);
PostgresPollingStatusType PQconnectPoll(PGconn *conn);
void PQfinish(PGconn *conn);
PQconninfoOption *PQconninfoParse(const char *conninfo, char **errmsg);
void PQconninfoFree(PQconninfoOption *options);
int PQlibVersion(void);
PQnoticeReceiver PQsetNoticeReceiver(PGconn *conn, PQnoticeReceiver receiver, void *arg);
ConnStatusType PQstatus(const PGconn *conn);
int PQsocket(const PGconn *conn);
int PQbackendPID(const PGconn *conn);
char *PQerrorMessage(const PGconn *conn);
int PQsetnonblocking(PGconn *conn, int arg);
int PQconsumeInput(PGconn *conn);
int PQisBusy(PGconn *conn);
int PQflush(PGconn *conn);
int PQsendQuery(PGconn *conn, const char *query);
int PQsendPrepare(PGconn *conn, const char *name, const char *query, int count, const Oid *types);
int PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values, const int *lengths, const int *formats, int result_format);
PGresult *PQgetResult(PGconn *conn);
void PQclear(PGresult *res);
ExecStatusType PQresultStatus(const PGresult *res);
char *PQresultErrorField(const PGresult *res, int field);
char *PQcmdStatus(PGresult *res);
char *PQcmdTuples(PGresult *res);
int PQntuples(const PGresult *res);
int PQnfields(const PGresult *res);
Oid PQftype(const PGresult *res, int column);
int PQgetisnull(const PGresult *res, int row, int column);
int PQgetlength(const PGresult *res, int row, int column);
char *PQgetvalue(const PGresult *res, int row, int column);

#pragma GCC visibility pop

#endif
