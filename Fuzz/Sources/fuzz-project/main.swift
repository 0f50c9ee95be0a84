// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import FuzzDriver

/// Project files of every kind that is known. Nothing may crash.
FuzzDriver.run(corpus: "project") { input in
    _ = try? DotNetProject.read(input, name: "fuzz.csproj")
    _ = try? XcodeProject(input)
    for name in [
        "config.xml", "plugin.xml", "tiapp.xml", "ProjectSettings.asset", "app.json", "app.config.js", "fuzz.xcconfig",
        "fuzz.json", "-",
    ] {
        _ = try? InfoPlistSearch.document(input, name: name)
    }
}
