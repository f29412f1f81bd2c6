import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DataDirectoryInUseError, lockDataDirectory } from '../../src/database/data-directory-lock.ts'
import { createScratch, patient, query, start } from './scratch.ts'

const ignore = { onLost: () => undefined, onInterrupted: () => undefined }

test('one server at a time locks a DATA_DIR, under any path, until it releases the lock or dies', async () => {
  const scratch = await createScratch()
  const dataDirectory = join(scratch, 'data')
  const database = await start(dataDirectory)
  await symlink(dataDirectory, join(scratch, 'alias'))
  const first = await lockDataDirectory(database.url, dataDirectory, ignore)
  const refused = lockDataDirectory(database.url, join(scratch, 'alias'), ignore)
  await expect(refused).rejects.toThrow(DataDirectoryInUseError)
  await expect(refused).rejects.toThrow(/alias\. Stop that server/)

  await mkdir(join(scratch, 'another'))
  const beside = await lockDataDirectory(database.url, join(scratch, 'another'), ignore)
  await beside.release()
  await first.release()
  const second = await lockDataDirectory(database.url, dataDirectory, ignore)
  await second.release()
})

test('a lock that is released soon is waited for', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const database = await start(dataDirectory)
  const first = await lockDataDirectory(database.url, dataDirectory, ignore)
  const waiting = lockDataDirectory(database.url, dataDirectory, ignore)
  await expect
    .poll(
      () => query(database.url, `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try%'`),
      patient,
    )
    .toHaveLength(2)
  await first.release()
  await (await waiting).release()
})

const sessions = `FROM pg_stat_activity WHERE application_name = 'berth data directory lock'`
const lockSessions = `SELECT pid ${sessions}`
const endSessions = `SELECT pg_terminate_backend(pid) ${sessions}`
const heldLocks = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted`

test('a lost session is replaced; a release ends the attempts and calls nothing', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const database = await start(dataDirectory)
  const onLost = vi.fn<(error: Error) => void>()
  const onInterrupted = vi.fn<(error: unknown) => void>()
  const lock = await lockDataDirectory(database.url, dataDirectory, { onLost, onInterrupted })
  for (const losses of [1, 2]) {
    await query(database.url, endSessions)
    await vi.waitFor(() => expect(onInterrupted).toHaveBeenCalledTimes(losses), patient)
    await expect.poll(() => query(database.url, heldLocks), patient).toHaveLength(1)
  }
  await query(database.url, endSessions)
  await lock.release()
  expect(await query(database.url, heldLocks)).toEqual([])
  expect(onLost).not.toHaveBeenCalled()
})

test('a lock that another server took meanwhile is lost, once', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const database = await start(dataDirectory)
  const onLost = vi.fn<(error: Error) => void>()
  const lock = await lockDataDirectory(database.url, dataDirectory, { ...ignore, onLost })
  const waiting = lockDataDirectory(database.url, dataDirectory, ignore)
  const taken = waiting.then(() => true)
  const findWaiting = () => query(database.url, `${lockSessions} AND pid NOT IN (${heldLocks})`)
  await expect.poll(findWaiting, patient).toHaveLength(1)
  const [{ pid }] = (await findWaiting()) as [{ pid: number }]
  // The one that waits asks ten times a second, and gets the lock as soon as the other one's session has
  // ended.
  const notYet = () => new Promise((resolve) => setTimeout(resolve, 20, false))
  const endHolder = `${endSessions} AND pid <> ${pid}`
  while (!(await Promise.race([taken, query(database.url, endHolder).then(notYet)])));
  // Each look at the clock takes ten of the ninety seconds after which the lock is lost.
  let now = Date.now()
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 10_000))
  onTestFinished(() => clock.mockRestore())
  await vi.waitUntil(() => onLost.mock.calls.length > 0, { timeout: 30_000 })
  clock.mockRestore()
  expect(onLost.mock.calls.map(([error]) => error)).toEqual([expect.any(DataDirectoryInUseError)])
  await lock.release()
  await (await waiting).release()
})
