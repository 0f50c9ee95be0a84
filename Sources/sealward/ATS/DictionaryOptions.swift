// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppBundles
import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation

/// Which dictionary, and on which system.
struct DictionaryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app's Info.plist, XML or binary; - is standard input.", valueName: "PATH"))
    var infoPlist: String?

    @Option(help: ArgumentHelp("The NSAppTransportSecurity dictionary itself, as JSON.", valueName: "PATH"))
    var atsJson: String?

    @Option(help: ArgumentHelp("The system: ios9 ... ios27, macos10.11 ... macos27, published.", valueName: "ID"))
    var os: OSProfile = .standard

    func validate() throws {
        if infoPlist != nil, atsJson != nil { throw ValidationError("Give --info-plist or --ats-json, not both.") }
    }

    func load() throws -> ATSDictionary {
        if let atsJson {
            return ATSDictionary(
                try PropertyListFile.named(atsJson) {
                    try PropertyListValue(json: CommandIO.read(atsJson, limit: 4 << 20))
                }
            )
        }
        return try infoPlist.map(PropertyListFile.dictionary) ?? ATSDictionary()
    }
}

/// Property lists of either form, as values: read by the reader of `ats lint`, so that no two commands disagree about a file.
enum PropertyListFile {
    /// The NSAppTransportSecurity dictionary of an Info.plist; an app without one has the empty dictionary.
    static func dictionary(infoPlist path: String) throws -> ATSDictionary {
        let bytes = try CommandIO.read(path, limit: 16 << 20)
        let document = try named(path) { try PlistReader.read(bytes).root.propertyListValue }
        guard let members = document.members else {
            throw CommandFault(
                "\(CommandIO.name(of: path)): contains \(document.kind), not the dictionary that an Info.plist is."
            )
        }
        return ATSDictionary(members["NSAppTransportSecurity"])
    }

    /// Puts the name of the file before what is wrong with it.
    static func named<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let malformed as MalformedInput {
            throw CommandFault("\(CommandIO.name(of: path)): \(malformed.description).")
        }
    }
}
