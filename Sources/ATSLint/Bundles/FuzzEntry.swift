// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The readers of archives and executables for the fuzz targets, which are a package of their own. No part of the product's interface.
package enum FuzzEntry {
    /// Reads bytes as an app archive, with its lists, profiles and executables: how many lists, nil if it is refused.
    package static func archive(_ bytes: [UInt8]) -> Int? {
        guard let archive = try? ZipArchive(MemoryBytes(bytes)) else { return nil }
        for entry in archive.entries.prefix(64) { _ = try? archive.contents(entry, limit: 1 << 20) }
        return (try? InfoPlistSearch.read(bytes, name: "fuzz.ipa"))?.lists.count
    }

    /// Reads the entitlements of bytes as an executable, as DER alone and as a provisioning profile: whether any has some.
    package static func entitlements(_ bytes: [UInt8]) -> Bool {
        let signed = (try? CodeSignature.entitlements(MemoryBytes(bytes))) ?? nil
        let encoded = EncodedEntitlements.read(bytes)
        let profile = ProvisioningProfile.entitlement(bytes, source: "fuzz")
        return signed != nil || encoded != nil || profile != nil
    }

    /// Reads bytes as the project file of every kind that is known: whether one says something.
    package static func project(_ bytes: [UInt8]) -> Bool {
        let project = (try? DotNetProject.read(bytes, name: "fuzz.csproj")) ?? nil
        let generated = (try? XcodeProject(bytes)) ?? nil
        let names = [
            "config.xml", "ProjectSettings.asset", "app.json", "app.config.js", "fuzz.xcconfig", "fuzz.json", "-",
        ]
        let lists = names.compactMap { try? InfoPlistSearch.document(bytes, name: $0) }
        return project != nil || generated != nil || !lists.isEmpty
    }
}
