import { expect, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'

const complete = {
  OIDC_ISSUER_URL: 'https://login.example.com/realms/one',
  OIDC_CLIENT_ID: 'berth',
  OIDC_CLIENT_SECRET: 'an unguessable secret',
}

function problemOf(env: Record<string, string | undefined>): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the settings were taken')
}

test('SSO is off without the three OIDC settings', () => {
  expect(readConfig({ SSO_PROVIDER: 'corp', SSO_DISPLAY_NAME: 'Corp' }).sso).toBeNull()
  expect(readConfig({ OIDC_ISSUER_URL: ' ', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' }).sso).toBeNull()
})

test('the three OIDC settings are enough for SSO', () => {
  expect(readConfig(complete).sso).toEqual({
    provider: 'oidc',
    displayName: 'Single sign-on',
    issuerUrl: new URL(complete.OIDC_ISSUER_URL),
    clientId: 'berth',
    clientSecret: complete.OIDC_CLIENT_SECRET,
    scopes: 'openid email profile',
    emailClaims: ['email'],
    emailVerified: 'claim',
    groupsClaim: null,
    roleGroups: [],
    only: false,
    sessionMilliseconds: 8 * 3_600_000,
  })
})

test.each([
  [{ OIDC_CLIENT_SECRET: undefined }, 'OIDC_CLIENT_SECRET: '],
  [{ OIDC_CLIENT_ID: undefined, OIDC_CLIENT_SECRET: ' ' }, 'OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: '],
  [{ OIDC_ISSUER_URL: undefined }, 'OIDC_ISSUER_URL: '],
])('a part of them, without %j, is refused with the names of what is missing', (change, names) => {
  const problem = problemOf({ ...complete, ...change })
  expect(problem).toContain(`- ${names}`)
  expect(problem).not.toContain('unguessable')
})

test.each(['Corp', 'a b', '../x', 'a--b', '-a', 'ä', 'x'.repeat(64), 'password'])(
  'SSO_PROVIDER %j is rejected',
  (name) => {
    expect(problemOf({ ...complete, SSO_PROVIDER: name })).toContain('SSO_PROVIDER: ')
  },
)

test.each([
  'http://login.example.com',
  'http://127.0.0.1.evil.test',
  'http://localhost.evil.test',
  'http://[::2]',
  'ftp://login.example.com',
  'login.example.com',
  'https://user:secret@login.example.com',
  'https://login.example.com?tenant=1',
])('OIDC_ISSUER_URL %j is rejected', (issuer) => {
  expect(problemOf({ ...complete, OIDC_ISSUER_URL: issuer })).toContain('OIDC_ISSUER_URL: ')
})

test.each(['http://127.0.0.1:3000', 'http://localhost:3000/realm', 'http://[::1]:3000'])(
  'OIDC_ISSUER_URL %j may be plain http on this machine',
  (issuer) => {
    expect(readConfig({ ...complete, OIDC_ISSUER_URL: issuer }).sso?.issuerUrl.href).toContain(issuer)
  },
)

test('OIDC_SCOPES requires openid', () => {
  expect(readConfig({ ...complete, OIDC_SCOPES: ' openid   groups ' }).sso?.scopes).toBe('openid groups')
  expect(problemOf({ ...complete, OIDC_SCOPES: 'email profile' })).toContain('OIDC_SCOPES: ')
})

test('SSO_ONLY requires a provider', () => {
  expect(problemOf({ SSO_ONLY: 'true' })).toContain('SSO_ONLY: ')
  expect(readConfig({ ...complete, SSO_ONLY: 'true' }).sso).toMatchObject({
    only: true,
    sessionMilliseconds: 8 * 3_600_000,
  })
})

test('SSO_SESSION_LIFETIME is provider or a duration', () => {
  const read = (SSO_SESSION_LIFETIME: string) => readConfig({ ...complete, SSO_SESSION_LIFETIME }).sso
  expect(read('12h')).toMatchObject({ sessionMilliseconds: 43_200_000 })
  expect(read('Provider')).toMatchObject({ sessionMilliseconds: null })
  expect(problemOf({ ...complete, SSO_SESSION_LIFETIME: '12' })).toContain('SSO_SESSION_LIFETIME: ')
})

const tenant = '9122040d-6c67-4c5b-b112-36a304b66dad'

test.each([
  'https://login.microsoftonline.com/common/v2.0',
  'https://login.microsoftonline.com/Organizations/v2.0/',
  'https://login.microsoftonline.com/consumers',
  'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  'https://login.microsoftonline.us/common/v2.0',
  'https://login.partner.microsoftonline.cn/common/v2.0',
])('addresses of %s, where strangers have accounts, are never trusted', (OIDC_ISSUER_URL) => {
  const settings = { ...complete, OIDC_ISSUER_URL }
  expect(problemOf({ ...settings, OIDC_EMAIL_VERIFIED: 'trusted' })).toContain('- OIDC_EMAIL_VERIFIED: ')
  expect(problemOf({ ...settings, OIDC_GROUPS_CLAIM: 'groups' })).toContain('- OIDC_GROUPS_CLAIM: ')
  expect(readConfig(settings).sso?.emailVerified).toBe('claim')
})

test.each([`https://login.microsoftonline.com/${tenant}/v2.0`, 'https://login.example.com/realms/common'])(
  'addresses of %s can be trusted',
  (OIDC_ISSUER_URL) => {
    const settings = {
      ...complete,
      OIDC_ISSUER_URL,
      OIDC_EMAIL_VERIFIED: 'trusted',
      OIDC_EMAIL_CLAIM: 'email, upn,',
    }
    expect(readConfig(settings).sso).toMatchObject({
      emailVerified: 'trusted',
      emailClaims: ['email', 'upn'],
    })
  },
)

test('OIDC_ROLE_GROUPS needs the claim with the groups', () => {
  const settings = { ...complete, OIDC_ROLE_GROUPS: 'admin:berth:admins, member:/berth/users' }
  expect(problemOf(settings)).toContain('OIDC_GROUPS_CLAIM')
  expect(readConfig({ ...settings, OIDC_GROUPS_CLAIM: 'groups' }).sso?.roleGroups).toEqual([
    { role: 'admin', group: 'berth:admins' },
    { role: 'member', group: '/berth/users' },
  ])
})
