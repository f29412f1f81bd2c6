import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:net'
import type { Viewer } from '../../../base/viewer.ts'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { connectDatabase, isDatabaseUnavailable } from '../../../database/connect.ts'
import type { Notifications } from '../../../database/notifications.ts'
import { trackOpenRequests } from './revoke-access.ts'

afterEach(() => vi.restoreAllMocks())

/** A port that refuses connections, and counts those that it refused. */
async function openRefusingPort() {
  let attempts = 0
  const server = createServer((socket) => {
    attempts += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postgresql://berth@127.0.0.1:${port}/berth`,
    attempts: () => attempts,
    close: () => server.close(),
  }
}

test('an unreachable database ends requests only after five minutes, with its own error', async () => {
  const port = await openRefusingPort()
  const connection = connectDatabase(port.url, 1, () => {})
  const events = new EventEmitter()
  const notifications = {
    subscribe: (channel, listener) => {
      events.on(channel, listener)
      return () => events.off(channel, listener)
    },
    onReconnected: () => () => {},
  } satisfies Partial<Notifications> as unknown as Notifications
  const requests = trackOpenRequests(connection.db, notifications, { warn: () => {} })
  const fail = vi.fn<(error: unknown, brokenBy: string) => void>()
  const request = {
    asker: { viewer: { userId: 7, session: { id: 1 } } as Viewer, member: null, outsideName: null },
    deploymentIds: [],
    openIndex: -1,
    arrivedAt: 0,
    fail,
    loseDeployments: () => {},
    silentTarget: null,
    leaveLostEngine: () => {},
    stop: () => {},
  }
  requests.add(request)
  try {
    events.emit('session_revoked', '7')
    await expect.poll(port.attempts, { timeout: 20_000 }).toBeGreaterThan(2)
    expect(fail).not.toHaveBeenCalled()
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 300_000)
    await expect.poll(() => fail.mock.calls.length, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(isDatabaseUnavailable(fail.mock.calls[0]![0])).toBe(true)
  } finally {
    requests.close()
    await connection.close()
    port.close()
  }
})
