// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import AppTransportSecurity
public import ArgumentParser
public import TLSProbe
public import TrustService
public import Vocabulary

// How the values of the libraries are written on the command line.

extension AttestationEnvironment: ExpressibleByArgument {}

extension AppIdentity: ExpressibleByArgument {
    /// Reads `PREFIX.bundle`.
    public init?(argument: String) { try? self.init(argument) }
}

extension Loader: ExpressibleByArgument {}

extension OSProfile: ExpressibleByArgument {
    public init?(argument: String) {
        guard let profile = OSProfile.named(argument) else { return nil }
        self = profile
    }

    public var defaultValueDescription: String { id }
}

extension LinkedSDK: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension Severity: ExpressibleByArgument {}

extension AddressOverride: ExpressibleByArgument {
    public init?(argument: String) {
        guard let override = try? AddressOverride(argument) else { return nil }
        self = override
    }
}

/// Where a command listens or is reached.
extension ListenAddress: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public var defaultValueDescription: String { description }
}
