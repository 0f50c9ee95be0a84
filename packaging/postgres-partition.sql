-- Sealward: the open trust stack between Apple apps and their servers.
-- SPDX-License-Identifier: Apache-2.0
--
-- Splits the tables that grow with the number of keys into hash partitions by key id: attested_keys and key_receipts.
--
--     psql -X -v ON_ERROR_STOP=1 [-v partitions=16] [-v schema=public] -f postgres-partition.sql URL
--
-- One transaction: it is done as a whole, or nothing has changed. Both tables are locked and copied, so requests fail until it ends
-- (measure it on a copy; docs/scale.md has figures), and the copy needs the room of both tables once more. Rights that other roles have on the
-- two tables and their views have to be granted again. The program needs no change and no restart, and later migrations work as before.
-- A store that is partitioned already, or that no version of the program that has these tables wrote, is left alone.
\if :{?partitions}
\else
\set partitions 16
\endif
\if :{?schema}
\else
SELECT current_schema() AS schema
\gset
\endif
BEGIN;
SELECT set_config('search_path', quote_ident(:'schema'), true), set_config('sealward.partitions', :'partitions', true) \g /dev/null
SET LOCAL lock_timeout = '30s';
DO $$
DECLARE
    parts CONSTANT integer := current_setting('sealward.partitions')::integer;
    here CONSTANT text := current_schema(); -- null where there is none of that name
    grown CONSTANT text[][] := ARRAY[['attested_keys', 'id'], ['key_receipts', 'key_id']];
    fitted RECORD;
    found RECORD;
    views text[] := '{}';
    indexes text[];
    primary_name text;
    primary_columns text;
    options text;
BEGIN
    IF parts IS NULL OR parts < 2 OR parts > 1024 THEN
        RAISE EXCEPTION 'partitions is a number from 2 to 1024, not %', current_setting('sealward.partitions');
    END IF;
    IF to_regclass('attested_keys') IS NULL OR to_regclass('key_receipts') IS NULL THEN
        RAISE EXCEPTION 'there is no store of Sealward in the schema %', coalesce(here, current_setting('search_path'))
            USING HINT = 'Name it with -v schema=NAME; a store of version 1 is brought up by starting the program once.';
    END IF;
    LOCK TABLE attested_keys, key_receipts IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT 1 FROM pg_class WHERE oid IN ('attested_keys'::regclass, 'key_receipts'::regclass) AND relkind = 'p') THEN
        RAISE EXCEPTION 'the store is partitioned already';
    END IF;

    -- A view is bound to its table, so those of these tables go, and come again as they were.
    FOR found IN
        SELECT DISTINCT view_name::text AS name, pg_get_viewdef(format('%I.%I', here, view_name::text)::regclass) AS definition
        FROM information_schema.view_table_usage
        WHERE table_schema = here AND view_schema = here AND table_name IN ('attested_keys', 'key_receipts')
    LOOP
        views := views || format('CREATE VIEW %I AS %s', found.name, found.definition);
        EXECUTE format('DROP VIEW %I', found.name);
    END LOOP;

    FOR fitted IN SELECT grown[n][1] AS name, grown[n][2] AS key FROM generate_series(1, 2) AS n LOOP
        SELECT conname::text, pg_get_constraintdef(oid) INTO primary_name, primary_columns
            FROM pg_constraint WHERE conrelid = fitted.name::regclass AND contype = 'p';
        SELECT coalesce(array_agg(pg_get_indexdef(indexrelid) ORDER BY indexrelid), '{}') INTO indexes
            FROM pg_index WHERE indrelid = fitted.name::regclass AND NOT indisprimary;
        SELECT coalesce('WITH (' || array_to_string(reloptions, ', ') || ')', '') INTO options FROM pg_class WHERE oid = fitted.name::regclass;

        EXECUTE format('ALTER TABLE %I RENAME TO %I', fitted.name, fitted.name || '_whole');
        -- Names of indexes are those of the schema, so the old ones make room.
        EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', fitted.name || '_whole', primary_name, primary_name || '_whole');
        FOR found IN
            SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = (fitted.name || '_whole')::regclass AND NOT indisprimary
        LOOP
            EXECUTE 'DROP INDEX ' || found.name;
        END LOOP;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (%I)',
            fitted.name, fitted.name || '_whole', fitted.key);
        FOR part IN 0..parts - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
                fitted.name || '_' || part, fitted.name, parts, part, options);
        END LOOP;
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', fitted.name, fitted.name || '_whole');
        EXECUTE format('DROP TABLE %I', fitted.name || '_whole');
        -- Built on full tables, because that is faster than keeping them up to date row by row.
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', fitted.name, primary_name, primary_columns);
        FOR n IN 1..coalesce(array_length(indexes, 1), 0) LOOP
            EXECUTE indexes[n];
        END LOOP;
    END LOOP;

    FOR n IN 1..coalesce(array_length(views, 1), 0) LOOP
        EXECUTE views[n];
    END LOOP;
END
$$;
ANALYZE attested_keys, key_receipts;
COMMIT;
