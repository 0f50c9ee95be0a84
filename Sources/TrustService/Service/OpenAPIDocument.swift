// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The contract as it is served at `/openapi.yaml`: the text of `docs/openapi.yaml`, which a test compares.
package enum OpenAPIDocument {
    package static let text = #"""
        openapi: 3.0.3
        info:
          title: Sealward trust service
          version: "1"
          description: |
            Proves requests to an app's backend: App Attest keys and assertions, tokens, DeviceCheck bits, receipts, risk.
            JSON in and out, UTF-8. Binary values are standard base64 with padding; a key id in a path is base64url without padding.
            Every error is application/problem+json.
          license:
            name: Apache-2.0
        servers:
          - url: /
        tags:
          - name: apps
            description: For apps; no credential, the proof is the attestation.
          - name: servers
            description: For backends and gateways.
          - name: operators
            description: For operators.
        paths:
          /v1/apps/{app}/challenges:
            post:
              tags: [apps]
              operationId: issueChallenge
              summary: Issue a challenge. Nothing is stored.
              security: [{}, {bearer: []}]
              parameters: [{$ref: '#/components/parameters/app'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/ChallengeRequest'}
              responses:
                '201':
                  description: A challenge.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Challenge'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/attestations:
            post:
              tags: [apps]
              operationId: attest
              summary: Verify an attestation with its receipt and store the key.
              security: [{}]
              parameters: [{$ref: '#/components/parameters/app'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/AttestationRequest'}
              responses:
                '201':
                  description: The key is stored.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Key'}
                '200':
                  description: The byte-equal object of the same user was stored before, or the app's mode is off or monitor.
                  content:
                    application/json:
                      schema:
                        anyOf:
                          - {$ref: '#/components/schemas/Key'}
                          - {$ref: '#/components/schemas/Enforced'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/assertions:
            post:
              tags: [apps]
              operationId: assert
              summary: Verify an assertion; the counter and the challenge are committed together.
              security: [{}]
              parameters: [{$ref: '#/components/parameters/app'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/AssertionRequest'}
              responses:
                '200':
                  description: Accepted.
                  content:
                    application/json:
                      schema:
                        anyOf:
                          - {$ref: '#/components/schemas/Accepted'}
                          - {$ref: '#/components/schemas/Enforced'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/tokens:
            post:
              tags: [apps]
              operationId: issueToken
              summary: Exchange an assertion for a token.
              security: [{}]
              parameters: [{$ref: '#/components/parameters/app'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/TokenRequest'}
              responses:
                '200':
                  description: A token.
                  content:
                    application/json:
                      schema:
                        anyOf:
                          - {$ref: '#/components/schemas/Token'}
                          - {$ref: '#/components/schemas/Enforced'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/promotions/{name}/claim:
            post:
              tags: [apps]
              operationId: claimPromotion
              summary: Claim a promotion; the client data also holds promotion, transactionId and two deviceTokens.
              security: [{}]
              parameters:
                - {$ref: '#/components/parameters/app'}
                - {$ref: '#/components/parameters/promotion'}
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/AssertionRequest'}
              responses:
                '200':
                  description: Decided; the same transactionId again gives the stored answer.
                  content:
                    application/json:
                      schema:
                        anyOf:
                          - {$ref: '#/components/schemas/Claim'}
                          - {$ref: '#/components/schemas/Enforced'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/signals:
            post:
              tags: [apps]
              operationId: signal
              summary: Report that App Attest is not supported or failed. Counted once an hour for each address.
              security: [{}]
              parameters: [{$ref: '#/components/parameters/app'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/Signal'}
              responses:
                '202': {description: Counted.}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/ramp:
            get:
              tags: [apps]
              operationId: ramp
              summary: Whether an installation should attest now.
              security: [{}]
              parameters:
                - {$ref: '#/components/parameters/app'}
                - name: installation
                  in: query
                  required: true
                  schema: {type: string, minLength: 1, maxLength: 256}
              responses:
                '200':
                  description: The installation's place in the ramp; always the same.
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [attest, notBeforeSeconds]
                        properties:
                          attest: {type: boolean}
                          notBeforeSeconds: {type: integer, minimum: 0}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
          /v1/apps/{app}/risk:
            get:
              tags: [operators]
              operationId: risk
              summary: Metric distribution, unsupported ratio and alerts of an app.
              security: [{bearer: []}]
              parameters: [{$ref: '#/components/parameters/app'}]
              responses:
                '200':
                  description: The standing of the app.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Risk'}
                default: {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /.well-known/jwks.json:
            get:
              tags: [servers]
              operationId: keySet
              summary: The keys of production tokens.
              security: [{}]
              responses:
                '200':
                  description: A JSON Web Key Set.
                  content:
                    application/jwk-set+json:
                      schema: {$ref: '#/components/schemas/KeySet'}
                default: {$ref: '#/components/responses/Problem'}
          /simulator/.well-known/jwks.json:
            get:
              tags: [servers]
              operationId: simulatedKeySet
              summary: The keys of simulated devices' tokens.
              security: [{}]
              responses:
                '200':
                  description: A JSON Web Key Set.
                  content:
                    application/jwk-set+json:
                      schema: {$ref: '#/components/schemas/KeySet'}
                default: {$ref: '#/components/responses/Problem'}
          /v1/authorize:
            get:
              tags: [servers]
              operationId: authorize
              summary: A gateway's sub-request. The token stands in the Authorization header.
              security: [{token: []}]
              parameters:
                - name: simulated
                  in: query
                  schema: {type: string, enum: [allow]}
                - name: tier
                  in: query
                  schema: {type: string, enum: [low, standard, high]}
              responses:
                '204': {description: The token is valid.}
                '401': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '503': {$ref: '#/components/responses/Limited'}
                default: {$ref: '#/components/responses/Problem'}
          /v1/tokens/consume:
            post:
              tags: [servers]
              operationId: consumeToken
              summary: Spend a single-use token, once across all nodes.
              security: [{bearer: []}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [token]
                      properties:
                        token: {type: string, minLength: 1, maxLength: 4096}
              responses:
                '200':
                  description: Spent.
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [sub, key, tier, jti]
                        properties:
                          sub: {type: string}
                          key: {type: string}
                          tier: {type: string}
                          jti: {type: string}
                          env: {type: string}
                          sim: {type: boolean}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '403': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '409': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/devicecheck/query:
            post:
              tags: [servers]
              operationId: queryBits
              summary: Read the two bits of a device by their names.
              security: [{bearer: []}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/DeviceRequest'}
              responses:
                '200':
                  description: The bits.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Bits'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/devicecheck/update:
            post:
              tags: [servers]
              operationId: updateBits
              summary: Write bits by their names; the other bit keeps the value that counts.
              security: [{bearer: []}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      allOf:
                        - {$ref: '#/components/schemas/DeviceRequest'}
                        - type: object
                          required: [bits]
                          properties:
                            bits:
                              type: object
                              minProperties: 1
                              additionalProperties: {type: boolean}
              responses:
                '200':
                  description: The bits after the write.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Bits'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/devicecheck/validate:
            post:
              tags: [servers]
              operationId: validateDevice
              summary: Ask Apple whether a device token is genuine.
              security: [{bearer: []}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/DeviceRequest'}
              responses:
                '204': {description: The token is genuine.}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/promotions/{name}/claim:
            post:
              tags: [servers]
              operationId: claimPromotionForServer
              summary: A claim by a backend that has its own proof of the user.
              security: [{bearer: []}]
              parameters: [{$ref: '#/components/parameters/promotion'}]
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      type: object
                      required: [app, deviceTokens, transactionId]
                      properties:
                        app: {type: string, minLength: 1, maxLength: 256}
                        transactionId: {type: string, minLength: 1, maxLength: 128}
                        deviceTokens:
                          type: array
                          minItems: 2
                          maxItems: 2
                          items: {type: string, minLength: 1}
              responses:
                '200':
                  description: Decided.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/Claim'}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/keys/{keyId}:
            get:
              tags: [operators]
              operationId: showKey
              summary: A key and what happened to it.
              security: [{bearer: []}]
              parameters: [{$ref: '#/components/parameters/keyId'}]
              responses:
                '200':
                  description: The key.
                  content:
                    application/json:
                      schema: {$ref: '#/components/schemas/StoredKey'}
                default: {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /v1/keys/{keyId}/revoke:
            post:
              tags: [operators]
              operationId: revokeKey
              summary: Revoke a key for good.
              security: [{bearer: []}]
              parameters: [{$ref: '#/components/parameters/keyId'}]
              requestBody:
                required: false
                content:
                  application/json:
                    schema:
                      type: object
                      properties:
                        code: {type: string, nullable: true, pattern: '^[!-~]+$', maxLength: 64}
              responses:
                '200':
                  description: Revoked, now or before.
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [keyId, revoked]
                        properties:
                          keyId: {type: string}
                          revoked: {type: boolean}
                default: {$ref: '#/components/responses/Problem'}
                '400': {$ref: '#/components/responses/Problem'}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                '413': {$ref: '#/components/responses/Problem'}
                '415': {$ref: '#/components/responses/Problem'}
                '429': {$ref: '#/components/responses/Limited'}
                '503': {$ref: '#/components/responses/Limited'}
          /livez:
            get:
              tags: [operators]
              operationId: live
              summary: The process answers.
              security: [{}]
              responses:
                '200': {$ref: '#/components/responses/Status'}
                default: {$ref: '#/components/responses/Problem'}
          /readyz:
            get:
              tags: [operators]
              operationId: ready
              summary: The store answers a read and a write.
              security: [{}]
              responses:
                '200': {$ref: '#/components/responses/Status'}
                '503': {$ref: '#/components/responses/Limited'}
                default: {$ref: '#/components/responses/Problem'}
          /metrics:
            get:
              tags: [operators]
              operationId: metrics
              summary: Prometheus text. Labels are codes, never ids.
              security: [{}, {bearer: []}]
              responses:
                '200':
                  description: The metrics.
                  content:
                    text/plain:
                      schema: {type: string}
                '401': {$ref: '#/components/responses/Problem'}
                '404': {$ref: '#/components/responses/Problem'}
                default: {$ref: '#/components/responses/Problem'}
          /openapi.yaml:
            get:
              tags: [operators]
              operationId: openAPI
              summary: This document.
              security: [{}]
              responses:
                '200':
                  description: The contract.
                  content:
                    application/yaml:
                      schema: {type: string}
                default: {$ref: '#/components/responses/Problem'}
        components:
          securitySchemes:
            bearer:
              type: http
              scheme: bearer
              description: A token of serverTokenFile or adminTokenFile.
            token:
              type: http
              scheme: bearer
              bearerFormat: JWT
              description: A token of this service.
          parameters:
            app:
              name: app
              in: path
              required: true
              description: The configured id of the app.
              schema: {type: string, minLength: 1, pattern: '^[A-Za-z0-9._-]+$'}
            promotion:
              name: name
              in: path
              required: true
              description: The name of a bit.
              schema: {type: string, minLength: 1, pattern: '^[A-Za-z0-9._-]+$'}
            keyId:
              name: keyId
              in: path
              required: true
              description: The key id, base64url without padding.
              schema: {type: string, pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$'}
          responses:
            Problem:
              description: Refused.
              content:
                application/problem+json:
                  schema: {$ref: '#/components/schemas/Problem'}
            Limited:
              description: Refused for now.
              headers:
                Retry-After:
                  required: true
                  schema: {type: integer, minimum: 1}
              content:
                application/problem+json:
                  schema: {$ref: '#/components/schemas/Problem'}
            Status:
              description: It does.
              content:
                application/json:
                  schema:
                    type: object
                    required: [status]
                    properties:
                      status: {type: string}
          schemas:
            Problem:
              type: object
              required: [type, title, status, code, correlationId]
              properties:
                type: {type: string}
                title: {type: string}
                status: {type: integer}
                code: {type: string}
                correlationId: {type: string}
                retry: {type: string, enum: [never, same-challenge, new-challenge, new-key, after]}
                retryAfterSeconds: {type: integer, minimum: 1}
            Base64:
              type: string
              format: byte
            KeyId:
              type: string
              description: Standard base64 of 32 bytes.
              pattern: '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'
            ChallengeRequest:
              type: object
              required: [purpose]
              properties:
                purpose: {type: string, enum: [attest, assert]}
                keyId:
                  type: string
                  nullable: true
                  description: The challenge then serves this key alone.
                  pattern: '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'
                user:
                  type: string
                  nullable: true
                  minLength: 1
                  maxLength: 256
                  description: Needs a server token.
            Challenge:
              type: object
              required: [challenge, expiresAt, ttlSeconds]
              properties:
                challenge: {type: string}
                expiresAt: {type: string, format: date-time}
                ttlSeconds: {type: integer, minimum: 1}
            AttestationRequest:
              type: object
              required: [keyId, attestation, challenge]
              properties:
                keyId: {$ref: '#/components/schemas/KeyId'}
                attestation: {$ref: '#/components/schemas/Base64'}
                challenge: {$ref: '#/components/schemas/Base64'}
                clientData: {type: string, format: byte, nullable: true}
                user: {type: string, nullable: true, maxLength: 256}
            Key:
              type: object
              required: [keyId, environment, validationCategory, bundleVersion]
              properties:
                keyId: {type: string}
                environment: {type: string, enum: [production, development]}
                validationCategory: {type: integer, nullable: true}
                bundleVersion: {type: string, nullable: true}
            AssertionRequest:
              type: object
              required: [keyId, assertion, clientData]
              properties:
                keyId: {$ref: '#/components/schemas/KeyId'}
                assertion: {$ref: '#/components/schemas/Base64'}
                clientData: {$ref: '#/components/schemas/Base64'}
                challenge: {type: string, format: byte, nullable: true}
            TokenRequest:
              type: object
              required: [keyId, assertion, clientData]
              properties:
                keyId: {$ref: '#/components/schemas/KeyId'}
                assertion: {$ref: '#/components/schemas/Base64'}
                clientData: {$ref: '#/components/schemas/Base64'}
                challenge: {type: string, format: byte, nullable: true}
                singleUse: {type: boolean, nullable: true}
            Accepted:
              type: object
              required: [counter, tier]
              properties:
                counter: {type: integer, minimum: 1}
                tier: {type: string}
            Token:
              type: object
              required: [token, expiresIn]
              properties:
                token: {type: string}
                expiresIn: {type: integer, minimum: 1}
            Enforced:
              type: object
              required: [enforcement]
              properties:
                enforcement:
                  type: object
                  required: [decision, code]
                  properties:
                    decision: {type: string, enum: ["refuse", "off"]}
                    code: {type: string, nullable: true}
            Claim:
              type: object
              required: [granted, firstClaim, lastUpdate]
              properties:
                granted: {type: boolean}
                firstClaim: {type: boolean}
                lastUpdate: {type: string, nullable: true, pattern: '^[0-9]{4}-[0-9]{2}$'}
            Signal:
              type: object
              required: [kind]
              properties:
                kind: {type: string, enum: [unsupported, clientError]}
                code:
                  type: string
                  nullable: true
                  enum: [null, unsupported, unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable, network, timeout, throttled, other]
                osVersion: {type: string, nullable: true, pattern: '^[ -~]*$', maxLength: 32}
            DeviceRequest:
              type: object
              required: [app, deviceToken, transactionId]
              properties:
                app: {type: string, minLength: 1, maxLength: 256}
                deviceToken: {type: string, minLength: 1}
                transactionId: {type: string, minLength: 1, maxLength: 128}
            Bits:
              type: object
              required: [bits, lastUpdate, set]
              properties:
                bits:
                  type: object
                  additionalProperties: {type: boolean}
                lastUpdate: {type: string, nullable: true}
                set: {type: boolean}
            KeySet:
              type: object
              required: [keys]
              properties:
                keys:
                  type: array
                  items: {type: object}
            StoredKey:
              type: object
              required: [keyId, app, user, environment, counter, revoked, history]
              properties:
                keyId: {type: string}
                app: {type: string}
                user: {type: string, nullable: true}
                environment: {type: string, enum: [production, development]}
                counter: {type: integer, minimum: 0}
                revoked: {type: boolean}
                history:
                  type: array
                  items:
                    type: object
                    required: [at, kind, code]
                    properties:
                      at: {type: string, format: date-time}
                      kind: {type: string}
                      code: {type: string, nullable: true}
            Risk:
              type: object
              required: [app, metrics, unsupported, alerts]
              properties:
                app: {type: string}
                metrics:
                  type: array
                  items:
                    type: object
                    required: [environment, metric, keys]
                    properties:
                      environment: {type: string}
                      metric: {type: integer}
                      keys: {type: integer}
                unsupported:
                  type: object
                  required: [ratio, addresses, attested, windowHours]
                  properties:
                    ratio: {type: number}
                    addresses: {type: integer}
                    attested: {type: integer}
                    windowHours: {type: integer}
                alerts:
                  type: array
                  items:
                    type: object
                    required: [code, message]
                    properties:
                      code: {type: string}
                      message: {type: string}

        """#
}
