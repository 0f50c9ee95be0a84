// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// What the page about App Check uses of Google's frameworks, by their public headers (google/app-check, commit 3c6d658, and FirebaseAppCheck),
// as Swift sees them, and Sendable, which asks more of the code than the real ones do. Apple's SDK is needed to build the real ones.
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

final class FirebaseApp: NSObject, Sendable {}

final class AppCheckToken: NSObject, Sendable {
    let token: String
    let expirationDate: Date
    init(token: String, expirationDate: Date) {
        self.token = token
        self.expirationDate = expirationDate
    }
}

protocol AppCheckProvider: NSObjectProtocol, Sendable {
    func getToken() async throws -> AppCheckToken
}

protocol AppCheckProviderFactory: NSObjectProtocol, Sendable {
    func createProvider(with app: FirebaseApp) -> (any AppCheckProvider)?
}

@MainActor enum AppCheck {
    static var factory: (any AppCheckProviderFactory)?
    static func setAppCheckProviderFactory(_ factory: (any AppCheckProviderFactory)?) { self.factory = factory }
}

final class AppCheckCoreToken: NSObject, Sendable {
    let token: String
    let expirationDate: Date
    init(token: String, expirationDate: Date) {
        self.token = token
        self.expirationDate = expirationDate
    }
}

final class AppCheckCoreAppAttestProvider: NSObject, Sendable {
    private let token: AppCheckCoreToken

    /// The token says what the provider was made with.
    init(
        serviceName: String, resourceName: String, baseURL: String?, apiKey: String?, keychainAccessGroup: String?,
        requestHooks: [(NSMutableURLRequest) -> Void]?
    ) {
        token = AppCheckCoreToken(
            token: "\(serviceName) \(baseURL ?? "")/\(resourceName)",
            expirationDate: Date(timeIntervalSince1970: 1_800_000_000))
    }

    func getToken() async throws -> AppCheckCoreToken { token }
}
