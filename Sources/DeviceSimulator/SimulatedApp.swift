// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// An app on a simulated device.
public struct SimulatedApp: Hashable, Sendable {
    /// How the app was distributed; the number is the validation category of iOS 27.
    public enum Distribution: Int, Sendable, CaseIterable {
        /// By TestFlight.
        case testFlight = 2
        /// By a development profile: the only one that attests in the development environment.
        case development = 3
        /// By the App Store.
        case appStore = 4
        /// By an enterprise profile.
        case enterprise = 5
        /// On macOS with a Developer ID.
        case developerId = 6
    }

    /// `PREFIX.bundle`, of the full app also if this is its App Clip.
    public var applicationId: String
    /// `CFBundleVersion`.
    public var bundleVersion: String
    /// How it reached the device.
    public var distribution: Distribution
    /// Whether it is an App Clip, whose keys go when it is deleted while the full app is not there.
    public var isAppClip: Bool

    /// An app of the App Store, unless said otherwise.
    public init(
        _ applicationId: String, bundleVersion: String = "1", distribution: Distribution = .appStore,
        isAppClip: Bool = false
    ) {
        self.applicationId = applicationId
        self.bundleVersion = bundleVersion
        self.distribution = distribution
        self.isAppClip = isAppClip
    }

    /// Whether the keys are of the production environment: for everything but development builds.
    package var isProduction: Bool { distribution != .development }

    /// An app of another team, for objects that must be refused.
    static let other = "OTHER12345.com.example.other"

    /// The App Clip of this app.
    public var clip: SimulatedApp {
        var clip = self
        clip.isAppClip = true
        return clip
    }
}
