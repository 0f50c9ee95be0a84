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
