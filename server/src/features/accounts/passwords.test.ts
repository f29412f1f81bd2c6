import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { passwordHashing } from '../../config/password-hashing.ts'
import { hashPassword, rejectPassword, verifyPassword } from './passwords.ts'

test('a hash is salted argon2id with the OWASP parameters', async () => {
  const [first, second] = await Promise.all([
    hashPassword(passwordHashing, 'correct horse'),
    hashPassword(passwordHashing, 'correct horse'),
  ])
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(first).not.toBe(second)
})

test('only the exact password is accepted, up to its 72nd byte', async () => {
  const password = `${'é'.repeat(35)}ab`
  const hash = await hashPassword(passwordHashing, password)
  expect(await verifyPassword(password, hash)).toBe(true)
  for (const other of [password.slice(0, -1), `${'é'.repeat(35)}aB`, ` ${password}`, '']) {
    expect(await verifyPassword(other, hash)).toBe(false)
  }
})

test('without a hash every password is rejected', async () => {
  expect(await rejectPassword(passwordHashing, '')).toBe(false)
  expect(await rejectPassword(passwordHashing, 'correct horse')).toBe(false)
})

test('many hashes at once leave threads for files, DNS and gzip', async () => {
  let hashed = 0
  const hashes = Array.from({ length: 20 }, async () => {
    await hashPassword(passwordHashing, 'correct horse')
    hashed += 1
  })
  await stat('.')
  expect(hashed).toBeLessThan(10)
  await Promise.all(hashes)
})
