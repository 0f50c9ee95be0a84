-- Marks a store whose nodes count new keys and hold tokens to their terms.
--
-- No table changes. A node of schema 3 would register keys that nobody counts, so it is no longer ready beside this one (its readiness compares
-- the schema); what it still writes can be read.
DELETE FROM quota_windows WHERE used < 0;
