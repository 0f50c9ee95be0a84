// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Vectors of others that are not in this repository: `../shared/vectors`, whose README says what is there and where it is from.
public enum SharedVectors {
    /// `../shared/vectors`, or the folder that `SEALWARD_VECTORS` names: that one, or its `appattest`.
    private static let named = ProcessInfo.processInfo.environment["SEALWARD_VECTORS"].map { URL(fileURLWithPath: $0) }
    private static let holdsAll = named.map { isFolder($0.appending(path: "appattest")) } ?? true
    private static let folder: URL = {
        if let named { return holdsAll ? named : named.deletingLastPathComponent() }
        return BuiltProgram.repository.deletingLastPathComponent().appending(path: "shared/vectors")
    }()

    private static func isFolder(_ place: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The folder of the objects of App Attest, which may be missing.
    public static let appAttest =
        holdsAll ? folder.appending(path: "appattest") : named ?? folder.appending(path: "appattest")

    /// A file by its path in the folder; nil where it is not there.
    public static func file(_ path: String) -> URL? {
        let file = folder.appending(path: path)
        return FileManager.default.isReadableFile(atPath: file.path) ? file : nil
    }

    /// The certificates of C2SP/x509-limbo.
    public static let limbo = file("x509-limbo/limbo.json")

    /// A set of C2SP/wycheproof.
    public static func wycheproof(_ name: String) -> URL? { file("wycheproof/\(name)_test.json") }
}

/// One test of Wycheproof's sets of ECDSA verification or X25519, with what its group says.
public struct WycheproofCase: Sendable {
    public let identifier: Int
    public let comment: String
    /// `valid`, `invalid` or `acceptable`.
    public let result: String
    public let flags: [String]
    /// The members that are bytes, by name: `msg`, `sig`, `public`, `private`, `shared`, and of the group `publicKeyDer`.
    public let bytes: [String: [UInt8]]

    /// Every case of a file.
    public static func all(_ file: URL) throws -> [WycheproofCase] {
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        let groups = document["testGroups"] as? [[String: Any]] ?? []
        return groups.flatMap { group -> [WycheproofCase] in
            let key = (group["publicKeyDer"] as? String).map { ["publicKeyDer": bytes($0)] } ?? [:]
            return (group["tests"] as? [[String: Any]] ?? []).map { test in
                var members = key
                for name in ["msg", "sig", "public", "private", "shared"] {
                    if let text = test[name] as? String { members[name] = bytes(text) }
                }
                return WycheproofCase(
                    identifier: test["tcId"] as? Int ?? 0, comment: test["comment"] as? String ?? "",
                    result: test["result"] as? String ?? "", flags: test["flags"] as? [String] ?? [], bytes: members)
            }
        }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        return stride(from: 0, to: digits.count - digits.count % 2, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
