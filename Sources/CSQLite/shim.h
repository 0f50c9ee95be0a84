#include <sqlite3.h>

/// `sqlite3_config` takes a variable list, which Swift cannot call. Whether memory is counted is decided before SQLite is used in a process.
static inline int sqlite3_config_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
