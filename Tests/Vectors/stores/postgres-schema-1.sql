-- Schema 1 as released, with data. Never edited: a later program must open it as it is.

-- What the store remembers. Instants are milliseconds since 1970 in UTC.

-- Secrets that all nodes share, such as the key under which challenges are made.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY NOT NULL,
    value BYTEA NOT NULL
);

-- Whatever expired before this instant may have been forgotten, so it is never spent again.
CREATE TABLE horizon (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    swept_until BIGINT NOT NULL
);
INSERT INTO horizon (one, swept_until) VALUES (1, 0);

-- Challenges and single-use tokens that were spent. The expiry leads, so that new rows go to the end and old ones leave from the front;
-- it is signed together with the name, so the pair is as unique as the name.
CREATE TABLE spent (
    expires_at BIGINT NOT NULL,
    name BYTEA NOT NULL,
    PRIMARY KEY (expires_at, name)
);

CREATE TABLE keys (
    id BYTEA PRIMARY KEY NOT NULL,
    public_key BYTEA NOT NULL,
    app TEXT NOT NULL,
    identity TEXT NOT NULL,
    environment TEXT NOT NULL,
    simulated BIGINT NOT NULL,
    user_name TEXT,
    attestation_digest BYTEA NOT NULL,
    validation_category BIGINT,
    bundle_version TEXT,
    os_version TEXT,
    attested_at BIGINT NOT NULL,
    counter BIGINT NOT NULL,
    -- Which of the 64 counters up to the highest were accepted, one bit each.
    seen BIGINT NOT NULL,
    largest_gap BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    risk_metric BIGINT,
    -- When the receipt is to be refreshed, who may not do it until when, and how often it failed in a row.
    next_refresh BIGINT,
    leased_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    failures BIGINT NOT NULL
) WITH (fillfactor = 80); -- room on each page, so that a counter moves without touching an index
CREATE INDEX keys_by_user ON keys (app, user_name, attested_at) WHERE user_name IS NOT NULL;
CREATE INDEX keys_by_refresh ON keys (next_refresh) WHERE next_refresh IS NOT NULL;
CREATE INDEX keys_by_metric ON keys (app, environment, risk_metric) WHERE risk_metric IS NOT NULL;

CREATE TABLE receipts (
    key_id BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    stored_at BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    not_before BIGINT,
    expires_at BIGINT,
    risk_metric BIGINT,
    PRIMARY KEY (key_id, created_at)
);
CREATE INDEX receipts_by_storing ON receipts (stored_at);

CREATE TABLE events (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    app TEXT NOT NULL,
    key_id BYTEA,
    kind TEXT NOT NULL,
    code TEXT,
    detail TEXT
);
CREATE INDEX events_by_key ON events (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX events_by_time ON events (at);

CREATE TABLE tallies (
    app TEXT NOT NULL,
    hour BIGINT NOT NULL,
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (app, hour, kind, code)
);

CREATE TABLE promotions (
    promotion TEXT NOT NULL,
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    leased_until BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    note TEXT,
    answer BYTEA,
    answered_at BIGINT,
    PRIMARY KEY (promotion, app, subject, transaction_id)
);
CREATE INDEX promotions_by_answer ON promotions (answered_at) WHERE answered_at IS NOT NULL;

UPDATE horizon SET swept_until = 1794992800000;
INSERT INTO secrets (name, value) VALUES ('challenge-mac', '\xabababababababababababababababababababababababababababababababab');
INSERT INTO spent (expires_at, name) VALUES (1795000300000, '\x0133333333333333333333333333333333');
INSERT INTO keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category, bundle_version, os_version, attested_at, counter, seen, largest_gap, last_used_at, revoked_at, risk_metric, next_refresh, leased_until, fence, failures)
VALUES ('\x1111111111111111111111111111111111111111111111111111111111111111', '\x0411111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111', 'app', 'ABCDE12345.com.example.app', 'production', 0, 'ann', '\x4444444444444444444444444444444444444444444444444444444444444444', 4, '1.0', '27.0.1', 1794999999000, 41, -1, 3, 1794999999500, NULL, 2, 1795000000000, 0, 2, 0);
INSERT INTO keys (id, public_key, app, identity, environment, simulated, user_name, attestation_digest, validation_category, bundle_version, os_version, attested_at, counter, seen, largest_gap, last_used_at, revoked_at, risk_metric, next_refresh, leased_until, fence, failures)
VALUES ('\x2222222222222222222222222222222222222222222222222222222222222222', '\x0422222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222', 'app', 'ABCDE12345.com.example.app', 'development', 1, NULL, '\x5555555555555555555555555555555555555555555555555555555555555555', NULL, NULL, NULL, 1794999999000, 0, 1, 0, NULL, 1795000000000, NULL, NULL, 0, 0, 0);
INSERT INTO receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric) VALUES ('\x1111111111111111111111111111111111111111111111111111111111111111', 1794999999000, 1794999999000, '\x0101', NULL, NULL, NULL);
INSERT INTO receipts (key_id, created_at, stored_at, bytes, not_before, expires_at, risk_metric) VALUES ('\x1111111111111111111111111111111111111111111111111111111111111111', 1794999999500, 1794999999600, '\x0202', 1795000000000, 1802776000000, 2);
INSERT INTO events (at, app, key_id, kind, code, detail) VALUES (1794999999000, 'app', '\x1111111111111111111111111111111111111111111111111111111111111111', 'attested', NULL, NULL);
INSERT INTO events (at, app, key_id, kind, code, detail) VALUES (1794999999600, 'app', '\x1111111111111111111111111111111111111111111111111111111111111111', 'receipt', NULL, NULL);
INSERT INTO tallies (app, hour, kind, code, count) VALUES ('app', 1794999600000, 'attested', '', 12);
INSERT INTO promotions (promotion, app, subject, transaction_id, leased_until, fence, note, answer, answered_at) VALUES ('p', 'app', 's', 't', 1795000000000, 1, NULL, '\x07', 1795000000000);
