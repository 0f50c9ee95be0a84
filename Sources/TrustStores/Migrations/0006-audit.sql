-- The audit as a chain: every line has the hash of the line before it, so that a changed, missing or added line is found.
--
-- A node of an older schema would add lines without a hash. The table with the last number has a new name, so that it cannot.

ALTER TABLE audit_entries ADD COLUMN address TEXT;
ALTER TABLE audit_entries ADD COLUMN correlation_id TEXT;
ALTER TABLE audit_entries ADD COLUMN session TEXT;
ALTER TABLE audit_entries ADD COLUMN reason TEXT;
-- NULL in lines that are older than the chain.
ALTER TABLE audit_entries ADD COLUMN previous {bytes};

ALTER TABLE audit_numbers RENAME TO audit_chain;
-- The hash of the last line; NULL before the first.
ALTER TABLE audit_chain ADD COLUMN hash {bytes};
-- The line before the first of the chain: none, one that is older than the chain, or the last one that was swept, with its hash and a seal.
ALTER TABLE audit_chain ADD COLUMN cut_number {integer} NOT NULL DEFAULT 0;
ALTER TABLE audit_chain ADD COLUMN cut_hash {bytes};
ALTER TABLE audit_chain ADD COLUMN cut_seal {bytes};
UPDATE audit_chain SET cut_number = last;
