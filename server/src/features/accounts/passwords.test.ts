import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a hash is argon2id with the parameters of the cheat sheet, and salted', async () => {
  const [first, second] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(first).not.toBe(second)
})

test('the password and it alone is verified, to its last of 72 bytes', async () => {
  const password = `${'é'.repeat(35)}ab`
  const hash = await hashPassword(password)
  expect(await verifyPassword(password, hash)).toBe(true)
  for (const other of [password.slice(0, -1), `${'é'.repeat(35)}aB`, ` ${password}`, '']) {
    expect(await verifyPassword(other, hash)).toBe(false)
  }
})

test('without a hash nothing is verified', async () => {
  expect(await verifyPassword('', null)).toBe(false)
  expect(await verifyPassword('correct horse', null)).toBe(false)
})
