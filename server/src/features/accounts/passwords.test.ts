import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a hash is salted argon2id with the OWASP parameters', async () => {
  const [first, second] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(first).not.toBe(second)
})

test('only the exact password is accepted, up to its 72nd byte', async () => {
  const password = `${'é'.repeat(35)}ab`
  const hash = await hashPassword(password)
  expect(await verifyPassword(password, hash)).toBe(true)
  for (const other of [password.slice(0, -1), `${'é'.repeat(35)}aB`, ` ${password}`, '']) {
    expect(await verifyPassword(other, hash)).toBe(false)
  }
})

test('without a hash every password is rejected', async () => {
  expect(await verifyPassword('', null)).toBe(false)
  expect(await verifyPassword('correct horse', null)).toBe(false)
})

test('many hashes at once leave threads for files, DNS and gzip', async () => {
  let hashed = 0
  const hashes = Array.from({ length: 20 }, async () => {
    await hashPassword('correct horse')
    hashed += 1
  })
  await stat('.')
  expect(hashed).toBeLessThan(10)
  await Promise.all(hashes)
})
