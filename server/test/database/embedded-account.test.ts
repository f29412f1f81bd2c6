import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canReach } from '../../src/base/account.ts'
import { runAdmin } from '../support/admin.ts'
import {
  copyPackageWithoutLinks,
  createScratch,
  launch,
  namelessAccount,
  postmasterPid,
  query,
  serviceAccount,
  start,
} from './scratch.ts'

const notRoot = serviceAccount ? false : 'only root can switch to another user'
const unreachable =
  notRoot ||
  ((await canReach(import.meta.filename, serviceAccount!)) &&
  (await canReach(process.execPath, serviceAccount!))
    ? false
    : 'another user can’t read this checkout')

test('as root, PostgreSQL runs as an unprivileged user', async ({ skip }) => {
  if (notRoot) return skip(notRoot)
  const dataDirectory = join(await createScratch(), 'data')
  await start(dataDirectory)
  const pid = await postmasterPid(join(dataDirectory, 'postgres'))
  expect((await stat(`/proc/${pid}`)).uid).toBe(serviceAccount!.uid)
})

test('a DATA_DIR and a package that only root can access', async ({ skip }) => {
  if (notRoot) return skip(notRoot)
  const scratch = await createScratch()
  const hidden = join(scratch, 'hidden')
  await mkdir(hidden, { mode: 0o700 })
  const stateDirectory = join(scratch, 'state')
  const binariesDirectory = await copyPackageWithoutLinks(hidden)
  const dataDirectory = join(hidden, 'data')
  const messages: string[] = []
  const options = { stateDirectory, binariesDirectory, log: (message: string) => messages.push(message) }

  const first = await start(dataDirectory, options)
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const pointer = (await readFile(join(dataDirectory, 'postgres-location'), 'utf8')).trim()
  expect(pointer.startsWith(`${stateDirectory}/`)).toBe(true)
  expect(messages).toEqual([expect.stringContaining(pointer)])
  await first.stop()

  // The programs are copied once. The pointer stays valid even if the directory becomes accessible.
  const [copy] = (await readdir(stateDirectory)).filter((name) => name.startsWith('postgresql-'))
  const program = join(stateDirectory, copy!, 'native', 'bin', 'postgres')
  const { ino } = await stat(program)
  await chmod(hidden, 0o755)
  const second = await start(dataDirectory, options)
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  expect((await stat(program)).ino).toBe(ino)
  await second.stop()

  // A copy of DATA_DIR would share the database; a moved DATA_DIR keeps it.
  const moved = join(hidden, 'moved')
  await cp(dataDirectory, moved, { recursive: true })
  await expect(start(moved, options)).rejects.toThrow(/is a copy of/)
  await rm(moved, { recursive: true })
  await rename(dataDirectory, moved)
  const third = await start(moved, options)
  expect(await query(third.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  await third.stop()

  await rm(pointer, { recursive: true })
  await expect(start(moved, options)).rejects.toThrow(/postgres-location says that .* has no database/)
  // An operator reads the sentence alone.
  const { code, stderr } = await runAdmin({ DATA_DIR: moved }, ['engines', 'list'])
  expect({ code, lines: stderr.trim().split('\n') }).toEqual({
    code: 1,
    lines: [expect.stringMatching(/postgres-location says that .* has no database/)],
  })
})

test('an ordinary user with a package that is not writable', async ({ skip }) => {
  if (unreachable) return skip(unreachable)
  const scratch = await createScratch()
  const binariesDirectory = await copyPackageWithoutLinks(scratch)
  const dataDirectory = join(scratch, 'data')
  await mkdir(dataDirectory)
  await chown(dataDirectory, serviceAccount!.uid, serviceAccount!.gid)

  const own = await launch(dataDirectory, { binariesDirectory }, serviceAccount)
  expect(own.error).toBeUndefined()
  await query(own.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const home = join(dataDirectory, 'postgres')
  expect((await stat(`/proc/${await postmasterPid(home)}`)).uid).toBe(serviceAccount!.uid)
  expect((await stat(home)).mode & 0o777).toBe(0o700)

  // Root may adopt the database and leaves all files to their owner.
  const taken = await start(dataDirectory, { binariesDirectory })
  expect(taken.adopted).toBe(true)
  await taken.stop()
  const again = await start(dataDirectory, { binariesDirectory })
  expect(await query(again.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  await again.stop()
  const back = await launch(dataDirectory, { binariesDirectory }, serviceAccount)
  expect(back.error).toBeUndefined()
  expect(await query(back.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

test('a DATA_DIR that is not writable fails with an error that names it', async ({ skip }) => {
  if (unreachable) return skip(unreachable)
  const scratch = await createScratch()
  const refused = await launch(join(scratch, 'data'), {}, serviceAccount)
  expect(refused.error).toMatch(/DATA_DIR .*data could not be created \(EACCES.*DATABASE_URL/)

  await mkdir(join(scratch, 'other'), { mode: 0o700 })
  await (await start(join(scratch, 'data'))).stop()
  const foreign = await launch(join(scratch, 'data'), {}, serviceAccount)
  expect(foreign.error).toMatch(/EACCES/)
})

test('a user id without a name fails with an error that names the remedy', async ({ skip }) => {
  if (unreachable) return skip(unreachable)
  const dataDirectory = join(await createScratch(), 'data')
  await mkdir(dataDirectory)
  await chown(dataDirectory, namelessAccount.uid, namelessAccount.gid)
  const refused = await launch(dataDirectory, {}, namelessAccount)
  expect(refused.error).toMatch(/user id 48213 has no entry in \/etc\/passwd.*DATABASE_URL/)
})
