// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The contract as it is served at `/openapi.yaml`: the file `docs/openapi.yaml`, which the build puts into the program.
package enum OpenAPIDocument {
    package static let text = String(decoding: PackageResources.openapi_yaml, as: UTF8.self)
}
