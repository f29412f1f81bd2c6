import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { DataDirectoryInUseError, lockDataDirectory } from '../../src/database/data-directory-lock.ts'
import { createScratch, patient, postmasterPid, query, start } from './scratch.ts'

const ignore = { onLost: () => undefined }

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

test('losing the session calls onLost once; releasing the lock does not', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const database = await start(dataDirectory)
  const onReleased = vi.fn<(error: Error) => void>()
  await (await lockDataDirectory(database.url, dataDirectory, { onLost: onReleased })).release()

  const onLost = vi.fn<(error: Error) => void>()
  const lock = await lockDataDirectory(database.url, dataDirectory, { onLost })
  process.kill((await postmasterPid(join(dataDirectory, 'postgres')))!, 'SIGKILL')
  await vi.waitFor(() => expect(onLost).toHaveBeenCalledOnce(), patient)
  await lock.release()
  expect(onLost).toHaveBeenCalledOnce()
  expect(onReleased).not.toHaveBeenCalled()
})

const endSessions = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'berth data directory lock'`
const heldLocks = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted`

test('with onInterrupted, a lost session is replaced; a release ends the attempts', async () => {
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
