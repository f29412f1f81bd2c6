import { expect, test } from 'vitest'
import { decryptTotpSecret, encryptTotpSecret } from './totp-secret.ts'
import { generateRecoveryCodes, hashRecoveryCode } from './recovery-codes.ts'
import { describeTotp, findTotpStep } from './totp.ts'

const secret = Buffer.from('12345678901234567890')

test('codes are those of the test vectors of RFC 6238, with six digits', () => {
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ] as const) {
    expect(findTotpStep(secret, code, new Date(seconds * 1000))).toBe(Math.floor(seconds / 30))
  }
})

test('a code counts one step before and after its own, and not two', () => {
  const step = 37_037_036
  for (const [distance, found] of [
    [-2, null],
    [-1, step],
    [0, step],
    [1, step],
    [2, null],
  ] as const) {
    expect(findTotpStep(secret, '081804', new Date((step + distance) * 30_000)), `${distance}`).toBe(found)
  }
  for (const text of ['', '81804', '0818040', 'abcdef', '08180４']) {
    expect(findTotpStep(secret, text, new Date(step * 30_000)), text).toBeNull()
  }
})

test('the QR code names the account and the server', () => {
  const { secret: text, uri } = describeTotp(secret, {
    issuer: 'Berth (berth.test)',
    label: 'ada@example.com',
  })
  expect(text).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
  const url = new URL(uri)
  expect(decodeURIComponent(url.pathname)).toContain('Berth (berth.test):ada@example.com')
  expect(Object.fromEntries(url.searchParams)).toMatchObject({ secret: text, digits: '6', period: '30' })
})

test('an encrypted secret opens only with its key, for its user, and unchanged', () => {
  const stored = encryptTotpSecret('a key', 7, secret)
  expect(stored.includes(secret)).toBe(false)
  expect(encryptTotpSecret('a key', 7, secret).equals(stored)).toBe(false)
  expect(decryptTotpSecret('a key', 7, stored)).toEqual(secret)
  expect(decryptTotpSecret('another key', 7, stored)).toBeNull()
  expect(decryptTotpSecret('a key', 8, stored)).toBeNull()
  for (const index of stored.keys()) {
    const damaged = Buffer.from(stored)
    damaged[index]! ^= 1
    expect(decryptTotpSecret('a key', 7, damaged)).toBeNull()
  }
  for (const short of [0, 5, 12, 28])
    expect(decryptTotpSecret('a key', 7, stored.subarray(0, short))).toBeNull()
})

test('recovery codes have over 112 bits, and case, spaces and dashes do not matter', () => {
  const codes = generateRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^([2-9a-hjkmnp-z]{4}-){5}[2-9a-hjkmnp-z]{4}$/)
  expect(24 * Math.log2(31)).toBeGreaterThan(112)
  const [code = ''] = codes
  expect(hashRecoveryCode(` ${code.toUpperCase().replaceAll('-', ' ')} `)).toEqual(hashRecoveryCode(code))
})
