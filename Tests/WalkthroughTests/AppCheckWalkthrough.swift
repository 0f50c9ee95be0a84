// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Test @MainActor func `App Check: the provider of the page compiles, and asks this service`() async throws {
    // The page is as short as it can be.
    // swift-format-ignore
    // walkthrough: App Check provider
    final class TrustProvider: NSObject, AppCheckProvider, AppCheckProviderFactory {
        func createProvider(with app: FirebaseApp) -> (any AppCheckProvider)? { self }
        private let core = AppCheckCoreAppAttestProvider(
            serviceName: "trust", resourceName: "projects/shop-project/apps/1:1234567890:ios:321abc456def7890",
            baseURL: "https://trust.example.com/v1", apiKey: nil, keychainAccessGroup: nil, requestHooks: nil)
        func getToken() async throws -> AppCheckToken {
            let token = try await core.getToken()
            return AppCheckToken(token: token.token, expirationDate: token.expirationDate)
        }
    }
    AppCheck.setAppCheckProviderFactory(TrustProvider())  // before FirebaseApp.configure()
    // end
    let token = try await AppCheck.factory?.createProvider(with: FirebaseApp())?.getToken()
    #expect(
        token?.token
            == "trust https://trust.example.com/v1/projects/shop-project/apps/1:1234567890:ios:321abc456def7890")
    #expect(token?.expirationDate == Date(timeIntervalSince1970: 1_800_000_000))
}
