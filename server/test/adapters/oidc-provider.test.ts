import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createOidcProvider } from '../../src/adapters/identity-provider/oidc.ts'
import { readProxy } from '../../src/config/proxy.ts'
import type { IdentityProvider } from '../../src/ports/identity-provider.ts'
import { client, startTestProvider } from '../support/oidc-provider.ts'
import type { TestProvider } from '../support/oidc-provider.ts'

const minute = 60_000
let provider: TestProvider
let adapter: IdentityProvider
let discoveries: number
let isDown: boolean
const warnings: object[] = []

beforeEach(async () => {
  provider = await startTestProvider()
  discoveries = 0
  isDown = false
  warnings.length = 0
  provider.setFault(({ url, socket }) => {
    if (url?.startsWith('/.well-known/') === true) discoveries += 1
    if (isDown) socket.destroy()
    return isDown
  })
  adapter = createOidcProvider({
    issuerUrl: new URL(provider.issuer),
    clientId: client.id,
    clientSecret: client.secret,
    scopes: 'openid',
    emailClaims: ['email'],
    emailVerified: 'claim',
    groupsClaim: null,
    redirectUri: `${client.site}/v1/sso/callback/oidc`,
    proxy: readProxy({}),
    logger: { warn: (fields) => void warnings.push(fields) },
  })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await provider.close()
})

function passTime(milliseconds: number): void {
  const now = Date.now() + milliseconds
  vi.spyOn(Date, 'now').mockImplementation(() => now)
}

test('discovery runs on first use, once for concurrent callers', async () => {
  expect(discoveries).toBe(0)
  const begun = await Promise.all(Array.from({ length: 5 }, () => adapter.begin({ asks: false })))
  expect(new Set(begun.map((each) => each?.state)).size).toBe(5)
  expect(discoveries).toBe(1)
})

test('discovery is retried right after a first failure', async () => {
  isDown = true
  expect(await adapter.begin({ asks: false })).toBeNull()
  expect(warnings).toHaveLength(1)
  isDown = false
  expect(await adapter.begin({ asks: false })).not.toBeNull()
})

test('the discovery document is refreshed hourly and kept while a refresh fails', async () => {
  await adapter.begin({ asks: false })
  passTime(59 * minute)
  await adapter.begin({ asks: false })
  expect(discoveries).toBe(1)
  passTime(2 * minute)
  isDown = true
  expect(await adapter.begin({ asks: false })).not.toBeNull()
  expect(await adapter.begin({ asks: false })).not.toBeNull()
  expect(discoveries).toBe(2)
  isDown = false
  passTime(2 * minute)
  await adapter.begin({ asks: false })
  await adapter.begin({ asks: false })
  expect(discoveries).toBe(3)
})

test('a different issuer in the discovery document is refused', async () => {
  provider.setFault(({ url }, response) => {
    if (url?.startsWith('/.well-known/') !== true) return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ issuer: 'https://evil.test', authorization_endpoint: 'https://evil.test/a' }),
    )
    return true
  })
  expect(await adapter.begin({ asks: false })).toBeNull()
})
