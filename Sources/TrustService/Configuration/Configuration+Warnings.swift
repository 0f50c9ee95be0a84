// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// What is allowed and yet most likely not meant, one sentence each, for the log at the start.
    package var warnings: [String] {
        var warnings: [String] = []
        if !listen.isLoopback, trustedProxies.isEmpty, tls == nil {
            warnings.append(
                """
                The service listens beyond loopback without a trusted proxy: tokens travel in cleartext, and behind a proxy all callers would count \
                as one address. Set tls, or put a TLS proxy in front and name it in trustedProxies.
                """
            )
        }
        if let appCheck, !appCheck.debugTokens.isEmpty {
            warnings.append(
                "App Check debug tokens are accepted (\(appCheck.debugTokens.count)): anyone who knows one gets tokens without a device."
            )
        }
        return warnings
    }
}
