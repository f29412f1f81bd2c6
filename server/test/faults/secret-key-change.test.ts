import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApplication } from '../../src/wiring/create-application.ts'
import { readConfig } from '../../src/config/config.ts'
import { findHubToken, storeHubToken } from '../../src/features/own-models/hub-tokens.ts'
import { buildServer } from '../../src/process/server.ts'
import { registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import type { Account } from '../support/organizations.ts'
import { createDataDirectory, removeDataDirectory } from '../support/process.ts'
import { addTotp, signIn } from '../support/second-factors.ts'

const oldKey = 'the old key of at least thirty-two characters'
const newKey = 'the new key of at least thirty-two characters'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let dataDirectory: string
beforeAll(async () => {
  database = await createTestDatabase()
  dataDirectory = await createDataDirectory()
})
afterAll(async () => {
  await removeDataDirectory(dataDirectory)
  await database.drop()
})

function settings(secretKey: string) {
  return { DATABASE_URL: database.url, DATA_DIR: dataDirectory, SECRET_KEY: secretKey, LOG_LEVEL: 'warn' }
}

/** Runs the role migrate, as a process does. */
async function migrate(more: Record<string, string>): Promise<void> {
  const application = await createApplication(readConfig({ ...settings(newKey), ...more, ROLE: 'migrate' }))
  await application.close()
}

/** Serves while `work` runs. */
async function serve(secretKey: string, work: (url: string) => Promise<void>): Promise<void> {
  const application = await createApplication(readConfig({ ...settings(secretKey), ROLE: 'api' }))
  const app = await buildServer(application)
  try {
    await work(await app.listen({ host: '127.0.0.1', port: 0 }))
  } finally {
    app.server.closeAllConnections()
    await app.close()
    await application.close()
  }
}

test('ROLE=migrate with PREVIOUS_SECRET_KEY encrypts the secrets of authenticator apps with the new key', async () => {
  let account!: Account
  let app!: Awaited<ReturnType<typeof addTotp>>
  await serve(oldKey, async (url) => {
    account = await registerClient(url)
    app = await addTotp(account)
    await account.post('/v1/user/logout')
  })
  for (const more of [{}, { PREVIOUS_SECRET_KEY: 'x'.repeat(40) }]) {
    await expect(migrate(more)).rejects.toThrow(/Set PREVIOUS_SECRET_KEY/)
  }
  // The refused changes changed nothing.
  await serve(oldKey, async (url) => {
    expect((await signIn(url, account, { code: app.code() })).status).toBe(200)
  })
  await migrate({ PREVIOUS_SECRET_KEY: oldKey })
  await serve(newKey, async (url) => {
    expect((await signIn(url, account, { code: app.code(1) })).status).toBe(200)
    expect((await signIn(url, account, { code: app.recoveryCodes[0]! })).status).toBe(200)
  })
})

test('ROLE=migrate with PREVIOUS_SECRET_KEY encrypts the tokens of organizations for the Hub with the new key', async () => {
  const open = (key: string) => createApplication(readConfig({ ...settings(key), ROLE: 'api' }))
  const before = await open(newKey)
  const { id } = await before.db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  await before.db.transaction().execute((transaction) => storeHubToken(transaction, newKey, id, 'hf_secret'))
  await before.close()
  const key = 'the next key of at least thirty-two characters'
  await expect(migrate({ SECRET_KEY: key })).rejects.toThrow(/Set PREVIOUS_SECRET_KEY/)
  await migrate({ SECRET_KEY: key, PREVIOUS_SECRET_KEY: newKey })
  const after = await open(key)
  expect(await findHubToken(after, id)).toBe('hf_secret')
  await after.close()
  await migrate({ PREVIOUS_SECRET_KEY: key })
})

test('with a lost key, a code is a 503 second_factor_unreadable, and recovery codes work', async () => {
  const config = readConfig({ ...settings(newKey), ROLE: 'api' })
  let account!: Account
  let app!: Awaited<ReturnType<typeof addTotp>>
  await serve(newKey, async (url) => {
    account = await registerClient(url)
    app = await addTotp(account)
  })
  const application = await createApplication(config)
  await application.db.deleteFrom('secret_key_fingerprints').execute()
  await application.close()
  await serve('a third key of at least thirty-two characters', async (url) => {
    expect(await signIn(url, account, { code: app.code() })).toMatchObject({
      status: 503,
      body: { code: 'second_factor_unreadable' },
    })
    expect((await signIn(url, account, { code: app.recoveryCodes[0]! })).status).toBe(200)
  })
})

test.each([
  ['an empty file', ''],
  ['half a key', 'f'.repeat(31)],
])('%s instead of the key in DATA_DIR is refused at the start', async (_case, content) => {
  const path = join(dataDirectory, 'secret-key')
  await writeFile(path, content)
  const config = readConfig({ DATABASE_URL: database.url, DATA_DIR: dataDirectory, LOG_LEVEL: 'warn' })
  await expect(createApplication(config)).rejects.toThrow(`${path} is damaged`)
})
