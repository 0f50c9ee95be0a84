// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The keys of NSAppTransportSecurity, by their exact spelling.
package enum ATSKey {
    /// The key of the whole dictionary in an Info.plist.
    package static let dictionary = "NSAppTransportSecurity"
    /// How a build setting begins that Xcode writes into a generated Info.plist, if it knows the key.
    package static let buildSetting = "INFOPLIST_KEY_"
    package static let arbitraryLoads = "NSAllowsArbitraryLoads"
    package static let arbitraryLoadsForMedia = "NSAllowsArbitraryLoadsForMedia"
    /// What ``arbitraryLoadsForMedia`` was called until ``arbitraryLoadsInMediaEnd``.
    package static let arbitraryLoadsInMedia = "NSAllowsArbitraryLoadsInMedia"
    package static let arbitraryLoadsInMediaEnd = "2016-11-14"
    package static let arbitraryLoadsInWebContent = "NSAllowsArbitraryLoadsInWebContent"
    package static let localNetworking = "NSAllowsLocalNetworking"
    package static let exceptionDomains = "NSExceptionDomains"
    package static let pinnedDomains = "NSPinnedDomains"
    package static let requiresNIAP = "NSRequiresNIAPTLSPackageVersion"

    package static let includesSubdomains = "NSIncludesSubdomains"
    package static let insecureHTTPLoads = "NSExceptionAllowsInsecureHTTPLoads"
    package static let minimumTLSVersion = "NSExceptionMinimumTLSVersion"
    package static let forwardSecrecy = "NSExceptionRequiresForwardSecrecy"
    package static let certificateTransparency = "NSRequiresCertificateTransparency"
    package static let exceptionNIAP = "NSExceptionRequiresNIAPTLSPackageVersion"
    /// What the names of both keys for NIAP packages contain.
    package static let packageWord = "NIAPTLSPackageVersion"

    package static let pinnedAuthorities = "NSPinnedCAIdentities"
    package static let pinnedLeaves = "NSPinnedLeafIdentities"
    package static let pin = "SPKI-SHA256-BASE64"
}
