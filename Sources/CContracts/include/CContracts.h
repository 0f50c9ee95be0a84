// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The contracts of both servers, which the build puts into the program. SwiftPM would embed them as a Swift array with a literal for each byte,
// which takes half a minute to compile.

#ifndef SEALWARD_CONTRACTS_H
#define SEALWARD_CONTRACTS_H

/// `docs/openapi.yaml`, with a zero byte at its end. Lives as long as the program.
const char *_Nonnull sealward_service_contract(void);

/// `docs/simulator-openapi.yaml`, with a zero byte at its end. Lives as long as the program.
const char *_Nonnull sealward_simulator_contract(void);

#endif
