// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CContracts

/// What the simulator answers, by path: the contract is `docs/simulator-openapi.yaml`, which the build puts into the program.
enum SimulatorRoutes {
    /// The contract as it is served at `/openapi.yaml`.
    // Safe: it lives as long as the program, and a zero byte ends it.
    static let document = unsafe String(cString: sealward_simulator_contract())

    /// The methods of a path; nil for one that does not exist.
    static func methods(of path: [String]) -> [String]? {
        switch path.first {
        case "openapi.yaml" where path.count == 1: ["GET"]
        case "roots" where path.count == 2: ["attestation.pem", "receipt.pem"].contains(path[1]) ? ["GET"] : nil
        case "control" where path.count == 2: control[path[1]]
        case "device": phone(path)
        case "development": apple(Array(path.dropFirst()))
        default: apple(path)
        }
    }

    private static let control: [String: [String]] = [
        "state": ["GET"], "clock": ["PUT"], "faults": ["PUT"], "limits": ["PUT"], "device-tokens": ["PUT"],
        "teams": ["POST", "DELETE"],
    ]
    private static let verbs: Set = ["keys", "attest", "assert", "token", "reinstall", "erase"]

    private static func phone(_ path: [String]) -> [String]? {
        guard path.count >= 3, path[1] == "v1", path[2] == "devices" else { return nil }
        switch path.count {
        case 3: return ["POST"]
        case 4: return ["GET"]
        case 5: return verbs.contains(path[4]) ? ["POST"] : nil
        default: return nil
        }
    }

    private static func apple(_ path: [String]) -> [String]? {
        guard path.count == 2, path[0] == "v1", let call = Call(rawValue: path[1]), call != .attest else { return nil }
        return ["POST"]
    }
}
