// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Every metric that the programs show, by its name in the text that Prometheus reads.
///
/// Names of counts end in `_total`. The alert rules, the dashboard and the documentation name no others (`AlertRulesTests`).
package enum Metric: String, Sendable, CaseIterable {
    // Proofs and keys.
    case assertionsAccepted = "sealward_assertions_accepted_total"
    case assertionsLate = "sealward_assertions_late_total"
    case attestationsAccepted = "sealward_attestations_accepted_total"
    case challengesIssued = "sealward_challenges_issued_total"
    case keysDeleted = "sealward_keys_deleted_total"
    case keysRevoked = "sealward_keys_revoked_total"
    case keysUntrusted = "sealward_keys_untrusted"
    case keysUntrustedUsed = "sealward_keys_untrusted_used_total"
    case refusalsMonitored = "sealward_refusals_monitored_total"
    case refusalsUnexplained = "sealward_refusals_unexplained_total"
    case refusalsUnwritten = "sealward_refusals_unwritten_total"
    case revokedKeysListed = "sealward_revoked_keys_listed"
    case riskAlerts = "sealward_risk_alerts_total"
    case signals = "sealward_signals_total"
    case unsupportedRatio = "sealward_signals_unsupported_ratio_highest"

    // Tokens and quotas.
    case observed = "sealward_observed_total"
    case quotasDrawn = "sealward_quotas_drawn_total"
    case quotasExhausted = "sealward_quotas_exhausted_total"
    case tokensIssued = "sealward_tokens_issued_total"
    case tokensUntrusted = "sealward_tokens_untrusted_total"

    // What Apple is asked.
    case promotionsGranted = "sealward_promotions_granted_total"
    case promotionsRefused = "sealward_promotions_refused_total"
    case promotionsUndecided = "sealward_promotions_undecided_total"
    case receiptsBatch = "sealward_receipts_batch"
    case receiptsBatchFull = "sealward_receipts_batch_full"
    case receiptsOutcome = "sealward_receipts_outcome_total"
    case receiptsRefresh = "sealward_receipts_refresh_total"
    case receiptsRefused = "sealward_receipts_refused_total"
    case receiptsResultsLost = "sealward_receipts_results_lost_total"

    // The node and its store.
    case auditLost = "sealward_audit_lost_total"
    case certificateExpiry = "sealward_certificate_expiry_seconds"
    case challengeKeysRotated = "sealward_challengekeys_rotated_total"
    case challengeKeysUnread = "sealward_challengekeys_unread_total"
    case clockOffset = "sealward_clock_offset_seconds"
    case filesReread = "sealward_files_reread_total"
    case horizonLead = "sealward_horizon_lead_seconds"
    case ready = "sealward_ready"
    case secretsRotated = "sealward_secrets_rotated_total"
    case storeEvents = "sealward_store_events_total"
    case storeSetAside = "sealward_store_set_aside"
    case storeWaiting = "sealward_store_waiting"
    case sweepClockFaults = "sealward_sweep_clock_faults_total"
    case sweepFailures = "sealward_sweep_failures_total"
    case sweepRows = "sealward_sweep_rows_total"
    case sweepSeconds = "sealward_sweep_seconds"

    // Requests, the console, the log and traces.
    case consoleSessions = "sealward_console_sessions"
    case consoleSessionsEnded = "sealward_console_sessions_ended_total"
    case consoleSignIns = "sealward_console_signins_total"
    case connectionsEnded = "sealward_http_connections_ended_total"
    case connectionsLimit = "sealward_http_connections_limit"
    case connectionsOpen = "sealward_http_connections_open"
    case connectionsRefused = "sealward_http_connections_refused_total"
    case loadInFlight = "sealward_http_load_inflight"
    case loadLimit = "sealward_http_load_limit"
    case logDropped = "sealward_log_dropped_total"
    case logSuppressed = "sealward_log_suppressed_total"
    /// The one histogram.
    case requestDuration = "sealward_http_request_duration_seconds"
    case requests = "sealward_http_requests_total"
    case requestsAbandoned = "sealward_requests_abandoned_total"
    case tracesDropped = "sealward_traces_dropped_total"
    case tracesExported = "sealward_traces_exported_total"

    // The exporter of checks, and what one check found; what blackbox_exporter has too has its names.
    case checkCause = "sealward_ats_cause"
    case checkGroup = "sealward_ats_group"
    case checkHellos = "sealward_ats_hellos"
    case checkLargeHello = "sealward_ats_large_hello_failure"
    case checkVerdict = "sealward_ats_verdict"
    case exporterChecks = "sealward_exporter_checks_total"
    case exporterLimit = "sealward_exporter_checks_limit"
    case exporterRefused = "sealward_exporter_refused_total"
    case exporterRunning = "sealward_exporter_checks_running"
    case exporterShared = "sealward_exporter_checks_shared_total"
    case probeCertificateExpiry = "probe_ssl_earliest_cert_expiry"
    case probeDuration = "probe_duration_seconds"
    case probeStatus = "probe_http_status_code"
    case probeSuccess = "probe_success"

    /// Whether it only grows.
    var isCount: Bool { rawValue.hasSuffix("_total") }
}
