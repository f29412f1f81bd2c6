import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createXinferenceRuntime } from '../../../src/adapters/model-runtime/xinference/runtime.ts'
import { openCluster } from './cluster.ts'
import type { XinferenceCluster } from './cluster.ts'

const major = Number.parseInt(process.env['TEST_XINFERENCE_VERSION'] ?? '', 10)
const admin = { username: 'berth', password: 'a-long-enough-Passw0rd!' }

/** Since version 3.0, Xinference requires a sign-in unless XINFERENCE_AUTH_ADVANCED turns it off. */
describe.skipIf(!(major >= 3))('a real Xinference that requires a sign-in', () => {
  let cluster: XinferenceCluster
  beforeAll(async () => {
    cluster = await openCluster({ XINFERENCE_AUTH_ADVANCED: '1' })
    await cluster.startSupervisor()
  })
  afterAll(() => cluster?.close())

  async function listOffers(credentials: typeof admin | null) {
    const logger = { info() {}, warn() {} }
    const runtime = await createXinferenceRuntime({
      supervisors: [{ origin: cluster.url, credentials }],
      instanceTypes: [],
      uploads: null,
      gpuMemoryShare: 0.9,
      logger,
    })
    try {
      return await runtime.listOffers()
    } finally {
      await runtime.close()
    }
  }

  test('before the setup and without a user: the message names the setting', async () => {
    await expect(listOffers(null)).rejects.toThrow(/requires a sign-in.*XINFERENCE_URLS/)
    await expect(listOffers(admin)).rejects.toThrow(/rejected Berth's user name or password/)
  })

  test('after the setup, since 4.0 with the token of the log: the admin is accepted, and a wrong password is refused', async () => {
    const token = await cluster.readSetupToken()
    const setup = await fetch(`${cluster.url}/v1/admin/setup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...admin, ...(token === null ? {} : { setup_token: token }) }),
    })
    expect(setup.status).toBe(201)
    await expect(listOffers({ ...admin, password: 'wrong' })).rejects.toThrow(/rejected Berth's user name/)
    // The sign-in succeeds, and this cluster has no worker.
    await expect(listOffers(admin)).rejects.toThrow('no reachable Xinference cluster has a worker')
  })
})
