// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Suffixes of more than one label under which anybody can get a name.
///
/// A short list of the busiest ones, chosen by hand; single labels need no list. A suffix that is missing here is not known as one.
package enum SharedSuffixes {
    package static let all: Set<String> = Set(registrySuffixes + hosting)

    /// Those of registries, under which names are registered.
    static let registries: Set<[UInt8]> = Set(registrySuffixes.map { Array($0.utf8) })
    /// Those of companies that give names to their customers.
    static let companies: Set<[UInt8]> = Set(hosting.map { Array($0.utf8) })

    private static let registrySuffixes = countries.flatMap { country, seconds in seconds.map { "\($0).\(country)" } }

    private static let countries: [(String, [String])] = [
        ("uk", ["co", "org", "me", "ac", "gov", "ltd", "plc"]), ("au", ["com", "net", "org", "edu", "gov"]),
        ("nz", ["co", "org", "net", "govt"]), ("jp", ["co", "or", "ne", "ac", "go"]), ("kr", ["co", "or", "go", "ne"]),
        ("cn", ["com", "net", "org", "gov", "edu"]), ("tw", ["com", "org", "net"]), ("hk", ["com", "org", "net"]),
        ("sg", ["com", "org", "edu", "gov"]), ("my", ["com", "org", "gov"]), ("th", ["co", "or", "in", "go"]),
        ("vn", ["com", "net", "org"]), ("id", ["co", "or", "web", "go"]), ("ph", ["com", "org"]),
        ("in", ["co", "net", "org", "gov", "ac"]), ("pk", ["com", "org"]), ("bd", ["com"]), ("lk", ["com"]),
        ("il", ["co", "org", "ac"]), ("tr", ["com", "org", "net", "gov"]), ("sa", ["com"]), ("eg", ["com"]),
        ("za", ["co", "org", "web"]), ("ke", ["co", "or"]), ("ng", ["com", "org"]), ("gh", ["com"]),
        ("br", ["com", "net", "org", "gov"]), ("ar", ["com", "org"]), ("mx", ["com", "org", "gob"]), ("co", ["com"]),
        ("pe", ["com"]), ("ve", ["com", "co"]), ("ua", ["com", "net", "org"]), ("pl", ["com", "net", "org"]),
        ("es", ["com", "org"]), ("pt", ["com"]), ("gr", ["com"]), ("ru", ["com"]),
    ]

    private static let hosting = [
        "github.io", "gitlab.io", "herokuapp.com", "amazonaws.com", "s3.amazonaws.com", "cloudfront.net",
        "azurewebsites.net",
        "azureedge.net",
        "cloudapp.net", "blob.core.windows.net", "appspot.com", "web.app", "firebaseapp.com", "netlify.app",
        "vercel.app",
        "pages.dev", "workers.dev", "blogspot.com", "wordpress.com", "myshopify.com", "ngrok.io", "ngrok-free.app",
        "duckdns.org", "no-ip.org", "dyndns.org", "myqcloud.com", "aliyuncs.com", "bcebos.com", "qiniucdn.com",
    ]
}
