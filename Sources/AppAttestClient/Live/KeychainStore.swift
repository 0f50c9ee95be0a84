// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// Compiled where the Keychain is, which is not Linux: nothing here was compiled or run by the tests of this repository.
#if canImport(Security) && canImport(Darwin)
    public import Foundation
    import Security

    /// Items in the Keychain, on this device only: not in backups, not in iCloud.
    package struct KeychainStore: ItemStore {
        private let group: String?

        /// - Parameter group: the Keychain access group that an app shares with its App Clip and extensions; nil for the app's own.
        package init(group: String? = nil) { self.group = group }

        /// What the Keychain answered.
        package struct Failure: Error, Hashable, Sendable {
            /// `OSStatus`.
            package let status: Int32
        }

        package func read(_ name: String) async throws -> Data? {
            var query = item(name)
            query[kSecReturnData] = true
            var found: CFTypeRef?
            switch SecItemCopyMatching(query as CFDictionary, &found) {
            case errSecSuccess: return found as? Data
            case errSecItemNotFound: return nil
            case let status: throw Failure(status: status)
            }
        }

        package func write(_ data: Data?, _ name: String) async throws {
            guard let data else {
                let status = SecItemDelete(item(name) as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure(status: status) }
                return
            }
            let values: [CFString: Any] = [
                kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(item(name) as CFDictionary, values as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(item(name).merging(values) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }

        private func item(_ name: String) -> [CFString: Any] {
            var item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "sealward.attested", kSecAttrAccount: name,
                kSecUseDataProtectionKeychain: true,
            ]
            if let group { item[kSecAttrAccessGroup] = group }
            return item
        }
    }
#endif
